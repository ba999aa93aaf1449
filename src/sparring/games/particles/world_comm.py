"""Predators and prey among forests that hide, with food for the prey; one predator sees everybody and can speak.

Equal, step by step, to `simple_world_comm_v3` of mpe2 (tests/games/particles). Predators are side 0 and the first of
them is the leader; prey is side 1. Landmarks are obstacles, then food, then forests. Prey rows have zeros where prey
sees one velocity fewer, and hears nothing.
"""

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.core.scene import Scene
from sparring.core.spec import Feature, GameSpec
from sparring.games.game import Bots
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

    def see(self, state: ParticleState) -> list[Blocks]:
        """Surroundings, the velocities of prey, the forests one is in, and for predators what their leader said."""
        inside = self._inside(state)
        return [self._seen_by(s, state, inside) for s in range(len(inside))]

    def _seen_by(self, seat: int, state: ParticleState, inside: list[list[Array]]) -> Blocks:
        around = views.surroundings(state, seat)
        visible = jnp.stack([_visible(inside, seat, other) for other in range(len(inside)) if other != seat])[:, None]
        prey_X = pursuit.prey_velocities(state, self.predators, seat)
        # Prey are the last of the others.
        prey_X = jnp.where(visible[visible.shape[0] - prey_X.shape[0] :], prey_X, 0.0)
        return {
            **around,
            "others": jnp.where(visible, around["others"], 0.0),
            "prey_velocity": prey_X,
            "in_forest": jnp.array([jnp.where(here, 1.0, -1.0) for here in inside[seat]], float),
            **({"heard": state.said_SU[LEADER]} if seat < self.predators else {}),
        }

    def _inside(self, state: ParticleState) -> list[list[Array]]:
        """For each seat, whether it touches each of the forests."""
        return [self._touching(state, s, slice(self.first_forest, None)) for s in range(state.position_SX.shape[0])]

    def _touching(self, state: ParticleState, seat: int, landmarks: slice) -> list[Array]:
        marks = zip(state.landmark_EX[landmarks], self.bodies.landmark_size_E[landmarks], strict=True)
        at_X, size = state.position_SX[seat], self.bodies.size_S[seat]
        return [physics.touches(at_X - mark_X, size + mark_size) for mark_X, mark_size in marks]

    def pay(self, state: ParticleState) -> Array:
        """Predators share what all catch and pay for their way to prey; prey eats, and pays for being caught, for
        running away and for its way to food."""
        places, prey = state.position_SX, range(self.predators, state.position_SX.shape[0])
        counts = pursuit.caught(state, self.bodies, self.predators)
        total = self.catch * sum(counts, jnp.zeros(()))
        hunters = [total - self.chase * physics.nearest(at_X, places[prey.start :]) for at_X in places[: prey.start]]
        harm = [
            self.catch * count + self.border * pursuit.outside(places[q]) for q, count in zip(prey, counts, strict=True)
        ]
        return jnp.stack(hunters + [self._fed(state, q) - lost for q, lost in zip(prey, harm, strict=True)])

    def _fed(self, state: ParticleState, seat: int) -> Array:
        """Food touched, and the way to the nearest."""
        food = slice(self.obstacles, self.first_forest)
        meals = sum((bite.astype(float) for bite in self._touching(state, seat, food)), jnp.zeros(()))
        return self.meal * meals - self.hunger * physics.nearest(state.position_SX[seat], state.landmark_EX[food])

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
    continuous: bool = False,
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
        seat_names=pursuit.seat_names(predators, prey),
        side_of_seat=[0] * predators + [1] * prey,
        exchangeable=(tuple(range(1, predators)),),  # not prey, for the reason in tag
    )


def _visible(inside: list[list[Array]], seat: int, other: int) -> Array:
    """The leader sees all; others see each other in the same forest, or where both are in none."""
    if seat == LEADER:
        return jnp.ones((), bool)
    together, hidden = jnp.zeros((), bool), jnp.zeros((), bool)
    for here, there in zip(inside[seat], inside[other], strict=True):
        together, hidden = together | (here & there), hidden | here | there
    return together | ~hidden
