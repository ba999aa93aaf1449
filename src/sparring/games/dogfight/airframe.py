"""How an aircraft flies: a point mass with lift, drag and thrust, in vector form, which loops without a singularity.

The constants are those of an F-16-like aircraft in public flight models; the nose is the direction of flight (no angle
of attack, no sideslip, no fuel). `fly` keeps speed and direction apart: a pull turns the velocity and must not add to
its length, which v += a dt does (7 m/s too much in 20 s of a 5.8 g turn at 20 Hz).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.dogfight.vectors import Vector

GRAVITY = 9.80665
TROPOPAUSE = 11_000.0
SLOWEST = 30.0
"""Floor of the speed in m/s, reached only in a stall straight up."""


class Airframe(NamedTuple):
    """Constants of one type of aircraft, in SI units."""

    mass: float = 9295.0
    wing: float = 27.87
    """Area, m2."""
    drag: float = 0.02
    """Coefficient without lift, below Mach 0.9."""
    wave_drag: float = 5.0
    """How much faster the drag grows beyond Mach 0.9; 5 makes Mach 1.2 the greatest speed at sea level."""
    induced_drag: float = 0.1326
    """Drag for the square of the lift coefficient: aspect ratio 3, efficiency 0.8."""
    most_lift: float = 1.4
    """Greatest lift coefficient."""
    thrust: float = 84_500.0
    """With afterburner at sea level, N."""
    most_load: float = 9.0
    least_load: float = -3.0
    roll_rate: float = jnp.pi
    """Greatest, rad/s."""
    firm: float = 6125.0
    """Dynamic pressure from which the greatest roll rate is reached, Pa: 100 m/s at sea level."""
    load_lag: float = 0.4
    roll_lag: float = 0.25
    engine_lag: float = 1.5
    """Time constants, s."""


F16 = Airframe()


class Flight(NamedTuple):
    """How every aircraft flies now."""

    place: Vector
    heading: Vector
    """Unit vector of the velocity."""
    lift: Vector
    """Unit vector of the lift, at right angles to the heading."""
    speed_S: Array
    load_S: Array
    """Lift over weight."""
    roll_S: Array
    """Roll rate, rad/s, right wing down positive."""
    engine_S: Array
    """Share of the greatest thrust."""

    @property
    def right(self) -> Vector:
        return self.heading.cross(self.lift)

    @property
    def velocity(self) -> Vector:
        return self.heading * self.speed_S


class Controls(NamedTuple):
    throttle_S: Array
    load_S: Array
    roll_S: Array
    """Share of the roll rate that the air allows, from -1 to 1."""


class Air(NamedTuple):
    density: Array
    sound: Array
    thinness: Array
    """What is left of the thrust at sea level."""


def air_at(height: Array) -> Air:
    """The standard atmosphere: colder with height up to 11 km, then of one temperature."""
    warmth = 1.0 - jnp.clip(height, 0.0, TROPOPAUSE) * (0.0065 / 288.15)
    log_ratio = 4.256 * jnp.log(warmth) - jnp.maximum(height - TROPOPAUSE, 0.0) / 6341.6
    return Air(1.225 * jnp.exp(log_ratio), 340.294 * jnp.sqrt(warmth), jnp.exp(0.7 * log_ratio))


def pressure(air: Air, speed: Array) -> Array:
    """Dynamic pressure, Pa."""
    return 0.5 * air.density * speed * speed


def load_limit(pressure: Array, frame: Airframe = F16) -> Array:
    """The load factor at which the wing stalls."""
    return pressure * (frame.wing * frame.most_lift / (frame.mass * GRAVITY))


def drag_coefficient(mach: Array, frame: Airframe = F16) -> Array:
    """Without lift."""
    beyond = jnp.maximum(mach - 0.9, 0.0)
    return frame.drag * (1.0 + frame.wave_drag * beyond * beyond)


def push(air: Air, speed: Array, load: Array, engine: Array, frame: Airframe = F16) -> Array:
    """Thrust minus drag over mass, m/s2."""
    press = jnp.maximum(pressure(air, speed), 1.0) * frame.wing
    lift = load * (frame.mass * GRAVITY)
    drag = press * drag_coefficient(speed / air.sound, frame) + frame.induced_drag * lift * lift / press
    return (engine * air.thinness * frame.thrust - drag) / frame.mass


def sustained_load(air: Air, speed: Array, frame: Airframe = F16) -> Array:
    """The load factor at which full thrust holds the speed in level flight."""
    press = pressure(air, speed) * frame.wing
    spare = frame.thrust * air.thinness / press - drag_coefficient(speed / air.sound, frame)
    return press / (frame.mass * GRAVITY) * jnp.sqrt(jnp.maximum(spare / frame.induced_drag, 0.0))


def roll_limit(pressure: Array, frame: Airframe = F16) -> Array:
    """Greatest roll rate, rad/s: in thin or slow air the ailerons are weak."""
    return frame.roll_rate * jnp.clip(pressure / frame.firm, 0.2, 1.0)


def fly(flight: Flight, controls: Controls, dt: float, frame: Airframe = F16) -> Flight:
    """One sub-step of all aircraft."""
    heading, speed_S = flight.heading, flight.speed_S
    air = air_at(flight.place.z_S)
    press_S = pressure(air, speed_S)
    load_S = flight.load_S + (controls.load_S - flight.load_S) * (dt / frame.load_lag)
    roll_S = flight.roll_S + (controls.roll_S * roll_limit(press_S, frame) - flight.roll_S) * (dt / frame.roll_lag)
    engine_S = flight.engine_S + (controls.throttle_S - flight.engine_S) * (dt / frame.engine_lag)
    limit_S = load_limit(press_S, frame)
    load_S = jnp.clip(load_S, jnp.maximum(-limit_S, frame.least_load), jnp.minimum(limit_S, frame.most_load))

    along_S = push(air, speed_S, load_S, engine_S, frame) - GRAVITY * heading.z_S
    new_speed_S = jnp.maximum(speed_S + along_S * dt, SLOWEST)
    turn_S = GRAVITY * dt / speed_S
    pull, fall_S = flight.lift * (load_S * turn_S), turn_S
    sink = Vector(-heading.x_S * heading.z_S, -heading.y_S * heading.z_S, 1.0 - heading.z_S * heading.z_S) * fall_S
    new_heading = (heading + pull - sink).unit()
    place = flight.place + (heading * speed_S + new_heading * new_speed_S) * (0.5 * dt)
    return Flight(
        place, new_heading, _rolled(flight.lift, new_heading, roll_S * dt), new_speed_S, load_S, roll_S, engine_S
    )


def _rolled(lift: Vector, heading: Vector, angle_S: Array) -> Vector:
    """The lift after a roll, at right angles to the new heading. Series of sine and cosine: sub-steps roll by less than
    0.2 rad, and only the direction counts."""
    square_S = angle_S * angle_S
    cosine_S, sine_S = 1.0 - square_S * (0.5 - square_S / 24.0), angle_S * (1.0 - square_S / 6.0)
    return (lift * cosine_S + heading.cross(lift) * sine_S).away_from(heading).unit()
