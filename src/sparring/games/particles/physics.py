"""How particles are pushed, collide and move: the physics of the multi-agent particle environments (arXiv:1706.02275).

Equal, step by step, to the `mpe2` package. Letters: X the two coordinates, E landmarks, which never move.
The pairs of particles are unrolled in Python: on a CPU, [S, S] arrays under vmap run at less than half the speed.
"""

from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action
from sparring.core.spec import ActionSpec

DIRECTIONS = ((0.0, 0.0), (-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0))
"""Thrust of each discrete action: stay, left, right, down, up. The continuous dimensions have the same order."""

CLOSEST = 1e-24
"""Least squared distance: particles on one spot do not push each other, where mpe2 divides zero by zero."""


class ParticleState(NamedTuple):
    position_SX: Array
    velocity_SX: Array
    landmark_EX: Array
    played: Array
    """Steps since the start, int32."""


class Physics(NamedTuple):
    """Constants of motion, as arrays so that they can change without a recompilation."""

    dt: Array
    damping: Array
    contact_force: Array
    contact_margin: Array


def standard_physics() -> Physics:
    return Physics(*(jnp.asarray(value, float) for value in (0.1, 0.25, 100.0, 1e-3)))


def action_spec(continuous: bool) -> ActionSpec:
    """Five choices, or five dimensions between 0 and 1 of which the first is idle."""
    return ActionSpec(low=(0.0,) * 5, high=(1.0,) * 5) if continuous else ActionSpec(heads=(5,))


def thrust(action: Action, spec: ActionSpec) -> Array:
    """thrust_SX between -1 and 1 on each axis."""
    if spec.heads:
        choice_S = action.discrete_SD[:, 0]
        right_S, up_S = _difference(choice_S == 2, choice_S == 1), _difference(choice_S == 4, choice_S == 3)
    else:
        right_S = action.continuous_SC[:, 2] - action.continuous_SC[:, 1]
        up_S = action.continuous_SC[:, 4] - action.continuous_SC[:, 3]
    return jnp.stack([right_S, up_S], axis=-1)


def contact(delta_X: Array, reach: Array, physics: Physics) -> Array:
    """Force on the first of two particles; `delta_X` points to it from the second, `reach` is the sum of their radii.

    A softplus of the depth of the overlap, so the force begins smoothly, about one margin before they touch.
    """
    distance = jnp.sqrt(jnp.maximum(jnp.sum(delta_X * delta_X), CLOSEST))
    depth = jax.nn.softplus((reach - distance) / physics.contact_margin) * physics.contact_margin
    return physics.contact_force * depth / distance * delta_X


def touches(delta_X: Array, reach: Array) -> Array:
    return jnp.sum(delta_X * delta_X) < reach * reach


def contacts(state: ParticleState, size_S: Array, landmark_size_E: Array | None, physics: Physics) -> Array:
    """force_SX of all contacts between seats and, where landmarks have a size, of seats with landmarks."""
    position_SX, seats = state.position_SX, state.position_SX.shape[0]
    force = [jnp.zeros_like(position_SX[0])] * seats
    for i, j in combinations(range(seats), 2):
        push_X = contact(position_SX[i] - position_SX[j], size_S[i] + size_S[j], physics)
        force[i], force[j] = force[i] + push_X, force[j] - push_X
    if landmark_size_E is not None:
        for i in range(seats):
            for e in range(state.landmark_EX.shape[0]):
                reach = size_S[i] + landmark_size_E[e]
                force[i] = force[i] + contact(position_SX[i] - state.landmark_EX[e], reach, physics)
    return jnp.stack(force)


def move(state: ParticleState, force_SX: Array, physics: Physics, max_speed_S: Array | None = None) -> ParticleState:
    """The next state: positions follow the old velocity; every particle weighs 1."""
    velocity_SX = state.velocity_SX * (1.0 - physics.damping) + force_SX * physics.dt
    if max_speed_S is not None:
        speed_S1 = jnp.sqrt(jnp.sum(velocity_SX * velocity_SX, axis=-1, keepdims=True))
        limit_S1 = max_speed_S[:, None]
        too_fast_S1 = speed_S1 > limit_S1
        velocity_SX = jnp.where(
            too_fast_S1, velocity_SX / jnp.where(too_fast_S1, speed_S1, 1.0) * limit_S1, velocity_SX
        )
    position_SX = state.position_SX + state.velocity_SX * physics.dt
    return ParticleState(position_SX, velocity_SX, state.landmark_EX, state.played + 1)


def scatter(key: Array, seats: int, landmarks: int, landmark_range: float) -> ParticleState:
    """Seats at rest, uniform in the square of half side 1; landmarks uniform in one of half side `landmark_range`."""
    place_X = jax.random.uniform(key, (seats + landmarks, 2), float, minval=-1.0, maxval=1.0)
    position_SX, landmark_EX = place_X[:seats], place_X[seats:] * landmark_range
    return ParticleState(position_SX, jnp.zeros_like(position_SX), landmark_EX, jnp.zeros((), jnp.int32))


def _difference(plus_S: Array, minus_S: Array) -> Array:
    return plus_S.astype(float) - minus_S.astype(float)
