"""Cooperative navigation: as many agents as landmarks; cover them all, without bumping into each other.

Equal, step by step, to `simple_spread_v3` of mpe2 (tests/games/particles). All agents are one side.
"""

from itertools import combinations
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Body, Scene
from sparring.core.spec import Central, Feature, GameSpec
from sparring.games.game import Bots, Chance, Game
from sparring.games.particles import physics, steering, views
from sparring.games.particles.physics import ParticleState, Physics
from sparring.games.particles.scenes import particle_scene, point


class SpreadRules(NamedTuple):
    physics: Physics
    size_S: Array
    accel_S: Array
    local_ratio: Array
    """Share of a reward that is the agent's own collisions; the rest is the team's distance to the landmarks."""
    collision_penalty: Array


class Spread(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: SpreadRules

    def start(self, key: Array) -> ParticleState:
        return physics.scatter(key, self.spec.seats, self.spec.seats, landmark_range=1.0)

    def observe(self, state: ParticleState) -> Observation:
        """Own velocity and position, landmarks, others, and the silent channels of the others, which are zero."""
        silence = jnp.zeros(2 * (self.spec.seats - 1))
        rows = [jnp.concatenate([views.surroundings(state, s), silence]) for s in range(self.spec.seats)]
        return views.everyone_acts(jnp.stack(rows), self.spec)

    def central(self, state: ParticleState) -> Array:
        return views.full_view(state)

    def step(self, state: ParticleState, action: Action, chance: Chance) -> tuple[ParticleState, Step]:
        del chance
        rules = self.rules
        force_SX = physics.thrust(action, self.spec.action) * rules.accel_S[:, None]
        force_SX = force_SX + physics.contacts(state, rules.size_S, None, rules.physics)
        after = physics.move(state, force_SX, rules.physics)
        own_S = -rules.collision_penalty * _bumps(after.position_SX, rules.size_S)
        team = -_uncovered(after)
        return after, Step(
            reward_S=team * (1.0 - rules.local_ratio) + own_S * rules.local_ratio,
            left_S=jnp.zeros(self.spec.seats, bool),
            over=jnp.zeros((), bool),
            cut=after.played >= self.spec.longest,
            outcome_K=jnp.zeros(1),
        )

    def scene(self, state: ParticleState) -> Scene:
        """Agents and the marks they are to cover."""
        marks = [
            Body(name=f"landmark_{e}", at=point(at_X), shape="mark", size=0.05)
            for e, at_X in enumerate(state.landmark_EX)
        ]
        return particle_scene(state, self.spec, self.rules.size_S, marks)

    def bots(self) -> Bots:
        """`nearest`: each agent goes to the landmark nearest to it. `assigned`: they share the landmarks out."""
        return Bots(("nearest", "assigned"), jnp.array([[0.0], [1.0]]))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        del legal_NA
        rules, seats = self.rules, self.spec.seats
        places = features_NF[:, 4 : 4 + 2 * (2 * seats - 1)].reshape(features_NF.shape[0], 2 * seats - 1, 2)
        target_NX = jax.vmap(_target, (0, 0, None))(places[:, :seats], places[:, seats:], parameters_J[0] > 0.5)
        left_NX = steering.way_left(target_NX, features_NF[:, :2], rules.physics)
        thrust_NX = left_NX / steering.reach_of_thrust(rules.accel_S[0], rules.physics)
        return steering.scores(thrust_NX, self.spec.action)


def spread(agents: int = 3, steps: int = 25, local_ratio: float = 0.5, continuous: bool = False) -> Spread:
    """Agents cover as many landmarks without bumping into each other (mpe2 simple_spread_v3)."""
    if agents < 1 or steps < 1:
        raise ConfigError(f"spread needs at least 1 agent and 1 step, found agents={agents}, steps={steps}.")
    if not 0.0 <= local_ratio <= 1.0:
        raise ConfigError(f"local_ratio is a share between 0 and 1, found {local_ratio}: 0 rewards the team alone.")
    pairs = (agents - 1, 2)
    spec = GameSpec(
        seats=agents,
        side_of_seat=(0,) * agents,
        action=physics.action_spec(continuous),
        layout=(
            Feature("velocity", (2,)),
            Feature("position", (2,)),
            Feature("landmarks", (agents, 2)),
            Feature("others", pairs, lists="others"),
            Feature("silence", pairs, lists="others"),
        ),
        central=Central("seat", views.full_view_size(agents, agents)),
        longest=steps,
        shortest=steps,
        exchangeable=(tuple(range(agents)),),
        seat_names=tuple(f"agent_{s}" for s in range(agents)),
    )
    rules = SpreadRules(
        physics=physics.standard_physics(),
        size_S=jnp.full(agents, 0.15, float),
        accel_S=jnp.full(agents, 5.0, float),
        local_ratio=jnp.asarray(local_ratio, float),
        collision_penalty=jnp.asarray(1.0, float),
    )
    return Spread(spec, rules)


def _bumps(position_SX: Array, size_S: Array) -> Array:
    """How many others each seat touches."""
    seats = position_SX.shape[0]
    count = [jnp.zeros(())] * seats
    for i, j in combinations(range(seats), 2):
        hit = physics.touches(position_SX[i] - position_SX[j], size_S[i] + size_S[j]).astype(float)
        count[i], count[j] = count[i] + hit, count[j] + hit
    return jnp.stack(count)


def _uncovered(state: ParticleState) -> Array:
    """Sum over landmarks of the distance to the nearest agent."""
    total = jnp.zeros(())
    for e in range(state.landmark_EX.shape[0]):
        squared = [jnp.sum((place_X - state.landmark_EX[e]) ** 2) for place_X in state.position_SX]
        nearest = squared[0]
        for distance in squared[1:]:
            nearest = jnp.minimum(nearest, distance)
        total = total + jnp.sqrt(nearest)
    return total


def _target(landmark_EX: Array, other_SX: Array, share: Array) -> Array:
    """Where one agent goes, relative to it: its nearest landmark, or the one it gets when all share them out.

    Sharing is greedy: the closest pair of a free agent and a free landmark is matched first. Distances do not depend
    on who looks, so every agent arrives at the same matching.
    """
    agent_SX = jnp.concatenate([jnp.zeros((1, 2)), other_SX])
    distance_SE = jnp.sqrt(jnp.sum((agent_SX[:, None] - landmark_EX[None]) ** 2, axis=-1))
    nearest_E = distance_SE[0] == jnp.min(distance_SE[0])
    mine_E = jnp.zeros_like(nearest_E)
    for _ in range(agent_SX.shape[0]):
        closest_SE = (distance_SE == jnp.min(distance_SE)) & jnp.isfinite(distance_SE)
        mine_E = mine_E | closest_SE[0]
        matched_SE = closest_SE.any(1)[:, None] | closest_SE.any(0)[None]
        distance_SE = jnp.where(matched_SE, jnp.inf, distance_SE)
    chosen_E = jnp.where(share, mine_E, nearest_E)
    weight_E = chosen_E / jnp.maximum(jnp.sum(chosen_E), 1)
    return jnp.sum(weight_E[:, None] * landmark_EX, axis=0)
