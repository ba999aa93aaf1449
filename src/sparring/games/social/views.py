"""What players on a grid see: lists of places relative to their own, or planes; both show the whole state.

Letter E: objects, C: cells, X: numbers of one object.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from sparring.games.others import without_own
from sparring.games.social import grid


def own_place(cell_S: Array, size: int) -> Array:
    """Row and column of each seat as shares of the grid, [S, 2]."""
    return jnp.stack(grid.split(cell_S, size), axis=-1) / size


def listed(own_S: Array, cell_E: Array, size: int) -> Array:
    """For each seat and object how far down and right it is, as shares of the grid, and whether it is there: [S, E, 3];
    zeros for what is nowhere."""
    there_E = cell_E >= 0
    (row_E, column_E), (row_S, column_S) = grid.split(cell_E, size), grid.split(own_S, size)
    down_SE = jnp.where(there_E, row_E - row_S[:, None], 0)
    right_SE = jnp.where(there_E, column_E - column_S[:, None], 0)
    there_SE = jnp.broadcast_to(there_E, down_SE.shape)
    return jnp.stack([down_SE / size, right_SE / size, there_SE.astype(float)], axis=-1)


def crowd(here_S: Array, cell_E: Array) -> Array:
    """crowd_E: how many seats are on the cell of each object; seats and objects that are nowhere do not meet."""
    on_SE = (here_S[:, None] == cell_E) & (cell_E >= 0)
    return jnp.sum(on_SE.astype(jnp.int32), axis=0)


def nearness(own_S: Array, cell_E: Array, size: int) -> Array:
    """near_S: how near the nearest of the objects is, from 0 in the opposite corner to 1 on its cell; 0 where there is
    none, or the seat is nowhere. Ways round walls are not counted."""
    (row_E, column_E), (row_S, column_S) = grid.split(cell_E, size), grid.split(own_S, size)
    moves_SE = jnp.abs(row_E - row_S[:, None]) + jnp.abs(column_E - column_S[:, None])
    there_SE = (cell_E >= 0) & (own_S >= 0)[:, None]
    return jnp.max(jnp.where(there_SE, 1.0 - moves_SE / (2 * (size - 1)), 0.0), axis=1)


def plane(cell_E: Array, size: int) -> Array:
    """plane_C: 1 where one of the objects is."""
    return jnp.any(cell_E[:, None] == jnp.arange(size * size), axis=0).astype(float)


def planes(cell_S: Array, plane_CE: Sequence[Array], size: int) -> tuple[Array, Array]:
    """The map of each seat, [S, C, 2 + E] with the planes own place, number of others, then those given; and the planes
    of the others one by one, [S, S - 1, C]. Seats that are nowhere are in none."""
    own_SC = (cell_S[:, None] == jnp.arange(size * size)).astype(float)
    crowd_SC = jnp.sum(own_SC, axis=0) - own_SC  # small whole numbers: exact in any order
    shared = [jnp.broadcast_to(plane_C, own_SC.shape) for plane_C in plane_CE]
    everyone_SSC = jnp.broadcast_to(own_SC, (own_SC.shape[0], *own_SC.shape))
    return jnp.stack([own_SC, crowd_SC, *shared], axis=-1), without_own(everyone_SSC)


def row_of(blocks: Sequence[Array]) -> Array:
    """features_SF from blocks [S, ...]."""
    return jnp.concatenate([block.reshape(block.shape[0], -1) for block in blocks], axis=-1)
