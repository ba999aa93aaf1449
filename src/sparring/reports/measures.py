"""Which figures a comparison of regimes shows, which of them judge, and their intervals over seeds."""

from dataclasses import dataclass, replace
from math import inf, isnan, log
from typing import Literal

import numpy as np

from sparring.evaluation.regimes import (
    AGAINST_BOTS,
    EQUAL_TIME,
    EXPLOITABILITY,
    EXPLOITED,
    POINTS,
    RATING,
    RETURN,
    WORST,
    Candidate,
    Comparison,
)
from sparring.statistics.intervals import Interval, mean_interval

CONFIDENCE = 0.95
NOTHING = 1e-6
"""Returns that are smaller are what rounding leaves of 0."""
MOSTLY = 0.5
"""Of the differences between players: where more fit no ranking, a rating judges nobody."""


@dataclass(frozen=True)
class Measure:
    name: str
    better: Literal["low", "high", ""]
    """Which end is the good one; empty: neither is, so it is shown and judges nobody."""
    digits: int
    meaning: str
    least: float = -inf
    most: float = inf
    """What the figure can be at all: an interval ends there."""


MEASURES = (
    Measure(EXPLOITABILITY, "low", 3, "what the best answer to it wins, exactly; 0: equilibrium.", least=0.0),
    Measure(POINTS, "high", 2, "share won against all bots of the game.", least=0.0, most=1.0),
    Measure(
        EXPLOITED, "low", 3, "what trained responses won (sparring exploit): a lower bound.",
    ),
    Measure(RATING, "high", 0, "as Elo, random is 0; 100 more win 64 % of the points."),
    Measure(
        WORST, "high", 2, "points against who beats it most; biased low.",
        least=0.0, most=1.0,
    ),
    Measure(RETURN, "", 2, "mean return among its own kind; more need not be better."),
    Measure(AGAINST_BOTS, "high", 2, "mean return over all bots of the game."),
)  # fmt: skip


def measures(comparison: Comparison) -> list[Measure]:
    """Those that some candidate has, in a fixed order; a side's own figures carry its name. Returns among one's own
    kind are left out where they are 0 for all, as in a contest, where one gains what the other loses."""
    names = dict.fromkeys(
        name
        for one in comparison.candidates
        for name, values in one.figures.items()
        if not name.startswith(RETURN) or np.abs(values).max() > NOTHING
    )
    found = []
    for kind in MEASURES:
        for name in names:
            sides = kind.name in (RETURN, POINTS, AGAINST_BOTS) and name.startswith(f"{kind.name} ")
            if name in (kind.name, kind.name + EQUAL_TIME) or sides:
                most = comparison.largest if kind.name == EXPLOITABILITY else None
                found.append(replace(kind, name=name, most=kind.most if most is None else most))
    return found


def judging(comparison: Comparison) -> list[Measure]:
    """Those that judge: a rating does not where players beat each other in circles."""
    return [one for one in measures(comparison) if one.better and (one.name != RATING or not in_circles(comparison))]


def in_circles(comparison: Comparison) -> bool:
    """Whether most of the differences between candidates fit no ranking, and noise alone does not explain it."""
    share, noise = comparison.cyclic_share, comparison.noise
    return share is not None and noise is not None and share > MOSTLY and noise.p_value <= 1 - CONFIDENCE


def least_variance(measure: Measure, comparison: Comparison) -> float:
    """Of one seed's figure by the luck of its games: rates of few games are often equal without being the same."""
    games = comparison.games
    if not games or measure.name not in (RATING, WORST):
        return 0.0
    if measure.name == WORST:
        return 0.25 / games
    # Of n even games the logarithm of the odds has the variance 4 / n; bots, whom all meet too, are not counted.
    players = sum(len(one.figures.get(RATING, ())) for one in comparison.candidates)
    return (400.0 / log(10.0)) ** 2 * 4.0 / (games * max(players - 1, 1))


def interval_of(candidate: Candidate, measure: Measure, comparison: Comparison) -> Interval | None:
    """Mean over seeds with Student's interval, cut where the figure itself ends."""
    values = candidate.figures.get(measure.name)
    if values is None:
        return None
    found = mean_interval(values, CONFIDENCE, least_variance=least_variance(measure, comparison))
    if isnan(found.low):
        return found
    return Interval(found.mean, max(found.low, measure.least), min(found.high, measure.most), found.count)
