"""Keep away: an agent wants to be at its goal, one of two landmarks; an adversary that must guess which pushes it off.

Equal, step by step, to `simple_push_v3` of mpe2 (tests/games/particles); the row of the adversary has zeros in the
blocks that it does not see. The adversary is side 0, the agent side 1.
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

LANDMARK_COLOURS = ((0.1, 0.9, 0.1), (0.1, 0.1, 0.9))
AGENT_S1 = np.array([[False], [True]])
"""Who knows the goal."""


class Push(Scenario):
    def draw(self, key: Array) -> Goal:
        return Goal(physics.draw_one(key, 2))

    def see(self, state: ParticleState) -> Blocks:
        """Both see landmarks and each other; the agent also where its goal is, its own colour and the landmarks'."""
        goal_E = state.secret.goal_E
        goal_X = physics.chosen(goal_E, state.landmark_EX)
        colour = 0.25 + 0.5 * jnp.concatenate([jnp.zeros(1), goal_E])
        return {
            **views.surroundings(state),
            "goal": jnp.where(AGENT_S1, goal_X - state.position_SX, 0.0),
            "colour": jnp.where(AGENT_S1, colour, 0.0),
            "landmark_colours": jnp.where(AGENT_S1[..., None], jnp.array(LANDMARK_COLOURS, float), 0.0),
        }

    def pay(self, state: ParticleState) -> Array:
        """The agent pays its distance to the goal; the adversary earns that and pays its own."""
        goal_X = physics.chosen(state.secret.goal_E, state.landmark_EX)
        pusher, agent = physics.distance(state.position_SX, goal_X)
        return jnp.stack([agent - pusher, -agent])

    def scene(self, state: ParticleState, spec: GameSpec) -> Scene:
        """The goal has the colour of the agent."""
        return scenes.with_goal(state, spec, self.bodies, side=1)

    def bots(self) -> Bots:
        """`guess` is an adversary that goes to the landmark the agent is nearer to; `go` is an agent at its goal."""
        return Bots(("guess", "go"), jnp.array([[0.0], [1.0]]), side=(0, 1))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        target_NX = jnp.where(parameters_J[0] > 0.5, seen["goal"], steering.betrayed(seen))
        return Wish(steering.toward(target_NX, seen["velocity"], self.bodies))


def push(steps: int = 25, continuous: bool = False, time: bool = False) -> Particles:
    """An adversary pushes an agent away from a goal it must guess (mpe2 simple_push_v3)."""
    check_counts("push", steps=steps)
    return particle_game(
        Push(
            setting=Setting(moves=(True, True), continuous=continuous, solid=True),
            bodies=physics.bodies([0.05] * 2, [5.0] * 2, [0.05] * 2),
        ),
        layout=(
            Feature("velocity", (2,)),
            Feature("goal", (2,)),
            Feature("colour", (3,)),
            Feature("landmarks", (2, 2)),
            Feature("landmark_colours", (2, 3)),
            Feature("others", (1, 2), lists="others"),
        ),
        steps=steps,
        time=time,
        seat_names=["adversary_0", "agent_0"],
        side_of_seat=[0, 1],
    )
