"""Walking, walls, and bodies that make room for each other."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.skirmish.army import Stats
from sparring.games.skirmish.lengths import length, rounded, squared
from sparring.games.skirmish.maps import MIDDLE
from sparring.games.skirmish.terrain import BLOCKED, CLIMB, SIZE, Ground
from sparring.games.worlds_last import folded

RIM = 2.0**-10
"""Nobody stands nearer than this to the edge of a rectangle, so that its cell is one that can be walked on."""
GRAIN = 2.0**14
"""Pushes are whole multiples of 1 / GRAIN, so that their sum is exact and does not depend on the order of units."""
MARGIN = 0.5
"""Cells between bodies within which somebody who stands matters to those that push each other."""


class Land(NamedTuple):
    """The ground as arrays, worlds last. A full rectangle needs its bounds alone."""

    low_X: Array
    high_X: Array
    level_G: Array | None
    spot_G: Array | None
    waypoint_QQ: Array | None


def land_of(ground: Ground) -> Land:
    """Arrays of one world."""
    walkable_YX = ground.level_G.reshape(SIZE, SIZE) > BLOCKED
    rows, columns = np.flatnonzero(walkable_YX.any(1)), np.flatnonzero(walkable_YX.any(0))
    low_X = jnp.array([columns[0], rows[0]], float) - MIDDLE + RIM
    high_X = jnp.array([columns[-1], rows[-1]], float) - MIDDLE + 1.0 - RIM
    whole = walkable_YX[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
    level_G = None if whole and np.ptp(ground.level_G[walkable_YX.ravel()]) == 0 else jnp.asarray(ground.level_G)
    tables = (None if table is None else jnp.asarray(table) for table in (ground.spot_G, ground.waypoint_QQ))
    return Land(low_X, high_X, level_G, *tables)


def way(land: Land, stats: Stats, place_XU: Array, point_XU: Array) -> Array:
    """From each unit to its next stop on the way to a point, round corners."""
    return _next_stop(land, stats, place_XU, point_XU) - place_XU


def walked(land: Land, stats: Stats, place_XU: Array, offset_XU: Array, walks_U: Array) -> Array:
    """One loop's walk along an offset, no farther than that, and along walls where they are in the way."""
    length_U = length(squared(offset_XU))
    share_U = jnp.where(walks_U, jnp.minimum(stats.speed / length_U, 1.0), 0.0)
    return _bounded(land, stats, place_XU, place_XU + rounded(offset_XU * share_U))


def parted(land: Land, stats: Stats, place_XU: Array, alive_U: Array, walks_U: Array, *, flyers: bool) -> Array:
    """Bodies of one layer that overlap are pushed apart, each by half. But one that stands holds its ground, and of two
    that walk the one nearer to somebody who stands: nobody is pressed through a closed row."""
    place_XU = jax.lax.optimization_barrier(place_XU)  # or a compiler walks anew for each pair, a third slower
    delta_XUV = place_XU[:, :, None] - place_XU[:, None]
    length_UV = length(squared(delta_XUV))
    gap_UV = length_UV - (stats.room[:, None] + stats.room[None])
    near_UV = (gap_UV < MARGIN) & alive_U[:, None] & alive_U[None]
    if flyers:
        near_UV = near_UV & (stats.flies[:, None] == stats.flies[None])
    # How far each is from the next that stands: whoever stands itself is nearer than all that walk.
    gap_U = jnp.min(jnp.where(near_UV & ~walks_U[None], gap_UV, MARGIN), axis=1)
    gap_U = jnp.where(walks_U, gap_U, -jnp.inf)
    gives_UV = jnp.where(gap_U[:, None] == gap_U[None], 0.5, (gap_U[:, None] > gap_U[None]).astype(float))
    push_UV = jnp.where(near_UV & (gap_UV < 0), -gives_UV * gap_UV / length_UV, 0.0)
    whole_XUV = jnp.round(delta_XUV * push_UV * GRAIN)
    return _bounded(land, stats, place_XU, place_XU + folded(jnp.add, whole_XUV, axis=2) / GRAIN)


def _bounded(land: Land, stats: Stats, old_XU: Array, new_XU: Array) -> Array:
    """The new place, or as much of the way as the ground allows: both axes, else one of them, else none."""
    flies = stats.flies[None]
    edge = MIDDLE - RIM
    low_X, high_X = jnp.where(flies, -edge, land.low_X[:, None]), jnp.where(flies, edge, land.high_X[:, None])
    new_XU = jnp.clip(new_XU, low_X, high_X)
    if land.level_G is None:
        return new_XU
    (x, y), (old_x, old_y) = new_XU, old_XU
    height_U = _level(land, old_x, old_y)

    def free(x: Array, y: Array) -> Array:
        return jnp.abs(_level(land, x, y) - height_U) <= stats.climb

    both, only_x, only_y = free(x, y), free(x, old_y), free(old_x, y)
    x_U = jnp.where(both | only_x, x, old_x)
    y_U = jnp.where(both | (only_y & ~only_x), y, old_y)
    return jnp.stack([x_U, y_U])


def cell_of(x: Array, y: Array) -> Array:
    """The number of the cell at a place on the map."""
    column, row = (jnp.clip(jnp.floor(v + MIDDLE), 0, SIZE - 1).astype(jnp.int32) for v in (x, y))
    return row * SIZE + column


def _level(land: Land, x: Array, y: Array) -> Array:
    assert land.level_G is not None
    return jnp.take(land.level_G[:, 0], cell_of(x, y))


def _next_stop(land: Land, stats: Stats, place_XU: Array, point_XU: Array) -> Array:
    """The point itself, or the middle of the cell to go to first on the way there."""
    if land.waypoint_QQ is None or land.spot_G is None:
        return point_XU
    here_U, there_U = cell_of(*place_XU), cell_of(*point_XU)
    spot_G, waypoint_QQ = land.spot_G[:, 0].astype(jnp.int32), land.waypoint_QQ[..., 0]
    from_U, to_U = jnp.take(spot_G, here_U), jnp.take(spot_G, there_U)
    stop_U = jnp.take(waypoint_QQ.reshape(-1), from_U * waypoint_QQ.shape[1] + to_U).astype(jnp.int32)
    middle_XU = jnp.stack([stop_U % SIZE, stop_U // SIZE]) + 0.5 - MIDDLE
    straight_U = (stop_U == there_U) | (stats.climb > CLIMB)
    return jnp.where(straight_U, point_XU, middle_XU)
