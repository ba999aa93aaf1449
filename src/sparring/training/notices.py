"""What a person should be told while a run goes on, found in what an iteration reported. They are lines of the metrics
too, so that whoever reads the run later is told the same."""

from collections.abc import Iterable, Sequence
from typing import Any

from sparring.core.errors import unknown
from sparring.core.records import LARGEST
from sparring.evaluation.scoring import MatchGames
from sparring.league.stages import PATIENCE, parse_stages
from sparring.learn.config import PPOConfig
from sparring.setup.build import Built

TINY_CLIP = 0.05
"""A value clip below this share of the spread of the values holds the critic still."""
LARGE_KL = 0.1
"""Five times the usual target: the policy that learns has little to do with the one that played."""
LOST = 0.01
"""Changes whose share that differs between contexts is smaller hardly depend on them."""
SETTLED = 100
"""Iterations after which a hypernetwork, which learns slowly, should have begun to."""
ONCE = (
    "hyper_dead",
    "hyper_ignored",
    "hyper_large",
    "not_finite",
    "left_out",
    "reused",
    "kl",
    "value_clip",
    "advantages",
    "entropy",
    "blind_critic",
    "by_time",
    "fallen",
)
"""Kinds that would repeat in every iteration: the first says it all, the metrics count the others."""
WATCHED = ("bad_minibatches", "critic_calmed", "critic_factor", "approx_kl", "value_spread", "advantage_flat")
"""The statistics of a learner that there may be something to say about."""
EVERYBODY = "all"
"""In place of a learner, where a notice is about the game."""
TEXTS = {
    "left_out": "{left_out} games went wrong and were left out: {broken} with a NaN, an infinity or a number beyond "
    "{largest:g} in state, features or rewards, {overdue} that had not ended after spec.longest steps. Their worlds "
    "started over. The first is in the run's folder not_finite as it was a step before; games/left_out in the metrics "
    "counts them from here on. Run check_game on the game.",
    "reused": "{reused} games began from a start that had been used before, because games ended sooner than "
    "spec.shortest says. Lower spec.shortest; games/reused in the metrics counts them from here on.",
    "mark": "stage {} ends by {}, and iteration {} knows nothing of it. {} The stage goes on until it appears.",
    "not_finite": "{bad_minibatches:.0f} minibatches had a loss, gradient or step that was not finite: they were left "
    "out and the weights kept. The first is in the run's folder not_finite; bad_minibatches in the metrics counts them "
    "from here on. Look at the game's rewards, or lower the step size.",
    "calm_critic": "the critic's values explode or oscillate: its step size is now {critic_factor:g} times its own.",
    "kl": "the policy moved by a KL of {approx_kl:.2g} in one iteration: its last gradient steps learned from "
    "actions that it would hardly take any more. Use smaller steps or --target-kl 0.02.",
    "value_clip": "value_clip {clip} is tiny against values that differ by {value_spread:.3g}, so the critic can "
    "hardly move. Normalise values (--value-norm popart) or raise the clip.",
    "hyper_dead": "the hypernetwork has changed no weight yet: no gradient reaches it, or its steps are 0. Look at "
    "hyper/gradient in the metrics and at --hyper-rate.",
    "hyper_ignored": "the hypernetwork generates nearly the same weights in every context ({varied:.2g} of {size:.2g} "
    "differ): it does little that plain weights do not. Plain MAPPO may do as well; else raise --hyper-rate.",
    "hyper_large": "the hypernetwork's changes are {size:.2g} times as long as the weights they change. Limit them "
    "(--hyper-cap 0.5), or lower --hyper-rate.",
    "advantages": "all advantages were alike, so they were not scaled: nothing done in this rollout made a "
    "difference. The policy may hardly explore any more, the critic foresee all, or the game pay nothing yet.",
}
"""By kind."""


def notices(built: Built, iteration: int, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The notices of one iteration, from its lines of metrics, one line for each."""
    settings = dict(zip(built.lineup.names, (ppo for group in built.settings for ppo in group), strict=True))
    found = []
    for line in lines:
        # What becomes of an environment outside, its workers tell by themselves.
        of_game = () if built.game.spec.outside else game_remarks(line)
        remarked = [(EVERYBODY, *one) for one in (*of_game, *mark_remarks(built, iteration, line))]
        for name, ppo in settings.items():
            stats = {key: line[f"{name}/{key}"] for key in WATCHED}
            if built.plan.planning is not None:  # the KL to a planner is large on purpose
                stats["approx_kl"] = None
            remarked += [(name, *one) for one in remarks(ppo, stats)]
            if f"{name}/hyper/size" in line:
                size, varied = (line[f"{name}/hyper/{what}"] or 0.0 for what in ("size", "over_contexts"))
                remarked += [(name, *one) for one in hyper_remarks(iteration, ppo, size, varied)]
        found += [noticed(iteration, line["seed"], *one) for one in remarked]
    return found


def noticed(iteration: int, seed: int, learner: str, kind: str, text: str) -> dict[str, Any]:
    """A line of the metrics."""
    where = {"kind": "notice", "iteration": iteration, "seed": seed, "learner": learner}
    return {**where, "notice": kind, "text": text}


def evaluation_notices(
    built: Built, iteration: int, games_of_seed: Sequence[Sequence[MatchGames]]
) -> list[dict[str, Any]]:
    """Games of an evaluation that are missing, because they went wrong."""
    asked, found = built.config.evaluation.eval_games, []
    for seed, games in zip(built.seeds_R, games_of_seed, strict=True):
        if lost := sum(asked - len(played.length_G) for played in games):
            text = f"{lost} of {asked * len(games)} games of the evaluation went wrong and count for nothing."
            found.append(noticed(iteration, int(seed), EVERYBODY, "evaluation", text))
    return found


def game_remarks(line: dict[str, Any]) -> list[tuple[str, str]]:
    """(kind, text) of what one seed's line says of the game itself."""
    left_out, overdue, reused = (line.get(f"games/{kind}") or 0 for kind in ("left_out", "overdue", "reused"))
    counts = {"left_out": left_out, "reused": reused}
    values = {**counts, "overdue": overdue, "broken": left_out - overdue, "largest": LARGEST}
    return [(kind, TEXTS[kind].format(**values)) for kind, count in counts.items() if count]


def mark_remarks(built: Built, iteration: int, line: dict[str, Any]) -> list[tuple[str, str]]:
    """(kind, text) of marks that no stage can reach, since their metric is not there after as many iterations as it
    takes to judge by it."""
    stages = parse_stages(built.config.stages) if iteration + 1 == PATIENCE else ()
    return [
        ("mark", TEXTS["mark"].format(number, stage.metric, PATIENCE, unknown("metric", stage.metric, line)))
        for number, stage in enumerate(stages, start=1)
        if stage.metric and line.get(stage.metric) is None
    ]


def remarks(ppo: PPOConfig, stats: dict[str, Any]) -> list[tuple[str, str]]:
    """(kind, text) of what one learner's statistics say."""
    clip = ppo.value_clip
    reasons = {
        "not_finite": stats["bad_minibatches"],
        "calm_critic": stats["critic_calmed"],
        "kl": (stats["approx_kl"] or 0.0) > LARGE_KL,
        "value_clip": 0 < clip.start < TINY_CLIP * (stats["value_spread"] or 0.0),
        "advantages": stats["advantage_flat"] == 1.0,
    }
    return [(kind, TEXTS[kind].format(clip=clip, **stats)) for kind, reason in reasons.items() if reason]


def hyper_remarks(iteration: int, ppo: PPOConfig, size: float, varied: float) -> list[tuple[str, str]]:
    """(kind, text) of what a hypernetwork does: nothing, nothing that depends on its context, or too much."""
    reasons = {
        "hyper_dead": iteration >= 2 and size == 0.0 and ppo.hyper_rate.start > 0,
        "hyper_ignored": iteration >= SETTLED and size > 0.0 and varied < LOST * size,
        "hyper_large": size > 1.0,
    }
    return [(kind, TEXTS[kind].format(size=size, varied=varied)) for kind, reason in reasons.items() if reason]


def unsaid(found: Iterable[dict[str, Any]], before: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those that were said before and need saying only once."""
    said = {identity(line) for line in before if line.get("kind") == "notice"}
    return [line for line in found if line["notice"] not in ONCE or identity(line) not in said]


def identity(line: dict[str, Any]) -> tuple:
    return line["seed"], line["learner"], line["notice"]
