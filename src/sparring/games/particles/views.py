"""What particles see: rows built from static slices, seat by seat, because slices cost less than gathers."""

import jax.numpy as jnp
from jax import Array

from sparring.core.records import Observation
from sparring.core.spec import GameSpec
from sparring.games.particles.physics import ParticleState


def others(rows_SX: Array, seat: int) -> Array:
    """The rows of all other seats, in seat order."""
    return jnp.concatenate([rows_SX[:seat], rows_SX[seat + 1 :]])


def surroundings(state: ParticleState, seat: int) -> Array:
    """Own velocity and position, then landmarks and other seats relative to the own position, as one vector."""
    own_X = state.position_SX[seat]
    seen_X = jnp.concatenate([state.landmark_EX, others(state.position_SX, seat)]) - own_X
    return jnp.concatenate([state.velocity_SX[seat], own_X, seen_X.reshape(-1)])


def full_view(state: ParticleState) -> Array:
    """central_CG, one view for each seat: its surroundings and the velocities of all others. Nothing is hidden."""
    seats = state.position_SX.shape[0]
    rows = [(surroundings(state, s), others(state.velocity_SX, s).reshape(-1)) for s in range(seats)]
    return jnp.stack([jnp.concatenate(row) for row in rows])


def full_view_size(seats: int, landmarks: int) -> int:
    return 4 + 2 * landmarks + 4 * (seats - 1)


def everyone_acts(features_SF: Array, spec: GameSpec) -> Observation:
    """The observation of a game in which nobody leaves and every action is always legal."""
    all_S = jnp.ones(spec.seats, bool)
    return Observation(features_SF, jnp.ones((spec.seats, spec.action.entries), bool), all_S, all_S)
