"""Scripted pilots: one function of what a pilot sees, a row of parameters for each, weakest first."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.games.dogfight.airframe import Controls, sustained_load
from sparring.games.dogfight.autopilot import Attitude, Hand, attitude, course, guarded, steer, turn_rate
from sparring.games.dogfight.controls import centre_of_roll
from sparring.games.dogfight.rules import Rules
from sparring.games.dogfight.vectors import Vector, chosen
from sparring.games.dogfight.view import Company, Other, Own, other_size, read
from sparring.games.game import Bots

DEGREE = jnp.pi / 180.0


class Pilot(NamedTuple):
    """How a scripted pilot flies. Angles in degrees."""

    chase: float | Array = 0.0
    """1: it goes for the enemy; 0: it holds its height and speed."""
    turn: float | Array = 0.0
    """It turns towards this far off its nose, left or right."""
    weave: float | Array = 0.0
    """The same to and fro, in a period of 20 s."""
    wander: float | Array = 0.0
    """1: every 3 s another heading, climb, pull and throttle."""
    lead: float | Array = 0.0
    """Seconds of the enemy's flight that it aims ahead (at most), or behind where negative."""
    track: float | Array = 0.0
    """1: near the enemy it follows the turn of the line of sight and aims straight at it."""
    load: float | Array = 3.0
    """Greatest load factor."""
    throttle: float | Array = 1.0
    thrift: float | Array = 0.0
    """Below this share of corner speed it turns no harder than thrust sustains, unless a shot is near."""
    breaks: float | Array = 0.0
    """1: it turns hard into an enemy that has its nose on it."""
    jink: float | Array = 0.0
    """How far it swerves in the enemy's gun zone."""
    gain: float | Array = 1.5
    """Turn rate for the angle between the nose and where it should point, 1/s."""
    hand: float | Array = 1.0
    """How far beyond the wished pull and roll it moves the stick, so that they come sooner; 1: not."""


PILOTS = {
    "straight": Pilot(),
    "random_walk": Pilot(wander=1.0),
    "weave": Pilot(weave=9.4, load=4.0),
    "gentle_turn": Pilot(turn=20.0, load=2.0),
    "lag": Pilot(chase=1.0, lead=-1.5, load=5.0, throttle=0.8),
    "pure": Pilot(chase=1.0, load=7.0),
    "energy": Pilot(chase=1.0, lead=3.0, track=1.0, load=9.0, thrift=0.7, breaks=1.0, jink=1.0),
    "lead": Pilot(chase=1.0, lead=3.0, track=1.0, load=9.0),
    "ace": Pilot(chase=1.0, lead=3.0, track=1.0, load=9.0, gain=2.0, hand=1.5),
}
"""Weakest first, by a round robin of 96 fights a pair from neutral starts. Wins and half of the draws, in percent of
all fights: 20, 24, 25, 33, 38, 58, 80, 84, 89. The last three win all fights with the first four."""


class Memory(NamedTuple):
    """What a pilot remembers, for each of its seats."""

    clock_N: Array
    """Decisions since the start."""
    luck_N: Array
    """Where its random numbers come from: what it saw first, so that a game needs no more chance, and alike starts make
    alike pilots."""
    height_N: Array
    speed_N: Array
    """At the start."""
    turn_N: Array
    """What is left of a turn, rad."""


def ladder() -> Bots:
    return Bots(tuple(PILOTS), jnp.array([list(pilot) for pilot in PILOTS.values()], float))


def blank(*batch: int) -> Memory:
    zero = jnp.zeros(batch)
    return Memory(jnp.zeros(batch, jnp.int32), jnp.zeros(batch, jnp.uint32), zero, zero, zero)


class Wish(NamedTuple):
    """Where to fly, and how."""

    course: Vector
    drift: Vector
    load: Array
    throttle: Array


class Turn(NamedTuple):
    """What a pilot does in one decision."""

    controls: Controls
    centre_N: Array
    """Roll that a centred stick asks for."""
    fire_N: Array
    """1 to launch a missile, -1 not to."""
    memory: Memory


def turn(parameters_J: Array, features_NF: Array, memory: Memory, rules: Rules, *, others: int, dt: float) -> Turn:
    pilot = Pilot(*parameters_J)
    own, enemy = _sorted(features_NF, others)
    memory = _reminded(memory, features_NF, own)
    at = attitude(own)
    cruise, memory = _cruise(pilot, own, at, memory, dt)
    # Who has no eye for the enemy turns back to it before the arena ends, for flying away loses. Two that
    # part at 280 m/s turn round within 4 km at 5 g.
    hunts_N = (pilot.chase > 0.5) | (enemy.range > 0.5 * rules.arena)
    hunt = _hunt(pilot._replace(load=jnp.maximum(pilot.load, 5.0)), own, enemy, at, memory, dt)
    wish = jax.tree.map(lambda one, two: jnp.where(hunts_N, one, two), hunt, cruise)
    where, load_N = guarded(own, at, rules, wish.course, wish.load)
    fires_N = (pilot.chase > 0.5) & (enemy.nose_angle < 20 * DEGREE) & (enemy.range < 8000.0)
    return Turn(
        steer(own, at, where, wish.drift, load_N, wish.throttle, Hand(pilot.gain, pilot.hand)),
        centre_of_roll(at.zenith.y_S, rules.levelling),
        jnp.where(fires_N, 1.0, -1.0),
        memory._replace(clock_N=memory.clock_N + 1, turn_N=memory.turn_N - turn_rate(own) * dt),
    )


def _sorted(features_NF: Array, others: int) -> tuple[Own, Other]:
    """The own block, and that of the nearest living enemy."""
    begin, width = len(Own()), other_size(others + 1)
    own = read(Own, features_NF[:, :begin])
    block_NOF = features_NF[:, begin : begin + others * width].reshape(-1, others, width)
    enemy = read(Other, block_NOF[..., : len(Other())])
    if others == 1:
        return own, Other(*(x_NO[:, 0] for x_NO in enemy))
    company = read(Company, block_NOF[..., len(Other()) :])
    key_NO = jnp.where((company.friend < 0.5) & (company.alive > 0.5), enemy.range, jnp.inf)
    nearest_NO = jnp.arange(others) == jnp.argmin(key_NO, axis=1)[:, None]
    return own, Other(*(jnp.sum(jnp.where(nearest_NO, x_NO, 0.0), axis=1) for x_NO in enemy))


def _reminded(memory: Memory, features_NF: Array, own: Own) -> Memory:
    first_N = memory.clock_N == 0
    # Rounded, because a program may compute the same view of two seats with different last bits.
    bits_NF = jnp.round(jnp.abs(features_NF) * 4096.0).astype(jnp.uint32)
    weight_F = jnp.arange(1, 2 * bits_NF.shape[1], 2, dtype=jnp.uint32) * jnp.uint32(0x9E3779B1)
    luck_N = _mixed(jnp.sum(_mixed(bits_NF) * weight_F, axis=1, dtype=jnp.uint32))
    seen = memory._replace(luck_N=luck_N, height_N=own.height, speed_N=own.speed)
    return jax.tree.map(lambda new, old: jnp.where(first_N, new, old), seen, memory)


def _mixed(bits: Array) -> Array:
    """Scrambles 32 bits (the finaliser of MurmurHash3)."""
    bits = (bits ^ (bits >> 16)) * jnp.uint32(0x85EBCA6B)
    bits = (bits ^ (bits >> 13)) * jnp.uint32(0xC2B2AE35)
    return bits ^ (bits >> 16)


def _drawn(memory: Memory, stretch_N: Array, number: int) -> Array:
    """A number between 0 and 1 that belongs to a stretch of the game."""
    salt_N = stretch_N.astype(jnp.uint32) * jnp.uint32(0x9E3779B1) + jnp.uint32(number * 0x7F4A7C15 & 0xFFFFFFFF)
    return (_mixed(memory.luck_N ^ _mixed(salt_N)) >> 8).astype(float) * 2.0**-24


def _cruise(pilot: Pilot, own: Own, at: Attitude, memory: Memory, dt: float) -> tuple[Wish, Memory]:
    """Without an eye for the enemy: straight, turning, weaving, wandering."""
    once_N, every = jnp.zeros_like(memory.clock_N), max(round(3.0 / dt), 1)
    side_N = jnp.where(_drawn(memory, once_N, 0) < 0.5, -1.0, 1.0)
    phase_N = 2 * jnp.pi * (memory.clock_N * (dt / 20.0) + _drawn(memory, once_N, 1))
    steady = (
        DEGREE * (pilot.turn * side_N + pilot.weave * jnp.cos(phase_N)),
        jnp.clip((memory.height_N - own.height) / (5.0 * own.speed), -0.3, 0.3),
        pilot.load,
        jnp.clip(0.3 + 0.02 * (memory.speed_N - own.speed), 0.0, 1.0),
    )
    stretch_N = memory.clock_N // every
    draw = [_drawn(memory, stretch_N, number) for number in range(2, 6)]
    left_N = jnp.where(memory.clock_N % every == 0, (draw[0] - 0.5) * jnp.pi, memory.turn_N)
    wandering = (left_N, (draw[1] - 0.5) * 40 * DEGREE, 2.0 + 4.0 * draw[2], 0.4 + 0.6 * draw[3])
    pairs = zip(wandering, steady, strict=True)
    turn_N, climb_N, load_N, throttle_N = (jnp.where(pilot.wander > 0.5, one, two) for one, two in pairs)
    nowhere = Vector(*[jnp.zeros_like(own.speed)] * 3)
    return Wish(course(at, turn_N, climb_N), nowhere, load_N, throttle_N), memory._replace(turn_N=left_N)


def _hunt(pilot: Pilot, own: Own, enemy: Other, at: Attitude, memory: Memory, dt: float) -> Wish:
    """Towards the enemy, or ahead of it, or behind; and away from its nose."""
    line, motion = _line(enemy), _course(enemy) * enemy.speed
    near_N = (enemy.range < 1500.0) & (enemy.nose_angle < 30 * DEGREE)
    threat_N = enemy.tail_angle > 135 * DEGREE
    ahead_N = jnp.clip(0.5 * enemy.range / own.speed, 0.0, jnp.maximum(pilot.lead, 0.0))
    ahead_N = jnp.where(pilot.lead < 0.0, pilot.lead, jnp.where(near_N | threat_N, 0.0, ahead_N))
    aim = (line * enemy.range + motion * ahead_N).unit()
    tracking_N = near_N & (pilot.track > 0.5)
    drift = Vector(enemy.drift_ahead, enemy.drift_right, enemy.drift_up) * tracking_N
    fast_N = (enemy.range < 600.0) & (own.speed > enemy.speed + 20.0) & (enemy.tail_angle < 60 * DEGREE)
    throttle_N = jnp.where(fast_N & (pilot.track > 0.5), 0.2, pilot.throttle)

    shot_near_N = (enemy.range < 1500.0) & (enemy.nose_angle < 40 * DEGREE)
    slow_N = at.load_limit < 9.0 * pilot.thrift * pilot.thrift
    saving_N = jnp.maximum(1.1 * sustained_load(at.air, own.speed), 2.0)
    load_N = jnp.where(slow_N & ~shot_near_N, jnp.minimum(saving_N, pilot.load), pilot.load)

    break_N = (pilot.breaks > 0.5) & threat_N & (enemy.range < 2000.0) & (enemy.nose_angle > 60 * DEGREE)
    across = Vector(jnp.zeros_like(line.x_S), line.y_S, line.z_S).unit()
    aim = chosen(break_N, across, aim)
    stretch_N = memory.clock_N // max(round(1.5 / dt), 1)
    sign_N = jnp.where(_drawn(memory, stretch_N, 6) < 0.5, -1.0, 1.0)
    hit_N = (enemy.tail_angle > 175 * DEGREE) & (enemy.range < 1100.0)
    swerve = Vector(jnp.zeros_like(aim.x_S), -aim.z_S, aim.y_S) * (sign_N * pilot.jink * hit_N)
    load_N = jnp.where(break_N, 9.0, load_N)
    return Wish((aim + swerve).unit(), drift, load_N, jnp.where(break_N, 1.0, throttle_N))


def _line(enemy: Other) -> Vector:
    return Vector(enemy.ahead, enemy.right, enemy.up)


def _course(enemy: Other) -> Vector:
    return Vector(enemy.course_ahead, enemy.course_right, enemy.course_up)
