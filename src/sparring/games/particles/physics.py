"""How particles are pushed, collide and move: the physics of the multi-agent particle environments (arXiv:1706.02275).

Equal, step by step, to the `mpe2` package. Letters: X the two coordinates, E landmarks, which never move, U the symbols
of the channel on which seats speak.
What happens between many particles is computed with the worlds on the last axis (`games/worlds_last`): on a CPU, the
small arrays of one world under vmap take two to five times as long.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.others import others_SO
from sparring.games.worlds_last import worlds_last

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


def contacts(state: ParticleState, bodies: Bodies, solid_landmarks: int) -> Array:
    """force_SX of all contacts between seats, and of seats with the first landmarks, as far as these are solid."""
    force = worlds_last(_contacts)
    return force(
        state.position_SX, bodies.size_S, state.landmark_EX[:solid_landmarks], bodies.landmark_size_E[:solid_landmarks],
        bodies.physics,
    )  # fmt: skip


def _contacts(position_SX: Array, size_S: Array, landmark_EX: Array, landmark_size_E: Array, physics: Physics) -> Array:
    """Each pair Q of seats is computed once: the second is pushed as much as the first, the other way."""
    first_Q, second_Q, pair_SO = pairs(len(position_SX))
    push_QX = push(position_SX[first_Q] - position_SX[second_Q], size_S[first_Q] + size_S[second_Q], physics)
    sign_SO = np.where(np.arange(len(position_SX))[:, None] == first_Q[pair_SO], 1, -1)
    force_SX = jnp.sum(sign_SO[..., None, None] * push_QX[pair_SO], axis=1)
    if not len(landmark_EX):
        return force_SX
    reach_SE = size_S[:, None] + landmark_size_E
    return force_SX + jnp.sum(push(position_SX[:, None] - landmark_EX, reach_SE, physics), axis=1)


def push(delta_QX: Array, reach_Q: Array, physics: Physics) -> Array:
    """Force on the first of two particles; the delta points to it from the second, `reach` is the sum of their radii.

    A softplus of the depth of the overlap, so the force begins smoothly, about one margin before they touch.
    """
    distance_Q = jnp.sqrt(jnp.maximum(squared(delta_QX), CLOSEST))
    depth_Q = jax.nn.softplus((reach_Q - distance_Q) / physics.contact_margin) * physics.contact_margin
    return (physics.contact_force * depth_Q / distance_Q)[..., None, :] * delta_QX


def pairs(seats: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """first_Q and second_Q, every two seats; and pair_SO, the pair that each seat is with each of the others."""
    first_Q, second_Q = (number_Q.astype(np.int32) for number_Q in np.triu_indices(seats, 1))
    pair_SS = np.zeros((seats, seats), np.int32)
    pair_SS[first_Q, second_Q] = pair_SS[second_Q, first_Q] = np.arange(len(first_Q))
    return first_Q, second_Q, np.take_along_axis(pair_SS, others_SO(seats), axis=1)


def squared(delta_QX: Array) -> Array:
    """Squared lengths [..., W] of vectors [..., X, W]."""
    return jnp.sum(delta_QX * delta_QX, axis=-2)


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
    return jnp.sqrt(jnp.sum((one_X - two_X) ** 2, axis=-1))


@worlds_last
def touching(place_PX: Array, size_P: Array, other_QX: Array, size_Q: Array) -> Array:
    """touching_PQ: whether each of some particles overlaps each of others."""
    reach_PQ = size_P[:, None] + size_Q
    return squared(place_PX[:, None] - other_QX) < reach_PQ * reach_PQ


@worlds_last
def nearest(place_PX: Array, other_QX: Array) -> Array:
    """distance_P from each place to the nearest of others."""
    return jnp.sqrt(jnp.min(squared(other_QX - place_PX[:, None]), axis=1))


def draw_one(key: Array, count: int) -> Array:
    """One-hot, each of `count` alike."""
    return (jax.random.randint(key, (), 0, count) == jnp.arange(count)).astype(float)
