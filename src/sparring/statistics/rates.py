"""Rates of winning from units that are independent of each other, whatever happens within one.

Where each start is played from both sides with the same chance, the start is the unit and not its two games: between
players that are alike one side wins and then the other, and the rate is surer than of as many independent games; where
a start suits one player from both sides it is less sure. Chess engines count such pairs by points (pentanomially).
"""

from collections.abc import Sequence
from math import nan, sqrt

import numpy as np
from scipy.special import stdtrit

from sparring.statistics.intervals import Interval, Moments, check_confidence, mean_interval

SHARES_5 = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""What somebody may get of the points of a start: of two games by quarters, of one game 0, 1/2 or 1."""
UNKNOWN = 0.25
"""The largest variance that a score between 0 and 1 can have: that of a unit of which nothing is known."""


def moments(starts: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, variance (divided by one less) and count of starts [..., 5] that are sorted by shares of the points.

    Without starts the mean is 0.5; fewer than two have no variance that is known: it counts as 0."""
    starts = np.asarray(starts, dtype=np.float64)
    count = starts.sum(-1)
    mean = np.where(count > 0, starts @ SHARES_5, 0.5) / np.maximum(count, 1)
    square = (starts * (SHARES_5 - mean[..., None]) ** 2).sum(-1)
    return mean, square / np.maximum(count - 1, 1), count


def spread(mean: np.ndarray, variance: np.ndarray, count: np.ndarray, usual: np.ndarray | float = 1.0) -> np.ndarray:
    """The variance of a unit as a share of the most it can be with this mean, m (1 - m): 1 for single games without
    draws, 1/2 for two that are independent, near 0 where sides decide.

    Few units that agree by chance, or that were all won, would seem to have none. So one more counts, of which nothing
    is known but what is `usual`. With it the intervals below hold the truth often enough from 8 units on
    (benchmarks/coverage.py).
    """
    return np.minimum((count * variance + usual * UNKNOWN) / (count * mean * (1.0 - mean) + UNKNOWN), 1.0)


def rate_interval(mean: float, variance: float, count: int, confidence: float = 0.95) -> Interval:
    """The interval of a rate from mean and variance of the scores of `count` independent units, between 0 and 1.

    Wilson's (1927, doi:10.1080/01621459.1927.10502953) with the number of games that would be as sure, and with
    Student's quantile, since the variance is found from the same units. Fewer than two units say nothing: [0, 1].
    """
    check_confidence(confidence)
    if not 0.0 <= mean <= 1.0 and count:
        raise ValueError(f"a rate lies between 0 and 1, found {mean} of {count}: check the tally")
    if count < 2:
        return Interval(mean if count else nan, 0.0, 1.0, count)
    games = count / float(spread(*map(np.asarray, (mean, variance, float(count)))))
    square = float(stdtrit(count - 1, 0.5 + confidence / 2.0)) ** 2
    centre = (games * mean + square / 2.0) / (games + square)
    half = sqrt(square * (games * mean * (1.0 - mean) + square / 4.0)) / (games + square)
    # Rounding would leave 1 - 1e-16 where everything was won, and 1e-16 where nothing was.
    low, high = (0.0 if mean == 0.0 else centre - half), (1.0 if mean == 1.0 else centre + half)
    return Interval(mean, max(0.0, low), min(1.0, high), count)


def of_starts(starts: np.ndarray | Sequence[int], confidence: float = 0.95) -> Interval:
    """The same from starts [5] that are sorted by shares of the points."""
    mean, variance, count = moments(starts)
    return rate_interval(float(mean), float(variance), int(count), confidence)


def over_seeds(scores: Sequence[Moments]) -> Interval:
    """The mean rate over seeds that were trained apart, from the scores of each one's games.

    Student's over seeds, cut at 0 and 1, and never narrower than what their games together leave open: seeds that agree
    by chance would seem to be sure. One seed speaks for itself alone, by its games.
    """
    rates = [rate_interval(*own) for own in scores]
    if len(rates) == 1:
        return rates[0]
    found = mean_interval([rate.mean for rate in rates])
    below, above = (sqrt(sum(x**2 for x in own)) / len(rates) for own in zip(*map(_reach, rates), strict=True))
    low, high = min(found.low, found.mean - below), max(found.high, found.mean + above)
    return Interval(found.mean, max(0.0, low), min(1.0, high), len(rates))


def _reach(rate: Interval) -> tuple[float, float]:
    return rate.mean - rate.low, rate.high - rate.mean
