"""What a pilot sees: its own flight, and every other aircraft in the axes of its own body.

No place and no heading of the world is shown, so moving or turning a fight as a whole changes nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.spec import Feature
from sparring.games.dogfight.airframe import F16, GRAVITY, Flight, air_at
from sparring.games.dogfight.geometry import Sight, others, own, total
from sparring.games.dogfight.guns import Bites
from sparring.games.dogfight.missiles import CARRIED, Missiles
from sparring.games.dogfight.rules import Fight
from sparring.games.dogfight.vectors import Vector, arctan2

CLIP = 5.0
"""Features stay within this."""


Block = TypeVar("Block", bound=tuple)


def measured_in(unit: float) -> Any:
    """The default of a field of a block is its unit: features are numbers of units."""
    return unit


class Own(NamedTuple):
    """The own aircraft."""

    height: Array = measured_in(10_000.0)
    clearance: Array = measured_in(2_000.0)
    """Above the hard deck."""
    speed: Array = measured_in(340.0)
    mach: Array = measured_in(1.0)
    load: Array = measured_in(9.0)
    roll: Array = measured_in(F16.roll_rate)
    climb: Array = measured_in(jnp.pi / 2)
    """Angle of the path above the horizon."""
    bank_sine: Array = measured_in(1.0)
    """Right wing down positive."""
    bank_cosine: Array = measured_in(1.0)
    engine: Array = measured_in(1.0)
    energy: Array = measured_in(15_000.0)
    """Height that the speed could be turned into, added to the height."""
    health: Array = measured_in(1.0)
    time_left: Array = measured_in(1.0)
    lead: Array = measured_in(1.0)
    """By how much the own side is ahead, should time decide."""


class Other(NamedTuple):
    """Another aircraft; vectors in body axes: ahead, right, up."""

    ahead: Array = measured_in(1.0)
    right: Array = measured_in(1.0)
    up: Array = measured_in(1.0)
    """Unit vector to it."""
    aim_right: Array = measured_in(0.03)
    aim_up: Array = measured_in(0.03)
    """The same near the nose, in units of 1.7 degrees: of the unit vector, the gun's 1 degree is 0.017, which a network
    hardly sees. Full where it is behind."""
    range: Array = measured_in(5_000.0)
    nearness: Array = measured_in(1.0)
    """1 km / (1 km + range): it resolves what the range does not, where guns reach."""
    closing: Array = measured_in(340.0)
    """Rate of the range, negative when it comes nearer."""
    drift_ahead: Array = measured_in(0.2)
    drift_right: Array = measured_in(0.2)
    drift_up: Array = measured_in(0.2)
    """Rate of the unit vector to it, rad/s."""
    course_ahead: Array = measured_in(1.0)
    course_right: Array = measured_in(1.0)
    course_up: Array = measured_in(1.0)
    """Unit vector of its velocity."""
    nose_angle: Array = measured_in(jnp.pi)
    """Between the own nose and the line to it."""
    tail_angle: Array = measured_in(jnp.pi)
    """Between its course and that line: 0 is behind it."""
    speed: Array = measured_in(340.0)
    higher: Array = measured_in(1_000.0)
    energy: Array = measured_in(5_000.0)
    """Energy height more than the own."""
    in_zone: Array = measured_in(1.0)
    """It is in the own gun zone."""
    has_zone: Array = measured_in(1.0)
    """The own aircraft is in its gun zone."""
    health: Array = measured_in(1.0)


class Company(NamedTuple):
    """What is added for each other aircraft where sides have several."""

    friend: Array = measured_in(1.0)
    alive: Array = measured_in(1.0)


class Rails(NamedTuple):
    """What is added where there are missiles: the own, and the nearest that flies at the own aircraft."""

    left: Array = measured_in(CARRIED)
    ready: Array = measured_in(1.0)
    """One can be launched now: an enemy is where it does not escape by flying on."""
    exposed: Array = measured_in(1.0)
    """An enemy can launch one at the own aircraft now."""
    in_flight: Array = measured_in(CARRIED)
    threat: Array = measured_in(1.0)
    """One is coming; without, the rest is 0."""
    threat_ahead: Array = measured_in(1.0)
    threat_right: Array = measured_in(1.0)
    threat_up: Array = measured_in(1.0)
    """Unit vector to it."""
    threat_range: Array = measured_in(5_000.0)
    threat_closing: Array = measured_in(340.0)


FLIPPED = ("roll", "bank_sine", "right", "aim_right", "drift_right", "course_right", "threat_right")
"""Features that change sign when left and right are exchanged."""


def layout(seats: int, missiles: bool) -> tuple[Feature, ...]:
    blocks = (Feature("own", (len(Own()),)), Feature("others", (seats - 1, other_size(seats)), lists="others"))
    return (*blocks, Feature("missiles", (len(Rails()),))) if missiles else blocks


def other_size(seats: int) -> int:
    return len(Other()) + (len(Company()) if seats > 2 else 0)


def observe(
    fight: Fight,
    bites: Bites,
    sight: Sight,
    lock_SS: Array | None,
    lead_S: Array,
    hard_deck: Array,
    share_played: Array,
    foe_SO: np.ndarray,
) -> Array:
    """features_SF."""
    health_S = jnp.where(fight.alive_S, fight.health_S, 0.0)
    own_S = own_view(fight.flight, health_S, lead_S, 1.0 - share_played, hard_deck)
    other_SOF = _columns(other_view(fight.flight, sight, bites, health_S))
    if foe_SO.shape[1] > 1:
        alive_SO = others(fight.alive_S)
        friend_SO = jnp.broadcast_to(1.0 - foe_SO, alive_SO.shape)
        company_SOF = _columns(Company(friend_SO, alive_SO.astype(float)))
        other_SOF = jnp.concatenate([jnp.where(alive_SO[..., None], other_SOF, 0.0), company_SOF], axis=-1)
    parts = [_columns(own_S), other_SOF.reshape(len(foe_SO), -1)]
    if fight.missiles is not None and lock_SS is not None:
        parts.append(_columns(rails_view(fight.missiles, fight.flight, lock_SS)))
    return jnp.concatenate(parts, axis=-1)


def own_view(flight: Flight, health_S: Array, lead_S: Array, time_left: Array, hard_deck: Array) -> Own:
    heading, height_S = flight.heading, flight.place.z_S
    flat_S = jnp.sqrt(heading.x_S * heading.x_S + heading.y_S * heading.y_S)
    steep_S = 1.0 / jnp.maximum(flat_S, 1e-3)
    return Own(
        height=height_S,
        clearance=height_S - hard_deck,
        speed=flight.speed_S,
        mach=flight.speed_S / air_at(height_S).sound,
        load=flight.load_S,
        roll=flight.roll_S,
        climb=arctan2(heading.z_S, flat_S),
        # With u the unit vector across the heading and up: l . (v x u) and l . u. Both shrink near the vertical.
        bank_sine=(heading.y_S * flight.lift.x_S - heading.x_S * flight.lift.y_S) * steep_S,
        bank_cosine=flight.lift.z_S * steep_S,
        engine=flight.engine_S,
        energy=energy_height(flight),
        health=health_S,
        time_left=jnp.full_like(height_S, time_left),
        lead=lead_S,
    )


def other_view(flight: Flight, sight: Sight, bites: Bites, health_S: Array) -> Other:
    axes = own((flight.heading, flight.right, flight.lift))
    line = sight.line.seen_from(*axes)
    course = others(flight.heading).seen_from(*axes)
    speed_SO = others(flight.speed_S)
    motion = course * speed_SO - Vector(own(flight.speed_S), jnp.zeros(()), jnp.zeros(()))
    closing_SO = motion.dot(line)
    drift = (motion - line * closing_SO) * (1.0 / sight.range)
    height_S, energy_S = flight.place.z_S, energy_height(flight)
    return Other(
        line.x_S, line.y_S, line.z_S,
        aim_right=jnp.where(line.x_S > 0, line.y_S, jnp.sign(line.y_S)),
        aim_up=jnp.where(line.x_S > 0, line.z_S, jnp.sign(line.z_S)),
        range=sight.range,
        nearness=1000.0 / (1000.0 + sight.range),
        closing=closing_SO,
        drift_ahead=drift.x_S, drift_right=drift.y_S, drift_up=drift.z_S,
        course_ahead=course.x_S, course_right=course.y_S, course_up=course.z_S,
        nose_angle=arctan2(jnp.sqrt(line.y_S * line.y_S + line.z_S * line.z_S), line.x_S),
        tail_angle=arctan2(course.cross(line).length(), sight.tail),
        speed=speed_SO,
        higher=others(height_S) - own(height_S),
        energy=others(energy_S) - own(energy_S),
        in_zone=(bites.given > 0.0).astype(float),
        has_zone=(bites.taken > 0.0).astype(float),
        health=others(health_S),
    )  # fmt: skip


def rails_view(missiles: Missiles, flight: Flight, lock_SS: Array) -> Rails:
    """All missiles in one row, [S, S M], of which each seat sees the nearest that flies at it."""
    seats = flight.speed_S.shape[0]
    places, velocities = (_in_one_row(v) for v in (missiles.place, missiles.heading * missiles.speed_SM))
    coming = jnp.where(missiles.flying_SM[..., None], missiles.target_SMS, 0.0).reshape(-1, seats).T > 0.5
    apart, motion = places - own(flight.place), velocities - own(flight.velocity)
    distance = jnp.maximum(apart.length(), 1.0)
    key = jnp.where(coming, distance, jnp.inf)
    nearest = coming & (key == jnp.min(key, axis=1, keepdims=True))
    line = (apart * (1.0 / distance)).seen_from(*own((flight.heading, flight.right, flight.lift)))
    closing = apart.dot(motion) / distance

    def of_nearest(x: Array) -> Array:
        return total(jnp.where(nearest, x, 0.0), axis=1)

    return Rails(
        left=jnp.sum(missiles.left_SM, axis=1),
        ready=total(lock_SS, axis=1),
        exposed=jnp.minimum(total(lock_SS, axis=0), 1.0),
        in_flight=jnp.sum(missiles.flying_SM, axis=1),
        threat=of_nearest(jnp.ones(())),
        threat_ahead=of_nearest(line.x_S),
        threat_right=of_nearest(line.y_S),
        threat_up=of_nearest(line.z_S),
        threat_range=of_nearest(distance),
        threat_closing=of_nearest(closing),
    )


def _in_one_row(vector: Vector) -> Vector:
    return Vector(*(x.reshape(1, -1) for x in (vector.x_S, vector.y_S, vector.z_S)))


def energy_height(flight: Flight) -> Array:
    return flight.place.z_S + flight.speed_S * flight.speed_S * (0.5 / GRAVITY)


def _columns(block: tuple) -> Array:
    """The numbers of a block, each in its unit and clipped, on a last axis."""
    units: tuple[float, ...] = type(block)()  # type: ignore[call-overload]
    return jnp.clip(jnp.stack(block, axis=-1) * jnp.asarray([1.0 / unit for unit in units]), -CLIP, CLIP)


def read(kind: Callable[..., Block], features: Array) -> Block:
    """A block in its own units, from its features on the last axis."""
    units: tuple[float, ...] = kind()
    return kind(*(features[..., i] * unit for i, unit in enumerate(units)))


def flips(seats: int, missiles: bool) -> np.ndarray:
    """1 or -1 for each feature: what an exchange of left and right does to it."""
    other = (*Other._fields, *(Company._fields if seats > 2 else ()))
    names = (*Own._fields, *other * (seats - 1), *(Rails._fields if missiles else ()))
    return np.array([-1.0 if name in FLIPPED else 1.0 for name in names], np.float32)
