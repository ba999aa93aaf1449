"""Probes of several steps: credit, memory and time limits.

Each names its best return, and what is left of it where one feature of learning is broken.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Feature, GameSpec
from sparring.games.game import Chance, Game
from sparring.games.probes.one_seat import number, one_hot, one_seat, paid, seen


class CreditState(NamedTuple):
    chosen: Array
    clock: Array


class Credit(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple = ()

    def start(self, key: Array) -> CreditState:
        del key
        return CreditState(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def observe(self, state: CreditState) -> Observation:
        return seen(one_hot(state.clock, 2), jnp.ones(2, bool))

    def step(self, state: CreditState, action: Action, chance: Chance) -> tuple[CreditState, Step]:
        del chance
        choice, last = action.discrete_SD[0, 0], state.clock == 1
        reward = jnp.where(last, 1.5 * state.chosen, -0.5 * choice)
        return CreditState(jnp.where(last, state.chosen, choice), state.clock + 1), paid(reward, over=last)


def credit() -> Credit:
    """Two steps: choice 1 costs 0.5 at once and pays 1.5 at the second step, where no choice matters.

    Best 1. The second observation does not tell the first choice, so no critic can pass the payment back: a learner
    that credits a step with its own reward alone, or with that and the next value, finds choice 0, which returns 0.
    """
    return Credit(one_seat(ActionSpec(heads=(2,)), Feature("step", (2,)), steps=2))


class CueState(NamedTuple):
    cue: Array
    clock: Array


class Cue(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple = ()

    def start(self, key: Array) -> CueState:
        return CueState(number(key, 2), jnp.zeros((), jnp.int32))

    def observe(self, state: CueState) -> Observation:
        shown = jnp.where(state.clock == 0, 2.0 * state.cue - 1.0, 0.0)
        return seen(shown[None], jnp.ones(2, bool))

    def step(self, state: CueState, action: Action, chance: Chance) -> tuple[CueState, Step]:
        del chance
        last = state.clock + 1 == self.spec.longest
        right = action.discrete_SD[0, 0] == state.cue
        reward = jnp.where(last, jnp.where(right, 1.0, -1.0), 0.0)
        return state._replace(clock=state.clock + 1), paid(reward, over=last)


def memory(steps: int = 4) -> Cue:
    """A cue is shown at the first step only; at the last, repeating it pays 1 and the other choice costs 1.

    Best 1; without memory 0.
    """
    if steps < 2:
        raise ConfigError(f"memory needs a first and a last step, found steps={steps}: give 2 or more.")
    return Cue(one_seat(ActionSpec(heads=(2,)), Feature("cue", (1,)), steps=steps))


class LimitState(NamedTuple):
    arrived: Array
    clock: Array


class Limit(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple = ()

    def start(self, key: Array) -> LimitState:
        del key
        return LimitState(jnp.zeros((), bool), jnp.zeros((), jnp.int32))

    def observe(self, state: LimitState) -> Observation:
        return seen(one_hot(state.arrived, 2), jnp.ones(2, bool))

    def step(self, state: LimitState, action: Action, chance: Chance) -> tuple[LimitState, Step]:
        del chance
        goes = action.discrete_SD[0, 0] == 1
        reward = jnp.where(state.arrived, 1.0, jnp.where(goes, 0.0, 0.4))
        cut = state.clock + 1 == self.spec.longest
        return LimitState(state.arrived | goes, state.clock + 1), paid(reward, cut=cut)


def limit() -> Limit:
    """Stay for 0.4 a step, or go for nothing to a place that pays 1 at every later step; a time limit cuts after two.

    Needs a discount of 0.5. Going is worth 0.5 / (1 - 0.5) = 1, staying 0.4 / (1 - 0.5) = 0.8. Were the cut the end,
    going would be worth 0.5 and staying 0.4 + 0.5 * 0.4 = 0.6. Best 1, by going at once; a learner that takes the cut
    for the end stays, which returns 0.8. The seat does not see the time.
    """
    return Limit(one_seat(ActionSpec(heads=(2,)), Feature("place", (2,)), steps=2))
