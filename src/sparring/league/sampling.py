"""Rules that say how likely each of M opponents is. A rule gives weights; one place makes probabilities and draws.

All rules are computed on the host in float64. Members are ordered by birth: rank 1 is the oldest, M the newest.
"""

from collections.abc import Callable
from typing import NamedTuple, get_args

import numpy as np

from sparring.league.config import OpponentsConfig, Sampler
from sparring.ratings.elo import expected

NOTHING = 1e-10
"""Weights that sum to less say nothing: the draw is then uniform (as in AlphaStar's pseudocode)."""


class Field(NamedTuple):
    """What a rule may know of the M members that can be drawn."""

    born_M: np.ndarray
    """Steps at birth; members born together keep their order."""
    rate_M: np.ndarray
    """The learner's rate of winning against each, a draw counting one half; 0.5 where unknown."""
    rating_M: np.ndarray
    own_rating: float
    quality_M: np.ndarray
    """Scores of OpenAI Five's rule."""
    payoff_MM: np.ndarray | None
    """Twice the rate of row against column, less 1: antisymmetric; None where unknown."""

    @property
    def rank_M(self) -> np.ndarray:
        rank_M = np.empty(len(self.born_M), np.int64)
        rank_M[np.argsort(self.born_M, kind="stable")] = np.arange(1, len(self.born_M) + 1)
        return rank_M


Rule = Callable[[Field, OpponentsConfig], np.ndarray]


def latest(field: Field, _: OpponentsConfig) -> np.ndarray:
    return (field.rank_M == len(field.born_M)).astype(np.float64)


def uniform(field: Field, _: OpponentsConfig) -> np.ndarray:
    return np.ones(len(field.born_M))


def delta_uniform(field: Field, config: OpponentsConfig) -> np.ndarray:
    """Leave out the oldest share delta (arXiv:1710.03748)."""
    return (field.rank_M >= config.delta * len(field.born_M)).astype(np.float64)


def window(field: Field, config: OpponentsConfig) -> np.ndarray:
    return (field.rank_M > len(field.born_M) - config.window).astype(np.float64)


def recency_power(field: Field, config: OpponentsConfig) -> np.ndarray:
    seasoned_M = field.rank_M <= len(field.born_M) - config.recency_skip
    return seasoned_M * field.rank_M.astype(np.float64) ** config.recency_power


def geometric(field: Field, config: OpponentsConfig) -> np.ndarray:
    count = len(field.born_M)
    return np.exp2(-(count - field.rank_M) / (config.recency_half_life or count / 4))


def pfsp_hard(field: Field, config: OpponentsConfig) -> np.ndarray:
    """Prioritised fictitious self-play (AlphaStar, Nature 575:350): those who beat the learner."""
    return (1.0 - field.rate_M) ** config.pfsp_power


def pfsp_var(field: Field, _: OpponentsConfig) -> np.ndarray:
    """Those of about its own strength (AlphaStar, Nature 575:350)."""
    return field.rate_M * (1.0 - field.rate_M)


def pfsp_linear(field: Field, _: OpponentsConfig) -> np.ndarray:
    return 1.0 - field.rate_M


def pfsp_capped(field: Field, _: OpponentsConfig) -> np.ndarray:
    return np.minimum(0.5, 1.0 - field.rate_M)


def quality(field: Field, _: OpponentsConfig) -> np.ndarray:
    """Softmax of the scores (OpenAI Five, arXiv:1912.06680)."""
    return np.exp(field.quality_M - field.quality_M.max())


def elo_gaussian(field: Field, config: OpponentsConfig) -> np.ndarray:
    """Those whose rating promises an even game (FTW, arXiv:1807.01281)."""
    expected_M = np.array([expected(field.own_rating, rating) for rating in field.rating_M])
    return np.exp(-((expected_M - 0.5) ** 2) / (2.0 * config.elo_sigma**2))


def nash(field: Field, _: OpponentsConfig) -> np.ndarray:
    """The equilibrium of the pool's own game (PSRO, arXiv:1711.00832). No weight where that game is unknown."""
    from sparring.ratings.nash import nash as equilibrium  # a linear program: loaded only by those who ask for it

    count = len(field.born_M)
    return np.zeros(count) if field.payoff_MM is None else np.asarray(equilibrium(field.payoff_MM), np.float64)


def target_rate(field: Field, config: OpponentsConfig) -> np.ndarray:
    return np.exp(-((field.rate_M - config.rate_target) ** 2) / (2.0 * config.rate_sigma**2))


RULES: dict[str, Rule] = {name: globals()[name] for name in get_args(Sampler)}
"""Each sampler that settings may name is the function of that name here."""


def cleaned(rate_M: np.ndarray) -> tuple[np.ndarray, int]:
    """Rates in [0, 1], one half where one is not finite, and how many were not."""
    bad_M = ~np.isfinite(rate_M)
    bad = int(bad_M.sum())
    return np.minimum(np.maximum(np.where(bad_M, 0.5, rate_M) if bad else rate_M, 0.0), 1.0), bad


def weights(rule: str, field: Field, config: OpponentsConfig) -> np.ndarray:
    """weight_M of a rule, not negative and not normalised."""
    if not len(field.born_M):
        return np.zeros(0)
    return RULES[rule](field._replace(rate_M=cleaned(field.rate_M)[0]), config)


def probabilities(weight_M: np.ndarray, floor_M: np.ndarray | None = None) -> np.ndarray:
    """probability_M: weights that say nothing give all the same, and each member has at least its floor."""
    count = len(weight_M)
    if not count:
        return np.zeros(0)
    # Guard the weights, not the rates: when every rate is 1, it is the weights that are all 0.
    weight_M = np.where(np.isfinite(weight_M), np.maximum(weight_M, 0.0), 0.0)
    total = weight_M.sum()
    probability_M = np.full(count, 1.0 / count) if total < NOTHING else weight_M / total
    if floor_M is not None:
        probability_M = floor_M + max(0.0, 1.0 - floor_M.sum()) * probability_M
    return probability_M / probability_M.sum()


def pick(probability_M: np.ndarray, chance_N: np.ndarray) -> np.ndarray:
    """The member on which each number of [0, 1) falls; one of probability 0 is never drawn."""
    cumulative_M = np.cumsum(probability_M)
    last = np.flatnonzero(probability_M)[-1]  # rounding may leave the sum below the largest number
    return np.minimum(np.searchsorted(cumulative_M, chance_N, side="right"), last)
