"""Shots, hits and wounds."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.skirmish.army import NOBODY, Army, Stats
from sparring.games.skirmish.lengths import length, rounded, squared
from sparring.games.skirmish.pairs import Pairs, along
from sparring.games.skirmish.units import LEAST_DAMAGE, LINE_DEPTH

if TYPE_CHECKING:  # a battle calls this module
    from sparring.games.skirmish.battle import Battle


class Volley(NamedTuple):
    """What the weapons of a side do in one loop, [N] where nothing else is said."""

    fires: Array
    """Begins a blow."""
    engaged: Array
    """Has its target in reach or is in the middle of a blow, and therefore stands."""
    undone: Array
    """Gave up a blow that it had begun: its weapon is ready again."""
    struck: Array
    """Pairs of those whose blow or missile arrives, and whom it hits."""
    bursts: Array
    shot: Array
    lands: Array
    windup: Array
    """As in `Battle`, afterwards."""


class Hits(NamedTuple):
    """Equal hits of one kind of unit on each unit of a side."""

    times: Array
    damage: Array
    """Of one hit, before armour."""


class Body(NamedTuple):
    health: Array
    shield: Array
    hurt: Array


def volley(
    army: Army, stats: Stats, side: int, battle: "Battle", pairs: Pairs, aim: Array, aimed: Array, *, scripted: bool
) -> Volley:
    """`aim` are pairs, `aimed` the numbers of the targets. A blow begins when the weapon is ready and its target in
    reach; it is struck after the damage point, even if the target has stepped away by then; a missile flies on from
    there, even without its thrower. Who dies or is ordered something else before that point gives up the blow."""
    units, foes = army.slice(side), army.slice(1 - side)
    in_reach = aim & pairs.reached[side]
    engaged = in_reach.any(axis=1 - side)
    fires = engaged & (battle.cooldown_U[units] <= 0)
    struck = in_reach & along(side, fires)
    shot, lands, windup = (part[units] for part in (battle.shot_U, battle.lands_U, battle.windup_U))
    if not army.slow(side):
        none = jnp.zeros_like(fires)
        return Volley(fires, engaged, none, struck, none, shot, lands, windup)
    meant = (along(side, shot) == army.numbered(1 - side)) & along(1 - side, battle.health_U[foes] > 0)
    held = (meant if scripted else meant & aim).any(axis=1 - side) & (battle.health_U[units] > 0)
    winding = (shot >= 0) & (windup > 0)
    undone = winding & ~held
    shot = jnp.where(fires, aimed, jnp.where(undone, NOBODY, shot))
    windup = jnp.where(fires, stats.windup[units], windup)
    lands = jnp.where(fires, stats.windup[units] + _flight(army, stats, side, struck, pairs), lands)
    arrives = (shot >= 0) & (lands < 1)
    return Volley(
        fires=fires,
        engaged=engaged | (winding & held),
        undone=undone,
        struck=jnp.where(along(side, fires), struck, meant) & along(side, arrives),
        bursts=arrives & stats.bursts[units],
        shot=jnp.where(arrives, NOBODY, shot),
        lands=lands - 1.0,
        windup=windup - 1.0,
    )


def _flight(army: Army, stats: Stats, side: int, at: Array, pairs: Pairs) -> Array:
    """Loops that missiles fly, from rim to rim."""
    if not army.any_of(side, "missile"):
        return jnp.zeros(())
    radii = stats.radius[army.slice(0)][:, None] + stats.radius[army.slice(1)][None]
    gap = jnp.sum(jnp.where(at, jnp.maximum(length(pairs.squared) - radii, 0.0), 0.0), axis=1 - side)
    return rounded(gap * stats.flight[army.slice(side)])


def hits(army: Army, stats: Stats, side: int, battle: "Battle", volley: Volley, pairs: Pairs) -> list[Hits]:
    """What arrives from a side does to its foes, kind by kind: equal hits can be counted instead of ordered."""
    found = []
    kind_N, foes = battle.kind_U[army.slice(side)], army.slice(1 - side)
    several = len(army.numbers(side)) > 1
    for number in army.numbers(side):
        kind = army.kinds[number]
        if not kind.damage:
            continue
        struck = volley.struck
        if kind.burst:
            near = pairs.squared <= along(1 - side, kind.burst + stats.radius[foes]) ** 2
            struck = (
                along(side, volley.bursts) & near & along(1 - side, (battle.health_U[foes] > 0) & ~stats.flies[foes])
            )
        if kind.line:
            struck = _burnt(army, stats, side, struck, pairs, kind.line)
        if several:
            struck = struck & along(side, _is(army, side, kind_N, number))
        times = kind.hits * jnp.sum(struck, axis=side, dtype=jnp.float32)
        found.append(Hits(times, army.harm(number, battle.kind_U[foes], 1 - side)))
    return found


def _is(army: Army, side: int, kind_NW: Array, number: int) -> Array:
    return kind_NW == number if army.drawn else jnp.asarray(army.kind_U[army.slice(side)] == number)[:, None]


def _burnt(army: Army, stats: Stats, side: int, at: Array, pairs: Pairs, half_length: float) -> Array:
    """Pairs of a colossus and the foes on its line: across the direction of fire, through the target."""
    away_X = pairs.delta_X if side == 1 else -pairs.delta_X
    target_X = jnp.sum(jnp.where(at, away_X, 0.0), axis=2 - side, keepdims=True)
    forward_X = target_X / length(squared(target_X))
    beyond_X = away_X - target_X
    depth = jnp.abs(rounded(beyond_X[0] * forward_X[0]) + rounded(beyond_X[1] * forward_X[1]))
    across = jnp.abs(rounded(beyond_X[0] * forward_X[1]) - rounded(beyond_X[1] * forward_X[0]))
    radius = along(1 - side, stats.radius[army.slice(1 - side)])
    on_line = (depth <= LINE_DEPTH / 2 + radius) & (across <= half_length + radius)
    return along(side, at.any(axis=1 - side)) & on_line & pairs.open[side]


def wounded(health: Array, shield: Array, armour: Array, hits: Iterable[Hits]) -> Body:
    """After equal hits, kind by kind. A shield takes whole hits first, without armour; the hit that breaks it passes on
    its rest, and from then on each hit is reduced by armour."""
    hurt = jnp.zeros(health.shape, bool)
    for times, damage in hits:
        whole = jnp.minimum(times, jnp.floor(shield / damage))
        rest = shield - whole * damage
        through = times - whole
        breaks = through > 0
        first = jnp.maximum(damage - rest - armour, LEAST_DAMAGE)
        later = jnp.maximum(damage - armour, LEAST_DAMAGE)
        health = health - jnp.where(breaks, first + (through - 1.0) * later, 0.0)
        shield = jnp.where(breaks, 0.0, rest)
        hurt = hurt | (times > 0)
    return Body(jnp.maximum(health, 0.0), shield, hurt)
