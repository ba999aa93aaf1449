"""The interquartile mean: what a typical run reaches, without the luckiest and the unluckiest quarter."""

from collections.abc import Sequence
from math import nan

import numpy as np

from sparring.statistics.intervals import Interval, mean_interval

WIDER = 1.1
"""The standard error of a mean without its outer quarters over that of the mean, for normal values: sqrt(1.2)."""


def iqm(values: Sequence[float] | np.ndarray) -> float:
    """The mean of the middle half of the values (arXiv:2108.13264).

    Exactly a quarter of the mass is left out at each end, so where the count is not divisible by 4 a value on the
    border counts in part: of five the weights are 0, 3/4, 1, 3/4, 0. Leaving out whole values instead, as rliable does,
    trims a fifth at each end of five values, a quarter of eight and nothing of three: three different statistics.
    """
    values_N = _checked(values)
    count = len(values_N)
    if not count:
        return nan
    place_N = np.arange(count)
    share_N = np.clip(np.minimum(place_N + 1, 0.75 * count) - np.maximum(place_N, 0.25 * count), 0.0, None)
    return float(np.sort(values_N) @ share_N / (count / 2))


def iqm_interval(values: Sequence[float] | np.ndarray, *, level: float = 0.95) -> Interval:
    """IQM with Student's interval, wider by what the IQM of normal values varies more than their mean.

    A percentile bootstrap, which is usual here, holds the truth in 76 % of cases with 3 normal values and 90 % with 5,
    where it says 95 %; this one in 95 to 97 % (benchmarks/coverage.py). One value has no bounds.
    """
    values_N = _checked(values)
    plain = mean_interval(values_N, level)
    half = WIDER * (plain.high - plain.mean)
    middle = iqm(values_N)
    return Interval(middle, middle - half, middle + half, plain.count)


def _checked(values: Sequence[float] | np.ndarray) -> np.ndarray:
    values_N = np.asarray(values, dtype=np.float64)
    if values_N.ndim != 1:
        raise ValueError(f"expected a list of values, found an array of shape {values_N.shape}: flatten it first")
    return values_N
