"""Two treatments on the same seeds: the difference, whether chance explains it, and what could have been seen."""

from collections.abc import Sequence
from itertools import product
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sparring.statistics.intervals import Interval, mean_interval

EXACT = 12
"""Pairs up to which all signs are tried."""


class Paired(NamedTuple):
    difference: Interval
    """Of the second and the first, the mean over pairs, by Student."""
    p_value: float
    """Two-sided, by exchanging the two within each pair."""
    detectable: float
    """The smallest difference that so many pairs of this spread show in 80 of 100 experiments."""


def paired(first: Sequence[float], second: Sequence[float], *, seed: int = 0, draws: int = 9999) -> Paired:
    """The seed is the unit: one value of each for every seed. The p-value is exact for up to twelve pairs (Fisher, The
    Design of Experiments, 1935); with n pairs it is never below 2 / 2^n, so that five can show nothing at 0.05."""
    if len(first) != len(second) or len(first) < 2:
        raise ValueError(
            f"expected two lists of at least two values, one of each per seed; found {len(first)} and {len(second)}"
        )
    gap_N = np.asarray(second, float) - np.asarray(first, float)
    count = len(gap_N)
    if count <= EXACT:
        sign_DN = np.asarray(list(product((1.0, -1.0), repeat=count)))
    else:
        sign_DN = np.random.default_rng(seed).choice((1.0, -1.0), size=(draws, count))
        sign_DN[0] = 1.0
    sums_D = np.abs(sign_DN @ gap_N)
    p_value = float((sums_D >= sums_D[0] - 1e-12 * max(sums_D[0], 1.0)).mean())
    return Paired(mean_interval(gap_N), p_value, detectable(gap_N))


def detectable(value_N: np.ndarray, *, looks: int = 1) -> float:
    """The smallest mean that so many values of this spread show not to be 0 in 80 of 100 experiments, at 5 % shared
    among so many looks."""
    count = len(value_N)
    reach = float(stdtrit(count - 1, 1 - 0.025 / looks) + stdtrit(count - 1, 0.8))
    return reach * float(value_N.std(ddof=1)) / sqrt(count)
