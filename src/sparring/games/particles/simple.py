"""One agent goes to one landmark: the smallest particle game, to see whether learning works at all.

Equal, step by step, to `simple_v3` of mpe2 (tests/games/particles).
"""

import jax.numpy as jnp
from jax import Array

from sparring.core.spec import Feature
from sparring.games.game import Bots
from sparring.games.particles import physics, steering, views
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles, Scenario, check_counts, particle_game
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.views import Blocks


class Simple(Scenario):
    def see(self, state: ParticleState) -> Blocks:
        return views.surroundings(state)

    def pay(self, state: ParticleState) -> Array:
        """Minus the squared distance to the landmark."""
        return -jnp.sum((state.position_SX - state.landmark_EX) ** 2, axis=-1)

    def bots(self) -> Bots:
        """`go` goes to the landmark and stops there."""
        return Bots(("go",), jnp.zeros((1, 1)))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        del parameters_J
        return Wish(steering.toward(seen["landmarks"][:, 0], seen["velocity"], self.bodies))


def simple(steps: int = 25, continuous: bool = False, time: bool = False) -> Particles:
    """One agent goes to one landmark (mpe2 simple_v3)."""
    check_counts("simple", steps=steps)
    return particle_game(
        Simple(Setting(moves=(True,), continuous=continuous), physics.bodies([0.05], [5.0], [0.05])),
        layout=(Feature("velocity", (2,)), Feature("landmarks", (1, 2))),
        steps=steps,
        time=time,
        seat_names=["agent_0"],
    )
