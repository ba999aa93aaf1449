"""Ways round those who stand: when its way is closed a walker turns aside, and remembers to which side.

A turn is counted in eighths of a circle, to the left as its side sees the map. The second side sees a mirror image, so
its left is the map's right: mirrored battles stay mirror images, and what is remembered needs no renaming.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.skirmish.army import Army, Stats
from sparring.games.skirmish.lengths import length, rounded, squared
from sparring.games.worlds_last import folded

LOOK = 2
"""Loops from one look ahead to the next."""
AHEAD = 0.4
"""Cells beyond touching within which somebody who stands closes a way."""
SLIDE = 0.8
"""Share of both rooms within which a body closes a way; one that is less in the way is slid past."""
HABIT = 4
"""Looks for which a walker keeps to its side once its way is free."""
GRAIN = 2.0**10
"""Places are summed as whole multiples of 1 / GRAIN, so that their order does not matter."""
DIAGONAL = np.float32(0.5**0.5)


class Bearing(NamedTuple):
    turn_U: Array
    """From -2 to 2: eighths of a circle between the straight way and that which is walked."""
    habit_U: Array
    """The side that it took last, 1 or -1, times the looks for which it still keeps to it; 0: none."""


def hands(army: Army) -> np.ndarray:
    """[U, 1]: 1 where a unit's left is the map's, -1 where its side sees the mirror image."""
    return np.repeat(np.array([1.0, -1.0], np.float32), army.sizes)[:, None]


def looked(
    army: Army, stats: Stats, place_XU: Array, offset_XU: Array, alive_U: Array, walks_U: Array, was: Bearing,
    favour_U: Array, *, flyers: bool,
) -> Bearing:  # fmt: skip
    """Where walkers turn whose next stop is `offset_XU` away: straight on if that is free, else as little as need be to
    the side that they remember, else to the freer side; where comrades stand alike to both sides chance decides."""
    ahead_XU = offset_XU / length(squared(offset_XU))
    left_XU = jnp.stack([-ahead_XU[1], ahead_XU[0]]) * hands(army)
    closed_U = _closed(stats, place_XU, ahead_XU, left_XU, length(squared(offset_XU)), alive_U & ~walks_U, flyers)

    def least(way: int) -> Array:
        """The least turn to a side that is free; 3: none."""
        slight, full = ((closed_U >> (2 * eighths - (way > 0))) & 1 == 0 for eighths in (1, 2))
        return jnp.where(slight, 1.0, jnp.where(full, 2.0, 3.0))

    left_U, right_U = least(1), least(-1)
    crowd_U = _crowd(army, place_XU, left_XU, alive_U & ~walks_U)
    free_U = jnp.where(left_U == right_U, -crowd_U, right_U - left_U)
    side_U = jnp.where(free_U == 0, favour_U - 0.5, free_U)
    kept_U = jnp.where(was.habit_U > 0, left_U, right_U) < 3
    side_U = jnp.sign(jnp.where((was.habit_U != 0) & kept_U, was.habit_U, side_U))
    turn_U = jnp.where(side_U > 0, left_U, right_U)
    turns_U = walks_U & (closed_U & 1 == 1) & (turn_U < 3)
    faded_U = jnp.sign(was.habit_U) * jnp.maximum(jnp.abs(was.habit_U) - 1.0, 0.0)
    return Bearing(jnp.where(turns_U, side_U * turn_U, 0.0), jnp.where(turns_U, side_U * HABIT, faded_U))


def _closed(
    stats: Stats, place_XU: Array, ahead_XU: Array, left_XU: Array, way_U: Array, stands_U: Array, flyers: bool
) -> Array:
    """Bits of the ways that somebody closes who stands before the end of the way: 1 straight on, 2 and 4 an eighth of a
    circle to the left and to the right, 8 and 16 a quarter."""
    delta_XUV = place_XU[:, None] - place_XU[:, :, None]
    forward_UV = rounded(delta_XUV[0] * ahead_XU[0][:, None]) + rounded(delta_XUV[1] * ahead_XU[1][:, None])
    aside_UV = rounded(delta_XUV[0] * left_XU[0][:, None]) + rounded(delta_XUV[1] * left_XU[1][:, None])
    room_UV = stats.room[:, None] + stats.room[None]
    near_UV = stands_U[None] & (squared(delta_XUV) < (room_UV + AHEAD) ** 2) & (forward_UV < way_U[:, None] - 0.1)
    if flyers:
        near_UV = near_UV & (stats.flies[:, None] == stats.flies[None])
    width_UV = SLIDE * room_UV
    broad_UV = width_UV / DIAGONAL
    # Offsets along and across the slanting ways, both times the root of two.
    sum_UV, rest_UV = forward_UV + aside_UV, forward_UV - aside_UV
    bits_UV = (
        jnp.where((forward_UV > 0) & (jnp.abs(aside_UV) < width_UV), 1, 0)
        + jnp.where((sum_UV > 0) & (jnp.abs(rest_UV) < broad_UV), 2, 0)
        + jnp.where((rest_UV > 0) & (jnp.abs(sum_UV) < broad_UV), 4, 0)
        + jnp.where(jnp.abs(forward_UV) < width_UV, jnp.where(aside_UV > 0, 8, 16), 0)
    )
    return folded(jnp.bitwise_or, jnp.where(near_UV, bits_UV, 0), axis=1)


def _crowd(army: Army, place_XU: Array, left_XU: Array, stands_U: Array) -> Array:
    """How far to the left of each unit its standing comrades are, on average."""
    sides = []
    for side in (0, 1):
        units = army.slice(side)
        stands_N = stands_U[units]
        whole_XN = jnp.where(stands_N, jnp.round(place_XU[:, units] * GRAIN), 0.0)
        middle_X = jnp.sum(whole_XN, axis=1) / (jnp.maximum(jnp.sum(stands_N, axis=0), 1) * GRAIN)
        away_XN = (middle_X[:, None] - place_XU[:, units]) * stands_N.any(axis=0)
        sides.append(rounded(away_XN[0] * left_XU[0, units]) + rounded(away_XN[1] * left_XU[1, units]))
    return jnp.concatenate(sides)


def turned(army: Army, offset_XU: Array, turn_U: Array) -> Array:
    """The offset, turned."""
    cosine_U = jnp.where(turn_U == 0, 1.0, jnp.where(jnp.abs(turn_U) == 1, DIAGONAL, 0.0))
    sine_U = jnp.sign(turn_U) * jnp.where(jnp.abs(turn_U) == 1, DIAGONAL, jnp.abs(turn_U) / 2) * hands(army)
    x, y = offset_XU
    return jnp.stack(
        [rounded(x * cosine_U) - rounded(y * sine_U), rounded(y * cosine_U) + rounded(x * sine_U)],
    )
