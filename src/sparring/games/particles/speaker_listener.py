"""Cooperative communication: a speaker that cannot move knows the goal, a listener that cannot speak must go there.

Equal, step by step, to `simple_speaker_listener_v4` of mpe2 (tests/games/particles). Both are one side; the speaker has
zeros in the listener's blocks, the listener in the speaker's.
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

SPEAKER, LISTENER = range(2)
LISTENS_S1 = np.array([[False], [True]])
LANDMARKS = 3
"""As many symbols as landmarks."""


class SpeakerListener(Scenario):
    def draw(self, key: Array) -> Goal:
        return Goal(physics.draw_one(key, LANDMARKS))

    def see(self, state: ParticleState) -> Blocks:
        """The speaker sees the colour of the goal; the listener the landmarks and what was said."""
        colour_E, around = 0.15 + 0.5 * state.secret.goal_E, views.surroundings(state)
        return {
            "goal_colour": jnp.where(LISTENS_S1, 0.0, colour_E),
            "velocity": jnp.where(LISTENS_S1, around["velocity"], 0.0),
            "landmarks": jnp.where(LISTENS_S1[..., None], around["landmarks"], 0.0),
            "heard": jnp.where(LISTENS_S1, state.said_SU[SPEAKER], 0.0),
        }

    def pay(self, state: ParticleState) -> Array:
        """Both pay the squared distance of the listener to the goal."""
        goal_X = physics.chosen(state.secret.goal_E, state.landmark_EX)
        return jnp.stack([-jnp.sum((state.position_SX[LISTENER] - goal_X) ** 2)] * 2)

    def scene(self, state: ParticleState, spec: GameSpec) -> Scene:
        """The goal has the colour of the team."""
        return scenes.with_goal(state, spec, self.bodies, side=0)

    def bots(self) -> Bots:
        """`tell`: the speaker says the number of the goal, the listener goes to the landmark of that number."""
        return Bots(("tell",), jnp.zeros((1, 1)))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        del parameters_J
        target_NX = steering.named(seen["heard"], seen["landmarks"])
        thrust_NX = steering.toward(target_NX, seen["velocity"], self.bodies)
        return Wish(thrust_NX, (seen["goal_colour"] > 0.5).astype(float))


def speaker_listener(steps: int = 25, continuous: bool = False, time: bool = False) -> Particles:
    """A speaker tells a listener where to go (mpe2 simple_speaker_listener_v4)."""
    check_counts("speaker_listener", steps=steps)
    setting = Setting(moves=(False, True), speaks=(True, False), symbols=LANDMARKS, continuous=continuous)
    return particle_game(
        SpeakerListener(setting, physics.bodies([0.075] * 2, [5.0] * 2, [0.04] * LANDMARKS)),
        layout=(
            Feature("goal_colour", (3,)),
            Feature("velocity", (2,)),
            Feature("landmarks", (LANDMARKS, 2)),
            Feature("heard", (LANDMARKS,)),
        ),
        steps=steps,
        time=time,
        seat_names=["speaker_0", "listener_0"],
    )
