"""Predator and prey: slow predators earn by touching fast prey, among obstacles.

Equal, step by step, to `simple_tag_v3` of mpe2 (tests/games/particles); prey rows end in zeros, because prey sees one
velocity fewer. Predators are side 0, prey side 1.
"""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Goals
from sparring.core.scene import Scene
from sparring.core.spec import GameSpec, Term
from sparring.games.game import Bots
from sparring.games.particles import goals, physics, pursuit, steering, views
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

    def goals(self, state: ParticleState) -> Goals:
        """All other seats and all obstacles, which may be touched: predators are after prey, which fears them, and both
        shy at the rest. The last numbers: whether it is of the other side, of the own, an obstacle; what it pays."""
        kinds = self._kinds()
        foe_SG, friend_SG, obstacle_SG = (jnp.asarray(kind) for kind in kinds)
        hunts_S1 = jnp.arange(len(state.position_SX))[:, None] < self.predators
        pays_SG = jnp.where(foe_SG, jnp.where(hunts_S1, 1.0, -1.0), 0.0) * jnp.sign(self.catch)
        about = [foe_SG, friend_SG, obstacle_SG, pays_SG]
        return goals.placed(state, self.bodies, goals.everything(state, self.bodies), np.any(kinds, axis=0), about)

    def touched(self, state: ParticleState) -> Array:
        open_SG = np.any(self._kinds(), axis=0)
        return goals.touched(state, self.bodies, goals.everything(state, self.bodies), open_SG)

    def wanted(self, parameters_J: Array, state: ParticleState) -> Array:
        """Prey that flees is after nothing."""
        prey_QX, own_S1X = state.position_SX[self.predators :], state.position_SX[:, None]
        ahead_SQX = prey_QX + steering.LEAD * state.velocity_SX[self.predators :] - own_S1X
        squared_SQ = jnp.sum(ahead_SQX**2, axis=-1)
        nearest_SQ = squared_SQ == jnp.min(squared_SQ, axis=1, keepdims=True)
        hunts_S1 = jnp.arange(len(own_S1X))[:, None] < self.predators
        around = (0, 0), (self.predators, state.landmark_EX.shape[0])
        return jnp.pad(nearest_SQ & hunts_S1 & (parameters_J[0] < 0.5), around)

    def _kinds(self) -> np.ndarray:
        """[3, S, G]: what is a foe, a friend, an obstacle to each seat."""
        seats, obstacles = self.bodies.size_S.shape[0], self.bodies.landmark_size_E.shape[0]
        hunts_S = np.arange(seats) < self.predators
        foe_SS = hunts_S[:, None] != hunts_S
        nothing_SE, no_seat_SS = np.zeros((seats, obstacles), bool), np.zeros((seats, seats), bool)
        foe_SG = np.concatenate([foe_SS, nothing_SE], axis=1)
        friend_SG = np.concatenate([~foe_SS & ~np.eye(seats, dtype=bool), nothing_SE], axis=1)
        return np.stack([foe_SG, friend_SG, np.concatenate([no_seat_SS, ~nothing_SE], axis=1)])

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
        goals=("predator",) * predators + ("prey",) * prey + ("obstacle",) * obstacles,
    )
