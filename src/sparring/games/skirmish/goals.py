"""Whom units of a battle may attack next: foe i is goal i, as in their choices. Letters as in `view`; arrays end in
W."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Goals
from sparring.games.skirmish import command
from sparring.games.skirmish.army import Army, Stats
from sparring.games.skirmish.battle import Battle
from sparring.games.skirmish.command import ATTACK
from sparring.games.skirmish.lengths import squared
from sparring.games.skirmish.units import LOOPS_PER_STEP, SIGHT, TARGET_RANGE
from sparring.games.skirmish.view import Shape


def placed(shape: Shape, stats: Stats, battle: Battle) -> Goals:
    """Steps until a foe may be named, in a straight line. Where it is in the frame of the unit's side, how far,
    whether it may be named now, whether the unit named it last, its health and shield, and its kind. No eyes are
    asked: a foe out of sight is a goal as well."""
    sides = [_of_side(shape, stats, battle, side) for side in shape.sides]
    return Goals(*(jnp.concatenate(parts) for parts in zip(*sides, strict=True)))


def attacked(shape: Shape, stats: Stats, battle: Battle, choice_S: Array) -> Array:
    """reached_SGW: whom each unit attacks by its choice."""
    army, found = shape.army, []
    for side in shape.sides:
        legal_NA = command.legal(army, stats, battle, side, shape.choices)[:, ATTACK : ATTACK + army.sizes[1 - side]]
        names_NM = choice_S[army.slice(side), None] - ATTACK == jnp.arange(army.sizes[1 - side])[:, None]
        found.append(_wide(shape, names_NM & legal_NA & _open(army, stats, battle, side)))
    return jnp.concatenate(found)


def foes(army: Army) -> list[range]:
    """The units that the goals of each unit are."""
    first, second = (range(army.first(side), army.first(side) + army.sizes[side]) for side in (0, 1))
    return [second] * army.sizes[0] + [first] * army.sizes[1]


def _open(army: Army, stats: Stats, battle: Battle, side: int) -> Array:
    """Both live, and the unit has a weapon that can hit the foe."""
    units, others = army.slice(side), army.slice(1 - side)
    alive_U = battle.health_U > 0
    can_NM = (stats.hits_air[units][:, None] | ~stats.flies[others]) & ~stats.heals[units][:, None]
    return alive_U[units][:, None] & alive_U[others] & can_NM


def _of_side(shape: Shape, stats: Stats, battle: Battle, side: int) -> tuple[Array, Array, Array]:
    army = shape.army
    units, others = army.slice(side), army.slice(1 - side)
    open_NM = _open(army, stats, battle, side)
    delta_X = battle.place_XU[:, None, others] - battle.place_XU[:, units, None]
    distance = jnp.sqrt(squared(delta_X))
    stride = jnp.maximum(stats.speed[units][:, None] * LOOPS_PER_STEP, 1e-3)
    steps = jnp.maximum(distance - TARGET_RANGE, 0.0) / stride
    sign_X = army.battle_map.frame(side)
    named = battle.last_S[units, None] - ATTACK == jnp.arange(army.sizes[1 - side])[:, None]
    health, shield = battle.health_U[others] / stats.health[others], battle.shield_U[others]
    about = [
        *(delta_X[x] * sign_X[x] / SIGHT for x in (0, 1)),
        distance / SIGHT,
        distance <= TARGET_RANGE,
        named,
        health,
        shield / jnp.maximum(stats.shield[others], 1.0),
        *(battle.kind_U[others] == number for number in range(len(army.names))),
    ]
    about_NMZ = jnp.stack([jnp.broadcast_to(part, open_NM.shape).astype(np.float32) for part in about], axis=2)
    about_NMZ = jnp.where(open_NM[:, :, None], about_NMZ, 0.0)
    return _wide(shape, open_NM), _wide(shape, jnp.where(open_NM, steps, 0.0)), _wide(shape, about_NMZ)


def _wide(shape: Shape, part_NM: Array) -> Array:
    """With empty places where the other side has more foes."""
    return jnp.pad(part_NM, ((0, 0), (0, shape.foes - part_NM.shape[1]), *((0, 0),) * (part_NM.ndim - 2)))
