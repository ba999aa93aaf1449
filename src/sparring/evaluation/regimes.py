"""What a comparison of regimes found: figures of all candidates, seed by seed, and what regimes cost. NumPy only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sparring.evaluation.scoring import LEARNED, SHADOW
from sparring.ratings.bradley_terry import bradley_terry
from sparring.ratings.cycles import Noise, cyclic_share, noise
from sparring.ratings.payoff import Payoff

EXPLOITABILITY, RATING, WORST, RETURN, AGAINST_BOTS = (
    "exploitability",
    "rating",
    "worst opponent",
    "return",
    "against bots",
)
POINTS = "points against bots"
EQUAL_TIME = " at equal time"
"""Ending of a figure that is read where all regimes had trained for as long, instead of for as many steps."""
EXPLOITED = "exploited"


@dataclass(frozen=True)
class Candidate:
    """What somebody might deploy of a regime: the newest learner (`pool`) or its slow average (`pool.shadow`)."""

    name: str
    regime: str
    figures: Mapping[str, tuple[float, ...]]
    """Measures by name, one value for each seed."""
    worst: tuple[str, ...] = ()
    """For each seed the opponent of its worst case."""


@dataclass(frozen=True)
class Cost:
    """What a regime took, all seeds together; None where it is not known."""

    seconds: float | None = None
    """Wall-clock of its processes, from start to end: loading, compiling, training, evaluations, its report."""
    first_seconds: float | None = None
    """Of the first iteration, which mostly compiles."""
    steps_per_second: float | None = None
    """Of all iterations but the first, evaluations between them included."""
    peak_mib: float | None = None
    """Most memory of the host that its process held at once; that of an accelerator is not in it."""


@dataclass(frozen=True)
class Comparison:
    game: str
    seeds: int
    candidates: tuple[Candidate, ...]
    costs: Mapping[str, Cost] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    """Regimes that did not reach their end, and why."""
    games: int = 0
    """Of each pair in the tournament; 0: there was none."""
    cyclic_share: float | None = None
    """Among the candidates, bots left out."""
    noise: Noise | None = None
    evaluations: int = 0
    """Fewest that a figure of a run is a mean of; 0: no run was evaluated."""
    clock: float | None = None
    """Seconds of training, compiling left out, after which figures at equal time are read; None: there are none."""
    untrained: Mapping[str, float] = field(default_factory=dict)
    """The same figures of the policies before training, the mean over runs and seeds, as far as they are known."""
    remarks: tuple[str, ...] = ()
    largest: float | None = None
    """What no exploitability can exceed in this game; None where that is not known."""


class Standing(NamedTuple):
    """How a candidate did in the tournament, one entry for each seed."""

    rating: tuple[float, ...]
    worst: tuple[float, ...]
    """Least points a game against anybody there."""
    against: tuple[str, ...]
    """Who that was: a bot, or a candidate of whatever seed."""


def entrant_name(candidate: str, seed: int) -> str:
    return f"{candidate}#{seed}"


def standings(payoff: Payoff, seeds: Mapping[str, Sequence[int]], anchor: str) -> dict[str, Standing]:
    """How each candidate did in a tournament; `seeds` names those it has there."""
    rating_M = bradley_terry(payoff, anchor=anchor).rating_M
    candidate_of = {entrant_name(name, seed): name for name, own in seeds.items() for seed in own}

    def standing(name: str) -> Standing:
        rows = [payoff.place(entrant_name(name, seed)) for seed in seeds[name]]
        worst = [payoff.worst(row) for row in rows]
        return Standing(
            tuple(float(rating_M[row]) for row in rows),
            tuple(rate.mean for _, rate in worst),
            tuple(candidate_of.get(opponent, opponent) for opponent, _ in worst),
        )

    return {name: standing(name) for name in seeds}


def cycles_of_play(payoff: Payoff, entrants: Sequence[str], *, seed: int) -> tuple[float | None, Noise | None]:
    """Cyclic share of these players alone, and that of noise: the bots of a game may be made to beat in circles."""
    own = payoff.only(entrants)
    return (cyclic_share(own), noise(own, seed=seed)) if len(entrants) > 2 else (None, None)


def figures_of_line(line: Mapping[str, Any], team: str, sides: Sequence[str], *, alike: bool) -> dict[str, float]:
    """Exploitability and mean returns in a run's line of evaluation: of the team with itself, and against bots.

    Where sides are alike their mean is taken; elsewhere each side has figures of its own.
    """
    found: dict[str, float] = {}
    exact = line.get(EXPLOITABILITY if team == LEARNED else f"{EXPLOITABILITY}/{team}")
    if exact is not None:
        found[EXPLOITABILITY] = float(exact)
    for measure, kind, wanted in ((RETURN, "return", {team}), (POINTS, "points", None), (AGAINST_BOTS, "return", None)):
        means = {}
        for side in sides:
            means[side] = [
                value
                for opponents, value in scores(line, kind, side, team)
                if (opponents <= wanted if wanted else opponents and not opponents & {LEARNED, SHADOW})
            ]
        if alike:
            means = {"": [value for values in means.values() for value in values]}
        for side, values in means.items():
            if values:
                found[f"{measure} {side}".strip()] = float(np.mean(values))
    return found


def scores(line: Mapping[str, Any], kind: str, side: str, team: str) -> Iterable[tuple[set[str], float]]:
    """Who drove the other sides, and the mean return or the points of the team on this side."""
    start = f"{kind}/{side}/{team}"
    for key, value in line.items():
        rest = key.removeprefix(start)
        if value is not None and key.startswith(start) and (not rest or rest.startswith(" vs ")):
            yield set(rest.removeprefix(" vs ").split(", ")) - {""}, float(value)


def second_half(lines: Sequence[Mapping[str, Any]], until: int) -> list[Mapping[str, Any]]:
    """Of a seed's evaluations those after half of the first `until` iterations, up to the last of them; if there are
    none, the newest before. What circles stands somewhere by chance when the run ends: a mean over half of it does not.
    """
    before = [line for line in lines if line["iteration"] < until]
    return [line for line in before if 2 * (line["iteration"] + 1) > until] or before[-1:]


def mean_figures(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of figures that all evaluations have."""
    shared = [name for name in found[0] if all(name in one for one in found)] if found else []
    return {name: float(np.mean([one[name] for one in found])) for name in shared}


def clock(timing: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Seconds of training up to the end of each iteration; the first, which compiles, counts as the others do."""
    seconds = np.array([float(line["seconds"]) for line in timing])
    if len(seconds) > 1:
        seconds[0] = min(seconds[0], float(np.median(seconds[1:])))
    return seconds.cumsum()


def iterations_within(timing: Sequence[Mapping[str, Any]], seconds: float) -> int:
    return int((clock(timing) <= seconds * (1.0 + 1e-9)).sum())


def iteration_cost(timing: Sequence[Mapping[str, Any]]) -> tuple[float | None, float | None]:
    """Seconds of the first iteration, and steps per second of all others."""
    if not timing:
        return None, None
    first, rest = float(timing[0]["seconds"]), timing[1:]
    seconds = sum(float(line["seconds"]) for line in rest)
    steps = sum(float(line["seconds"]) * float(line["steps_per_second"]) for line in rest)
    return first, steps / seconds if seconds else None
