"""How scripted particles choose where to go, and the thrust that brings them there."""

import jax
import jax.numpy as jnp
from jax import Array

from sparring.games.particles.physics import Bodies, Physics
from sparring.games.particles.views import Blocks

LEAD = 0.3
"""Seconds that a chasing predator looks ahead: three steps."""
UNROLLED = 4
"""Rounds of matching that are written out before they become a loop, which costs more than they do."""
EDGE, WALL = 0.7, 40.0
"""Where fleeing prey begins to turn back, measured where it would come to rest, and how much that outweighs fear."""


def way_left(target_NX: Array, velocity_NX: Array, physics: Physics) -> Array:
    """What separates each particle from `target_NX` (relative to it) once it has come to rest without thrust.

    Speed decays by 1 - damping a step, so a particle coasts velocity * dt / damping. Steering by what is left brakes
    in time.
    """
    return target_NX - velocity_NX * physics.dt / physics.damping


def reach_of_thrust(accel: Array, physics: Physics) -> Array:
    """How far one step of full thrust moves the point where a particle comes to rest."""
    return accel * physics.dt * physics.dt / physics.damping


def toward(target_NX: Array, velocity_NX: Array, bodies: Bodies, seat: int = 0) -> Array:
    """thrust_NX to come to rest at a place relative to each particle; all accelerate as `seat` does."""
    left_NX = way_left(target_NX, velocity_NX, bodies.physics)
    return left_NX / reach_of_thrust(bodies.accel_S[seat], bodies.physics)


def full_thrust(direction_NX: Array) -> Array:
    """The direction scaled until one axis has thrust 1; zero stays zero."""
    largest_N1 = jnp.max(jnp.abs(direction_NX), axis=-1, keepdims=True)
    return direction_NX / jnp.maximum(largest_N1, 1e-12)


def chase(target_NQX: Array, velocity_NQX: Array, own_velocity_NX: Array, bodies: Bodies) -> Array:
    """thrust_NX to where the nearest target will be. A target at exactly no distance is one that is not seen."""
    seen_NQ = (target_NQX != 0.0).any(-1)
    ahead_NQX = target_NQX + LEAD * velocity_NQX
    squared_NQ = jnp.where(seen_NQ, jnp.sum(ahead_NQX**2, axis=-1), jnp.inf)
    return toward(picked(squared_NQ, ahead_NQX), own_velocity_NX, bodies)


def flee(threat_NQX: Array, position_NX: Array, velocity_NX: Array, physics: Physics) -> Array:
    """thrust_NX away from all threats, the near ones most, and back from the border of the square."""
    squared = jnp.sum(threat_NQX**2, axis=-1, keepdims=True)
    fear_NX = -jnp.sum(threat_NQX / jnp.maximum(squared, 1e-6), axis=1)
    rest_NX = position_NX - way_left(jnp.zeros(2), velocity_NX, physics)
    wall_NX = -jnp.sign(rest_NX) * jnp.maximum(jnp.abs(rest_NX) - EDGE, 0.0)
    return full_thrust(fear_NX + WALL * wall_NX)


def picked(cost_NQ: Array, place_NQX: Array) -> Array:
    """place_NX of the least cost; the middle of those that share it."""
    least_NQ = cost_NQ == jnp.min(cost_NQ, axis=1, keepdims=True)
    weight_NQ = least_NQ / jnp.sum(least_NQ, axis=1, keepdims=True)
    return jnp.sum(weight_NQ[..., None] * place_NQX, axis=1)


def betrayed(seen: Blocks) -> Array:
    """place_NX of the landmark that any other seat is nearest to: a guess at what they are after."""
    apart_NESX = seen["landmarks"][:, :, None] - seen["others"][:, None]
    return picked(jnp.min(jnp.sum(apart_NESX**2, axis=-1), axis=2), seen["landmarks"])


def named(word_NU: Array, landmark_NEX: Array) -> Array:
    """place_NX of the landmark whose number was said loudest; no way to go where nothing was said."""
    loud_NE = word_NU[:, : landmark_NEX.shape[1]]
    place_NX = picked(-loud_NE, landmark_NEX)
    return jnp.where(word_NU.any(1)[:, None], place_NX, 0.0)


def shared_out(landmark_NEX: Array, other_NSX: Array) -> Array:
    """place_NX of the landmark that each agent gets when it and the others share them out."""
    return jax.vmap(_mine)(landmark_NEX, other_NSX)


def _mine(landmark_EX: Array, other_SX: Array) -> Array:
    mine_E = matched(landmark_EX, other_SX)
    weight_E = mine_E / jnp.maximum(jnp.sum(mine_E), 1)
    return jnp.sum(weight_E[:, None] * landmark_EX, axis=0)


def matched(landmark_EX: Array, other_SX: Array) -> Array:
    """mine_E: the landmark that is one's own, from where landmarks and others are relative to oneself.

    Sharing is greedy: the closest pair of a free agent and a free landmark is matched first. Distances do not
    depend on who looks, so every agent arrives at the same matching."""
    agent_SX = jnp.concatenate([jnp.zeros((1, 2)), other_SX])
    distance_SE = jnp.sqrt(jnp.sum((agent_SX[:, None] - landmark_EX[None]) ** 2, axis=-1))

    def one_more(_: int, found: tuple[Array, Array]) -> tuple[Array, Array]:
        distance_SE, mine_E = found
        closest_SE = (distance_SE == jnp.min(distance_SE)) & jnp.isfinite(distance_SE)
        taken_SE = closest_SE.any(1)[:, None] | closest_SE.any(0)[None]
        return jnp.where(taken_SE, jnp.inf, distance_SE), mine_E | closest_SE[0]

    nothing_E = jnp.zeros(landmark_EX.shape[0], bool)
    return jax.lax.fori_loop(0, len(agent_SX), one_more, (distance_SE, nothing_E), unroll=UNROLLED)[1]
