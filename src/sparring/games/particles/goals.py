"""How particles are placed to the things they may be after: places that they may come to touch."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Goals
from sparring.games.particles import physics
from sparring.games.particles.physics import Bodies, ParticleState


def landmarks(state: ParticleState, bodies: Bodies) -> tuple[Array, Array, Array]:
    """place_GX, velocity_GX and size_G."""
    return state.landmark_EX, jnp.zeros_like(state.landmark_EX), bodies.landmark_size_E


def everything(state: ParticleState, bodies: Bodies) -> tuple[Array, Array, Array]:
    """The same of all seats, then all landmarks."""
    seats = state.position_SX, state.velocity_SX, bodies.size_S
    one, two, three = (jnp.concatenate(pair) for pair in zip(seats, landmarks(state, bodies), strict=True))
    return one, two, three


def placed(
    state: ParticleState,
    bodies: Bodies,
    things: tuple[Array, Array, Array],
    open_SG: np.ndarray,
    about: Sequence[Array],
) -> Goals:
    """Steps at full speed until they touch; where a thing is and how it moves relative to each seat, the gap between
    them, and what else is told."""
    place_GX, velocity_GX, size_G = things
    delta_SGX = place_GX - state.position_SX[:, None]
    gap_SG = jnp.sqrt(jnp.sum(delta_SGX**2, axis=-1)) - bodies.size_S[:, None] - size_G
    steps_SG = jnp.maximum(gap_SG, 0.0) / _stride(bodies)[:, None]
    moves_SGX = velocity_GX - state.velocity_SX[:, None]
    told = [jnp.broadcast_to(part, gap_SG.shape)[..., None].astype(float) for part in (gap_SG, *about)]
    about_SGZ = jnp.concatenate([delta_SGX, moves_SGX, *told], axis=-1)
    shown_SG = jnp.asarray(open_SG)
    return Goals(shown_SG, jnp.where(shown_SG, steps_SG, 0.0), jnp.where(shown_SG[..., None], about_SGZ, 0.0))


def touched(state: ParticleState, bodies: Bodies, things: tuple[Array, Array, Array], open_SG: np.ndarray) -> Array:
    """reached_SG: what each seat touches."""
    place_GX, _, size_G = things
    return physics.touching(state.position_SX, bodies.size_S, place_GX, size_G) & open_SG


def _stride(bodies: Bodies) -> Array:
    """How far each seat comes in a step along one axis at full thrust, once it is up to speed."""
    speed_S = bodies.accel_S * bodies.physics.dt / bodies.physics.damping
    if bodies.max_speed_S is not None:
        speed_S = jnp.minimum(speed_S, bodies.max_speed_S)
    return speed_S * bodies.physics.dt
