"""A particle game: physics and a channel of words, which all share, and the scenario that is its own."""

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.scene import Scene
from sparring.core.sizes import check_size
from sparring.core.spec import Central, Feature, GameSpec, Term
from sparring.games.game import Bots, Chance, Game
from sparring.games.particles import controls, physics, scenes, views
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.physics import Bodies, ParticleState
from sparring.games.particles.views import Blocks

MOST_BODIES = 500
"""Of each kind: every body pushes every other."""


TIME = Feature("time_left", (1,))
"""Seen only where it is asked for, as the originals do not show it. A seat that does not see the clock cannot foresee
the cut at the limit: to it, what follows a step is a matter of chance."""


class Scenario(eqx.Module):
    """What makes one particle game: its rules as arrays, and what is drawn, seen and paid."""

    terms: ClassVar[tuple[Term, ...]] = ()
    """Shaping terms, all of them potentials: the originals pay no others."""
    setting: Setting = eqx.field(static=True)
    bodies: Bodies

    def draw(self, key: Array) -> Any:
        """The secret of a game: a named tuple of arrays, or () where there is none."""
        del key
        return ()

    def see(self, state: ParticleState) -> Blocks:
        """What seats see, a row for each seat, zeros where it sees less than others; blocks not in the layout are left
        out."""
        raise NotImplementedError

    def pay(self, state: ParticleState) -> Array:
        """reward_S of the step that led to this state."""
        raise NotImplementedError

    def potential(self, state: ParticleState) -> Array:
        """potential_SJ in the order of the terms."""
        return jnp.zeros((state.position_SX.shape[0], 0))

    def scene(self, state: ParticleState, spec: GameSpec) -> Scene:
        """Seats and landmarks."""
        return scenes.particle_scene(state, spec, self.bodies, scenes.landmarks(state, self.bodies))

    def goals(self, state: ParticleState) -> Goals:
        """What seats may be after; `Particles` asks only where the game names goals."""
        raise NotImplementedError

    def touched(self, state: ParticleState) -> Array:
        """reached_SG by the step that led to this state."""
        raise NotImplementedError

    def wanted(self, parameters_J: Array, state: ParticleState) -> Array:
        """wanted_SG of a scripted player."""
        raise NotImplementedError

    def bots(self) -> Bots:
        raise NotImplementedError

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        """What a scripted player wants, from the blocks of its rows, [N, *shape] each."""
        raise NotImplementedError


class Particles(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: Scenario

    def start(self, key: Array) -> ParticleState:
        return begin(self.rules, key)

    def observe(self, state: ParticleState) -> Observation:
        """Nobody leaves, and what is legal is so at every step."""
        all_S = jnp.ones(self.spec.seats, bool)
        seen = {**self.rules.see(state), TIME.name: self.time_left(state)}
        features_SF = views.rows(self.spec.layout, seen, self.spec.seats)
        return Observation(features_SF, jnp.asarray(controls.legal(self.rules.setting)), all_S, all_S)

    def central(self, state: ParticleState) -> Array:
        view_SG = views.full_view(state, any(self.rules.setting.moves))
        return jnp.concatenate([view_SG, self.time_left(state)], axis=1) if TIME in self.spec.layout else view_SG

    def time_left(self, state: ParticleState) -> Array:
        """What is left of the game, from 1 down, the same for each seat: [S, 1]."""
        left = 1.0 - state.played / self.spec.longest
        return jnp.broadcast_to(left, (self.spec.seats, 1))

    def step(self, state: ParticleState, action: Action, chance: Chance) -> tuple[ParticleState, Step]:
        del chance
        setting, bodies = self.rules.setting, self.rules.bodies
        after = state._replace(played=state.played + 1)
        if any(setting.moves):
            force_SX = controls.thrust(action, setting) * bodies.accel_S[:, None]
            if setting.solid:
                force_SX = force_SX + physics.contacts(state, bodies, setting.solid_landmarks)
            after = physics.move(after, force_SX, bodies)
        if any(setting.speaks):
            after = after._replace(said_SU=controls.said(action, setting))
        return after, Step(
            reward_S=self.rules.pay(after),
            left_S=jnp.zeros(self.spec.seats, bool),
            over=jnp.zeros((), bool),
            cut=after.played >= self.spec.longest,
            outcome_K=jnp.zeros(self.spec.sides),
        )

    def potential(self, state: ParticleState) -> Array:
        return self.rules.potential(state)

    def goals(self, state: ParticleState) -> Goals:
        return self.rules.goals(state) if self.spec.goals else super().goals(state)

    def reached(self, before: ParticleState, action: Action, after: ParticleState) -> Array:
        """Whoever stays in touch is after that still."""
        return self.rules.touched(after) if self.spec.goals else super().reached(before, action, after)

    def bot_goals(self, parameters_J: Array, state: ParticleState, memory: Any = None) -> Array | None:
        del memory
        return self.rules.wanted(parameters_J, state) if self.spec.goals else None

    def permute(self, tree: Any, order_S: Array) -> Any:
        """Where goals are seats, they change places as well."""
        tree = super().permute(tree, order_S)
        if (
            not isinstance(tree, Goals)
            or len(self.spec.goals) < self.spec.seats + self.rules.bodies.landmark_size_E.size
        ):
            return tree
        order_G = jnp.concatenate([order_S, jnp.arange(self.spec.seats, len(self.spec.goals))])
        return jax.tree.map(lambda x: jnp.take(x, order_G, axis=1), tree)

    def scene(self, state: ParticleState) -> Scene:
        return self.rules.scene(state, self.spec)

    def bots(self) -> Bots:
        return self.rules.bots()

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        del legal_NA
        wish = self.rules.wish(parameters_J, views.blocks(self.spec.layout, features_NF))
        return controls.scores(wish, self.rules.setting)


def begin(rules: Scenario, key: Array) -> ParticleState:
    """Seats at rest and silent, places drawn at random, and the scenario's secret."""
    setting = rules.setting
    seats, landmarks = len(setting.moves), rules.bodies.landmark_size_E.shape[0]
    key_place, key_secret = jax.random.split(key)
    secret = rules.draw(key_secret)
    state = physics.scatter(key_place if secret else key, seats, landmarks, setting.landmark_range)
    said_SU = jnp.zeros((seats, setting.symbols)) if any(setting.speaks) else ()
    return state._replace(said_SU=said_SU, secret=secret)


def particle_game(
    rules: Scenario,
    *,
    layout: tuple[Feature, ...],
    steps: int,
    time: bool,
    seat_names: Sequence[str],
    side_of_seat: Sequence[int] = (),
    exchangeable: tuple[tuple[int, ...], ...] = (),
    goals: tuple[str, ...] = (),
) -> Particles:
    """A game of `steps` steps, cut by the time limit, which all see with `time`; without `side_of_seat` all seats are
    one side."""
    seats, setting = len(seat_names), rules.setting
    view = jax.eval_shape(lambda: views.full_view(begin(rules, jax.random.key(0)), any(setting.moves)))
    spec = GameSpec(
        seats=seats,
        side_of_seat=tuple(side_of_seat) or (0,) * seats,
        action=controls.action_spec(setting),
        layout=(*layout, TIME) if time else layout,
        central=Central("seat", view.shape[-1] + time),
        longest=steps,
        shortest=steps,
        exchangeable=exchangeable,
        seat_names=tuple(seat_names),
        terms=rules.terms,
        goals=goals,
    )
    return Particles(spec, rules)


def check_counts(game: str, least: int = 1, **counts: int) -> None:
    """Refuse options below the least that a game can be played with, and crowds."""
    if min(counts.values()) < least:
        found = ", ".join(f"{name}={count}" for name, count in counts.items())
        raise ConfigError(f"{game} needs at least {least} of each, found {found}.")
    for name, count in counts.items():
        if name != "steps":
            check_size(name, count, most=MOST_BODIES)


def check_local_ratio(value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"local_ratio is a share between 0 and 1, found {value}: 0 rewards the team alone.")
