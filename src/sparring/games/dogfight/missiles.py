"""Short-range missiles: proportional navigation in vector form, with thrust, mass, drag and a fuse.

Constants of the AIM-9L in public air-combat simulations. Letter: M the two missiles of an aircraft; all arrays [S, M].
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.dogfight.airframe import GRAVITY, Flight, air_at
from sparring.games.dogfight.geometry import closest, total
from sparring.games.dogfight.vectors import Vector, chosen

CARRIED = 2
MASS, FUEL_RATE, BURN = 84.0, 6.0, 3.0
"""kg at launch, kg/s, s."""
THRUST = 9.81 * 120.0 * FUEL_RATE
"""Specific impulse 120 s, in N."""
LENGTH, DIAMETER, DRAG = 2.87, 0.127, 0.4
NAVIGATION = 3.0
"""Turn rate for the turn rate of the line of sight; it fades over the life of the missile."""
MOST_LOAD = 30.0
LIFE, OPENING, TOO_SLOW = 60.0, 5.0, 150.0
"""It is spent after this many seconds, after moving away from its target for so long, or below this speed, m/s."""


class Missiles(NamedTuple):
    place: Vector
    heading: Vector
    speed_SM: Array
    age_SM: Array
    """Seconds since the launch."""
    opening_SM: Array
    """Seconds for which it has moved away from its target."""
    flying_SM: Array
    left_SM: Array
    """Not launched yet."""
    target_SMS: Array
    """1 for the seat it flies at."""
    pause_S: Array
    """Seconds until the next launch."""


def loaded(flight: Flight) -> Missiles:
    """All on their rails."""
    seats = flight.speed_S.shape[0]
    zero, off = jnp.zeros((seats, CARRIED)), jnp.zeros((seats, CARRIED), bool)
    nowhere = Vector(zero, zero, zero)
    return Missiles(nowhere, nowhere, zero, zero, zero, off, ~off, jnp.zeros((seats, CARRIED, seats)), jnp.zeros(seats))


def launch(missiles: Missiles, flight: Flight, lock_SS: Array, pause: Array) -> Missiles:
    """`lock_SS` has a 1 in the row of each aircraft that launches now, at its target."""
    fires_S = total(lock_SS, axis=1) > 0.5
    first_S = missiles.left_SM[:, 0]
    goes_SM = jnp.stack([fires_S & first_S, fires_S & ~first_S], axis=1)
    place, heading = (Vector(*(x[:, None] for x in (v.x_S, v.y_S, v.z_S))) for v in (flight.place, flight.heading))
    return Missiles(
        place=chosen(goes_SM, place, missiles.place),
        heading=chosen(goes_SM, heading, missiles.heading),
        speed_SM=jnp.where(goes_SM, flight.speed_S[:, None], missiles.speed_SM),
        age_SM=jnp.where(goes_SM, 0.0, missiles.age_SM),
        opening_SM=jnp.where(goes_SM, 0.0, missiles.opening_SM),
        flying_SM=missiles.flying_SM | goes_SM,
        left_SM=missiles.left_SM & ~goes_SM,
        target_SMS=jnp.where(goes_SM[..., None], lock_SS[:, None], missiles.target_SMS),
        pause_S=jnp.where(fires_S, pause, missiles.pause_S),
    )


def advance(
    missiles: Missiles, before: Flight, after: Flight, alive_S: Array, fuse: Array, dt: float
) -> tuple[Missiles, Array]:
    """One sub-step, in which the aircraft flew from `before` to `after`; hit_SS says who hits whom."""
    speed_SM, age_SM = missiles.speed_SM, missiles.age_SM + dt
    apart = _targets(missiles, before.place) - missiles.place
    motion = _targets(missiles, before.velocity) - missiles.heading * speed_SM
    rate = _turn(missiles, apart, motion)
    along_SM = _push(missiles.place.z_S, speed_SM, missiles.age_SM, rate.length()) - GRAVITY * missiles.heading.z_S
    new_speed_SM = jnp.maximum(speed_SM + along_SM * dt, 1.0)
    heading = (missiles.heading + rate * dt).unit()
    place = missiles.place + (missiles.heading * speed_SM + heading * new_speed_SM) * (0.5 * dt)

    then_apart = _targets(missiles, after.place) - place
    near_SM = closest(apart, then_apart) < fuse
    opens_SM = then_apart.dot(then_apart) > apart.dot(apart)
    opening_SM = jnp.where(opens_SM, missiles.opening_SM + dt, 0.0)
    slow_SM = (new_speed_SM < TOO_SLOW) & (age_SM > BURN)
    target_alive_SM = total(missiles.target_SMS * alive_S, axis=-1) > 0.5
    hits_SM = missiles.flying_SM & near_SM & target_alive_SM
    spent_SM = (age_SM > LIFE) | (opening_SM > OPENING) | slow_SM | ~target_alive_SM | hits_SM
    flown = missiles._replace(
        place=chosen(missiles.flying_SM, place, missiles.place),
        heading=chosen(missiles.flying_SM, heading, missiles.heading),
        speed_SM=jnp.where(missiles.flying_SM, new_speed_SM, speed_SM),
        age_SM=age_SM,
        opening_SM=opening_SM,
        flying_SM=missiles.flying_SM & ~spent_SM,
        pause_S=jnp.maximum(missiles.pause_S - dt, 0.0),
    )
    return flown, total(hits_SM[..., None] * missiles.target_SMS, axis=1)


def _targets(missiles: Missiles, vector: Vector) -> Vector:
    """The vectors of the targets, [S, M]."""
    parts = (vector.x_S, vector.y_S, vector.z_S)
    return Vector(*(total(missiles.target_SMS * part_S, axis=-1) for part_S in parts))


def _turn(missiles: Missiles, apart: Vector, motion: Vector) -> Vector:
    """Rate of the heading: the turn of the line of sight times the navigation constant, across the heading."""
    fading_SM = NAVIGATION * (1.0 - missiles.age_SM / LIFE)
    line_rate = apart.cross(motion) * (1.0 / jnp.maximum(apart.dot(apart), 1.0))
    rate = line_rate.cross(missiles.heading) * fading_SM
    most_SM = MOST_LOAD * GRAVITY / jnp.maximum(missiles.speed_SM, 1.0)
    return rate * jnp.minimum(1.0, most_SM / jnp.maximum(rate.length(), 1e-6))


def _push(height: Array, speed: Array, age: Array, turn_rate: Array) -> Array:
    """Thrust minus drag over mass, m/s2. A missile that turns shows its side to the air."""
    burnt = jnp.minimum(age, BURN)
    area = jnp.pi * DIAMETER**2 / 4 + DIAMETER * LENGTH * jnp.sin(jnp.minimum(turn_rate, jnp.pi / 2))
    drag = 0.5 * DRAG * area * air_at(height).density * speed * speed
    return (jnp.where(age < BURN, THRUST, 0.0) - drag) / (MASS - FUEL_RATE * burnt)
