"""How seats on a grid are placed to the things they may be after. Letter E: things."""

import jax.numpy as jnp
from jax import Array

from sparring.core.records import Goals
from sparring.games.social import grid


def apart(own_S: Array, cell_E: Array, size: int) -> tuple[Array, Array]:
    """How far down and right of each seat each thing is, in cells, [S, E]; of no meaning where one is nowhere."""
    (row_E, column_E), (row_S, column_S) = grid.split(cell_E, size), grid.split(own_S, size)
    return row_E - row_S[:, None], column_E - column_S[:, None]


def way(down_SE: Array, right_SE: Array, size: int) -> list[Array]:
    """What tells which move brings a seat nearer, [S, E] each: how far down and right in shares of the grid, in which
    direction, and whether it is there. A distance of one cell is small: the directions say it aloud."""
    signs = jnp.sign(down_SE), jnp.sign(right_SE)
    here_SE = (down_SE == 0) & (right_SE == 0)
    return [x.astype(float) for x in (down_SE / size, right_SE / size, *signs, here_SE)]


def nearest(wanted_SE: Array, steps_SE: Array) -> Array:
    """nearest_SE: of what each seat wants the nearest, all that are equally near."""
    steps_SE = jnp.where(wanted_SE, steps_SE, grid.FAR)
    return wanted_SE & (steps_SE == jnp.min(steps_SE, axis=1, keepdims=True))


def shown(open_SG: Array, steps_SG: Array, about: list[Array]) -> Goals:
    """The record of them, with zeros where a goal is not open."""
    about_SGZ = jnp.stack([jnp.broadcast_to(part, open_SG.shape).astype(float) for part in about], axis=-1)
    return Goals(
        open_SG=open_SG,
        steps_SG=jnp.where(open_SG, steps_SG, 0).astype(float),
        about_SGZ=jnp.where(open_SG[..., None], about_SGZ, 0.0),
    )
