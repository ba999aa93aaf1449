"""Shots, hits and wounds."""

from collections.abc import Iterable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.skirmish.army import Army, Stats
from sparring.games.skirmish.lengths import length, rounded, squared
from sparring.games.skirmish.pairs import Pairs, along
from sparring.games.skirmish.units import LEAST_DAMAGE, LINE_DEPTH


class Shots(NamedTuple):
    """What a side fires in one loop."""

    at: Array
    """Pairs of those that fire and their target."""
    engaged: Array
    """Units that have their target in reach, and therefore stand."""
    fires: Array


class Hits(NamedTuple):
    """Equal hits of one kind of unit on each unit of a side."""

    times: Array
    damage: Array
    """Of one hit, before armour."""


class Body(NamedTuple):
    health: Array
    shield: Array
    hurt: Array


def shots(army: Army, side: int, aim: Array, pairs: Pairs, ready_U: Array) -> Shots:
    in_reach = aim & pairs.reached[side]
    engaged = in_reach.any(axis=1 - side)
    ready = ready_U[army.slice(side)]
    return Shots(in_reach & along(side, ready), engaged, engaged & ready)


def hits(army: Army, stats: Stats, side: int, shots: Shots, pairs: Pairs, kind_U: Array) -> list[Hits]:
    """What the shots of a side do to its foes, kind by kind: equal hits can be counted instead of ordered."""
    found = []
    kind_N = kind_U[army.slice(side)]
    several = len(army.numbers(side)) > 1
    for number in army.numbers(side):
        kind = army.kinds[number]
        if not kind.damage:
            continue
        struck = shots.at
        if kind.burst:
            reach = kind.burst + stats.radius[army.slice(1 - side)]
            struck = along(side, shots.fires) & (pairs.squared <= along(1 - side, reach) ** 2) & pairs.open[side]
        if kind.line:
            struck = _burnt(army, stats, side, shots, pairs, kind.line)
        if several:
            struck = struck & along(side, _is(army, side, kind_N, number))
        times = kind.hits * jnp.sum(struck, axis=side, dtype=jnp.float32)
        found.append(Hits(times, army.harm(number, kind_U[army.slice(1 - side)], 1 - side)))
    return found


def _is(army: Army, side: int, kind_NW: Array, number: int) -> Array:
    return kind_NW == number if army.drawn else jnp.asarray(army.kind_U[army.slice(side)] == number)[:, None]


def _burnt(army: Army, stats: Stats, side: int, shots: Shots, pairs: Pairs, half_length: float) -> Array:
    """Pairs of a colossus and the foes on its line: across the direction of fire, through the target."""
    away_X = pairs.delta_X if side == 1 else -pairs.delta_X
    target_X = jnp.sum(jnp.where(shots.at, away_X, 0.0), axis=2 - side, keepdims=True)
    forward_X = target_X / length(squared(target_X))
    beyond_X = away_X - target_X
    depth = jnp.abs(rounded(beyond_X[0] * forward_X[0]) + rounded(beyond_X[1] * forward_X[1]))
    across = jnp.abs(rounded(beyond_X[0] * forward_X[1]) - rounded(beyond_X[1] * forward_X[0]))
    radius = along(1 - side, stats.radius[army.slice(1 - side)])
    on_line = (depth <= LINE_DEPTH / 2 + radius) & (across <= half_length + radius)
    return along(side, shots.fires) & on_line & pairs.open[side]


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
