"""Predator and prey: slow predators earn by touching fast prey, among obstacles.

Equal, step by step, to `simple_tag_v3` of mpe2 (tests/games/particles); prey rows end in zeros, because prey sees one
velocity fewer. Predators are side 0, prey side 1.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Body, Line, Scene
from sparring.core.spec import Central, Feature, GameSpec
from sparring.games.game import Bots, Chance, Game
from sparring.games.particles import physics, steering, views
from sparring.games.particles.physics import ParticleState, Physics
from sparring.games.particles.scenes import particle_scene, point


class TagRules(NamedTuple):
    physics: Physics
    size_S: Array
    accel_S: Array
    max_speed_S: Array
    obstacle_size_E: Array
    catch: Array
    """What every predator earns, and the prey loses, for each predator that touches a prey."""
    border: Array
    """Weight of the penalty of prey that leaves the square of half side 0.9."""


class Tag(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: TagRules

    @property
    def predators(self) -> int:
        return len(self.spec.seats_of_side[0])

    def start(self, key: Array) -> ParticleState:
        obstacles = self.rules.obstacle_size_E.shape[0]
        return physics.scatter(key, self.spec.seats, obstacles, landmark_range=0.9)

    def observe(self, state: ParticleState) -> Observation:
        """Own velocity and position, obstacles, others, and the velocities of all prey but oneself."""
        prey_velocity = state.velocity_SX[self.predators :]
        nothing = jnp.zeros(2)
        rows = []
        for s in range(self.spec.seats):
            is_prey = s >= self.predators
            seen_X = views.others(prey_velocity, s - self.predators) if is_prey else prey_velocity
            parts = [views.surroundings(state, s), seen_X.reshape(-1), *([nothing] if is_prey else [])]
            rows.append(jnp.concatenate(parts))
        return views.everyone_acts(jnp.stack(rows), self.spec)

    def central(self, state: ParticleState) -> Array:
        return views.full_view(state)

    def step(self, state: ParticleState, action: Action, chance: Chance) -> tuple[ParticleState, Step]:
        del chance
        rules = self.rules
        force_SX = physics.thrust(action, self.spec.action) * rules.accel_S[:, None]
        force_SX = force_SX + physics.contacts(state, rules.size_S, rules.obstacle_size_E, rules.physics)
        after = physics.move(state, force_SX, rules.physics, rules.max_speed_S)
        return after, Step(
            reward_S=self._reward(after),
            left_S=jnp.zeros(self.spec.seats, bool),
            over=jnp.zeros((), bool),
            cut=after.played >= self.spec.longest,
            outcome_K=jnp.zeros(2),
        )

    def _reward(self, state: ParticleState) -> Array:
        """Predators share what all of them catch; prey pays for each predator on it and for running away."""
        place_SX, size_S = state.position_SX, self.rules.size_S
        total, paid = jnp.zeros(()), []
        for q in range(self.predators, self.spec.seats):
            touching = [
                physics.touches(place_SX[p] - place_SX[q], size_S[p] + size_S[q]) for p in range(self.predators)
            ]
            caught = self.rules.catch * sum((hit.astype(float) for hit in touching), jnp.zeros(()))
            total = total + caught
            paid.append(-caught - self.rules.border * jnp.sum(_outside(jnp.abs(place_SX[q]))))
        return jnp.stack([total] * self.predators + paid)

    def scene(self, state: ParticleState) -> Scene:
        """A line joins a predator to the prey it touches."""
        place_SX, size_S, predators = state.position_SX, self.rules.size_S, range(self.predators)
        obstacles = [
            Body(name=f"obstacle_{e}", at=point(at_X), size=float(size))
            for e, (at_X, size) in enumerate(zip(state.landmark_EX, self.rules.obstacle_size_E, strict=True))
        ]
        touching = [
            Line(start=point(place_SX[p]), end=point(place_SX[q]), side=0)
            for q in range(self.predators, self.spec.seats)
            for p in predators
            if physics.touches(place_SX[p] - place_SX[q], size_S[p] + size_S[q])
        ]
        return particle_scene(state, self.spec, size_S, obstacles, touching)

    def bots(self) -> Bots:
        """`chase` is a predator that heads for where the nearest prey will be; `flee` is prey that runs from them."""
        return Bots(("chase", "flee"), jnp.array([[0.0], [1.0]]), side=(0, 1))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        del legal_NA
        flees = parameters_J[0] > 0.5
        thrust_NX = jnp.where(flees, self._away(features_NF), self._toward(features_NF))
        return steering.scores(thrust_NX, self.spec.action)

    def _blocks(self, features_NF: Array) -> tuple[Array, Array]:
        """What a row says of the other seats' places and of the velocities of prey."""
        sizes = [block.size for block in self.spec.layout]
        begin, end = sum(sizes[:3]), sum(sizes[:4])
        rows = features_NF.shape[0]
        return features_NF[:, begin:end].reshape(rows, -1, 2), features_NF[:, end:].reshape(rows, -1, 2)

    def _toward(self, features_NF: Array) -> Array:
        place, velocity = self._blocks(features_NF)
        place = place[:, self.predators - 1 :] + LEAD * velocity
        squared = jnp.sum(place**2, axis=-1)
        nearest = squared == jnp.min(squared, axis=1, keepdims=True)
        weight = nearest / jnp.sum(nearest, axis=1, keepdims=True)
        target_NX = jnp.sum(weight[..., None] * place, axis=1)
        left_NX = steering.way_left(target_NX, features_NF[:, :2], self.rules.physics)
        return left_NX / steering.reach_of_thrust(self.rules.accel_S[0], self.rules.physics)

    def _away(self, features_NF: Array) -> Array:
        place, _ = self._blocks(features_NF)
        threat = place[:, : self.predators]
        squared = jnp.sum(threat**2, axis=-1, keepdims=True)
        fear_NX = -jnp.sum(threat / jnp.maximum(squared, 1e-6), axis=1)
        rest_NX = features_NF[:, 2:4] - steering.way_left(jnp.zeros(2), features_NF[:, :2], self.rules.physics)
        wall_NX = -jnp.sign(rest_NX) * jnp.maximum(jnp.abs(rest_NX) - EDGE, 0.0)
        return steering.full_thrust(fear_NX + WALL * wall_NX)


LEAD = 0.3
"""Seconds that a chasing predator looks ahead: three steps."""
EDGE, WALL = 0.7, 40.0
"""Where fleeing prey begins to turn back, measured where it would come to rest, and how much that outweighs fear."""


def tag(predators: int = 3, prey: int = 1, obstacles: int = 2, steps: int = 25, continuous: bool = False) -> Tag:
    """Slow predators hunt fast prey among obstacles (mpe2 simple_tag_v3)."""
    if min(predators, prey, steps) < 1 or obstacles < 0:
        found = f"predators={predators}, prey={prey}, obstacles={obstacles}, steps={steps}"
        raise ConfigError(f"tag needs at least 1 predator, 1 prey, 0 obstacles and 1 step, found {found}.")
    seats = predators + prey
    names = [*(f"predator_{p}" for p in range(predators)), *(f"prey_{q}" for q in range(prey))]
    spec = GameSpec(
        seats=seats,
        side_of_seat=(0,) * predators + (1,) * prey,
        action=physics.action_spec(continuous),
        layout=(
            Feature("velocity", (2,)),
            Feature("position", (2,)),
            Feature("obstacles", (obstacles, 2)),
            Feature("others", (seats - 1, 2), lists="others"),
            Feature("prey_velocity", (prey, 2)),
        ),
        central=Central("seat", views.full_view_size(seats, obstacles)),
        longest=steps,
        shortest=steps,
        # Prey is symmetric too, but its velocity block lists some of the other seats, not all: no group can say so.
        exchangeable=(tuple(range(predators)),),
        seat_names=tuple(names),
    )
    return Tag(spec, _standard_rules(predators, prey, obstacles))


def _standard_rules(predators: int, prey: int, obstacles: int) -> TagRules:
    def by_role(predator_value: float, prey_value: float) -> Array:
        return jnp.array([predator_value] * predators + [prey_value] * prey)

    return TagRules(
        physics=physics.standard_physics(),
        size_S=by_role(0.075, 0.05),
        accel_S=by_role(3.0, 4.0),
        max_speed_S=by_role(1.0, 1.3),
        obstacle_size_E=jnp.full(obstacles, 0.2, float),
        catch=jnp.asarray(10.0, float),
        border=jnp.asarray(1.0, float),
    )


def _outside(distance: Array) -> Array:
    """Penalty of one coordinate: none up to 0.9, then rising to 1 at the border and exponentially to 10 beyond."""
    beyond = jnp.minimum(jnp.exp(2.0 * distance - 2.0), 10.0)
    return jnp.where(distance < 0.9, 0.0, jnp.where(distance < 1.0, (distance - 0.9) * 10.0, beyond))
