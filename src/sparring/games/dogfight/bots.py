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
from sparring.games.dogfight.view import Company, Other, Own, Rails, other_size, read
from sparring.games.game import Bots

DEGREE = jnp.pi / 180.0
WARNING = 4.0
"""Seconds before a missile arrives at which a pilot turns away from it: earlier it would follow."""


class Pilot(NamedTuple):
    """How a scripted pilot flies. Angles in degrees."""

    chase: float | Array = 0.0
    """1: it goes for the enemy; 0: it holds its height and speed; -1: it flees."""
    turn: float | Array = 0.0
    """It turns towards this far off its nose, left or right."""
    weave: float | Array = 0.0
    """The same to and fro, in a period of 20 s."""
    wander: float | Array = 0.0
    """1: every 3 s another heading, climb, pull and throttle."""
    load: float | Array = 3.0
    """Greatest load factor."""
    throttle: float | Array = 1.0
    gain: float | Array = 1.5
    """Turn rate for the angle between the nose and where it should point, 1/s."""
    hand: float | Array = 1.0
    """How far beyond the wished pull and roll it moves the stick, so that they come sooner; 1: not."""
    lead: float | Array = 0.0
    """Seconds of the enemy's flight that it aims ahead (at most), or behind where negative."""
    early: float | Array = 0.5
    """Of the time to fly to the enemy, the share that it aims ahead."""
    merge: float | Array = 0.0
    """The same while the enemy comes head on: it turns before the pass."""
    track: float | Array = 0.0
    """1: near the enemy it follows the turn of the line of sight and aims straight at it."""
    clear: float | Array = 0.0
    """It passes the enemy no nearer than this, m."""
    pace: float | Array = 0.0
    """1: near the tail of the enemy it matches speeds by its throttle."""
    thrift: float | Array = 0.0
    """Below this share of corner speed it turns no harder than thrust sustains, unless a shot is near."""
    brake: float | Array = 9.0
    """Above this share of corner speed it takes the power off in a hard turn."""
    low: float | Array = 0.0
    """How far it lowers its nose in a turning fight, to keep its speed."""
    whim: float | Array = 0.0
    """How much `clear`, `merge` and `brake` change by chance from one stretch of 6 s to the next once a fight is stale:
    two that always do the same pass each other for ever."""
    high: float | Array = 0.0
    """How far it raises its nose when it comes too fast."""
    breaks: float | Array = 0.0
    """1: it turns hard into an enemy behind that has its nose on it."""
    spiral: float | Array = 0.0
    """How far it lowers its nose in such a break."""
    jink: float | Array = 0.0
    """How far it swerves in the enemy's gun zone."""


_HUNTER = Pilot(chase=1.0, clear=80.0)
_FIGHTER = Pilot(
    chase=1.0, load=9.0, gain=2.9, hand=2.7, lead=2.8, early=0.4, merge=0.34, track=1.0, clear=103.0, pace=1.0,
    brake=0.62, low=0.05, whim=0.55, high=0.24, breaks=1.0, spiral=-0.13, jink=1.0,
)  # fmt: skip
"""Its numbers were found by a search: fights against itself and others, the better of many small changes kept."""
PILOTS = {
    "straight": Pilot(),
    "novice": _HUNTER._replace(load=3.0, gain=1.0),
    "lag": _HUNTER._replace(lead=-1.5, load=3.0, throttle=0.8, gain=1.0),
    "patient": _HUNTER._replace(load=2.0, throttle=0.7, gain=0.7),
    "eager": _HUNTER._replace(load=7.0, lead=3.0, merge=0.5, track=1.0, clear=120.0),
    "hasty": _FIGHTER._replace(merge=1.2, clear=300.0, brake=1.3),
    "bold": _FIGHTER._replace(merge=1.0, clear=250.0, brake=1.1),
    "wide": _FIGHTER._replace(merge=0.7, clear=200.0, brake=1.05),
    "lead": _FIGHTER._replace(merge=0.5, clear=120.0, brake=0.95),
    "slow": _FIGHTER._replace(merge=0.2, clear=140.0, brake=0.8),
    "ace": _FIGHTER._replace(merge=0.46, whim=0.8),
    "master": _HUNTER._replace(load=9.0, gain=2.5, hand=2.0, track=1.0, pace=1.0, brake=1.0, breaks=1.0, jink=1.0),
}
"""Weakest first: each beats the one below (`benchmarks/dogfight_ladder.py`)."""

ESCAPES = {
    "flee": Pilot(chase=-1.0),
    "dive": Pilot(chase=-1.0, low=0.7),
    "climb": Pilot(chase=-1.0, low=-0.5),
    "orbit": Pilot(turn=60.0, load=5.0),
    "gentle_turn": Pilot(turn=20.0, load=2.0),
    "weave": Pilot(weave=9.4, load=4.0),
    "random_walk": Pilot(wander=1.0),
}
"""Pilots that do not fight: a rule of the game is wrong where one of them does well against a hunter."""


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


def turn(
    parameters_J: Array,
    features_NF: Array,
    memory: Memory,
    rules: Rules,
    *,
    others: int,
    dt: float,
    missiles: bool = False,
) -> Turn:
    pilot = Pilot(*parameters_J)
    own, enemy = _sorted(features_NF, others)
    memory = _reminded(memory, features_NF, own)
    at = attitude(own)
    cruise, memory = _cruise(pilot, own, at, memory, dt)
    # Who has no eye for the enemy turns back to it before the arena ends, for flying away loses. Two that
    # part at 280 m/s turn round within 4 km at 5 g.
    flees = pilot.chase < -0.5
    hunts_N = ~flees & ((pilot.chase > 0.5) | (enemy.range > 0.5 * rules.arena))
    hunt = _hunt(pilot._replace(load=jnp.maximum(pilot.load, 5.0)), own, enemy, at, memory, dt)
    wish = jax.tree.map(lambda one, two: jnp.where(hunts_N, one, two), hunt, cruise)
    wish = jax.tree.map(lambda one, two: jnp.where(flees, one, two), _flight(pilot, enemy, at), wish)
    if missiles:
        wish = _evading(pilot, read(Rails, features_NF[:, -len(Rails()) :]), wish)
    where, load_N = guarded(own, at, rules, wish.course, wish.load)
    fires_N = jnp.broadcast_to(pilot.chase > 0.5, enemy.range.shape)
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


def _flight(pilot: Pilot, enemy: Other, at: Attitude) -> Wish:
    """Away from the enemy with all power: level, or down where `low` is positive, or up."""
    away = (-_line(enemy)).away_from(at.zenith).unit() - at.zenith * pilot.low
    nowhere, full_N = Vector(*[jnp.zeros_like(enemy.range)] * 3), jnp.ones_like(enemy.range)
    return Wish(away.unit(), nowhere, 9.0 * full_N, full_N)


def _evading(pilot: Pilot, rails: Rails, wish: Wish) -> Wish:
    """A hard turn across the path of a missile some seconds before it arrives: it cannot follow."""
    arrives_N = rails.threat_range / jnp.maximum(-rails.threat_closing, 1.0)
    turns_N = (pilot.breaks > 0.5) & (rails.threat > 0.5) & (arrives_N < WARNING)
    across = Vector(jnp.zeros_like(rails.threat_up), rails.threat_right, rails.threat_up + 1e-3).unit()
    hard = Wish(across, wish.drift * 0.0, jnp.full_like(wish.load, 9.0), wish.throttle)
    return jax.tree.map(lambda one, two: jnp.where(turns_N, one, two), hard, wish)


def _hunt(pilot: Pilot, own: Own, enemy: Other, at: Attitude, memory: Memory, dt: float) -> Wish:
    """Towards the enemy, or ahead of it, or behind; past it, and away from its nose."""
    pilot = _varied(pilot, own, memory, dt)
    attack, danger = _attack(pilot, own, enemy, at), _danger(enemy)
    line = _line(enemy)
    break_N = (pilot.breaks > 0.5) & danger.chased & (enemy.range < 2000.0)
    across = Vector(jnp.zeros_like(line.x_S), line.y_S, line.z_S).unit() - at.zenith * (pilot.spiral * _spare(own))
    aim = chosen(break_N, across, attack.course)
    stretch_N = memory.clock_N // max(round(1.5 / dt), 1)
    sign_N = jnp.where(_drawn(memory, stretch_N, 6) < 0.5, -1.0, 1.0)
    swerve = Vector(jnp.zeros_like(aim.x_S), -aim.z_S, aim.y_S) * (sign_N * pilot.jink * danger.shot_at)
    drift = attack.drift * jnp.where(break_N, 0.0, 1.0)
    load_N, throttle_N = jnp.where(break_N, 9.0, attack.load), jnp.where(break_N, 1.0, attack.throttle)
    return Wish((aim + swerve + _past(pilot, own, enemy, at)).unit(), drift, load_N, throttle_N)


class Danger(NamedTuple):
    chased: Array
    """The enemy is behind, and its nose is near."""
    shot_at: Array


def _danger(enemy: Other) -> Danger:
    chased_N = (enemy.tail_angle > 120 * DEGREE) & (enemy.nose_angle > 75 * DEGREE)
    return Danger(chased_N, chased_N & (enemy.tail_angle > 172 * DEGREE) & (enemy.range < 1100.0))


STALE, EVEN = 20.0, 0.3
"""A fight that is older than the first, s, and in which nobody is ahead by the second is stale."""


def _varied(pilot: Pilot, own: Own, memory: Memory, dt: float) -> Pilot:
    """The pilot with the habits of these 6 s."""
    stretch_N = memory.clock_N // max(round(6.0 / dt), 1)
    swing_N = pilot.whim * ((memory.clock_N * dt > STALE) & (jnp.abs(own.lead) < EVEN))
    wider, merge, brake = (swing_N * _drawn(memory, stretch_N, number) for number in (7, 8, 9))
    return pilot._replace(
        clear=pilot.clear * (1.0 + wider),
        merge=pilot.merge * (1.0 + 2.0 * merge - swing_N),
        brake=pilot.brake * (1.0 + 2.0 * brake - swing_N),
    )


def _attack(pilot: Pilot, own: Own, enemy: Other, at: Attitude) -> Wish:
    line, motion, closing_N = _line(enemy), _course(enemy) * enemy.speed, -enemy.closing
    facing_N = enemy.tail_angle > 100 * DEGREE
    near_N = (enemy.range < 1500.0) & (enemy.nose_angle < 45 * DEGREE) & ~facing_N
    early_N = jnp.where(facing_N, pilot.merge, pilot.early) * enemy.range / own.speed
    ahead_N = jnp.where(near_N, 0.0, jnp.clip(early_N, 0.0, jnp.maximum(pilot.lead, 0.0)))
    ahead_N = jnp.where(pilot.lead < 0.0, pilot.lead, ahead_N)
    fast_N = (closing_N > 60.0) & (enemy.range < 1200.0) & (enemy.tail_angle > 30 * DEGREE) & ~facing_N
    turning_N = (enemy.nose_angle > 30 * DEGREE) & (enemy.range < 4000.0)
    lower_N = pilot.low * turning_N
    tilt_N = jnp.where(fast_N, pilot.high, -lower_N * jnp.where(lower_N > 0.0, _spare(own), 1.0))
    aim = (line * enemy.range + motion * ahead_N).unit() + at.zenith * tilt_N
    drift = Vector(enemy.drift_ahead, enemy.drift_right, enemy.drift_up) * (near_N & (pilot.track > 0.5))

    shot_near_N = (enemy.range < 1500.0) & (enemy.nose_angle < 40 * DEGREE)
    slow_N = at.load_limit < 9.0 * pilot.thrift * pilot.thrift
    saving_N = jnp.maximum(1.1 * sustained_load(at.air, own.speed), 2.0)
    load_N = jnp.where(slow_N & ~shot_near_N, jnp.minimum(saving_N, pilot.load), pilot.load)
    hot_N = (at.load_limit > 9.0 * pilot.brake * pilot.brake) & (enemy.nose_angle > 40 * DEGREE)
    throttle_N = jnp.where(hot_N, 0.0, pilot.throttle)
    behind_N = (pilot.pace > 0.5) & near_N & (enemy.tail_angle < 60 * DEGREE)
    wished_N = enemy.speed + 0.08 * (enemy.range - 300.0)
    throttle_N = jnp.where(behind_N, jnp.clip(0.6 + 0.03 * (wished_N - own.speed), 0.0, 1.0), throttle_N)
    return Wish(aim.unit(), drift, load_N, throttle_N)


def _past(pilot: Pilot, own: Own, enemy: Other, at: Attitude) -> Vector:
    """What to add to the aim in order to pass the enemy at a distance; both give way to the right."""
    apart = _line(enemy) * enemy.range
    motion = _course(enemy) * enemy.speed - Vector(own.speed, jnp.zeros_like(own.speed), jnp.zeros_like(own.speed))
    wait_N = jnp.clip(-apart.dot(motion) / jnp.maximum(motion.dot(motion), 1.0), 0.0, 10.0)
    miss = apart + motion * wait_N - at.side * 20.0
    push_N = jnp.where(wait_N < 3.0, jnp.clip(1.0 - miss.length() / jnp.maximum(pilot.clear, 1.0), 0.0, 1.0), 0.0)
    return miss.unit() * -push_N


def _spare(own: Own) -> Array:
    """Whether there is height to dive into, from 0 to 1."""
    return jnp.clip(own.clearance / 2000.0 - 0.25, 0.0, 1.0)


def _line(enemy: Other) -> Vector:
    return Vector(enemy.ahead, enemy.right, enemy.up)


def _course(enemy: Other) -> Vector:
    return Vector(enemy.course_ahead, enemy.course_right, enemy.course_up)
