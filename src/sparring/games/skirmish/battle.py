"""A battle for one game loop, and for the eight loops of a step: who aims, fires, walks, heals and recovers.

Arrays end in W, the worlds (`games/worlds_last`); U are all units, allies first. Everything in a loop happens at once,
from the places at its beginning, so the order of units never matters and both armies may fall together.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.games.skirmish import healing, movement, script, weapons
from sparring.games.skirmish.army import SHIELD_GAIN, SHIELD_WAIT, Army, Stats
from sparring.games.skirmish.movement import Land
from sparring.games.skirmish.pairs import Pairs, along, met
from sparring.games.skirmish.units import KINDS, LOOPS_PER_SECOND, LOOPS_PER_STEP

NOBODY = -1


class Battle(NamedTuple):
    place_XU: Array
    """Cells from the middle of the map, so that a mirror image is a change of sign."""
    health_U: Array
    """0: dead."""
    shield_U: Array
    energy_U: Array
    cooldown_U: Array
    """Loops until the weapon is ready; between -1 and 0 when it has just become so, as a period may be a fraction of
    loops; 0 when it waits."""
    calm_U: Array
    """Loops since the last wound."""
    target_U: Array
    """The unit that it attacks or heals, int32; NOBODY: none."""
    kind_U: Array
    goal_X: Array
    """Where scripted enemies march."""
    last_S: Array
    """What each seat did last, int32."""
    played: Array


class Orders(NamedTuple):
    """What a commanded side was told for one step."""

    target_U: Array
    """The unit to attack or heal, by its number among all; NOBODY: none."""
    walks_U: Array
    point_XU: Array
    """Where to walk."""


class Luck(NamedTuple):
    """Chance of one step."""

    favour_U: Array
    """From 0 to 1: of two targets equally far away, the one with less is chosen."""
    delay_U: Array
    """Loops by which the next shot comes late."""


def fought(army: Army, land: Land, battle: Battle, orders: tuple[Orders, Orders | None], luck: Luck) -> Battle:
    """The battle after the loops of one step. A side without orders follows its script."""
    stats = army.stats(battle.kind_U)
    for side, order in enumerate(orders):
        if order is not None:
            told = battle.target_U.at[army.slice(side)].set(order.target_U)
            battle = battle._replace(target_U=told)

    def loop(battle: Battle, _: None) -> tuple[Battle, None]:
        return _loop(army, stats, land, battle, orders, luck), None

    return jax.lax.scan(loop, battle, None, length=LOOPS_PER_STEP)[0]


def _loop(
    army: Army, stats: Stats, land: Land, battle: Battle, orders: tuple[Orders, Orders | None], luck: Luck
) -> Battle:
    alive_U = battle.health_U > 0
    pairs = met(army, stats, battle.place_XU, alive_U)
    aims: list[Array] = []
    for side, order in enumerate(orders):
        if order is None:
            pressed = aims[0] & pairs.reached[0]
            aim = script.chosen(army, stats, pairs, battle.target_U[army.slice(side)], pressed, luck.favour_U)
        else:
            aim = _told(army, pairs, battle.target_U[army.slice(side)], side)
        aims.append(aim)
    shots = [weapons.shots(army, side, aims[side], pairs, battle.cooldown_U <= 0) for side in (0, 1)]
    cares = [healing.care(army, stats, side, battle, orders[side] is None, luck.favour_U) for side in (0, 1)]

    health_U, shield_U, calm_U = _struck(army, stats, battle, pairs, shots)
    health_U = health_U + jnp.concatenate([care.gained for care in cares]) * (health_U > 0)
    target_U = jnp.concatenate([_target(army, side, aims[side], cares[side]) for side in (0, 1)])

    wish = [_wish(army, side, battle, orders[side], aims[side], shots[side], cares[side], pairs) for side in (0, 1)]
    point_XU = jnp.concatenate([wished[0] for wished in wish], axis=1)
    walks_U = jnp.concatenate([wished[1] for wished in wish]) & alive_U & (stats.speed > 0)
    place_XU = movement.walked(land, stats, battle.place_XU, point_XU, walks_U)
    flyers = army.any_of(0, "flies") or army.any_of(1, "flies")
    place_XU = movement.parted(land, stats, place_XU, health_U > 0, walks_U, flyers=flyers)

    fires_U = jnp.concatenate([shot.fires for shot in shots])
    again_U = battle.cooldown_U + stats.period + luck.delay_U
    wait_U = jnp.where(fires_U, again_U, jnp.where(battle.cooldown_U > 0, battle.cooldown_U, 1.0))
    spent_U = jnp.concatenate([care.spent for care in cares])
    return battle._replace(
        place_XU=place_XU,
        target_U=target_U,
        cooldown_U=wait_U - 1.0,
        energy_U=_charged(battle.energy_U - spent_U, stats),
        **_recovered(army, stats, health_U, shield_U, calm_U),
    )


def _told(army: Army, pairs: Pairs, target_NW: Array, side: int) -> Array:
    """Whom commanded units aim at: the foe they were told, while it lives and if they can hurt it."""
    first = army.first(1 - side)
    foe = jnp.arange(first, first + army.sizes[1 - side], dtype=target_NW.dtype)
    return (along(side, target_NW) == along(1 - side, foe[:, None])) & pairs.open[side]


def _struck(
    army: Army, stats: Stats, battle: Battle, pairs: Pairs, shots: list[weapons.Shots]
) -> tuple[Array, Array, Array]:
    """Health, shield and loops of calm after all hits of this loop."""
    sides = []
    for side in (0, 1):
        units = army.slice(side)
        hits = weapons.hits(army, stats, 1 - side, shots[1 - side], pairs, battle.kind_U)
        body = weapons.wounded(battle.health_U[units], battle.shield_U[units], stats.armour[units], hits)
        if army.any_of(side, "burst"):
            body = body._replace(health=jnp.where(shots[side].fires & stats.bursts[units], 0.0, body.health))
        sides.append((body.health, body.shield, jnp.where(body.hurt, 0.0, battle.calm_U[units] + 1.0)))
    health_U, shield_U, calm_U = (jnp.concatenate(parts) for parts in zip(*sides, strict=True))
    return health_U, shield_U, calm_U


def _target(army: Army, side: int, aim: Array, care: healing.Care) -> Array:
    """The number of the unit that each aims at, or cares for."""
    first = army.first(1 - side)
    foe = along(1 - side, jnp.arange(first, first + army.sizes[1 - side], dtype=jnp.int32)[:, None])
    aimed = jnp.max(jnp.where(aim, foe, NOBODY), axis=1 - side)
    return jnp.maximum(aimed, care.patient)


def _wish(
    army: Army, side: int, battle: Battle, order: Orders | None, aim: Array, shot: weapons.Shots,
    care: healing.Care, pairs: Pairs,
) -> tuple[Array, Array]:  # fmt: skip
    """Where the units of a side would go, and which of them go at all."""
    place_XN = battle.place_XU[:, army.slice(side)]
    away = pairs.delta_X if side == 1 else -pairs.delta_X
    chased = aim.any(axis=1 - side)
    point_XN = place_XN + jnp.sum(jnp.where(aim, away, 0.0), axis=2 - side)
    if order is not None:
        point_XN = jnp.where(chased, point_XN, order.point_XU)
        walks = chased | order.walks_U
    elif army.battle_map.goal is None:
        walks = chased
    else:
        point_XN = jnp.where(chased, point_XN, battle.goal_X[:, None])
        walks = jnp.ones_like(chased)
    if care.sought is not None:
        point_XN = jnp.where(care.called, place_XN + care.sought, point_XN)
        walks = (walks | care.called) & ~care.busy
    return point_XN, walks & ~shot.engaged


def _charged(energy_U: Array, stats: Stats) -> Array:
    medivac = KINDS["medivac"]
    return jnp.where(
        stats.heals, jnp.minimum(energy_U + medivac.energy_rate / LOOPS_PER_SECOND, medivac.energy), energy_U
    )


def _recovered(army: Army, stats: Stats, health_U: Array, shield_U: Array, calm_U: Array) -> dict[str, Array]:
    """Shields after ten calm seconds, zerg bodies always; the dead do not."""
    alive_U = health_U > 0
    if army.any_of(0, "shield") or army.any_of(1, "shield"):
        gain_U = jnp.where((calm_U >= SHIELD_WAIT) & alive_U, SHIELD_GAIN, 0.0)
        shield_U = jnp.minimum(shield_U + gain_U, stats.shield)
    if "zerg" in army.races:
        health_U = jnp.where(alive_U, jnp.minimum(health_U + stats.regrowth, stats.health), 0.0)
    return {"health_U": health_U, "shield_U": jnp.where(alive_U, shield_U, 0.0), "calm_U": calm_U}
