"""How scripted particles turn a wish into an action."""

import jax.numpy as jnp
from jax import Array

from sparring.core.spec import ActionSpec
from sparring.games.particles.physics import DIRECTIONS, Physics

SHARPNESS = 30.0
"""Weight of the squared thrust error in the logits: the best of five directions is nearly always taken."""


def way_left(target_NX: Array, velocity_NX: Array, physics: Physics) -> Array:
    """What separates each particle from `target_NX` (relative to it) once it has come to rest without thrust.

    Speed decays by 1 - damping a step, so a particle coasts velocity * dt / damping. Steering by what is left brakes
    in time.
    """
    return target_NX - velocity_NX * physics.dt / physics.damping


def reach_of_thrust(accel: Array, physics: Physics) -> Array:
    """How far one step of full thrust moves the point where a particle comes to rest."""
    return accel * physics.dt * physics.dt / physics.damping


def full_thrust(direction_NX: Array) -> Array:
    """The direction scaled until one axis has thrust 1; zero stays zero."""
    largest_N1 = jnp.max(jnp.abs(direction_NX), axis=-1, keepdims=True)
    return direction_NX / jnp.maximum(largest_N1, 1e-12)


def scores(thrust_NX: Array, spec: ActionSpec) -> tuple[Array, Array]:
    """logits_NA and mean_NC of the actions nearest to a wished thrust."""
    rows = thrust_NX.shape[0]
    if spec.heads:
        error_NA = jnp.sum((thrust_NX[:, None] - jnp.array(DIRECTIONS)) ** 2, axis=-1)
        return -SHARPNESS * error_NA, jnp.zeros((rows, 0))
    wish_NX = jnp.clip(thrust_NX, -1.0, 1.0)
    right_N, up_N = wish_NX[:, 0], wish_NX[:, 1]
    parts = (jnp.zeros(rows), jnp.maximum(-right_N, 0.0), jnp.maximum(right_N, 0.0))
    return jnp.zeros((rows, 0)), jnp.stack([*parts, jnp.maximum(-up_N, 0.0), jnp.maximum(up_N, 0.0)], axis=-1)
