"""How fights begin. Sides are alike: what is uneven, and who is chased, falls to either by chance."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.dogfight.airframe import GRAVITY, Flight
from sparring.games.dogfight.rules import PEACE, Rules
from sparring.games.dogfight.vectors import Vector

SLOWEST, FASTEST = 100.0, 340.0
"""Least and greatest speed at the start, m/s."""
ROOM = PEACE * 400.0
"""Kept to every edge at the start: in that time no aircraft gains more than 40 m/s."""
NOSE_OFF, TAIL_OFF = jnp.pi / 16, jnp.pi / 5.3
"""Of a chase: how far, at most, the chaser's nose is off the target, and the line off the target's tail."""
UNEVEN_HEADING, UNEVEN_HEIGHT = jnp.pi / 3, 1000.0
"""Of a neutral start that is uneven: ranges of the turn of each heading, rad, and of the difference of heights, m."""
ABREAST = 400.0
"""Between the two aircraft of a side, m."""


class Draw(NamedTuple):
    """Numbers between 0 and 1."""

    height: Array
    speed: Array
    range: Array
    heading: Array
    bearing: Array
    nose: Array
    behind: Array
    chased: Array
    higher: Array
    turned: Array
    turned_back: Array


def start(key: Array, rules: Rules, side_of_seat: tuple[int, ...]) -> Flight:
    """Level flight, all at one energy."""
    draw = Draw(*jax.random.uniform(key, (len(Draw._fields),)))
    side_S = np.array(side_of_seat)
    seats = len(side_S)
    behind = draw.behind < rules.start_offensive
    height = _between(rules.start_height_low, rules.start_height_high, draw.height)
    rise_S = UNEVEN_HEIGHT * (draw.higher - 0.5) * jnp.asarray(1.0 - 2.0 * side_S)
    wanted_S = height + jnp.where(behind, 0.0, rules.start_uneven) * rise_S
    height_S = jnp.maximum(jnp.minimum(wanted_S, rules.ceiling - ROOM), rules.hard_deck + ROOM)
    # All at one energy: who begins higher begins slower.
    speed = jnp.minimum(_between(rules.start_speed_low, rules.start_speed_high, draw.speed), FASTEST)
    square_S = speed * speed - 2.0 * GRAVITY * (height_S - jnp.mean(height_S))
    speed_S = jnp.sqrt(jnp.clip(square_S, SLOWEST**2, FASTEST**2))
    pairs = zip(_chase(rules, draw, side_S), _neutral(rules, draw, side_S), strict=True)
    east_S, north_S, eastward_S, northward_S = (jnp.where(behind, chase, neutral) for chase, neutral in pairs)
    abreast_S = ABREAST * _place_in_side(side_S)
    return Flight(
        place=Vector(east_S + abreast_S * northward_S, north_S - abreast_S * eastward_S, height_S),
        heading=Vector(eastward_S, northward_S, jnp.zeros(seats)),
        lift=Vector(jnp.zeros(seats), jnp.zeros(seats), jnp.ones(seats)),
        speed_S=speed_S,
        load_S=jnp.ones(seats),
        roll_S=jnp.zeros(seats),
        engine_S=jnp.full(seats, 0.5, float),  # a weak type would compile every program twice
    )


def _neutral(rules: Rules, draw: Draw, side_S: np.ndarray) -> tuple[Array, Array, Array, Array]:
    """Point symmetric but for the turns of an uneven start. East, north and the heading's two components."""
    sign_S = jnp.asarray(1.0 - 2.0 * side_S)
    far = jnp.minimum(_between(rules.start_range_low, rules.start_range_high, draw.range), rules.arena - 2 * ROOM)
    turned_S = UNEVEN_HEADING * rules.start_uneven * (jnp.where(side_S == 0, draw.turned, draw.turned_back) - 0.5)
    bearing, heading_S = 2 * jnp.pi * draw.bearing, 2 * jnp.pi * draw.heading + turned_S
    east, north = 0.5 * far * jnp.sin(bearing), 0.5 * far * jnp.cos(bearing)
    return sign_S * east, sign_S * north, sign_S * jnp.sin(heading_S), sign_S * jnp.cos(heading_S)


def _chase(rules: Rules, draw: Draw, side_S: np.ndarray) -> tuple[Array, Array, Array, Array]:
    """The chased side in the middle, the other behind it."""
    chased_S = jnp.where(draw.chased < rules.start_defensive, 0, 1) == jnp.asarray(side_S)
    far = jnp.minimum(_between(rules.start_chase_low, rules.start_chase_high, draw.range), rules.arena - 2 * ROOM)
    far_S = jnp.where(chased_S, 0.0, far)
    heading = 2 * jnp.pi * draw.heading
    line = heading + TAIL_OFF * (2 * draw.bearing - 1)
    heading_S = jnp.where(chased_S, heading, line + NOSE_OFF * (2 * draw.nose - 1))
    return -far_S * jnp.sin(line), -far_S * jnp.cos(line), jnp.sin(heading_S), jnp.cos(heading_S)


def _place_in_side(side_S: np.ndarray) -> np.ndarray:
    """Half to the right, half to the left of the middle of their side; 0 for an aircraft alone."""
    number_S = np.array([np.sum(side_S[:s] == side) for s, side in enumerate(side_S)])
    return (number_S - (np.sum(side_S == 0) - 1) / 2).astype(np.float32)


def _between(low: Array, high: Array, share: Array) -> Array:
    return low + (high - low) * share
