"""A mixture of policies as one player: it draws one of them before each game and keeps it to the end.

Which one is in its memory, so nobody else need know. The number that decides is drawn with all other chance of a game
(`chance.lots`) and put into the blank memory with which a game begins (`decide.refresh`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.nets.distributions import Distribution, inverse_cdf
from sparring.play.roster import stack, take


class Drawn(NamedTuple):
    """What a mixture remembers within a game."""

    lot_N: Array
    """A number in [0, 1), the same for all seats of the side: it falls on one of the members."""
    memory: Any
    """Of that member; the others are not there."""


class Mixture(eqx.Module):
    """M policies of one family and how likely each is."""

    members: Any
    """Stacked, leaves [M, ...]."""
    weight_M: Array

    @classmethod
    def make(cls, policies: Sequence[Any], weights: Sequence[float]) -> "Mixture":
        """Those of no weight are left out: each costs as much as a player of its own."""
        weighed = [(policy, weight) for policy, weight in zip(policies, weights, strict=True) if weight > 0.0]
        if not weighed or not abs(sum(weights) - 1.0) < 1e-4 or min(weights) < 0.0:
            raise ConfigError(f"Weights of a mixture must be at least 0 and come to 1, found {list(weights)}.")
        return cls(stack([policy for policy, _ in weighed]), jnp.asarray([w for _, w in weighed], jnp.float32))

    def initial(self, *batch: int) -> Drawn:
        return Drawn(jnp.zeros(batch), self.members.initial(*batch))

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Drawn) -> tuple[Distribution, Drawn]:
        # All members are computed and one is heard: gathering its weights would make a copy of them for every world.
        said = jax.vmap(lambda member: member(features_NF, legal_NA, memory.memory))(self.members)
        distribution, after = take(said, inverse_cdf(self.weight_M, memory.lot_N[0]))
        return distribution, Drawn(memory.lot_N, after)
