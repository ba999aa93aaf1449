"""Cooperative navigation: as many agents as landmarks; cover them all, without bumping into each other.

Equal, step by step, to `simple_spread_v3` of mpe2 (tests/games/particles). All agents are one side.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Goals
from sparring.core.spec import Feature, Term
from sparring.games.game import Bots
from sparring.games.others import others
from sparring.games.particles import goals, physics, steering, views
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles, Scenario, check_counts, check_local_ratio, particle_game
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.views import Blocks


class Spread(Scenario):
    terms: ClassVar = (
        Term("approach", "potential", "minus the agent's distance to the landmark nearest to it"),
        Term(
            "coverage", "potential", "minus the distances of all landmarks to the agents nearest to them, for all alike"
        ),
    )
    local_ratio: Array
    """Share of a reward that is the agent's own collisions; the rest is the team's distance to the landmarks."""
    collision_penalty: Array

    def see(self, state: ParticleState) -> Blocks:
        """Surroundings; the silent channels of the others are zero."""
        return views.surroundings(state)

    def pay(self, state: ParticleState) -> Array:
        """The distance of each landmark to the agent nearest to it, and one's own collisions."""
        place_SX, size_S = state.position_SX, self.bodies.size_S
        bumps_SS = physics.touching(place_SX, size_S, place_SX, size_S) & ~np.eye(len(size_S), dtype=bool)
        own_S = -self.collision_penalty * jnp.sum(bumps_SS, axis=1, dtype=float)
        uncovered = jnp.sum(physics.nearest(state.landmark_EX, place_SX))
        return -uncovered * (1.0 - self.local_ratio) + own_S * self.local_ratio

    def potential(self, state: ParticleState) -> Array:
        approach_S = -physics.nearest(state.position_SX, state.landmark_EX)
        coverage = -jnp.sum(physics.nearest(state.landmark_EX, state.position_SX))
        return jnp.stack([approach_S, jnp.broadcast_to(coverage, approach_S.shape)], axis=-1)

    def goals(self, state: ParticleState) -> Goals:
        """Each landmark; the last number is how far the nearest other agent is from it."""
        squared_SE = jnp.sum((state.position_SX[:, None] - state.landmark_EX) ** 2, axis=-1)
        rival_SE = jnp.sqrt(jnp.min(others(squared_SE), axis=1))
        return goals.placed(state, self.bodies, goals.landmarks(state, self.bodies), self._all(), [rival_SE])

    def touched(self, state: ParticleState) -> Array:
        return goals.touched(state, self.bodies, goals.landmarks(state, self.bodies), self._all())

    def wanted(self, parameters_J: Array, state: ParticleState) -> Array:
        seen = views.surroundings(state)
        squared_SE = jnp.sum(seen["landmarks"] ** 2, axis=-1)
        nearest_SE = squared_SE == jnp.min(squared_SE, axis=1, keepdims=True)
        return jnp.where(
            parameters_J[0] > 0.5, jax.vmap(steering.matched)(seen["landmarks"], seen["others"]), nearest_SE
        )

    def _all(self) -> np.ndarray:
        return np.ones((self.bodies.size_S.shape[0], self.bodies.landmark_size_E.shape[0]), bool)

    def bots(self) -> Bots:
        """`nearest`: each agent goes to the landmark nearest to it. `assigned`: they share the landmarks out."""
        return Bots(("nearest", "assigned"), jnp.array([[0.0], [1.0]]))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        landmark_NEX = seen["landmarks"]
        nearest_NX = steering.picked(jnp.sum(landmark_NEX**2, axis=-1), landmark_NEX)
        assigned_NX = steering.shared_out(landmark_NEX, seen["others"])
        target_NX = jnp.where(parameters_J[0] > 0.5, assigned_NX, nearest_NX)
        return Wish(steering.toward(target_NX, seen["velocity"], self.bodies))


def spread(
    agents: int = 3, steps: int = 25, local_ratio: float = 0.5, continuous: bool = False, time: bool = False
) -> Particles:
    """Agents cover as many landmarks without bumping into each other (mpe2 simple_spread_v3)."""
    check_counts("spread", agents=agents, steps=steps)
    check_local_ratio(local_ratio)
    pairs = (agents - 1, 2)
    return particle_game(
        Spread(
            setting=Setting(moves=(True,) * agents, continuous=continuous, solid=True),
            bodies=physics.bodies([0.15] * agents, [5.0] * agents, [0.05] * agents),
            local_ratio=jnp.asarray(local_ratio, float),
            collision_penalty=jnp.asarray(1.0, float),
        ),
        layout=(
            Feature("velocity", (2,)),
            Feature("position", (2,)),
            Feature("landmarks", (agents, 2)),
            Feature("others", pairs, lists="others"),
            Feature("silence", pairs, lists="others"),
        ),
        steps=steps,
        time=time,
        seat_names=[f"agent_{s}" for s in range(agents)],
        exchangeable=(tuple(range(agents)),),
        goals=("landmark",) * agents if agents > 1 else (),
    )
