"""Rewards in units of the running deviation of discounted returns (detail 30 of the 37): one reward size for all games.

As `VecNormalize` does it, but for one thing: there each step is divided by the deviation of that moment, here the
statistics first take in the whole rollout, and then one deviation divides all of it. So a rollout has one scale.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from sparring.learn.losses import FLAT
from sparring.nets.normalise import Normaliser

ROUNDING = 1e-3
"""A deviation below this share of the mean is none: sums of a million equal float32 are off by up to 3e-4 of it."""

FREAK = 1e3
"""A reward of more than so many deviations counts as just that many: one freak in a million steps then shrinks later
rewards by a factor of single digits, where it would have silenced them for good (the square of 3e19 is no float32). A
game that really pays so unevenly is followed all the same, since the bound grows with the deviation."""


class RewardScale(NamedTuple):
    return_WN: Array
    """Discounted rewards so far, of the game that each world is in."""
    statistics: Normaliser
    """Of these returns at all steps, [1]."""


def start(worlds: int, seats: int) -> RewardScale:
    return RewardScale(jnp.zeros((worlds, seats)), Normaliser.make(1))


def scaled(
    scale: RewardScale, reward_TWN: Array, ended_TWN: Array, present_TWN: Array, discount: Array | float
) -> tuple[Array, RewardScale]:
    """The rollout's rewards, divided, and the scale that has seen them. They are not centred: 0 stays 0.

    The return looks back (each reward counts `discount` less at the next step) and restarts where credit ends.
    """
    known = scale.statistics.count > 0
    limit = jnp.where(known, FREAK * deviation(scale.statistics), jnp.inf)
    counted_TWN = jnp.clip(reward_TWN, -limit, limit)

    def step(return_WN: Array, inputs: tuple[Array, Array]) -> tuple[Array, Array]:
        reward_WN, ended_WN = inputs
        return_WN = discount * return_WN + reward_WN
        return jnp.where(ended_WN, 0.0, return_WN), return_WN

    return_WN, return_TWN = lax.scan(step, scale.return_WN, (counted_TWN, ended_TWN), unroll=8)
    statistics = scale.statistics.updated(return_TWN.reshape(-1, 1), 1.0 * present_TWN.reshape(-1))
    return reward_TWN / deviation(statistics), RewardScale(return_WN, statistics)


def deviation(statistics: Normaliser) -> Array:
    """Of the returns; 1 where they are all the same but for rounding, as when no reward has been found yet."""
    spread = jnp.sqrt(statistics.square_F[0] / jnp.maximum(statistics.count, 1.0))
    return jnp.where(spread > jnp.maximum(FLAT, ROUNDING * jnp.abs(statistics.mean_F[0])), spread, 1.0)
