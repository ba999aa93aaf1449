"""What the games of predators and prey have in common: who touches whom, and the border that prey should not cross.

Predators are the first seats.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.scene import Line
from sparring.core.spec import Feature
from sparring.games.others import others_SO
from sparring.games.particles import physics, steering
from sparring.games.particles.controls import Wish
from sparring.games.particles.physics import Bodies, ParticleState
from sparring.games.particles.scenes import point
from sparring.games.particles.views import Blocks


def caught(state: ParticleState, bodies: Bodies, predators: int) -> Array:
    """caught_PQ: whether each predator touches each prey."""
    place_SX, size_S = state.position_SX, bodies.size_S
    return physics.touching(place_SX[:predators], size_S[:predators], place_SX[predators:], size_S[predators:])


def outside(place_QX: Array) -> Array:
    """Penalty of places, by coordinate: none up to 0.9, then rising to 1 at the border, exponentially to 10 beyond."""
    away_QX = jnp.abs(place_QX)
    beyond_QX = jnp.minimum(jnp.exp(2.0 * away_QX - 2.0), 10.0)
    near_QX = jnp.where(away_QX < 0.9, 0.0, (away_QX - 0.9) * 10.0)
    return jnp.sum(jnp.where(away_QX < 1.0, near_QX, beyond_QX), axis=-1)


def wish(flees: Array, seen: Blocks, bodies: Bodies, predators: int) -> Wish:
    """Predators head for where the nearest prey will be; prey runs from them."""
    place, own_velocity = seen["others"], seen["velocity"]
    away_NX = steering.flee(place[:, :predators], seen["position"], own_velocity, bodies.physics)
    toward_NX = steering.chase(place[:, predators - 1 :], seen["prey_velocity"], own_velocity, bodies)
    return Wish(jnp.where(flees, away_NX, toward_NX))


def bodies(predators: int, prey: int, prey_size: float, landmark_size: list[float]) -> Bodies:
    """Slow predators and fast prey."""
    return physics.bodies(
        size=[0.075] * predators + [prey_size] * prey,
        accel=[3.0] * predators + [4.0] * prey,
        landmark_size=landmark_size,
        max_speed=[1.0] * predators + [1.3] * prey,
    )


def layout(seats: int, landmarks: tuple[str, int], prey: int) -> tuple[Feature, ...]:
    """The blocks that these games share; `landmarks` says what they are called and how many there are."""
    name, count = landmarks
    return (
        Feature("velocity", (2,)),
        Feature("position", (2,)),
        Feature(name, (count, 2)),
        Feature("others", (seats - 1, 2), lists="others"),
        Feature("prey_velocity", (prey, 2)),
    )


def seat_names(predators: int, prey: int) -> list[str]:
    return [*(f"predator_{p}" for p in range(predators)), *(f"prey_{q}" for q in range(prey))]


def prey_velocities(state: ParticleState, predators: int) -> Array:
    """velocity_SQX of the prey that each seat lists; zeros for nobody."""
    return jnp.pad(state.velocity_SX, ((0, 1), (0, 0)))[listed_prey(len(state.velocity_SX), predators)]


def listed_prey(seats: int, predators: int) -> np.ndarray:
    """seat_SQ: all prey but oneself. Prey lists one fewer than a predator does, and ends with the number after the last
    seat, which is nobody."""
    prey = seats - predators
    hunted_PQ = np.tile(np.arange(predators, seats, dtype=np.int32), (predators, 1))
    fellows_QO = predators + others_SO(prey)
    return np.concatenate([hunted_PQ, np.pad(fellows_QO, ((0, 0), (0, 1)), constant_values=seats)])


def catches(state: ParticleState, bodies: Bodies, predators: int) -> list[Line]:
    """A line from each predator to the prey it touches."""
    place_SX, caught_PQ = state.position_SX, np.asarray(caught(state, bodies, predators))
    return [
        Line(start=point(place_SX[p]), end=point(place_SX[predators + q]), side=0) for q, p in np.argwhere(caught_PQ.T)
    ]
