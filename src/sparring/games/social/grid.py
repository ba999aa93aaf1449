"""Cells, moves and walls of a square grid. A cell is a whole number, row x size + column; -1 is nowhere."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.errors import ConfigError

NOWHERE = -1
UP, DOWN, LEFT, RIGHT = range(4)
FAR = 1 << 20
"""Beyond every cell."""
LARGEST = 32
"""Rows of a board are bits of 32 (paths.py)."""
RING = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
"""The eight neighbours of a cell, one after another round it; the even ones share a side with it."""


def deltas(size: int) -> tuple[int, ...]:
    """What up, down, left and right add to a cell."""
    return (-size, size, -1, 1)


def split(cell: Array, size: int) -> tuple[Array, Array]:
    """Row and column; 0 and -1 of nowhere. Truncating division, because flooring takes three times as long."""
    row = lax.div(cell, jnp.full_like(cell, size))
    return row, cell - row * size


def open_moves(cell_S: Array, wall_E: Array | np.ndarray, size: int) -> list[Array]:
    """From which cells up, down, left and right lead to a free cell of the grid, [S] each."""
    _, column_S = split(cell_S, size)
    inside = (cell_S >= size, cell_S < size * (size - 1), column_S > 0, column_S < size - 1)
    return [
        within_S & jnp.all((cell_S + delta)[:, None] != wall_E, axis=1)
        for within_S, delta in zip(inside, deltas(size), strict=True)
    ]


def moved(cell_S: Array, choice_S: Array, opens: Sequence[Array], size: int) -> Array:
    """The cells after a move; whose choice is no open move stays."""
    for move, (open_S, delta) in enumerate(zip(opens, deltas(size), strict=True)):
        cell_S = cell_S + jnp.where((choice_S == move) & open_S, delta, 0)
    return cell_S


def build_walls(number_E: Array, size: int) -> Array:
    """wall_E: a wall piece, one cell, for each number between 0 and 1; nowhere if it would part the free cells.

    A piece is built only where the free cells beside it stay linked within the eight cells round it (at most one
    part, by Yokoi's count of 4-connected parts), so whoever walked through the cell can walk round it: the free cells
    stay connected, with no flood fill. That refuses a few pieces that a longer way round would allow.
    """
    walls: list[Array] = []
    for number in number_E:
        cell = _below(number, size * size)
        row, column = split(cell, size)
        free = [_free(row + down, column + right, walls, size) for down, right in RING]
        parts = [free[k] & ~(free[k + 1] & free[(k + 2) % 8]) for k in (0, 2, 4, 6)]
        built = (sum(part.astype(jnp.int32) for part in parts) <= 1) & _free(row, column, walls, size)
        walls.append(jnp.where(built, cell, NOWHERE))
    return jnp.stack(walls) if walls else jnp.zeros(0, jnp.int32)


def scatter(number_E: Array, wall_E: Array | np.ndarray, size: int) -> Array:
    """cell_E: a free cell for each number between 0 and 1: all different, none a wall, every choice alike."""
    none_E = jnp.full(number_E.shape, FAR, jnp.int32)
    taken_E = jnp.sort(jnp.concatenate([jnp.where(wall_E < 0, FAR, wall_E), none_E]))
    index_E = jnp.arange(taken_E.shape[0])

    def put(carry: tuple[Array, Array], number: Array) -> tuple[tuple[Array, Array], Array]:
        taken_E, free = carry
        count = _below(number, free)
        # Before the i-th taken cell there are as many free ones as its number exceeds i.
        cell = count + jnp.sum((taken_E - index_E <= count).astype(jnp.int32))
        before_E = jnp.concatenate([jnp.full(1, NOWHERE, jnp.int32), taken_E[:-1]])
        return (jnp.minimum(taken_E, jnp.maximum(before_E, cell)), free - 1), cell

    free = size * size - jnp.sum((wall_E >= 0).astype(jnp.int32))
    return lax.scan(put, (taken_E, free), number_E)[1]


def check_size(game: str, size: int, seats: int, pieces: int, what: str) -> None:
    """Raise a ConfigError unless the grid has its size and a cell for everything on it."""
    if not 4 <= size <= LARGEST:
        raise ConfigError(f"{game} is played on 4x4 to {LARGEST}x{LARGEST} cells, found size={size}.")
    if not 2 <= seats <= 8:
        raise ConfigError(f"{game} has 2 to 8 players, found {seats}.")
    if seats + pieces > size * size:
        found = f"{seats} players and {pieces} of {what} on {size * size} cells"
        raise ConfigError(f"{game} starts with everything on a cell of its own, found {found}: raise size.")


def _below(number: Array, count: Array | int) -> Array:
    """A whole number under `count` from one between 0 and 1, which is under 1 by at least 2^-24: it never rounds up."""
    return jnp.floor(number * count).astype(jnp.int32)


def _free(row: Array, column: Array, walls: Sequence[Array], size: int) -> Array:
    free = (row >= 0) & (row < size) & (column >= 0) & (column < size)
    for wall in walls:
        free = free & (row * size + column != wall)
    return free
