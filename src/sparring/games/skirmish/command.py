"""What a commanded unit may do, and what its choice means.

Choices: 0 nothing (the dead), 1 stop, 2 north, 3 south, 4 east, 5 west, 6 + i attack enemy i; a medivac heals ally i
instead. Each side has its own frame: the second sees the map mirrored, so that one policy can play both sides.
Letters: N units of a side, A choices.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.skirmish.army import NOBODY, Army, Stats
from sparring.games.skirmish.battle import Battle, Orders
from sparring.games.skirmish.lengths import squared
from sparring.games.skirmish.maps import MIDDLE
from sparring.games.skirmish.terrain import BLOCKED, SIZE, levels
from sparring.games.skirmish.units import TARGET_RANGE

NOTHING, STOP, ATTACK = 0, 1, 6
WAYS = ((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0))
"""North, south, east, west."""
STRIDE = 2.0
"""How far away the point is that a move goes to: farther than anybody gets in a step (SMAC's move_amount)."""


def legal(army: Army, stats: Stats, battle: Battle, side: int, choices: int) -> Array:
    """legal_NAW of a side."""
    units, foes = army.slice(side), army.slice(1 - side)
    alive_N = battle.health_U[units] > 0
    place_XN = battle.place_XU[:, units]
    attack = _near(place_XN, battle.place_XU[:, foes]) & (battle.health_U[foes] > 0)[None]
    attack = _padded(attack, choices - ATTACK)
    if army.any_of(side, "heals"):
        patient_N = alive_N & ~stats.heals[units]
        heal = _padded(_near(place_XN, place_XN) & patient_N[None], choices - ATTACK)
        attack = jnp.where(stats.heals[units][:, None], heal, attack)
    walk = [_walkable(army, side, place_XN, way) for way in WAYS]
    rows = jnp.concatenate([jnp.stack([jnp.ones_like(alive_N), *walk], axis=1), attack], axis=1)
    return jnp.concatenate([~alive_N[:, None], rows & alive_N[:, None]], axis=1)


def orders(army: Army, stats: Stats, battle: Battle, side: int, choice_N: Array, legal_NA: Array) -> Orders:
    """A choice that is not legal means stop."""
    units = army.slice(side)
    allowed = jnp.any((choice_N[:, None] == jnp.arange(legal_NA.shape[1])[:, None]) & legal_NA, axis=1)
    choice_N = jnp.where(allowed, choice_N, STOP)
    first = jnp.where(stats.heals[units], army.first(side), army.first(1 - side))
    target_N = jnp.where(choice_N >= ATTACK, choice_N - ATTACK + first, NOBODY)
    walks_N = (choice_N > STOP) & (choice_N < ATTACK)
    sign_X = army.battle_map.frame(side)
    way_XN = [sum(np.float32(way[x] * sign_X[x]) * (choice_N == 2 + w) for w, way in enumerate(WAYS)) for x in (0, 1)]
    point_XN = battle.place_XU[:, units] + STRIDE * jnp.stack(way_XN)
    return Orders(target_N.astype(jnp.int32), walks_N, point_XN)


def _near(place_XN: Array, other_XM: Array) -> Array:
    delta_X = place_XN[:, :, None] - other_XM[:, None]
    return squared(delta_X) <= TARGET_RANGE**2


def _padded(flag_NM: Array, width: int) -> Array:
    return jnp.pad(flag_NM, ((0, 0), (0, width - flag_NM.shape[1]), (0, 0)))


def _walkable(army: Army, side: int, place_XN: Array, way: tuple[float, float]) -> Array:
    """Whether the cell one ahead can be walked on. As in SMAC, coordinates are cut towards zero after the shift."""
    level_YX = levels(army.battle_map.ground) > BLOCKED
    sign_X = army.battle_map.frame(side)
    level_YX = level_YX[:: int(sign_X[1]), :: int(sign_X[0])]
    column, row = (jnp.trunc(place_XN[x] * sign_X[x] + MIDDLE + way[x]).astype(jnp.int32) for x in (0, 1))
    inside = (column >= 0) & (column < SIZE) & (row >= 0) & (row < SIZE)
    cell = jnp.clip(row, 0, SIZE - 1) * SIZE + jnp.clip(column, 0, SIZE - 1)
    return inside & jnp.take(jnp.asarray(level_YX.ravel()), cell)
