"""Reference: two agents, each of which knows the landmark the other must go to; both move and speak.

Equal, step by step, to `simple_reference_v3` of mpe2 (tests/games/particles). Both are one side. An action of mpe2 is
the number direction + 5 * symbol; here they are two heads.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.scene import Line, Scene
from sparring.core.spec import Feature, GameSpec
from sparring.games.game import Bots
from sparring.games.particles import physics, scenes, steering, views
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles, Scenario, check_counts, check_local_ratio, particle_game
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.views import Blocks

LANDMARKS, SYMBOLS = 3, 10


class Goals(NamedTuple):
    goal_SE: Array
    """One-hot, the landmark that each seat knows of, to which the other one must go."""


class Reference(Scenario):
    local_ratio: Array
    """Share of a reward that is the other's distance to the goal one knows; the rest is the mean of both distances."""

    def draw(self, key: Array) -> Goals:
        return Goals(jax.vmap(lambda own: physics.draw_one(own, LANDMARKS))(jax.random.split(key)))

    def see(self, state: ParticleState) -> Blocks:
        """Own velocity, landmarks, the colour of the goal one knows, and what the other said."""
        colour_SE = 0.25 + 0.5 * state.secret.goal_SE
        return {**views.surroundings(state), "goal_colour": colour_SE, "heard": jnp.asarray(state.said_SU)[::-1]}

    def pay(self, state: ParticleState) -> Array:
        """Each pays for the other one, who must go to the goal it knows."""
        own_S = -physics.distance(state.position_SX[::-1], self._goals(state))
        return jnp.mean(own_S) * (1.0 - self.local_ratio) + own_S * self.local_ratio

    def _goals(self, state: ParticleState) -> Array:
        """goal_SX: the place that each seat knows of."""
        return jax.vmap(physics.chosen, in_axes=(0, None))(state.secret.goal_SE, state.landmark_EX)

    def scene(self, state: ParticleState, spec: GameSpec) -> Scene:
        """A line joins each agent to the landmark it must go to."""
        goals = self._goals(state)
        lines = [
            Line(start=scenes.point(state.position_SX[1 - s]), end=scenes.point(goals[s]), side=0) for s in range(2)
        ]
        return scenes.particle_scene(state, spec, self.bodies, scenes.landmarks(state, self.bodies), lines)

    def bots(self) -> Bots:
        """`tell`: each says the number of the landmark it knows, and goes to the landmark whose number it hears."""
        return Bots(("tell",), jnp.zeros((1, 1)))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        del parameters_J
        target_NX = steering.named(seen["heard"][:, 0], seen["landmarks"])
        known_NE = (seen["goal_colour"] > 0.5).astype(float)
        word_NU = jnp.pad(known_NE, ((0, 0), (0, SYMBOLS - LANDMARKS)))
        return Wish(steering.toward(target_NX, seen["velocity"], self.bodies), word_NU)


def reference(steps: int = 25, local_ratio: float = 0.5, continuous: bool = False, time: bool = False) -> Particles:
    """Two agents tell each other where to go (mpe2 simple_reference_v3)."""
    check_counts("reference", steps=steps)
    check_local_ratio(local_ratio)
    return particle_game(
        Reference(
            setting=Setting(moves=(True,) * 2, speaks=(True,) * 2, symbols=SYMBOLS, continuous=continuous),
            bodies=physics.bodies([0.05] * 2, [5.0] * 2, [0.05] * LANDMARKS),
            local_ratio=jnp.asarray(local_ratio, float),
        ),
        layout=(
            Feature("velocity", (2,)),
            Feature("landmarks", (LANDMARKS, 2)),
            Feature("goal_colour", (3,)),
            Feature("heard", (1, SYMBOLS), lists="others"),
        ),
        steps=steps,
        time=time,
        seat_names=["agent_0", "agent_1"],
        exchangeable=((0, 1),),
    )
