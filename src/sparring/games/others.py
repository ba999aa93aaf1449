"""For each seat all other seats, in seat order. Letter: O the other seats.

Tables of numbers, so that a program has as many lines for many seats as for two.
"""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jax import Array


@lru_cache
def others_SO(seats: int) -> np.ndarray:
    """The numbers of all other seats."""
    seat_S1, number_O = np.arange(seats, dtype=np.int32)[:, None], np.arange(seats - 1, dtype=np.int32)
    return number_O + (number_O >= seat_S1)


def others(rows_S: Array) -> Array:
    """What every seat has, as each seat sees it of the others: [S, ...] to [S, O, ...]."""
    return jnp.asarray(rows_S)[others_SO(len(rows_S))]


def without_own(block_SS: Array) -> Array:
    """What each seat has for every seat, without itself: [S, S, ...] to [S, O, ...]."""
    seats = len(block_SS)
    return jnp.asarray(block_SS)[np.arange(seats, dtype=np.int32)[:, None], others_SO(seats)]
