"""A roster: policies of one family, stacked row by row. A league is an array."""

from collections.abc import Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Policies = TypeVar("Policies")


@jax.jit  # as one program: by itself every leaf would be one
def stack(policies: Sequence[Policies]) -> Policies:
    """Policies of one shape as one policy with a leading row axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *policies)


def take(roster: Policies, rows: Array | np.ndarray | int) -> Policies:
    """The policies of some rows; rows may be traced, so changing opponents never recompiles."""
    return jax.tree.map(lambda leaf: jnp.take(leaf, rows, axis=0, mode="clip"), roster)


def split(roster: Policies, count: int) -> list[Policies]:
    return [take(roster, row) for row in range(count)]
