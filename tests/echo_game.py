"""A duel of two alike sides that gives away who played: a seat is paid what the other one chose."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec, Term
from sparring.games.game import Bots, Chance, Game

LONGEST = 4
FIRST = {"low": 0, "high": 4}
"""What each bot chooses in the first step of a game; in every later step of it one more."""


class EchoRules(NamedTuple):
    bonus: Array
    """Paid to both at every step."""


class EchoState(NamedTuple):
    clock: Array
    length: Array
    """Drawn at the start, from 1 to LONGEST: games end at different times."""


class Echo(Game):
    """Whoever chooses more in the last step wins."""

    rules: EchoRules
    spec: GameSpec = eqx.field(static=True)

    def start(self, key: Array) -> EchoState:
        return EchoState(jnp.zeros((), jnp.int32), jax.random.randint(key, (), 1, LONGEST + 1))

    def observe(self, state: EchoState) -> Observation:
        features_SF = jnp.broadcast_to(jnp.stack([state.clock, state.length]).astype(float), (2, 2))
        here_S = jnp.ones(2, bool)
        return Observation(features_SF, jnp.ones((2, self.spec.action.entries), bool), here_S, here_S)

    def potential(self, state: EchoState) -> Array:
        return jnp.full((2, 1), state.clock / LONGEST)

    def step(self, state: EchoState, action: Action, chance: Chance) -> tuple[EchoState, Step]:
        del chance
        chosen_S = action.discrete_SD[:, 0]
        step = Step(
            reward_S=chosen_S[::-1] + self.rules.bonus,
            left_S=jnp.zeros(2, bool),
            over=state.clock + 1 == state.length,
            cut=jnp.zeros((), bool),
            outcome_K=jnp.sign(chosen_S - chosen_S[::-1]).astype(float),
            terms_SJ=chosen_S[:, None] / 8.0,
        )
        return state._replace(clock=state.clock + 1), step

    def bots(self) -> Bots:
        return Bots(tuple(FIRST), jnp.asarray(list(FIRST.values()), float)[:, None])

    def bot_memory(self, *batch: int) -> Array:
        """Steps of the game so far."""
        return jnp.zeros(batch)

    def bot_turn(self, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: Array):
        choice_N = parameters_J[0] + memory
        logits_NA = jnp.where(jnp.arange(legal_NA.shape[-1]) == choice_N[:, None], 0.0, -1e9)
        return logits_NA, jnp.zeros((*features_NF.shape[:-1], 0)), memory + 1


def echo() -> Echo:
    spec = GameSpec(
        seats=2,
        side_of_seat=(0, 1),
        action=ActionSpec(heads=(8,)),
        layout=(Feature("clock", (1,)), Feature("length", (1,))),
        central=Central("seat", 4),
        longest=LONGEST,
        exchangeable=((0, 1),),
        score="outcome",
        terms=(Term("choice", "reward", "an eighth of the choice"), Term("age", "potential", "the clock")),
    )
    return Echo(EchoRules(jnp.zeros(())), spec)


def paid_by(bot: str, length: int) -> int:
    """What a game of this length against a bot pays."""
    return length * FIRST[bot] + length * (length - 1) // 2
