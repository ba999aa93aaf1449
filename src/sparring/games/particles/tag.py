"""Predator and prey: slow predators earn by touching fast prey, among obstacles.

Equal, step by step, to `simple_tag_v3` of mpe2 (tests/games/particles); prey rows end in zeros, because prey sees one
velocity fewer. Predators are side 0, prey side 1.
"""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.core.scene import Scene
from sparring.core.spec import GameSpec, Term
from sparring.games.game import Bots
from sparring.games.particles import physics, pursuit, views
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles, Scenario, check_counts, particle_game
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.scenes import landmarks, particle_scene
from sparring.games.particles.views import Blocks

FAR = 2.0
"""Distance beyond which prey is no safer: the side of the square that it should stay in."""


class Tag(Scenario):
    terms: ClassVar = (
        Term("pursuit", "potential", "of predators minus the distance to the nearest prey; nothing for prey"),
        Term("escape", "potential", "of prey the distance to the nearest predator, up to 2; nothing for predators"),
    )
    predators: int = eqx.field(static=True)
    catch: Array
    """What every predator earns, and the prey loses, for each predator that touches a prey."""
    border: Array
    """Weight of the penalty of prey that leaves the square of half side 0.9."""

    def see(self, state: ParticleState) -> Blocks:
        """Surroundings, and the velocities of all prey but oneself."""
        around = views.surroundings(state)
        velocity_SQX = pursuit.prey_velocities(state, self.predators)
        return {**around, "obstacles": around["landmarks"], "prey_velocity": velocity_SQX}

    def pay(self, state: ParticleState) -> Array:
        """Predators share what all of them catch; prey pays for each predator on it and for running away."""
        loss_Q = self.catch * jnp.sum(pursuit.caught(state, self.bodies, self.predators), axis=0, dtype=float)
        prey_Q = -loss_Q - self.border * pursuit.outside(state.position_SX[self.predators :])
        return jnp.concatenate([jnp.full(self.predators, jnp.sum(loss_Q)), prey_Q])

    def potential(self, state: ParticleState) -> Array:
        hunting_PX, prey_QX = state.position_SX[: self.predators], state.position_SX[self.predators :]
        pursuit_P, escape_Q = physics.nearest(hunting_PX, prey_QX), physics.nearest(prey_QX, hunting_PX)
        return jnp.stack(
            [
                jnp.concatenate([-pursuit_P, jnp.zeros_like(escape_Q)]),
                jnp.concatenate([jnp.zeros_like(pursuit_P), jnp.minimum(escape_Q, FAR)]),
            ],
            axis=-1,
        )

    def scene(self, state: ParticleState, spec: GameSpec) -> Scene:
        """A line joins a predator to the prey it touches."""
        obstacles = landmarks(state, self.bodies, "obstacle", "disc")
        touching = pursuit.catches(state, self.bodies, self.predators)
        return particle_scene(state, spec, self.bodies, obstacles, touching)

    def bots(self) -> Bots:
        """`chase` is a predator that heads for where the nearest prey will be; `flee` is prey that runs from them."""
        return Bots(("chase", "flee"), jnp.array([[0.0], [1.0]]), side=(0, 1))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        return pursuit.wish(parameters_J[0] > 0.5, seen, self.bodies, self.predators)


def tag(
    predators: int = 3, prey: int = 1, obstacles: int = 2, steps: int = 25, continuous: bool = False, time: bool = False
) -> Particles:
    """Slow predators hunt fast prey among obstacles (mpe2 simple_tag_v3)."""
    check_counts("tag", predators=predators, prey=prey, steps=steps)
    check_counts("tag", least=0, obstacles=obstacles)
    seats = predators + prey
    return particle_game(
        Tag(
            setting=Setting(
                moves=(True,) * seats,
                continuous=continuous,
                solid=True,
                solid_landmarks=obstacles,
                landmark_range=0.9,
            ),
            bodies=pursuit.bodies(predators, prey, 0.05, [0.2] * obstacles),
            predators=predators,
            catch=jnp.asarray(10.0, float),
            border=jnp.asarray(1.0, float),
        ),
        layout=pursuit.layout(seats, ("obstacles", obstacles), prey),
        steps=steps,
        time=time,
        seat_names=pursuit.seat_names(predators, prey),
        side_of_seat=(0,) * predators + (1,) * prey,
        # Prey is symmetric too, but its velocity block lists some of the other seats, not all: no group can say so.
        exchangeable=(tuple(range(predators)),),
    )
