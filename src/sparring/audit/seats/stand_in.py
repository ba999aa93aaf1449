"""A game that only pays: in the place of the real one it shows what training does with seats that are exactly alike.

What every seat sees first is what it is then paid, so that whoever books a reward on the wrong seat, world or step is
found out; games have one length, and nobody leaves, so that everybody has the same of everything.
"""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.spec import GameSpec
from sparring.games.game import Game

LENGTH = 8
"""Steps of a game."""


class StandInState(NamedTuple):
    seen_SF: Array
    played: Array


class StandInChance(NamedTuple):
    seen_SF: Array
    lot_S: Array


class Pay(NamedTuple):
    """What seats are paid: what they see first, or a lot."""

    as_seen: Array
    mean_S: Array
    """Around this lies what a seat sees first."""
    spread: Array


class StandIn(Game):
    """Seats, sides, features and choices as in another game; none of its rules."""

    spec: GameSpec = eqx.field(static=True)
    rules: Pay
    about: int = eqx.field(static=True)
    """Z: numbers that tell one goal from another."""

    def drawn(self, key: Array) -> Array:
        return jax.random.uniform(key, (self.spec.seats, max(1, self.spec.features)))

    def start(self, key: Array) -> StandInState:
        return StandInState(self.drawn(key), jnp.zeros((), jnp.int32))

    def paid(self, state: StandInState) -> Array:
        """What each seat sees first."""
        return self.rules.mean_S + self.rules.spread * state.seen_SF[:, 0]

    def chance(self, key: Array) -> StandInChance:
        lot_S = jax.random.normal(jax.random.fold_in(key, 1), (self.spec.seats,))
        return StandInChance(self.drawn(key), lot_S)

    def observe(self, state: StandInState) -> Observation:
        all_S, seen_SF = jnp.ones(self.spec.seats, bool), state.seen_SF
        features_SF = self.shown(state)[:, : self.spec.features]
        # Every other choice is sometimes forbidden, by the lot of the seat: a mask that is lost is then missed.
        odd_A = jnp.concatenate([jnp.arange(size) % 2 == 1 for size in self.spec.action.heads] or [jnp.zeros(0, bool)])
        return Observation(features_SF, ~odd_A | (seen_SF[:, :1] < 0.5), all_S, all_S)

    def step(self, state: StandInState, action: Action, chance: StandInChance) -> tuple[StandInState, Step]:
        del action
        spec, after = self.spec, StandInState(chance.seen_SF, state.played + 1)
        reward_S = jnp.where(self.rules.as_seen, self.paid(state), chance.lot_S)
        over, never = after.played >= LENGTH, jnp.zeros((), bool)
        terms_SJ = jnp.zeros((spec.seats, len(spec.terms_of("reward"))))
        nobody_S, count_SJ = jnp.zeros(spec.seats, bool), jnp.zeros((spec.seats, len(spec.counts)), jnp.int32)
        return after, Step(reward_S, nobody_S, over, never, jnp.zeros(spec.sides), terms_SJ, count_SJ=count_SJ)

    def shown(self, state: StandInState) -> Array:
        return state.seen_SF.at[:, 0].set(self.paid(state))

    def goals(self, state: StandInState) -> Goals:
        """All goals are open, and each looks like what the seat sees: who is told them of another seat is found."""
        about_SGZ = goals_like(self.shown(state), len(self.spec.goals), self.about)
        steps_SG = jnp.ceil(LENGTH * jnp.resize(state.seen_SF.T, (len(self.spec.goals), self.spec.seats)).T)
        return Goals(jnp.ones(about_SGZ.shape[:2], bool), steps_SG, about_SGZ)

    def reached(self, before: StandInState, action: Action, after: StandInState) -> Array:
        """Twice in a game every seat reaches a goal, which one by lot."""
        del action
        goals = len(self.spec.goals)
        lot_S1 = jnp.floor(before.seen_SF[:, :1] * goals)
        return (after.played % (LENGTH // 2) == 0) & (jnp.arange(goals) == lot_S1)

    def central(self, state: StandInState) -> Array:
        """Something for the critic to see, whatever the size."""
        shape = (self.spec.critic_views, self.spec.central.size)
        return jnp.resize(state.seen_SF, shape)

    def potential(self, state: StandInState) -> Array:
        del state
        return jnp.zeros((self.spec.seats, len(self.spec.terms_of("potential"))))


def goals_like(seen_SF: Array, goals: int, about: int) -> Array:
    """about_SGZ: what each seat sees, over and over."""
    return jax.vmap(lambda seen_F: jnp.resize(seen_F, (goals, about)))(seen_SF)


def stand_in(game: Game) -> StandIn:
    spec, about = game.spec, 0
    if spec.goals:
        about = jax.eval_shape(lambda key: game.goals(game.start(key)), jax.random.key(0)).about_SGZ.shape[-1]
    shown = replace(
        spec, longest=LENGTH, shortest=LENGTH, in_turn=False, outside=False, zero_sum=False, score="return", causes=(),
    )  # fmt: skip
    return StandIn(shown, Pay(jnp.asarray(False), jnp.zeros(spec.seats), jnp.asarray(1.0)), about)


def paying(game: StandIn, mean_S: Array, spread: float) -> StandIn:
    pay = Pay(jnp.asarray(True), jnp.asarray(mean_S, float), jnp.asarray(spread, float))
    return StandIn(game.spec, pay, game.about)
