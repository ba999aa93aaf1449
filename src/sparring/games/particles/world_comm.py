"""Predators and prey among forests that hide, with food for the prey; one predator sees everybody and can speak.

Equal, step by step, to `simple_world_comm_v3` of mpe2 (tests/games/particles). Predators are side 0 and the first of
them is the leader; prey is side 1. Landmarks are obstacles, then food, then forests. Prey rows have zeros where prey
sees one velocity fewer, and hears nothing.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.scene import Scene
from sparring.core.spec import Feature, GameSpec
from sparring.games.game import Bots
from sparring.games.others import without_own
from sparring.games.particles import physics, pursuit, scenes, views
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles, Scenario, check_counts, particle_game
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.views import Blocks

LEADER = 0
SYMBOLS = 4
WEIGHTS = {"catch": 5.0, "chase": 0.1, "border": 2.0, "meal": 2.0, "hunger": 0.05}


class WorldComm(Scenario):
    predators: int = eqx.field(static=True)
    food: int = eqx.field(static=True)
    catch: Array
    """What every predator earns, and the prey loses, for each predator that touches a prey."""
    chase: Array
    """Weight of a predator's distance to the nearest prey."""
    border: Array
    """Weight of the penalty of prey that leaves the square of half side 0.9."""
    meal: Array
    """What prey earns for each food that it touches."""
    hunger: Array
    """Weight of the distance of prey to the nearest food."""

    @property
    def obstacles(self) -> int:
        return self.setting.solid_landmarks

    @property
    def first_forest(self) -> int:
        return self.obstacles + self.food

    def see(self, state: ParticleState) -> Blocks:
        """Surroundings, the velocities of prey, the forests one is in, and for predators what their leader said."""
        seat_S1, around = np.arange(len(state.position_SX), dtype=np.int32)[:, None], views.surroundings(state)
        inside_SE = self._touching(state, slice(self.first_forest, None))
        visible_SS, listed_SQ = _visible(inside_SE), pursuit.listed_prey(len(seat_S1), self.predators)
        visible_SQ = jnp.pad(visible_SS, ((0, 0), (0, 1)))[seat_S1, listed_SQ]
        prey_SQX = pursuit.prey_velocities(state, self.predators)
        return {
            **around,
            "others": jnp.where(without_own(visible_SS)[..., None], around["others"], 0.0),
            "prey_velocity": jnp.where(visible_SQ[..., None], prey_SQX, 0.0),
            "in_forest": jnp.where(inside_SE, 1.0, -1.0),
            "heard": jnp.where(seat_S1 < self.predators, state.said_SU[LEADER], 0.0),
        }

    def _touching(self, state: ParticleState, landmarks: slice) -> Array:
        """Whether each seat touches each of some landmarks."""
        return physics.touching(
            state.position_SX, self.bodies.size_S, state.landmark_EX[landmarks], self.bodies.landmark_size_E[landmarks]
        )

    def pay(self, state: ParticleState) -> Array:
        """Predators share what all catch and pay for their way to prey; prey eats, and pays for being caught, for
        running away and for its way to food."""
        hunter_PX, prey_QX = jnp.split(state.position_SX, [self.predators])
        loss_Q = self.catch * jnp.sum(pursuit.caught(state, self.bodies, self.predators), axis=0, dtype=float)
        reward_P = jnp.sum(loss_Q) - self.chase * physics.nearest(hunter_PX, prey_QX)
        harm_Q = loss_Q + self.border * pursuit.outside(prey_QX)
        return jnp.concatenate([reward_P, self._fed(state) - harm_Q])

    def _fed(self, state: ParticleState) -> Array:
        """Of each prey: food touched, and the way to the nearest."""
        food = slice(self.obstacles, self.first_forest)
        meals_Q = jnp.sum(self._touching(state, food)[self.predators :], axis=1, dtype=float)
        way_Q = physics.nearest(state.position_SX[self.predators :], state.landmark_EX[food])
        return self.meal * meals_Q - self.hunger * way_Q

    def scene(self, state: ParticleState, spec: GameSpec) -> Scene:
        """A line joins a predator to the prey it touches."""
        fixed = [
            *scenes.landmarks(state, self.bodies, "obstacle", "disc", slice(self.obstacles)),
            *scenes.landmarks(state, self.bodies, "forest", "disc", slice(self.first_forest, None)),
            *scenes.landmarks(state, self.bodies, "food", "mark", slice(self.obstacles, self.first_forest)),
        ]
        touching = pursuit.catches(state, self.bodies, self.predators)
        return scenes.particle_scene(state, spec, self.bodies, fixed, touching)

    def bots(self) -> Bots:
        """`chase` is a predator that heads for where the nearest prey it sees will be; `flee` is prey that runs from
        those it sees. Nobody listens to the leader."""
        return Bots(("chase", "flee"), jnp.array([[0.0], [1.0]]), side=(0, 1))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        return pursuit.wish(parameters_J[0] > 0.5, seen, self.bodies, self.predators)


def world_comm(
    predators: int = 4, prey: int = 2, obstacles: int = 1, food: int = 2, forests: int = 2, steps: int = 25,
    continuous: bool = False, time: bool = False,
) -> Particles:  # fmt: skip
    """Predators with a leader hunt prey that eats, among forests that hide (mpe2 simple_world_comm_v3)."""
    check_counts("world_comm", predators=predators, prey=prey, food=food, steps=steps)
    check_counts("world_comm", least=0, obstacles=obstacles, forests=forests)
    seats = predators + prey
    return particle_game(
        WorldComm(
            setting=Setting(
                moves=(True,) * seats,
                speaks=(True,) + (False,) * (seats - 1),
                symbols=SYMBOLS,
                continuous=continuous,
                solid=True,
                solid_landmarks=obstacles,
                landmark_range=0.9,
            ),
            bodies=pursuit.bodies(predators, prey, 0.045, [0.2] * obstacles + [0.03] * food + [0.3] * forests),
            predators=predators,
            food=food,
            **{name: jnp.asarray(weight, float) for name, weight in WEIGHTS.items()},
        ),
        layout=(
            *pursuit.layout(seats, ("landmarks", obstacles + food + forests), prey),
            Feature("in_forest", (forests,)),
            Feature("heard", (SYMBOLS,)),
        ),
        steps=steps,
        time=time,
        seat_names=pursuit.seat_names(predators, prey),
        side_of_seat=[0] * predators + [1] * prey,
        exchangeable=(tuple(range(1, predators)),),  # not prey, for the reason in tag
    )


def _visible(inside_SE: Array) -> Array:
    """visible_SS: the leader sees all; others see each other in the same forest, or where both are in none."""
    together_SS = (inside_SE[:, None] & inside_SE).any(axis=-1)
    hidden_S = inside_SE.any(axis=-1)
    leader_S1 = np.arange(len(hidden_S))[:, None] == LEADER
    return leader_S1 | together_SS | ~(hidden_S[:, None] | hidden_S)
