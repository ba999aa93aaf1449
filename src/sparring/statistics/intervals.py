"""Intervals for a mean, and the exact one for games won."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, nan, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float
    count: int
    """Values or games behind it."""


class Moments(NamedTuple):
    """What independent values of one kind showed."""

    mean: float
    variance: float
    """Divided by one less than their number; 0 where there is only one, which says nothing."""
    count: int  # type: ignore[assignment]

    @classmethod
    def of(cls, values: Sequence[float] | np.ndarray) -> Moments:
        values_N = np.asarray(values, dtype=np.float64)
        count = len(values_N)
        return cls(float(values_N.mean()), float(values_N.var(ddof=1)) if count > 1 else 0.0, count)

    def and_other(self, other: Moments) -> Moments:
        """Means of two, one of each kind, such as a game from either side; as many as there are of the rarer kind."""
        count = min(self.count, other.count)
        return Moments((self.mean + other.mean) / 2, (self.variance + other.variance) / 4, count)


def mean_interval(
    values: Sequence[float] | np.ndarray, confidence: float = 0.95, *, least_variance: float = 0.0
) -> Interval:
    """Student's t interval of the mean of independent values, one per seed (Student 1908, doi:10.2307/2331554).

    One value says nothing about the spread: its bounds are nan, which a figure leaves out and a table shows as unknown.
    `least_variance`: what measuring one value spreads by itself; values that agree by chance are not surer than that.
    """
    check_confidence(confidence)
    values_N = np.asarray(values, dtype=np.float64)
    if values_N.ndim != 1:
        raise ValueError(f"expected a list of values, found an array of shape {values_N.shape}: flatten it first")
    count = len(values_N)
    if count == 0:
        return Interval(nan, nan, nan, 0)
    variance = max(float(values_N.var(ddof=1)), least_variance) if count > 1 else nan
    return student(float(values_N.mean()), variance, count, confidence)


def mean_of(intervals: Sequence[Interval]) -> Interval:
    """The mean of independent figures, with an interval from theirs."""
    count = len(intervals)
    mean = sum(one.mean for one in intervals) / count
    half = hypot(*((one.high - one.low) / 2 for one in intervals)) / count
    return Interval(mean, mean - half, mean + half, sum(one.count for one in intervals))


def student(mean: float, variance: float, count: int, confidence: float = 0.95) -> Interval:
    """The same interval from the mean and the variance of the values, which is divided by count - 1."""
    if count < 2:
        return Interval(mean, nan, nan, count)
    half = float(stdtrit(count - 1, 0.5 + confidence / 2.0)) * sqrt(variance / count)
    return Interval(mean, mean - half, mean + half, count)


def clopper_pearson(wins: float, games: int, confidence: float = 0.95) -> Interval:
    """The exact interval of a win rate (Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404).

    It covers the truth at least as often as it says, whatever the rate and however few the games, if their number was
    not chosen by looking at them and they are independent. `wins` counts a draw as one half, which keeps the promise:
    draws only lower the variance. Without games the rate is unknown and the interval is everything, [0, 1].
    """
    check_confidence(confidence)
    check_tally(wins, games)
    if games == 0:
        return Interval(nan, 0.0, 1.0, 0)
    tail = 0.5 - confidence / 2.0
    low = 0.0 if wins == 0 else float(betaincinv(wins, games - wins + 1, tail))
    high = 1.0 if wins == games else float(betaincinv(wins + 1, games - wins, 1.0 - tail))
    return Interval(wins / games, low, high, games)


def check_tally(wins: float, games: int) -> None:
    if not 0 <= wins <= games:
        raise ValueError(f"wins lie between 0 and the number of games, found {wins} of {games}: check the tally")


def check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence lies between 0 and 1, found {confidence}: for 95 % write 0.95")


def wilson(hits: int, count: int, confidence: float = 0.95) -> Interval:
    """The score interval of a rate (Wilson 1927, doi:10.2307/2276774): short, and sensible at 0 and at 1. It covers
    as often as it says on average over rates, not at every one as `clopper_pearson` does."""
    check_confidence(confidence)
    check_tally(hits, count)
    if count == 0:
        return Interval(nan, 0.0, 1.0, 0)
    z, rate = float(ndtri(0.5 + confidence / 2.0)), hits / count
    middle = (rate + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return Interval(rate, max(0.0, middle - half), min(1.0, middle + half), count)
