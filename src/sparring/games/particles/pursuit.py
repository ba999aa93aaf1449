"""What the games of predators and prey have in common: who touches whom, and the border that prey should not cross.

Predators are the first seats.
"""

import jax.numpy as jnp
from jax import Array

from sparring.core.scene import Line
from sparring.core.spec import Feature
from sparring.games.particles import physics, steering
from sparring.games.particles.controls import Wish
from sparring.games.particles.physics import Bodies, ParticleState, touches
from sparring.games.particles.scenes import point
from sparring.games.particles.views import Blocks


def caught(state: ParticleState, bodies: Bodies, predators: int) -> list[Array]:
    """For each prey how many predators touch it."""
    place_SX, size_S = state.position_SX, bodies.size_S
    counts = []
    for q in range(predators, place_SX.shape[0]):
        hits = [touches(place_SX[p] - place_SX[q], size_S[p] + size_S[q]) for p in range(predators)]
        counts.append(sum((hit.astype(float) for hit in hits), jnp.zeros(())))
    return counts


def outside(place_X: Array) -> Array:
    """Penalty of a place, by coordinate: none up to 0.9, then rising to 1 at the border, exponentially to 10 beyond."""
    away_X = jnp.abs(place_X)
    beyond_X = jnp.minimum(jnp.exp(2.0 * away_X - 2.0), 10.0)
    return jnp.sum(jnp.where(away_X < 0.9, 0.0, jnp.where(away_X < 1.0, (away_X - 0.9) * 10.0, beyond_X)))


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


def prey_velocities(state: ParticleState, predators: int, seat: int) -> Array:
    """Of all prey but oneself: a predator sees one more than prey does."""
    velocity_SX = state.velocity_SX
    if seat < predators:
        return velocity_SX[predators:]
    return jnp.concatenate([velocity_SX[predators:seat], velocity_SX[seat + 1 :]])


def catches(state: ParticleState, bodies: Bodies, predators: int) -> list[Line]:
    """A line from each predator to the prey it touches."""
    place_SX, size_S = state.position_SX, bodies.size_S
    return [
        Line(start=point(place_SX[p]), end=point(place_SX[q]), side=0)
        for q in range(predators, len(place_SX))
        for p in range(predators)
        if touches(place_SX[p] - place_SX[q], size_S[p] + size_S[q])
    ]
