"""A battle for one game loop, and for the eight loops of a step: who aims, fires, walks, heals and recovers.

Arrays end in W, the worlds (`games/worlds_last`); U are all units, allies first. Everything in a loop happens at once,
from the places at its beginning, so the order of units never matters and both armies may fall together.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.games.skirmish import healing, movement, script, steering, weapons
from sparring.games.skirmish.army import NOBODY, SHIELD_GAIN, SHIELD_WAIT, Army, Stats
from sparring.games.skirmish.movement import Land
from sparring.games.skirmish.pairs import Pairs, along, met
from sparring.games.skirmish.steering import Bearing
from sparring.games.skirmish.units import KINDS, LOOPS_PER_SECOND, LOOPS_PER_STEP


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
    shot_U: Array
    """The unit that its last blow or missile is on the way to, int32; NOBODY: it has struck. A baneling that was killed
    names itself until it bursts."""
    lands_U: Array
    """Loops until that strikes."""
    windup_U: Array
    """Loops until a blow is struck or its missile leaves, so that it can no longer be given up."""
    turn_U: Array
    habit_U: Array
    """The way round those who stand (`steering.Bearing`)."""
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

    def loop(battle: Battle, number: Array) -> tuple[Battle, None]:
        return _loop(army, stats, land, battle, orders, luck, number), None

    return jax.lax.scan(loop, battle, jnp.arange(LOOPS_PER_STEP))[0]


def _loop(
    army: Army, stats: Stats, land: Land, battle: Battle, orders: tuple[Orders, Orders | None], luck: Luck,
    number: Array,
) -> Battle:  # fmt: skip
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
    aimed = [jnp.max(jnp.where(aims[side], army.numbered(1 - side), NOBODY), axis=1 - side) for side in (0, 1)]
    volleys = [
        weapons.volley(army, stats, side, battle, pairs, aims[side], aimed[side], scripted=orders[side] is None)
        for side in (0, 1)
    ]
    cares = [healing.care(army, stats, side, battle, orders[side] is None, luck.favour_U) for side in (0, 1)]
    fires_U = jnp.concatenate([volley.fires for volley in volleys])
    wait_U = jnp.where(fires_U, battle.cooldown_U + stats.period + luck.delay_U, battle.cooldown_U)
    health_U, shield_U, calm_U = _struck(army, stats, battle, pairs, volleys)
    if any(army.slow(side) for side in (0, 1)):
        undone_U, shot_U, lands_U, windup_U = (
            jnp.concatenate([getattr(volley, part) for volley in volleys])
            for part in ("undone", "shot", "lands", "windup")
        )
        wait_U = jnp.where(undone_U, 0.0, wait_U)
        killed_U = stats.bursts & alive_U & (health_U <= 0) & ~fires_U
        health_U = jnp.where(fires_U & stats.bursts, 0.0, health_U)
        shot_U = jnp.where(killed_U, jnp.arange(army.units, dtype=jnp.int32)[:, None], shot_U)
        battle = battle._replace(shot_U=shot_U, lands_U=jnp.where(killed_U, 0.0, lands_U), windup_U=windup_U)
    health_U = health_U + jnp.concatenate([care.gained for care in cares]) * (health_U > 0)

    wish = [_wish(army, stats, side, battle, orders[side], aims[side], cares[side], pairs) for side in (0, 1)]
    point_XU = jnp.concatenate([wished[0] for wished in wish], axis=1)
    engaged_U = jnp.concatenate([volley.engaged for volley in volleys])
    walks_U = jnp.concatenate([wished[1] for wished in wish]) & ~engaged_U & alive_U & (stats.speed > 0)
    bearing, place_XU = _moved(army, stats, land, battle, point_XU, walks_U, alive_U, health_U > 0, luck, number)

    spent_U = jnp.concatenate([care.spent for care in cares])
    return battle._replace(
        place_XU=place_XU,
        target_U=jnp.concatenate([jnp.maximum(aimed[side], cares[side].patient) for side in (0, 1)]),
        cooldown_U=jnp.where(wait_U > 0, wait_U, 1.0) - 1.0,
        energy_U=_charged(battle.energy_U - spent_U, stats),
        **bearing._asdict(),
        **_recovered(army, stats, health_U, shield_U, calm_U),
    )


def _moved(
    army: Army, stats: Stats, land: Land, battle: Battle, point_XU: Array, walks_U: Array, alive_U: Array,
    left_U: Array, luck: Luck, number: Array,
) -> tuple[Bearing, Array]:  # fmt: skip
    """Which way units turn, and where they come to be."""
    flyers = army.any_of(0, "flies") or army.any_of(1, "flies")
    offset_XU = movement.way(land, stats, battle.place_XU, point_XU)
    was = Bearing(battle.turn_U, battle.habit_U)
    bearing = jax.lax.cond(
        number % steering.LOOK == 0,
        lambda: steering.looked(
            army, stats, battle.place_XU, offset_XU, alive_U, walks_U, was, luck.favour_U, flyers=flyers
        ),
        lambda: was,
    )
    place_XU = movement.walked(land, stats, battle.place_XU, steering.turned(army, offset_XU, bearing.turn_U), walks_U)
    return bearing, movement.parted(land, stats, place_XU, left_U, walks_U, flyers=flyers)


def _told(army: Army, pairs: Pairs, target_NW: Array, side: int) -> Array:
    """Whom commanded units aim at: the foe they were told, while it lives and if they can hurt it."""
    return (along(side, target_NW) == army.numbered(1 - side)) & pairs.open[side]


def _struck(
    army: Army, stats: Stats, battle: Battle, pairs: Pairs, volleys: list[weapons.Volley]
) -> tuple[Array, Array, Array]:
    """Health, shield and loops of calm after all hits of this loop."""
    sides = []
    for side in (0, 1):
        units = army.slice(side)
        hits = weapons.hits(army, stats, 1 - side, battle, volleys[1 - side], pairs)
        body = weapons.wounded(battle.health_U[units], battle.shield_U[units], stats.armour[units], hits)
        sides.append((body.health, body.shield, jnp.where(body.hurt, 0.0, battle.calm_U[units] + 1.0)))
    health_U, shield_U, calm_U = (jnp.concatenate(parts) for parts in zip(*sides, strict=True))
    return health_U, shield_U, calm_U


def _wish(
    army: Army, stats: Stats, side: int, battle: Battle, order: Orders | None, aim: Array, care: healing.Care,
    pairs: Pairs,
) -> tuple[Array, Array]:  # fmt: skip
    """Where the units of a side would go, and which of them go at all if their weapons let them."""
    units = army.slice(side)
    place_XN = battle.place_XU[:, units]
    away = pairs.delta_X if side == 1 else -pairs.delta_X
    chased = aim.any(axis=1 - side)
    point_XN = place_XN + jnp.sum(jnp.where(aim, away, 0.0), axis=2 - side)
    if order is not None:
        point_XN = jnp.where(chased, point_XN, order.point_XU)
        walks = chased | order.walks_U
    else:
        # Without new orders a unit stands until it has recovered from its last blow.
        walks = battle.cooldown_U[units] <= stats.period[units] - stats.recovery[units]
        if army.battle_map.goal is None:
            walks = walks & chased
        else:
            point_XN = jnp.where(chased, point_XN, battle.goal_X[:, None])
    if care.sought is not None:
        point_XN = jnp.where(care.called, place_XN + care.sought, point_XN)
        walks = (walks | care.called) & ~care.busy
    return point_XN, walks


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
