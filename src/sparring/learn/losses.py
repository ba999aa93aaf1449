"""The terms of the objective, each a masked mean. Masks are the seats that act (actor) or are present (critic)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

FLAT = 1e-6
"""A deviation below this is rounding, not a signal: dividing by it would blow noise up to size 1."""


def masked_mean(x: Array, mask: Array) -> Array:
    """Mean over True entries; 0 where there are none."""
    return jnp.where(mask, x, 0.0).sum() / jnp.maximum(mask.sum(), 1)


def nearest_mean(kl_HN: Array, mask_N: Array, temperature: Array) -> Array:
    """The mean KL of several policies, each weighed by softmax(-KL / temperature): those that are near count most. No
    gradient flows through the weights, or a policy could be made to count less by moving away from it."""
    kl_H = jnp.where(mask_N[..., None, :], kl_HN, 0.0).sum((*range(kl_HN.ndim - 2), -1)) / jnp.maximum(mask_N.sum(), 1)
    return (lax.stop_gradient(jax.nn.softmax(-kl_H / temperature)) * kl_H).sum()


def or_none(clip: Array) -> Array:
    """A clip where 0 means none, for learners that share a program with one who clips."""
    return jnp.where(clip > 0, clip, jnp.inf)


def clipped_surrogate(ratio: Array, advantage: Array, clip: Array | float) -> Array:
    """PPO2's pessimistic objective, to be minimised (arXiv:1707.06347, eq. 7).

    Once the ratio has left [1 - clip, 1 + clip] to the side that pays, nothing more can be gained and the gradient is
    0. The minimum keeps the gradient where it has left to the other side.
    """
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)


def spo_surrogate(ratio: Array, advantage: Array, clip: Array | float) -> Array:
    """Simple policy optimisation, to be minimised (arXiv:2401.16025, eq. 12).

    A parabola whose best ratio is 1 + clip where the advantage is positive and 1 - clip where it is negative: unlike
    the clip, it pulls a ratio back that has gone further.
    """
    return -(ratio * advantage - jnp.abs(advantage) / (2 * clip) * (ratio - 1) ** 2)


def approximate_kl(log_ratio: Array) -> Array:
    """KL(old, new) from samples of old: unbiased, never negative, low variance (r - 1 - log r).

    -log r alone is unbiased too, but often negative. Of samples of old, r is 1 on average: r - 1 adds nothing to the
    mean, and takes out most of the variance, since it moves against -log r.
    """
    return jnp.expm1(log_ratio) - log_ratio


def value_error(value: Array, target: Array, huber_delta: Array | float | None = None) -> Array:
    """Squared error; with a delta, Huber's: linear beyond it and the same square within. It is twice Huber's own, so
    that `value_weight` means the same with either."""
    error = value - target
    if huber_delta is None:
        return error**2
    size = jnp.abs(error)
    return jnp.where(size <= huber_delta, error**2, 2 * huber_delta * size - huber_delta**2)


def clipped_value_error(
    value: Array, old: Array, target: Array, clip: Array | float, huber_delta: Array | float | None = None
) -> Array:
    """The larger error of the value and of the value held within `clip` of the old one.

    Pessimistic as the policy's clip is: where the held value is worse the gradient is 0.
    """
    held = old + jnp.clip(value - old, -clip, clip)
    return jnp.maximum(value_error(value, target, huber_delta), value_error(held, target, huber_delta))


class Scaled(NamedTuple):
    x: Array
    mean: Array
    std: Array
    flat: Array
    """1 where the deviation was practically 0, so that x was only centred."""


def standardise(x: Array, mask: Array) -> Scaled:
    """Zero mean and unit deviation over the mask; only centred where the deviation is practically 0.

    Over a batch that is sharded over devices these means are those of the whole batch: the compiler adds the sums up.
    """
    mean = masked_mean(x, mask)
    deviation = jnp.sqrt(masked_mean((x - mean) ** 2, mask))
    flat = deviation <= FLAT
    return Scaled((x - mean) / jnp.where(flat, 1.0, deviation), mean, deviation, 1.0 * flat)


def explained_variance(target: Array, value: Array, mask: Array) -> Array:
    """1 - Var(target - value) / Var(target): 1 is a perfect critic, 0 one that knows the mean, below 0 worse."""

    def variance(x: Array) -> Array:
        return masked_mean((x - masked_mean(x, mask)) ** 2, mask)

    spread = variance(target)
    return jnp.where(spread > 1e-12, 1 - variance(target - value) / jnp.maximum(spread, 1e-12), 0.0)
