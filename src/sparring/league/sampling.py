"""Rules that say how likely each opponent is. A rule gives weights; one place makes probabilities and draws.

All rules are computed on the host in float64, for all learners at once: arrays are [..., M], a row for each learner
that draws. Members are ordered by birth, the oldest first, as in a book.
"""

from collections.abc import Callable
from typing import NamedTuple, get_args

import numpy as np

from sparring.core import code
from sparring.core.errors import ConfigError
from sparring.league.config import OpponentsConfig, Sampler
from sparring.ratings.elo import expected

NOTHING = 1e-10
"""Weights that sum to less say nothing: the draw is then uniform (as in AlphaStar's pseudocode)."""


class Field(NamedTuple):
    """What a rule may know of the members, of whom some can be drawn."""

    who: np.ndarray
    """Who can be."""
    rate: np.ndarray
    """The learner's rate of winning against each, a draw counting one half; 0.5 where unknown."""
    rating: np.ndarray
    own_rating: np.ndarray
    """[..., 1]."""
    quality: np.ndarray
    """Scores of OpenAI Five's rule."""
    payoff_of: Callable[[list[int]], np.ndarray]
    """Of some members, by their places: twice the rate of row against column, less 1; antisymmetric."""

    @property
    def rank(self) -> np.ndarray:
        """1 for the oldest of those who can be drawn."""
        return np.cumsum(self.who, axis=-1)

    @property
    def members(self) -> np.ndarray:
        """[..., 1]."""
        return self.who.sum(axis=-1, keepdims=True)


Rule = Callable[[Field, OpponentsConfig], np.ndarray]


def latest(field: Field, _: OpponentsConfig) -> np.ndarray:
    return field.rank == field.members


def uniform(field: Field, _: OpponentsConfig) -> np.ndarray:
    return field.who


def delta_uniform(field: Field, config: OpponentsConfig) -> np.ndarray:
    """Leave out the oldest share delta, rounded down, but never the newest (arXiv:1710.03748)."""
    left_out = np.floor(config.delta * field.members + 1e-9)  # 0.29 of 100 is a little less than 29
    return field.rank > np.minimum(left_out, field.members - 1)


def window(field: Field, config: OpponentsConfig) -> np.ndarray:
    return field.rank > field.members - config.window


def recency_power(field: Field, config: OpponentsConfig) -> np.ndarray:
    seasoned = field.rank <= field.members - config.recency_skip
    return seasoned * field.rank.astype(np.float64) ** config.recency_power


def geometric(field: Field, config: OpponentsConfig) -> np.ndarray:
    half_life = config.recency_half_life or np.maximum(field.members, 1) / 4
    return np.exp2(-(field.members - field.rank) / half_life)


def pfsp_hard(field: Field, config: OpponentsConfig) -> np.ndarray:
    """Prioritised fictitious self-play (AlphaStar, Nature 575:350): those who beat the learner."""
    return (1.0 - field.rate) ** config.pfsp_power


def pfsp_var(field: Field, _: OpponentsConfig) -> np.ndarray:
    """Those of about its own strength (AlphaStar, Nature 575:350)."""
    return field.rate * (1.0 - field.rate)


def pfsp_linear(field: Field, _: OpponentsConfig) -> np.ndarray:
    return 1.0 - field.rate


def pfsp_capped(field: Field, _: OpponentsConfig) -> np.ndarray:
    return np.minimum(0.5, 1.0 - field.rate)


def quality(field: Field, _: OpponentsConfig) -> np.ndarray:
    """Softmax of the scores (OpenAI Five, arXiv:1912.06680)."""
    score = np.where(field.who, field.quality, -np.inf)
    best = score.max(axis=-1, keepdims=True, initial=-np.finfo(np.float64).max)
    return np.exp(score - best)


def elo_gaussian(field: Field, config: OpponentsConfig) -> np.ndarray:
    """Those whose rating promises an even game (FTW, arXiv:1807.01281)."""
    return np.exp(-((expected(field.own_rating, field.rating) - 0.5) ** 2) / (2.0 * config.elo_sigma**2))


def nash(field: Field, _: OpponentsConfig) -> np.ndarray:
    """The equilibrium of the pool's own game (PSRO, arXiv:1711.00832)."""
    from sparring.ratings.nash import nash as equilibrium  # a linear program: loaded only by those who ask for it

    weight = np.zeros(field.who.shape)
    for row in np.ndindex(field.who.shape[:-1]):
        places = np.flatnonzero(field.who[row])
        if len(places):
            weight[row][places] = equilibrium(field.payoff_of(places.tolist()))
    return weight


def target_rate(field: Field, config: OpponentsConfig) -> np.ndarray:
    return np.exp(-((field.rate - config.rate_target) ** 2) / (2.0 * config.rate_sigma**2))


RULES: dict[str, Rule] = {name: globals()[name] for name in get_args(Sampler)}
"""Each sampler that settings may name is the function of that name here."""


def weights_by(rule: str, field: Field, config: OpponentsConfig) -> np.ndarray:
    """What a rule gives, ours or one that is code."""
    if rule in RULES:
        return RULES[rule](field, config)
    weight = np.asarray(code.load(rule)(field, config), np.float64)
    if weight.shape != field.who.shape:
        raise ConfigError(
            f"The sampler {rule} must give a weight for each member, an array of the shape of field.who, "
            f"{field.who.shape}; found {weight.shape}."
        )
    return weight


def cleaned(rate: np.ndarray) -> np.ndarray:
    """Rates in [0, 1], one half where one is not finite."""
    return np.clip(np.where(np.isfinite(rate), rate, 0.5), 0.0, 1.0)


def probabilities(weight: np.ndarray, who: np.ndarray, floor: np.ndarray | float = 0.0) -> np.ndarray:
    """Of those who can be drawn: weights that say nothing give all the same, and each has at least its floor. Rows in
    which nobody can be are 0."""
    # Guard the weights, not the rates: when every rate is 1, it is the weights that are all 0.
    weight = np.where(who & np.isfinite(weight), np.maximum(weight, 0.0), 0.0)
    total = weight.sum(axis=-1, keepdims=True)
    weight = np.where(total < NOTHING, who, weight)
    found = weight / np.maximum(weight.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
    if np.any(floor):
        least = floor * who
        found = least + np.maximum(0.0, 1.0 - least.sum(axis=-1, keepdims=True)) * found
        found = found / np.maximum(found.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
    return found


def pick(probability: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """The member on which each number of [0, 1) falls, row by row; one of probability 0 is never drawn."""
    below = (np.cumsum(probability, axis=-1) <= chance[..., None]).sum(axis=-1)
    last = probability.shape[-1] - 1 - np.argmax(probability[..., ::-1] > 0, axis=-1)
    return np.minimum(below, last)  # rounding may leave the sum below the largest number
