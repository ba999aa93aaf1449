"""Physical deception: good agents know which landmark is the goal, their adversary does not, and all want to be there.

Equal, step by step, to `simple_adversary_v3` of mpe2 (tests/games/particles); the row of the adversary begins with
zeros, where good agents see the goal. The adversary is side 0, the good agents are side 1. Nobody is solid.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.scene import Scene
from sparring.core.spec import Feature, GameSpec
from sparring.games.game import Bots
from sparring.games.particles import physics, scenes, steering, views
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles, Scenario, check_counts, particle_game
from sparring.games.particles.physics import Goal, ParticleState
from sparring.games.particles.views import Blocks


class Adversary(Scenario):
    def draw(self, key: Array) -> Goal:
        return Goal(physics.draw_one(key, self.bodies.landmark_size_E.shape[0]))

    def see(self, state: ParticleState) -> Blocks:
        """Landmarks and others; good agents see the goal too. Nobody sees a velocity."""
        good_S1 = np.arange(len(state.position_SX))[:, None] > 0
        goal_X = physics.chosen(state.secret.goal_E, state.landmark_EX)
        return {**views.surroundings(state), "goal": jnp.where(good_S1, goal_X - state.position_SX, 0.0)}

    def pay(self, state: ParticleState) -> Array:
        """Good agents are paid for the one of them that is nearest to the goal, and for their adversary's distance."""
        goal_X = physics.chosen(state.secret.goal_E, state.landmark_EX)
        distance_S = physics.distance(state.position_SX, goal_X)
        kept_off = distance_S[0]
        good = kept_off - jnp.min(distance_S[1:])
        return jnp.full_like(distance_S, good).at[0].set(-kept_off)

    def scene(self, state: ParticleState, spec: GameSpec) -> Scene:
        """The goal has the colour of the good agents."""
        return scenes.with_goal(state, spec, self.bodies, side=1)

    def bots(self) -> Bots:
        """`guess` is an adversary that goes to the landmark any agent is nearest to. Good agents `rush` to the goal
        together, or `cover` all landmarks, so that they give nothing away."""
        return Bots(("guess", "rush", "cover"), jnp.array([[0.0], [1.0], [2.0]]), side=(0, 1, 1))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        """Velocities are not seen, so these players overshoot and come back."""
        shared_NX = steering.shared_out(seen["landmarks"], seen["others"][:, 1:])
        kind = parameters_J[0]
        target_NX = jnp.where(kind < 0.5, steering.betrayed(seen), jnp.where(kind < 1.5, seen["goal"], shared_NX))
        return Wish(steering.toward(target_NX, jnp.zeros(2), self.bodies))


def adversary(agents: int = 2, steps: int = 25, continuous: bool = False, time: bool = False) -> Particles:
    """Good agents reach a goal that their adversary must guess (mpe2 simple_adversary_v3)."""
    check_counts("adversary", agents=agents, steps=steps)
    seats = agents + 1
    return particle_game(
        Adversary(
            setting=Setting(moves=(True,) * seats, continuous=continuous),
            bodies=physics.bodies([0.15] * seats, [5.0] * seats, [0.08] * agents),
        ),
        layout=(
            Feature("goal", (2,)),
            Feature("landmarks", (agents, 2)),
            Feature("others", (agents, 2), lists="others"),
        ),
        steps=steps,
        time=time,
        seat_names=["adversary_0", *(f"agent_{s}" for s in range(agents))],
        side_of_seat=[0] + [1] * agents,
        exchangeable=(tuple(range(1, seats)),),
    )
