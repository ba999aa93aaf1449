"""Cooperative navigation: as many agents as landmarks; cover them all, without bumping into each other.

Equal, step by step, to `simple_spread_v3` of mpe2 (tests/games/particles). All agents are one side.
"""

from itertools import combinations

import jax.numpy as jnp
from jax import Array

from sparring.core.spec import Feature
from sparring.games.game import Bots
from sparring.games.particles import physics, steering, views
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles, Scenario, check_counts, check_local_ratio, particle_game
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.views import Blocks


class Spread(Scenario):
    local_ratio: Array
    """Share of a reward that is the agent's own collisions; the rest is the team's distance to the landmarks."""
    collision_penalty: Array

    def see(self, state: ParticleState) -> list[Blocks]:
        """Surroundings, and the silent channels of the others, which are zero."""
        return [views.surroundings(state, s) for s in range(state.position_SX.shape[0])]

    def pay(self, state: ParticleState) -> Array:
        own_S = -self.collision_penalty * _bumps(state.position_SX, self.bodies.size_S)
        uncovered = sum((physics.nearest(at_X, state.position_SX) for at_X in state.landmark_EX), jnp.zeros(()))
        return -uncovered * (1.0 - self.local_ratio) + own_S * self.local_ratio

    def bots(self) -> Bots:
        """`nearest`: each agent goes to the landmark nearest to it. `assigned`: they share the landmarks out."""
        return Bots(("nearest", "assigned"), jnp.array([[0.0], [1.0]]))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        landmark_NEX = seen["landmarks"]
        nearest_NX = steering.picked(jnp.sum(landmark_NEX**2, axis=-1), landmark_NEX)
        assigned_NX = steering.shared_out(landmark_NEX, seen["others"])
        target_NX = jnp.where(parameters_J[0] > 0.5, assigned_NX, nearest_NX)
        return Wish(steering.toward(target_NX, seen["velocity"], self.bodies))


def spread(agents: int = 3, steps: int = 25, local_ratio: float = 0.5, continuous: bool = False) -> Particles:
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
        seat_names=[f"agent_{s}" for s in range(agents)],
        exchangeable=(tuple(range(agents)),),
    )


def _bumps(position_SX: Array, size_S: Array) -> Array:
    """How many others each seat touches."""
    seats = position_SX.shape[0]
    count = [jnp.zeros(())] * seats
    for i, j in combinations(range(seats), 2):
        hit = physics.touches(position_SX[i] - position_SX[j], size_S[i] + size_S[j]).astype(float)
        count[i], count[j] = count[i] + hit, count[j] + hit
    return jnp.stack(count)
