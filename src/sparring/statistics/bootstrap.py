"""The interquartile mean: what a typical run reaches, without the luckiest and the unluckiest quarter."""

from collections.abc import Sequence
from math import nan

import numpy as np

from sparring.core.seeding import Seed
from sparring.statistics.intervals import Interval


def iqm(values: Sequence[float] | np.ndarray) -> float:
    """The mean of the middle half of the values (arXiv:2108.13264).

    Exactly a quarter of the mass is left out at each end, so where the count is not divisible by 4 a value on the
    border counts in part: of five the weights are 0, 3/4, 1, 3/4, 0. Leaving out whole values instead, as rliable does,
    trims a fifth at each end of five values, a quarter of eight and nothing of three: three different statistics.
    """
    values_N = _checked(values)
    return float(_iqm_of_rows(values_N[None])[0]) if len(values_N) else nan


def iqm_interval(
    values: Sequence[float] | np.ndarray, *, seed: int, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """IQM with a percentile bootstrap interval (Efron 1979, doi:10.1214/aos/1176344552).

    With few values it is too narrow: what says 95 % covers the truth in about 76 % of cases with 3 normal values, 90 %
    with 5 and 94 % with 10. Where that matters, use `mean_interval`, which is exact there. One value has no bounds.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level lies between 0 and 1, found {level}: for 95 % write 0.95")
    if resamples < 1:
        raise ValueError(f"a bootstrap needs at least 1 resample, found {resamples}: 2000 is usual")
    values_N = _checked(values)
    count = len(values_N)
    if count < 2:
        return Interval(iqm(values_N), nan, nan, count)
    choice_BN = (Seed.of(seed) / "bootstrap").generator().integers(count, size=(resamples, count))
    low, high = np.quantile(_iqm_of_rows(values_N[choice_BN]), [0.5 - level / 2, 0.5 + level / 2])
    return Interval(iqm(values_N), float(low), float(high), count)


def _iqm_of_rows(values_BN: np.ndarray) -> np.ndarray:
    """The share of each place of the sorted row that lies within the middle half, times the value there."""
    count = values_BN.shape[1]
    place_N = np.arange(count)
    share_N = np.clip(np.minimum(place_N + 1, 0.75 * count) - np.maximum(place_N, 0.25 * count), 0.0, None)
    return np.sort(values_BN, axis=1) @ share_N / (count / 2)


def _checked(values: Sequence[float] | np.ndarray) -> np.ndarray:
    values_N = np.asarray(values, dtype=np.float64)
    if values_N.ndim != 1:
        raise ValueError(f"expected a list of values, found an array of shape {values_N.shape}: flatten it first")
    return values_N
