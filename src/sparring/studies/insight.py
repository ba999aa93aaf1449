"""What a run's learners understand of their co-players, and whether it helps them, in games that nobody learns from."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from sparring.core.errors import ConfigError
from sparring.opponent_models import insight
from sparring.opponent_models.beliefs import kinds_of
from sparring.play.witness import mind_of
from sparring.players.named import Entrant
from sparring.setup.build import Built, ladder_of
from sparring.setup.config import has_bots
from sparring.setup.program import TrainState
from sparring.statistics.intervals import mean_interval
from sparring.studies.learned_goals import learned_goals
from sparring.studies.tables import CONTROLS, Seen, play, returns_by_game, tables, watched
from sparring.training.own_evaluation import players_of_seed

Told = dict[str, Any]
READ = ("told", "seen")
ENOUGH = 0.3
"""Share of the skill that a co-player's own rule has, from which on it is foreseen."""


def study(
    built: Built,
    state: TrainState,
    opponents: Mapping[str, Entrant],
    *,
    worlds: int,
    games: int,
    seed: int,
    learned: bool = False,
    on_stage: Callable[[str], None] = lambda _: None,
) -> Told:
    """Every learner among co-players of each kind, `games` games in a row in each world; all seeds together."""
    guests = {f"against {name}": one.policy for name, one in opponents.items()}
    by_seed = [{**players_of_seed(built, state, r), **guests} for r in range(built.config.seeds)]
    if not any(mind_of(policy) is not None for policy in by_seed[0].values()):
        raise ConfigError(
            "The learners of this run have no mind, so there is nothing to see in it. Train some: sparring train "
            f"{built.config.game} --mind belief"
        )
    if learned and not built.game.spec.goals:
        raise ConfigError(
            f"Learned goals are judged by those that a game lists, and {built.config.game} lists none. Leave --learned "
            "out."
        )
    table = tables(built, by_seed[0], opponents, worlds)
    played: dict[str, list[Seen]] = {}
    for control in CONTROLS:
        on_stage(f"games: {control}")
        steps = games * built.game.spec.longest
        played[control] = [
            play(built, table, players, steps=steps, seed=seed + r, control=control)
            for r, players in enumerate(by_seed)
        ]
    trained = trained_against(built)
    against = {}
    for name in dict.fromkeys(table.against_B):
        blocks = [b for b, rival in enumerate(table.against_B) if rival == name]
        tells = opponents[name].kind == "bot"
        known = name in trained
        against[name] = {"seen_in_training": known, **of_one(built, played, blocks, games, tells=tells)}
    found: Told = {
        "game": built.config.game, "learners": list(dict.fromkeys(table.learner_B)), "seeds": built.config.seeds,
        "worlds": worlds, "games": games, "against": against,
    }  # fmt: skip
    if learned:
        on_stage("learned goals")
        found["learned"] = learned_goals(played["own"][0], seed)
    return {**found, "verdict": verdict(found)}


def trained_against(built: Built) -> tuple[str, ...]:
    """Bots that the run met in training."""
    if built.config.seats.opponent:
        return (built.config.seats.opponent,)
    return tuple(ladder_of(built.game, built.config)) if has_bots(built.config) else ()


def of_one(built: Built, played: Mapping[str, Sequence[Seen]], blocks: list[int], games: int, *, tells: bool) -> Told:
    """What was understood of one kind of co-player, and what was earned among them."""
    spec = built.game.spec
    own = joined([watched(seen, blocks, tells) for seen in played["own"]])
    found: Told = {"actions": insight.action_measures(own, spec.action.heads)}
    if built.config.mind.mind_goals == "listed" and spec.goals:
        found["goals"] = insight.goal_measures(own, np.asarray(kinds_of(spec.goals)[:-1]))
    if spec.goals:
        parts = [read_off(seen, block) for seen in played["own"] for block in blocks]
        found["read"] = {name: insight.mean(x := np.array([one[name] for one in parts]), ~np.isnan(x)) for name in READ}
    per_world = {control: [world_means(seen, blocks) for seen in rows] for control, rows in played.items()}
    found["return"] = {control: bounds(np.concatenate(rows)) for control, rows in per_world.items()}
    # Controls begin with the same starts and the same chance: differences world by world spread less.
    found["gained"] = {
        control: bounds(np.concatenate(per_world["own"]) - np.concatenate(per_world[control]))
        for control in CONTROLS if control != "own"
    }  # fmt: skip
    found["return_by_game"] = {
        control: game_by_game([returns_by_game(seen, blocks, games) for seen in played[control]])
        for control in ("own", "forgetful")
    }
    return found


def read_off(seen: Seen, block: int) -> dict[str, float]:
    """How often the goal that the game lists and each co-player reaches next is read, by a linear probe that was fitted
    in half of the worlds, off what the learner is told in the others, and off what it sees."""
    one = watched(seen, [block], told=False)
    label = insight.hindsight(one.reached_G, one.start)
    there = np.take_along_axis(one.open_G, np.maximum(label, 0)[..., None], -1)[..., 0]
    known = (label >= 0) & one.counts & there & (one.open_G.sum(-1) > 1)
    train = np.broadcast_to(np.arange(label.shape[1]) % 2 == 0, label.shape[:2])
    rows = {"told": seen.said, "seen": seen.features}
    found: dict[str, float] = {}
    for name, values in rows.items():
        x = np.asarray(values)[:, block]
        probes = [
            insight.linear_probe(x[known_o], label_o[known_o], train[known_o])
            for known_o, label_o in zip(np.moveaxis(known, 2, 0), np.moveaxis(label, 2, 0), strict=True)
        ]
        found[name] = float(np.mean(probes))
    return found


def game_by_game(seeds: Sequence[list[list[float]]]) -> list[list[float]]:
    """Bounds of the return in the first game, the second, ... over the worlds of all seeds."""
    return [bounds(np.concatenate(values)) for values in zip(*seeds, strict=True)]


def joined(parts: Sequence[insight.Watched]) -> insight.Watched:
    """Worlds of all seeds side by side."""
    return jax.tree.map(lambda *columns: np.concatenate(columns, axis=1), *parts)


def world_means(seen: Seen, blocks: list[int]) -> np.ndarray:
    """Mean return of the finished games of each world."""
    reward, ended = (np.asarray(x)[:, blocks].reshape(len(x), -1) for x in (seen.reward, seen.ended))
    last = np.where(ended.any(0), len(ended) - np.argmax(ended[::-1], axis=0), 0)
    counted = np.arange(len(reward))[:, None] < last
    return np.where(counted, reward, 0.0).sum(0) / np.maximum(ended.sum(0), 1)


def bounds(values: np.ndarray) -> list[float]:
    """Mean, and where it lies with 95 % confidence."""
    if not len(values):
        return [float("nan")] * 3
    one = mean_interval(values)
    return [one.mean, one.low, one.high]


def verdict(found: Told) -> Told:
    """In words: what is foreseen, what is known of goals, whether it matters, how strangers are foreseen."""
    rows = found["against"]
    name = min(rows, key=lambda n: (not rows[n]["seen_in_training"], -rows[n]["actions"]["skill"]))
    one = rows[name]
    actions, goals = one["actions"], one.get("goals", {})
    foreseen = actions["skill"] >= ENOUGH * actions["skill_of_rule"]
    knows = goals["top1"] > goals["top1_nearest"] if goals.get("stretches") else None
    _, low, high = one["gained"]["shuffled"]
    said = [
        f"It {'foresees' if foreseen else 'hardly foresees'} what {name} does: skill {actions['skill']:.2f}. To know "
        f"only how often it takes each action gives 0, to know its exact rule {actions['skill_of_rule']:.2f}."
    ]
    if knows is not None:
        said.append(
            f"It names the goal of {name} in {goals['top1']:.0%} of steps. Always naming the nearest one would be "
            f"right in {goals['top1_nearest']:.0%}: it knows {'more' if knows else 'no more'} than that."
        )
    compared = "more" if low > 0 else "less" if high < 0 else "neither clearly more nor clearly less"
    said.append(
        f"Among {name} it earns {compared} than when it is shown what it believes in another world, which is wrong in "
        f"this one{'' if low > 0 else ': its mind does not help it here'}."
    )
    strangers = [n for n in rows if n != name and not rows[n]["seen_in_training"]]
    if strangers:  # also where none was met, or the one that is foreseen best would stand for all
        worst = min(strangers, key=lambda n: rows[n]["actions"]["skill"])
        skill = rows[worst]["actions"]["skill"]
        shown = f"{skill:.2f}" if skill > -99 else "below -99"
        said.append(f"Of the co-players that it never met in training, {worst} is foreseen least: skill {shown}.")
    return {"foresees": bool(foreseen), "knows_goals": knows, "matters": bool(low > 0), "sentences": said}
