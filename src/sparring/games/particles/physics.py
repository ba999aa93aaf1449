"""How particles are pushed, collide and move: the physics of the multi-agent particle environments (arXiv:1706.02275).

Equal, step by step, to the `mpe2` package. Letters: X the two coordinates, E landmarks, which never move, U the symbols
of the channel on which seats speak.
The pairs of particles are unrolled in Python: on a CPU, [S, S] arrays under vmap run at less than half the speed.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

CLOSEST = 1e-24
"""Least squared distance: particles on one spot do not push each other, where mpe2 divides zero by zero."""


class ParticleState(NamedTuple):
    position_SX: Array
    velocity_SX: Array
    landmark_EX: Array
    played: Array
    """Steps since the start, int32."""
    said_SU: Array | tuple = ()
    """What each seat said in the last step, zero for silence; nothing where nobody speaks."""
    secret: Any = ()
    """What was drawn at the start and is not for every eye, such as a goal: a named tuple of arrays."""


class Goal(NamedTuple):
    goal_E: Array
    """One-hot: the landmark that matters."""


class Physics(NamedTuple):
    """Constants of motion, as arrays so that they can change without a recompilation."""

    dt: Array
    damping: Array
    contact_force: Array
    contact_margin: Array


class Bodies(NamedTuple):
    """What seats and landmarks are made of."""

    physics: Physics
    size_S: Array
    accel_S: Array
    landmark_size_E: Array
    max_speed_S: Array | None = None
    """None: as fast as thrust and damping allow."""


def standard_physics() -> Physics:
    return Physics(*(jnp.asarray(value, float) for value in (0.1, 0.25, 100.0, 1e-3)))


def bodies(
    size: Sequence[float], accel: Sequence[float], landmark_size: Sequence[float], max_speed: Sequence[float] = ()
) -> Bodies:
    """Bodies in the standard physics, from the numbers of each seat and each landmark."""
    size_S, accel_S, landmark_size_E, max_speed_S = (
        jnp.array(x, float) for x in (size, accel, landmark_size, max_speed)
    )
    return Bodies(standard_physics(), size_S, accel_S, landmark_size_E, max_speed_S if max_speed else None)


def contact(delta_X: Array, reach: Array, physics: Physics) -> Array:
    """Force on the first of two particles; `delta_X` points to it from the second, `reach` is the sum of their radii.

    A softplus of the depth of the overlap, so the force begins smoothly, about one margin before they touch.
    """
    distance = jnp.sqrt(jnp.maximum(jnp.sum(delta_X * delta_X), CLOSEST))
    depth = jax.nn.softplus((reach - distance) / physics.contact_margin) * physics.contact_margin
    return physics.contact_force * depth / distance * delta_X


def touches(delta_X: Array, reach: Array) -> Array:
    return jnp.sum(delta_X * delta_X) < reach * reach


def contacts(state: ParticleState, bodies: Bodies, solid_landmarks: int) -> Array:
    """force_SX of all contacts between seats, and of seats with the first landmarks, as far as these are solid."""
    position_SX, size_S, physics = state.position_SX, bodies.size_S, bodies.physics
    seats = position_SX.shape[0]
    force = [jnp.zeros_like(position_SX[0])] * seats
    for i, j in combinations(range(seats), 2):
        push_X = contact(position_SX[i] - position_SX[j], size_S[i] + size_S[j], physics)
        force[i], force[j] = force[i] + push_X, force[j] - push_X
    for i in range(seats):
        for e in range(solid_landmarks):
            reach = size_S[i] + bodies.landmark_size_E[e]
            force[i] = force[i] + contact(position_SX[i] - state.landmark_EX[e], reach, physics)
    return jnp.stack(force)


def move(state: ParticleState, force_SX: Array, bodies: Bodies) -> ParticleState:
    """The next places and speeds: positions follow the old velocity; every particle weighs 1."""
    physics, max_speed_S = bodies.physics, bodies.max_speed_S
    velocity_SX = state.velocity_SX * (1.0 - physics.damping) + force_SX * physics.dt
    if max_speed_S is not None:
        speed_S1 = jnp.sqrt(jnp.sum(velocity_SX * velocity_SX, axis=-1, keepdims=True))
        limit_S1 = max_speed_S[:, None]
        too_fast_S1 = speed_S1 > limit_S1
        velocity_SX = jnp.where(
            too_fast_S1, velocity_SX / jnp.where(too_fast_S1, speed_S1, 1.0) * limit_S1, velocity_SX
        )
    position_SX = state.position_SX + state.velocity_SX * physics.dt
    return state._replace(position_SX=position_SX, velocity_SX=velocity_SX)


def scatter(key: Array, seats: int, landmarks: int, landmark_range: float) -> ParticleState:
    """Seats at rest, uniform in the square of half side 1; landmarks uniform in one of half side `landmark_range`."""
    place_X = jax.random.uniform(key, (seats + landmarks, 2), float, minval=-1.0, maxval=1.0)
    position_SX, landmark_EX = place_X[:seats], place_X[seats:] * landmark_range
    return ParticleState(position_SX, jnp.zeros_like(position_SX), landmark_EX, jnp.zeros((), jnp.int32))


def chosen(one_hot_E: Array, rows_EX: Array) -> Array:
    """The row of the one that is chosen; a sum, because a matrix product is rounded to a short format on a GPU."""
    return jnp.sum(one_hot_E[:, None] * rows_EX, axis=0)


def distance(one_X: Array, two_X: Array) -> Array:
    return jnp.sqrt(jnp.sum((one_X - two_X) ** 2))


def nearest(place_X: Array, others_X: Sequence[Array] | Array) -> Array:
    """Distance from one place to the nearest of others."""
    squared = [jnp.sum((other_X - place_X) ** 2) for other_X in others_X]
    least = squared[0]
    for value in squared[1:]:
        least = jnp.minimum(least, value)
    return jnp.sqrt(least)


def draw_one(key: Array, count: int) -> Array:
    """One-hot, each of `count` alike."""
    return (jax.random.randint(key, (), 0, count) == jnp.arange(count)).astype(float)
