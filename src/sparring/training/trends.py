"""Notices of more than one iteration: what a quarter of a run shows, and whether its last evaluation shows a gain.

They hold back where the game itself may be the reason, as where nobody can do better than play at random.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import hypot
from typing import Any

import numpy as np

from sparring.core.spec import GameSpec
from sparring.evaluation.advice import may_circle, settling
from sparring.evaluation.deploy import measure
from sparring.evaluation.findings import FAR, Findings
from sparring.evaluation.scoring import LEARNED, SHADOW, UNTRAINED, SideScore
from sparring.evaluation.standing import is_contest
from sparring.evaluation.verdict import fall_sentence
from sparring.games import answers
from sparring.play.scripted import RANDOM
from sparring.setup.build import Built
from sparring.setup.line_up import side_label
from sparring.training.notices import EVERYBODY, noticed

Line = Mapping[str, Any]
QUARTERS, LEAST = 4, 8
"""A run is looked at four times, if so many iterations lie between."""
COLLAPSED = 0.01
"""Share of its first entropy below which a policy no longer explores."""
MISLED, BLIND, LONG = -0.1, 0.05, 10
"""Explained variance below which a critic does harm, and below which it is of no use, which is told where nothing was
gained; and steps of a game from which on it should be of some: what follows from a card, nobody can foresee."""
SMALL = 0.15
"""Of the way to a bot: who has surely gone no more has gained nothing to speak of."""
TEXTS = {
    "entropy": "the policy hardly explores any more: its entropy fell from {start:.2g} to {now:.2g} nats before "
    "half of the run. If it does not play as well as it should, raise --entropy or lower --learning-rate.",
    "blind_critic": "the critic explains {now:.0%} of how returns vary, so advantages are mostly noise. Try "
    "--value-norm popart, --critic-epochs 4, a larger --critic-rate, or --memory gru where the past matters.",
    "by_time": "every game of {count} iterations ended by time, after {longest} steps. If games should end sooner, pay "
    "for what leads there (--shaping){easier} or allow more steps (--options).",
    "no_gain": "{side} is not clearly better than {than}: {own:z.2f} beside {base:z.2f}, where the bot {bot} gets "
    "{best:z.2f}. Train longer, with larger steps (--learning-rate), or pay for what leads there (--shaping).",
    "exploitable": "exploitability is {own:z.3f}, no lower than that of random play ({base:z.3f}). "
    "Train with what settles (--self-play magnet), or longer.",
}


def trend_notices(
    built: Built, iteration: int, lines: Sequence[Line], earlier: Callable[[], Sequence[Line]]
) -> list[dict[str, Any]]:
    """Notices with the last iteration of each quarter; `lines` are its own, `earlier()` reads those before."""
    stretch = quarter(iteration, built.iterations)
    if len(stretch) < LEAST:
        return []
    told = [line for line in (*earlier(), *lines) if line["kind"] == "train"]
    found = []
    for seed in map(int, built.seeds_R):
        own = [line for line in told if line["seed"] == seed]
        last = [line for line in own if line["iteration"] in stretch]
        remarked = [(EVERYBODY, *one) for one in time_remarks(built.game.spec, last)]
        for name in built.lineup.names:
            early = 2 * stretch.start < built.iterations
            remarked += [(name, *one) for one in learner_remarks(built.game.spec, name, own[0], last, early=early)]
        found += [noticed(iteration, seed, *one) for one in remarked]
    return found


def unasked(kind: str, built: Built, done: int) -> str:
    """Why a notice of a quarter could not have come in the first `done` iterations: that none came is no answer."""
    spec, iterations = built.game.spec, built.iterations
    never = {
        "entropy": "the entropy of continuous actions has no zero to fall to" * bool(spec.action.dimensions),
        "blind_critic": f"games of at most {spec.longest} steps leave a critic little to tell" * (spec.longest < LONG),
        "by_time": f"all games of it last {spec.longest} steps" * (spec.shortest >= spec.longest),
    }
    if kind not in never:
        return ""
    late = kind == "blind_critic"
    ended = [own for i in range(done) if len(own := quarter(i, iterations)) >= LEAST]
    enough = any(2 * own.start >= iterations for own in ended) if late else ended
    return never[kind] or (
        "" if enough else f"no quarter{late * ' of the second half'} with {LEAST} iterations is done"
    )


def quarter(iteration: int, iterations: int) -> range:
    """The iterations of the quarter of a run that ends with this one; empty where none does."""
    done = iteration + 1
    ends = QUARTERS * done // iterations > QUARTERS * iteration // iterations
    return range(done - iterations // QUARTERS, done) if ends else range(0)


def time_remarks(spec: GameSpec, last: Sequence[Line]) -> Iterator[tuple[str, str]]:
    """Games that can end sooner, and never do."""
    lengths = [line["length"] for line in last if line["length"] is not None]
    if spec.shortest < spec.longest and 2 * len(lengths) >= len(last) and min(lengths) >= spec.longest:
        easier = ", begin with easier opponents (--curriculum)" if spec.score == "outcome" else ""
        yield "by_time", TEXTS["by_time"].format(count=len(last), longest=spec.longest, easier=easier)


def learner_remarks(
    spec: GameSpec, name: str, first: Line, last: Sequence[Line], *, early: bool, least: float = MISLED
) -> Iterator[tuple[str, str]]:
    """A policy that settled before half of the run, and a critic that explains less than the least after it. Entropy
    of continuous actions has no zero to fall to."""

    def usual(key: str) -> float:  # the median, since a policy may have collapsed early in this quarter
        return float(np.median([np.nan if (x := line[f"{name}/{key}"]) is None else x for line in last]))

    start = first[f"{name}/entropy"] if first["iteration"] == 0 else None
    if early and not spec.action.dimensions and start and (now := usual("entropy")) < COLLAPSED * start:
        yield "entropy", TEXTS["entropy"].format(start=start, now=now)
    if not early and spec.longest >= LONG and (now := usual("explained_variance")) < least:
        yield "blind_critic", TEXTS["blind_critic"].format(now=max(now, 0.0))


def gain_notices(
    built: Built,
    iteration: int,
    scores: Sequence[SideScore],
    exact: Mapping[str, Sequence[float]],
    lines: Sequence[Line],
) -> list[dict[str, Any]]:
    """Of the last evaluation: what shows no gain over random play or, where an evaluation came before training, over
    the start; and then critics that explain nothing. `lines` are all of the run."""
    begun = [line for line in lines if line["kind"] == "eval" and line["iteration"] == UNTRAINED]
    found = list(exact_remarks(built, exact, scores)) if LEARNED in exact else list(score_remarks(built, scores, begun))
    told = [noticed(iteration, built.config.seed, EVERYBODY, *one) for one in found]
    stretch = quarter(iteration, built.iterations)
    last = [line for line in lines if line["kind"] == "train" and line["iteration"] in stretch]
    for name in built.lineup.names if found and len(stretch) >= LEAST and last else ():
        blind = learner_remarks(built.game.spec, name, last[0], last, early=False, least=BLIND)
        told += [noticed(iteration, built.config.seed, name, *one) for one in blind]
    return told


def fall_notices(iteration: int, seed: int, found: Findings) -> list[dict[str, Any]]:
    """Of an evaluation along the way: what an earlier policy could do better, where that is known for sure."""
    said = fall_sentence(found)
    if not said or found.opposed.magnet:  # who is held by one comes nearer in circles, at first wide ones
        return []
    circling = " It may be circling." * (found.own is None)  # where it is known exactly, the sentence says so itself
    advice = f"{circling} {settling(found.opposed)[0]}" if is_contest(found.facts) and may_circle(found) else ""
    return [noticed(iteration, seed, EVERYBODY, "fallen", f"{said[0].lower()}{said[1:]}{advice}")]


def exact_remarks(
    built: Built, exact: Mapping[str, Sequence[float]], scores: Sequence[SideScore] = ()
) -> Iterator[tuple[str, str]]:
    """Where random play is an equilibrium, as in rock paper scissors, no policy can be better. Where both are about as
    exploitable, as with a single fault on an open board, who surely beats random play has learned something."""
    rate, own = answers.exploitability_of(built.game), float(np.mean(exact[LEARNED]))
    base = rate(built.game, lambda _, __, legal_RA: legal_RA / legal_RA.sum(-1, keepdims=True)) if rate else 0.0
    if own >= base > 0.01 and (own > (1.0 + FAR) * base or not above_random(scores)):
        yield "exploitable", TEXTS["exploitable"].format(own=own, base=base)


def above_random(scores: Sequence[SideScore]) -> bool:
    """Whether the learner surely gets more against random play than random play does, on every side that it has."""
    own = {(score.side, score.team): score for score in scores if {*score.opponents.split(", ")} == {RANDOM}}
    pairs = [(score, own.get((side, RANDOM))) for (side, team), score in own.items() if team == LEARNED]
    return bool(pairs) and all(base and lead(score, measure(base).mean, base)[0] > 0 for score, base in pairs)


def score_remarks(built: Built, scores: Sequence[SideScore], begun: Sequence[Line]) -> Iterator[tuple[str, str]]:
    """Sides that do not surely better than random play in their place, or than they did at the start against any
    opponent, though a bot surely does."""
    spec, sides = built.game.spec, built.plan.seating.seats_of_side
    for side, seats in enumerate(sides):
        label, own = side_label(spec, seats), [score for score in scores if score.side == side]
        learned = [score for score in own if score.team == LEARNED and LEARNED not in score.opponents.split(", ")]
        weak = [score for score in learned if {*score.opponents.split(", ")} <= {RANDOM, ""}]
        for score in weak:
            base = next((s for s in own if (s.team, s.opponents) == (RANDOM, score.opponents)), None)
            if base is not None:
                yield from stuck(label, "random play", own, [(score, measure(base).mean, base)])
        if begun and learned:
            kind = "points" if spec.score == "outcome" else "return"
            key = f"{kind}/{label}/{LEARNED}"
            then = [
                (score, float(np.mean([line[full] for line in begun])), score)
                for score in learned
                if (full := f"{key} vs {score.opponents}" if score.opponents else key) in begun[0]
            ]
            yield from stuck(label, "before training", own, then)


def stuck(
    label: str, than: str, own: Sequence[SideScore], places: Sequence[tuple[SideScore, float, SideScore]]
) -> Iterator[tuple[str, str]]:
    """One remark where in no place the learner is surely above what it is compared with, and in one it has surely gone
    no more than a small part of the way to a bot."""
    if any(lead(score, base, other)[0] > 0 for score, base, other in places):
        return
    for score, base, other in places:
        bots = [s for s in own if s.opponents == score.opponents and s.team not in (LEARNED, SHADOW, RANDOM)]
        best = max((bot for bot in bots if lead(bot, base, other)[0] > 0), key=lambda b: measure(b).mean, default=None)
        if best and lead(score, base, other)[1] < SMALL * (measure(best).mean - base):
            figures = {"own": measure(score).mean, "base": base, "best": measure(best).mean}
            yield "no_gain", TEXTS["no_gain"].format(side=label, than=than, bot=best.team, **figures)
            return


def lead(score: SideScore, base: float, other: SideScore) -> tuple[float, float]:
    """By how much a score is above a figure, surely at least and at most; that is as uncertain as the `other` score."""
    mine, theirs = measure(score), measure(other)
    low, high = (
        hypot(mine.mean - mine.low, theirs.high - theirs.mean),
        hypot(mine.high - mine.mean, theirs.mean - theirs.low),
    )
    return mine.mean - base - low, mine.mean - base + high
