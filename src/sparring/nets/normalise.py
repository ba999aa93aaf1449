"""What a network carries and no gradient moves: statistics of observations and value targets, and arrays that are set.

They live inside the network, so whoever carries a policy carries its scale.
"""

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.nets.blocks import filled


class Normaliser(eqx.Module):
    """Centres and scales the last axis; a trainer updates it between rollouts, never a gradient."""

    mean_F: Array
    square_F: Array
    """Sum of squared deviations from the mean."""
    count: Array

    @classmethod
    def make(cls, size: int) -> "Normaliser":
        return cls(filled(0.0, size), filled(0.0, size), filled(0.0))

    def __call__(self, x: Array) -> Array:
        """Unchanged before the first update; clipped to 10 deviations after it (detail 29 of the 37)."""
        variance_F = jnp.where(self.count > 0, self.square_F / jnp.where(self.count > 0, self.count, 1.0), 1.0)
        scaled = (x - self.mean_F) / jnp.sqrt(variance_F + 1e-8)
        return jnp.where(self.count > 0, jnp.clip(scaled, -10.0, 10.0), x)

    def updated(self, x_RF: Array, weight_R: Array) -> "Normaliser":
        """With R more rows, each counting by its weight (Chan, Golub and LeVeque 1979)."""
        added = weight_R.sum()
        safe = jnp.where(added > 0, added, 1.0)
        mean_F = (weight_R[:, None] * x_RF).sum(0) / safe
        square_F = (weight_R[:, None] * (x_RF - mean_F) ** 2).sum(0)
        total = jnp.where(added > 0, self.count + added, 1.0)
        delta_F = jnp.where(added > 0, mean_F - self.mean_F, 0.0)
        return Normaliser(
            self.mean_F + delta_F * added / total,
            self.square_F + square_F + delta_F**2 * self.count * added / total,
            self.count + added,
        )


class Held(eqx.Module):
    """An array that the trainer sets and no gradient moves."""

    value: Array


VARIANCE_FLOOR = 1e-4
"""Smallest variance of value targets: a hundredth of a reward of 1. The reference's 1e-2 would leave targets that
differ by less than 0.1 unscaled; without a floor, targets that are all alike would turn rounding into large errors."""
RELATIVE_FLOOR = 1e-6
"""And as a share of the squared mean: below it, the difference of two float32 averages is mostly rounding."""


class ValueScale(eqx.Module):
    """Running mean and deviation of value targets, as exponential averages that start at 0, debiased by weight."""

    mean_sum: Array
    square_sum: Array
    weight: Array

    @classmethod
    def make(cls) -> "ValueScale":
        return cls(filled(0.0), filled(0.0), filled(0.0))

    @property
    def mean(self) -> Array:
        """0 before the first update."""
        return self.mean_sum / jnp.where(self.weight > 0, self.weight, 1.0)

    @property
    def std(self) -> Array:
        """1 before the first update."""
        square = self.square_sum / jnp.where(self.weight > 0, self.weight, 1.0)
        floor = jnp.maximum(VARIANCE_FLOOR, RELATIVE_FLOOR * self.mean**2)
        return jnp.where(self.weight > 0, jnp.sqrt(jnp.maximum(square - self.mean**2, floor)), 1.0)

    def normalised(self, value: Array) -> Array:
        return (value - self.mean) / self.std

    def real(self, value: Array) -> Array:
        """The inverse of `normalised`: back in units of reward."""
        return value * self.std + self.mean

    def updated(self, target: Array, mask: Array, rate: Array | float) -> "ValueScale":
        """The targets where the mask holds enter with share `rate`; an empty mask changes nothing."""
        count = mask.sum()
        kept = jnp.where(mask, target, 0.0)
        share = jnp.where(count > 0, rate, 0.0)

        def moved(average: Array, newest: Array | float) -> Array:
            return (1 - share) * average + share * newest

        safe = jnp.maximum(count, 1)
        return ValueScale(
            moved(self.mean_sum, kept.sum() / safe),
            moved(self.square_sum, (kept**2).sum() / safe),
            moved(self.weight, 1.0),
        )
