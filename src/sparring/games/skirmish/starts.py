"""How battles begin."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.skirmish import terrain
from sparring.games.skirmish.army import NOBODY, SHIELD_WAIT, Army
from sparring.games.skirmish.battle import Battle
from sparring.games.skirmish.maps import MIDDLE, MIXTURES, NEVER_ALONE, spawn
from sparring.games.skirmish.movement import RIM, cell_of
from sparring.games.skirmish.units import EARLY, KINDS, LOOPS_PER_SECOND, LOOPS_PER_STEP


def start(key: Array, army: Army, seats: int, noise: Array) -> Battle:
    key_kinds, key_noise, key_goal = jax.random.split(key, 3)
    kind_U = _drawn(key_kinds, army) if army.drawn else jnp.asarray(army.kind_U)
    stats = army.stats(kind_U[:, None])
    zero_U = jnp.zeros(army.units)
    return Battle(
        place_XU=_placed(key_noise, army, noise),
        health_U=stats.health[:, 0],
        shield_U=stats.shield[:, 0],
        energy_U=jnp.where(stats.heals[:, 0], KINDS["medivac"].energy_start, zero_U),
        cooldown_U=zero_U,
        calm_U=jnp.full(army.units, SHIELD_WAIT),
        target_U=jnp.full(army.units, NOBODY, jnp.int32),
        shot_U=jnp.full(army.units, NOBODY, jnp.int32),
        lands_U=zero_U,
        windup_U=zero_U,
        turn_U=zero_U,
        habit_U=zero_U,
        kind_U=kind_U,
        goal_X=_goal(key_goal, army),
        last_S=jnp.full(seats, NOBODY, jnp.int32),
        played=jnp.zeros((), jnp.int32),
    )


def _placed(key: Array, army: Army, noise: Array) -> Array:
    """The formation, each unit moved by up to `noise` in any direction, if it can stand there."""
    room = max(kind.room for kind in army.kinds) if army.drawn else 0.0
    formation_XU = jnp.asarray(np.concatenate([spawn(army.battle_map, side, room=room) for side in (0, 1)]).T)
    key_angle, key_radius = jax.random.split(key)
    angle_U = jax.random.uniform(key_angle, (army.units,), maxval=2.0 * jnp.pi)
    radius_U = noise * jnp.sqrt(jax.random.uniform(key_radius, (army.units,)))
    moved_XU = formation_XU + radius_U * jnp.stack([jnp.cos(angle_U), jnp.sin(angle_U)])
    level_G = terrain.levels(army.battle_map.ground).ravel()
    stands_U = jnp.take(level_G, cell_of(*moved_XU)) == jnp.take(level_G, cell_of(*formation_XU))
    stands_U = stands_U & jnp.all(jnp.abs(moved_XU) <= MIDDLE - RIM, axis=0)
    return jnp.where(stands_U, moved_XU, formation_XU)


def _goal(key: Array, army: Army) -> Array:
    goal = army.battle_map.goal
    if goal is None or goal == "allies":
        return jnp.zeros(2)
    ends = np.array(goal, np.float32).reshape(-1, 2) - MIDDLE
    return jnp.asarray(ends[0]) + jax.random.uniform(key) * jnp.asarray(ends[-1] - ends[0])


def _drawn(key: Array, army: Army) -> Array:
    """Kinds as in SMACv2: both armies get the same list as far as it goes, never one of helpers alone."""
    lists = []
    for side in (0, 1):
        mixture = MIXTURES[army.races[side]]
        numbers = jnp.array([army.names.index(name) for name, _ in mixture], jnp.int32)
        weight = jnp.array([share for _, share in mixture])
        key_kinds, key_first = jax.random.split(key)
        picks_N = jax.random.categorical(key_kinds, jnp.log(weight), shape=(max(army.sizes),))
        fighter = jnp.array([name not in NEVER_ALONE for name, _ in mixture])
        other = jax.random.categorical(key_first, jnp.where(fighter, jnp.log(weight), -jnp.inf))
        alone = ~jnp.any(fighter[picks_N[: min(army.sizes)]])
        picks_N = jnp.where(alone & (jnp.arange(max(army.sizes)) == 0), other, picks_N)
        lists.append(numbers[picks_N[: army.sizes[side]]])
    return jnp.concatenate(lists).astype(jnp.int32)


def least_steps(army: Army) -> int:
    """No battle is over in fewer steps: how long the stronger army fires, all at one and without pause, until the other
    is gone. Where one shot hurts many, or kinds are drawn, only that it takes a step."""
    if army.drawn or any(army.any_of(side, what) for side in (0, 1) for what in ("burst", "line")):
        return 1
    loops = []
    for side in (0, 1):
        foes, own = ([army.kinds[number] for number in army.kind_U[army.slice(k)]] for k in (1 - side, side))
        bodies = sum(kind.health + kind.shield for kind in own if not kind.heals)
        volley = sum(kind.hits * (kind.damage + kind.bonus) for kind in foes)
        pace = sum(
            kind.hits * (kind.damage + kind.bonus) / (kind.period * LOOPS_PER_SECOND - EARLY)
            for kind in foes
            if kind.damage
        )
        loops.append((bodies - volley) / pace)
    return min(max(int(min(loops) / LOOPS_PER_STEP), 1), army.battle_map.limit)
