"""Scripted commanders: one function of what a side sees, a row of parameters for each."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.game import Bots
from sparring.games.skirmish.command import ATTACK, STOP, WAYS
from sparring.games.skirmish.units import LOOPS_PER_SECOND, LOOPS_PER_STEP, SIGHT
from sparring.games.skirmish.view import Shape

SURE, LIKELY, POSSIBLE = 60.0, 40.0, 20.0
"""Logits: what it wants, and what it does where that is not legal."""


class Commander(NamedTuple):
    fights: float | Array = 1.0
    """0: its units stand where they are."""
    focus: float | Array = 0.0
    """1: it prefers the weakest enemy in range to the nearest."""
    keeps: float | Array = 0.0
    """1: it stays with a target until that is gone."""
    kites: float | Array = 0.0
    """1: units step back from those who reach less far than they: while a weapon recovers from whoever is nearer than
    FEAR, and always from whoever is nearer than SAFE."""


WARY, FEAR, SAFE, TOUCH = 7.5 / SIGHT, 5.0 / SIGHT, 2.5 / SIGHT, 1.25 / SIGHT
"""In units of sight. Who walks 1.2 cells a step does not come from SAFE to a blow while its prey stops for a shot. One
that has come to TOUCH shows that the way back is no way; nobody walks towards those it fears from WARY."""
GRAIN = 2.0**10
"""Distances are added as whole multiples of 1 / GRAIN, so that the order of units does not matter."""
STEADY = 0.5
"""How much of its direction a unit that steps back may lose before it turns: it runs along a wall, not to and fro."""

COMMANDERS = {
    "attack_nearest": Commander(keeps=1.0),
    "focus_fire": Commander(focus=1.0),
    "kite": Commander(focus=1.0, kites=1.0),
    "stay": Commander(fights=0.0),
}
"""The first is SMAC's own heuristic for agents, within their sight."""


class Memory(NamedTuple):
    target_N: Array
    """Number of the enemy a unit is after, -1: none."""
    wait_N: Array
    """Steps until its weapon is ready, about."""
    way_N: Array
    """The way, of WAYS, that it stepped back last; -1: none."""
    vain_N: Array
    """Bits of the ways that it has tried in vain since an enemy came to TOUCH."""


class Enemies(NamedTuple):
    """What a row says of them, [N, M]."""

    attackable: Array
    distance: Array
    x: Array
    y: Array
    strength: Array
    """0: not seen, or out of its unit's power to hurt."""
    reach: Array
    """Of its weapon, 0 where it is not seen."""


def table() -> Bots:
    return Bots(tuple(COMMANDERS), jnp.array([list(row) for row in COMMANDERS.values()], float))


def blank(*batch: int) -> Memory:
    nobody = jnp.full(batch, -1, jnp.int32)
    return Memory(nobody, jnp.zeros(batch), nobody, jnp.zeros(batch, jnp.int32))


def turn(
    shape: Shape, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: Memory
) -> tuple[Array, Array, Memory]:
    commander = Commander(*parameters_J)
    features_NF = features_NF[:, : shape.features]
    enemies = _enemies(shape, features_NF)
    aim = _aim(commander, enemies, memory)
    struck = aim & (enemies.attackable > 0.5)
    retreat = _retreat(shape, features_NF, legal_NA, enemies, memory)
    wary, flees = (flag & (commander.kites > 0.5) for flag in (retreat.waits, retreat.flees))
    walk = jnp.where(flees[:, None], retreat.walk, _walk(*_way(shape, enemies, aim)))
    strike = jnp.where(struck & ~flees[:, None], SURE, 0.0)

    # It waits or goes on, by chance, or two that wait for each other would do so for ever.
    rest = jnp.where(wary[:, None] & ~flees[:, None], np.array([0.0, LIKELY + 1.0], np.float32), 0.0)
    logits = jnp.concatenate([rest, walk, strike], axis=1)
    logits = jnp.pad(logits, ((0, 0), (0, shape.choices - logits.shape[1])))
    if "medivac" in shape.bits[0]:
        healer, care = _care(shape, features_NF, legal_NA)
        logits = jnp.where(healer[:, None], care, logits)
    idle = jnp.where(jnp.arange(shape.choices) == STOP, SURE, 0.0)
    logits = jnp.where(commander.fights > 0.5, logits, idle)

    fires = struck.any(axis=1) & ~flees & (memory.wait_N < 1.0)
    steps = _own(shape, features_NF, [kind.period * LOOPS_PER_SECOND // LOOPS_PER_STEP for kind in shape.army.kinds])
    wait_N = jnp.where(fires, steps, jnp.maximum(memory.wait_N - 1.0, 0.0))
    # Of two that are equally near chance takes one, so neither is remembered.
    number = jnp.sum(jnp.where(aim, jnp.arange(shape.foes), 0), axis=1)
    target_N = jnp.where(jnp.sum(aim, axis=1) == 1, number, -1).astype(jnp.int32)
    way_N = jnp.where(flees, jnp.argmax(retreat.walk, axis=1), -1).astype(jnp.int32)
    return logits, jnp.zeros((features_NF.shape[0], 0)), Memory(target_N, wait_N, way_N, retreat.vain)


def heading(shape: Shape, parameters_J: Array, features_NF: Array, memory: Memory) -> Array:
    """wanted_NM: the foes that units are after; those that heal, and those that stand, are after none."""
    commander, features_NF = Commander(*parameters_J), features_NF[:, : shape.features]
    aim = _aim(commander, _enemies(shape, features_NF), memory) & (commander.fights > 0.5)
    if "medivac" not in shape.bits[0]:
        return aim
    return aim & (features_NF[:, -len(shape.bits[0]) + shape.bits[0].index("medivac"), None] < 0.5)


def _aim(commander: Commander, enemies: Enemies, memory: Memory) -> Array:
    """[N, M]: whom each unit is after, all that are equally good."""
    seen, focused = enemies.strength > 0, commander.focus > 0.5
    # Of those as weak as each other everybody takes the one that all are nearest to.
    near = jnp.where(seen, jnp.round(enemies.distance * GRAIN), GRAIN)
    common = jnp.mean(near, axis=0, keepdims=True) / GRAIN
    score = jnp.where(focused, enemies.strength + 0.01 * common, enemies.distance)
    # A weak enemy is worth nothing while it is out of range and another is not.
    score = score + jnp.where(focused & (enemies.attackable < 0.5), 10.0, 0.0)
    kept = (memory.target_N[:, None] == jnp.arange(seen.shape[1])) & (commander.keeps > 0.5)
    score = jnp.where(seen, jnp.where(kept, -1.0, score), 1e3)
    return (score == jnp.min(score, axis=1, keepdims=True)) & seen


def _way(shape: Shape, enemies: Enemies, aim: Array) -> Array:
    """[2, N]: towards the aim; where nobody is seen, where the enemies began."""
    weight = aim / jnp.maximum(jnp.sum(aim, axis=1, keepdims=True), 1)
    way_XN = jnp.stack([jnp.sum(weight * part, axis=1) for part in (enemies.x, enemies.y)])
    battle_map = shape.army.battle_map
    # Both sides see each other in the same direction along the axis that is mirrored, and only along that.
    common = [not shape.duel or battle_map.mirror == axis for axis in "xy"]
    ahead_X = np.where(common, battle_map.facing, 0.0).astype(np.float32)
    return jnp.where(jnp.any(enemies.strength > 0, axis=1), way_XN, ahead_X[:, None])


def _enemies(shape: Shape, features_NF: Array) -> Enemies:
    rows, size = features_NF.shape[0], shape.foe_size
    block = features_NF[:, 4 : 4 + shape.foes * size].reshape(rows, shape.foes, size)
    strength = block[..., 4] + (block[..., 5] if shape.shields[1] else 0.0)
    if "medivac" in shape.bits[1]:
        kinds = {kind.name: kind for kind in shape.army.kinds}
        hits_air = np.array([kinds[name].hits_air for name in shape.bits[0]], np.float32)
        bit = shape.bits[1].index("medivac") - len(shape.bits[1])
        can = features_NF[:, -len(hits_air) :] @ hits_air > 0.5
        strength = jnp.where((block[..., bit] > 0.5) & ~can[:, None], 0.0, strength)
    reach_K = np.array([kind.reach for kind in shape.army.kinds], np.float32)
    if shape.bits[1]:
        reach = block[..., -len(shape.bits[1]) :] @ reach_K[[shape.army.names.index(name) for name in shape.bits[1]]]
    else:
        reach = jnp.where(strength > 0, reach_K[shape.army.numbers(1)[0]], 0.0)
    return Enemies(block[..., 0], block[..., 1], block[..., 2], block[..., 3], strength, reach)


def _walk(x: Array, y: Array) -> Array:
    """Logits of the four ways: along the axis with more to go, else along the other."""
    wish = jnp.stack([x, y], axis=1) @ np.array(WAYS, np.float32).T
    longer = jnp.max(wish, axis=1, keepdims=True)
    return jnp.where(wish == longer, LIKELY, jnp.where(wish > 0, POSSIBLE, 0.0))


class Retreat(NamedTuple):
    waits: Array
    """Units that let those come whom they fear."""
    flees: Array
    walk: Array
    """Logits of the four ways."""
    vain: Array


def _retreat(shape: Shape, features_NF: Array, legal_NA: Array, enemies: Enemies, memory: Memory) -> Retreat:
    """Away from all who must come nearer to strike than a unit itself, the nearest first, and on along the way it took
    before; but where an enemy has come to TOUCH, by a way that it has not tried since."""
    reach = _own(shape, features_NF, [kind.reach for kind in shape.army.kinds])
    feared = (enemies.strength > 0) & (enemies.reach + 1.0 < reach[:, None])
    near = jnp.min(jnp.where(feared, enemies.distance, 1e3), axis=1)
    weight = feared / jnp.maximum(enemies.distance, 0.05) ** 3
    away = -jnp.stack([jnp.sum(weight * enemies.x, axis=1), jnp.sum(weight * enemies.y, axis=1)], axis=1)
    away = away / jnp.maximum(jnp.linalg.norm(away, axis=1, keepdims=True), 1e-6)
    ways = jnp.arange(len(WAYS))
    before = memory.way_N[:, None] == ways
    tried = memory.vain_N | jnp.where(memory.way_N >= 0, 1 << jnp.maximum(memory.way_N, 0), 0)
    vain = jnp.where(near < TOUCH, tried, 0)
    wish = away @ np.array(WAYS, np.float32).T + STEADY * before - 4.0 * ((vain[:, None] >> ways) & 1)
    wish = jnp.where(legal_NA[:, 2:ATTACK], wish, -jnp.inf)
    walk = jnp.where(wish == jnp.max(wish, axis=1, keepdims=True), SURE, 0.0)
    return Retreat(near < WARY, near < jnp.where(memory.wait_N >= 1.0, FEAR, SAFE), walk, vain)


def _own(shape: Shape, features_NF: Array, values: list[float]) -> Array:
    """Something that depends on each unit's own kind, given for all kinds of the battle."""
    value_K = np.array(values, np.float32)
    if not shape.bits[0]:
        return jnp.full(features_NF.shape[0], value_K[0])
    own = [shape.army.names.index(name) for name in shape.bits[0]]
    return features_NF[:, -len(own) :] @ value_K[own]


def _care(shape: Shape, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
    """Which rows are those of medivacs, and what they do: heal the nearest friend that is hurt, or go to it; where
    nobody is, keep to the nearest friend."""
    rows, size, bit = features_NF.shape[0], shape.friend_size, shape.bits[0].index("medivac")
    begin = 4 + shape.foes * shape.foe_size
    block = features_NF[:, begin : begin + (shape.friends - 1) * size].reshape(rows, shape.friends - 1, size)
    distance, x, y, health = (block[..., part] for part in range(1, 5))
    first_bit = 5 + shape.shields[0]
    friend = (health > 0) & (block[..., first_bit + bit] < 0.5)
    hurt = friend & (health < 1.0)
    wanted = jnp.where(hurt.any(axis=1, keepdims=True), hurt, friend)
    score = jnp.where(wanted, distance, 1e3)
    aim = (score == jnp.min(score, axis=1, keepdims=True)) & wanted
    weight = aim / jnp.maximum(jnp.sum(aim, axis=1, keepdims=True), 1)
    walk = _walk(jnp.sum(weight * x, axis=1), jnp.sum(weight * y, axis=1))
    # Friends are listed without the unit itself, choices name all.
    place = jnp.arange(rows)[:, None]
    listed = jnp.arange(shape.friends - 1)
    number = listed + (listed >= place)
    named = (number[..., None] == jnp.arange(shape.choices - ATTACK)) & (aim & hurt)[..., None]
    heal = jnp.where(named.any(axis=1), SURE, 0.0) * legal_NA[:, ATTACK:]
    care = jnp.concatenate([jnp.zeros((rows, 2)), walk, heal], axis=1)
    return features_NF[:, -len(shape.bits[0]) + bit] > 0.5, care
