"""Potentials for battles (weights by --shaping): they change what is learned first, not what is best."""

import jax.numpy as jnp
from jax import Array

from sparring.core.spec import Term
from sparring.games.skirmish.army import Army, Stats
from sparring.games.skirmish.battle import Battle
from sparring.games.skirmish.lengths import squared
from sparring.games.skirmish.reward import GRAIN
from sparring.games.skirmish.terrain import SIZE

TERMS = (
    Term("endurance", "potential", "share of its health and shields that the own army has left, from 0 to 1"),
    Term("approach", "potential", "nearness of the enemy nearest to the unit, from 0 to 1; nothing for the dead"),
)


def potentials(army: Army, stats: Stats, battle: Battle, sides: tuple[int, ...]) -> Array:
    """potential_SJW of the terms."""
    rows = []
    for side in sides:
        near_N = _nearness(army, battle, side)
        rows.append(jnp.stack([jnp.broadcast_to(_endurance(army, stats, battle, side), near_N.shape), near_N], axis=1))
    return jnp.concatenate(rows)


def _endurance(army: Army, stats: Stats, battle: Battle, side: int) -> Array:
    units = army.slice(side)
    left_N = jnp.round((battle.health_U + battle.shield_U)[units] * GRAIN) / GRAIN
    return jnp.sum(left_N, axis=0) / jnp.sum((stats.health + stats.shield)[units], axis=0)


def _nearness(army: Army, battle: Battle, side: int) -> Array:
    units, foes = army.slice(side), army.slice(1 - side)
    away_NM = squared(battle.place_XU[:, units][:, :, None] - battle.place_XU[:, foes][:, None])
    nearest_N = jnp.min(jnp.where((battle.health_U > 0)[foes][None], away_NM, float(SIZE**2)), axis=1)
    return jnp.where((battle.health_U > 0)[units], jnp.maximum(1.0 - jnp.sqrt(nearest_N) / SIZE, 0.0), 0.0)
