"""Running statistics of observations. They live inside the network, so whoever carries a policy carries its scale."""

import equinox as eqx
import jax.numpy as jnp
from jax import Array


class Normaliser(eqx.Module):
    """Centres and scales the last axis; a trainer updates it between rollouts, never a gradient."""

    mean_F: Array
    square_F: Array
    """Sum of squared deviations from the mean."""
    count: Array

    @classmethod
    def make(cls, size: int) -> "Normaliser":
        return cls(jnp.zeros(size), jnp.zeros(size), jnp.zeros(()))

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
