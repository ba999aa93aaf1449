"""Be bold, then react: the critic's step size goes from 1 to 1/2 to 3/10 of itself when values explode or oscillate.

Once an iteration, after the epochs, the rule looks at two things: the iteration's value loss, which explodes when it is
many times what it used to be, and the mean error of the values, which oscillates when it is large and changes its sign
again and again. All numbers are in one unit: the normalised one, where values are normalised.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.learn.losses import FLAT

FACTORS = (1.0, 0.5, 0.3)
"""Of the critic's step size, by level: 1e-3 becomes 5e-4, then 3e-4."""
EXPLOSION = 10.0
"""A loss this many times its running mean explodes. Losses of one critic vary by a factor of 2 or 3."""
MEMORY = 0.1
"""Share of the newest loss in the running mean, which so remembers ten or so and follows a loss that slowly rises."""
WARM_UP = 10
"""Losses before the mean is trusted; until then it is the plain one."""
BIAS = 0.25
"""A critic whose mean is off by this many deviations of its targets is off by more than chance explains."""
SWINGS = 4
"""So many such biases in a row, each of the other sign, are an oscillation; fewer may be one overshoot and repair."""
REST = 20
"""Iterations after a change in which there is no other: twice the memory of the mean, so it knows the new level."""


class Calm(NamedTuple):
    level: Array
    """How often the rule has acted; it never goes back."""
    mean_loss: Array
    losses: Array
    """How many are in the mean."""
    sign: Array
    """Of the last bias, 0 where it was small."""
    swings: Array
    """Length of the present row of large biases of alternating sign."""
    rest: Array
    """Iterations left in which it does not act."""


def start() -> Calm:
    whole, real = jnp.zeros((), jnp.int32), jnp.zeros(())
    return Calm(level=whole, mean_loss=real, losses=whole, sign=whole, swings=whole, rest=whole)


def factor(calm: Calm) -> Array:
    """By which the critic's step size is multiplied."""
    return jnp.asarray(FACTORS)[calm.level]


def observed(calm: Calm, value_loss: Array, value_mean: Array, target_mean: Array, target_std: Array) -> Calm:
    """After one more iteration: its value loss (half the mean squared error), and means of old values and targets."""
    spread = jnp.maximum(target_std, FLAT)
    calm, exploded = with_loss(calm, value_loss, spread)
    exploded = exploded & jnp.isfinite(target_mean + target_std)  # else the rollout is at fault, not the critic
    calm = with_bias(calm, (target_mean - value_mean) / spread)
    acts = (exploded | (calm.swings >= SWINGS)) & (calm.rest == 0) & (calm.level < len(FACTORS) - 1)
    return calm._replace(level=calm.level + acts, rest=jnp.where(acts, REST, jnp.maximum(calm.rest - 1, 0)))


def with_loss(calm: Calm, loss: Array, spread: Array) -> tuple[Calm, Array]:
    """The running mean with one more loss, and whether that loss exploded.

    It exploded if it is no number, or if it is above the limit and also above the variance of the targets. The second
    condition is there because a reward found for the first time lifts a loss of nearly 0 by any factor: that is no
    explosion. A critic that guesses the mean target has a loss of half the variance, and this one is twice as bad.
    The mean counts a loss as the limit at most: one explosion then does not hide the next, and yet the mean soon
    reaches a new level that lasts.
    """
    limit = jnp.where((calm.losses >= WARM_UP) & (calm.mean_loss > 0), EXPLOSION * calm.mean_loss, jnp.inf)
    finite = jnp.isfinite(loss)
    exploded = ~finite | ((loss > limit) & (loss > spread**2))
    share = jnp.where(finite, jnp.maximum(MEMORY, 1 / (calm.losses + 1)), 0.0)
    step = jnp.where(finite, jnp.minimum(loss, limit) - calm.mean_loss, 0.0)
    return calm._replace(mean_loss=calm.mean_loss + share * step, losses=calm.losses + finite), exploded


def with_bias(calm: Calm, bias: Array) -> Calm:
    """The row of swings with one more bias. A small one, or one that is no number, ends it."""
    large = jnp.isfinite(bias) & (jnp.abs(bias) > BIAS)
    sign = jnp.where(large, jnp.sign(bias), 0).astype(jnp.int32)
    swung = large & (sign == -calm.sign)
    return calm._replace(sign=sign, swings=jnp.where(swung, calm.swings + 1, large.astype(jnp.int32)))
