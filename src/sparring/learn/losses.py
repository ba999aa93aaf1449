"""The terms of the objective, each a masked mean. Masks are the seats that act (actor) or are present (critic)."""

import jax.numpy as jnp
from jax import Array


def masked_mean(x: Array, mask: Array) -> Array:
    """Mean over True entries; 0 where there are none."""
    return jnp.where(mask, x, 0.0).sum() / jnp.maximum(mask.sum(), 1)


def clipped_surrogate(ratio: Array, advantage: Array, clip: Array | float) -> Array:
    """PPO's pessimistic objective, to be minimised (arXiv:1707.06347, eq. 7)."""
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)


def approximate_kl(log_ratio: Array) -> Array:
    """KL(old, new) from samples of old: unbiased, never negative, low variance (r - 1 - log r)."""
    return jnp.expm1(log_ratio) - log_ratio


def standardise(x: Array, mask: Array) -> Array:
    """Zero mean and unit deviation over the mask; only centred where the deviation is practically 0."""
    mean = masked_mean(x, mask)
    deviation = jnp.sqrt(masked_mean((x - mean) ** 2, mask))
    return (x - mean) / jnp.where(deviation > 1e-6, deviation, 1.0)


def explained_variance(target: Array, value: Array, mask: Array) -> Array:
    """1 - Var(target - value) / Var(target): 1 is a perfect critic, 0 one that knows the mean, below 0 worse."""

    def variance(x: Array) -> Array:
        return masked_mean((x - masked_mean(x, mask)) ** 2, mask)

    spread = variance(target)
    return jnp.where(spread > 1e-12, 1 - variance(target - value) / jnp.maximum(spread, 1e-12), 0.0)
