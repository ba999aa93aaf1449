"""How scripted pilots turn a wish to fly somewhere into controls, from features alone. All vectors in body axes.

Body axes (ahead, right, up) are left-handed: a x b has the components of b x a there.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.dogfight.airframe import GRAVITY, Air, Controls, air_at, load_limit, pressure, roll_limit
from sparring.games.dogfight.rules import Rules
from sparring.games.dogfight.vectors import Vector, arctan2, chosen
from sparring.games.dogfight.view import Own

ROLL_GAIN = 4.0
"""Roll rate for the bank off, 1/s."""
DELAY, MARGIN = 0.8, 150.0
"""Of the deck guard: seconds before a pull acts, and height to spare, m."""


class Hand(NamedTuple):
    """How a pilot moves the stick."""

    gain: float | Array
    """Turn rate for the angle between the nose and where it should point, 1/s."""
    lead: float | Array
    """How far beyond the wished pull and roll the stick goes, so that they come sooner; 1: not."""


class Attitude(NamedTuple):
    """What a pilot works out from its own block; all [N]."""

    zenith: Vector
    """Straight up."""
    flat: Vector
    """Unit vector of the heading in the horizontal."""
    side: Vector
    """Unit vector to the right in the horizontal."""
    air: Air
    load_limit: Array
    """Greatest load factor now."""
    roll_limit: Array


def attitude(own: Own) -> Attitude:
    climb_sine, climb_cosine = jnp.sin(own.climb), jnp.maximum(jnp.cos(own.climb), 1e-3)
    zenith = Vector(climb_sine, -climb_cosine * own.bank_sine, climb_cosine * own.bank_cosine)
    ahead = Vector(jnp.ones_like(climb_sine), jnp.zeros_like(climb_sine), jnp.zeros_like(climb_sine))
    flat = ahead.away_from(zenith).unit()
    air = air_at(own.height)
    press = pressure(air, own.speed)
    return Attitude(zenith, flat, zenith.cross(flat), air, load_limit(press), roll_limit(press))


def course(at: Attitude, turn: Array, climb: Array) -> Vector:
    """The direction `turn` to the right of the present heading, `climb` above the horizon, both in rad."""
    level = at.flat * jnp.cos(turn) + at.side * jnp.sin(turn)
    return level * jnp.cos(climb) + at.zenith * jnp.sin(climb)


def guarded(own: Own, at: Attitude, rules: Rules, wish: Vector, load_cap: Array) -> tuple[Vector, Array]:
    """The wish, or a pull-up while there is still room for one above the deck, or a descent below the ceiling."""
    radius = own.speed * own.speed / (GRAVITY * jnp.maximum(0.8 * jnp.minimum(at.load_limit, 9.0) - 1.0, 0.5))
    dive = jnp.maximum(-at.zenith.x_S, 0.0)
    tilt = arctan2(jnp.sqrt(at.zenith.x_S * at.zenith.x_S + at.zenith.y_S * at.zenith.y_S), at.zenith.z_S)
    fall = radius * (1.0 - jnp.sqrt(jnp.maximum(1.0 - dive * dive, 0.0))) + own.speed * dive * (
        tilt / at.roll_limit + DELAY
    )
    low = own.clearance - fall - MARGIN < 0.0
    high = own.height + 10.0 * own.speed * jnp.maximum(at.zenith.x_S, 0.0) > rules.ceiling - 500.0
    wish = chosen(low, at.flat + at.zenith * 0.2, chosen(high, at.flat - at.zenith * 0.2, wish)).unit()
    return wish, jnp.where(low, 9.0, load_cap)


def steer(
    own: Own, at: Attitude, wish: Vector, drift: Vector, load_cap: Array, throttle: Array, hand: Hand
) -> Controls:
    """Roll the lift to where the nose should go and pull. `drift` is the rate of the wished direction: without it the
    nose trails a turning target by its turn rate over hand.gain, outside a gun zone of 1 degree for ever."""
    off = jnp.sqrt(wish.y_S * wish.y_S + wish.z_S * wish.z_S)
    turn = hand.gain * arctan2(off, wish.x_S) / jnp.maximum(off, 1e-6)
    needed = own.speed / GRAVITY
    # A direction straight ahead or behind has no side: up will do.
    right = needed * (turn * wish.y_S + drift.y_S) + at.zenith.y_S
    up = needed * (turn * jnp.where(off < 1e-3, off, wish.z_S) + drift.z_S) + at.zenith.z_S
    bank_off = arctan2(right, up)
    # The upward part is the length times the cosine of the bank that is still to roll.
    load = jnp.clip(up, 0.0, jnp.minimum(load_cap, at.load_limit))
    roll = jnp.clip(ROLL_GAIN * bank_off, -at.roll_limit, at.roll_limit)
    load, roll = own.load + hand.lead * (load - own.load), own.roll + hand.lead * (roll - own.roll)
    return Controls(throttle, load, jnp.clip(roll / at.roll_limit, -1.0, 1.0))


def turn_rate(own: Own) -> Array:
    """Of the heading, to the right, rad/s."""
    return GRAVITY * own.load * own.bank_sine / (own.speed * jnp.maximum(jnp.cos(own.climb), 0.1))
