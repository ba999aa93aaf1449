"""A game of three seats and one prize, whose rules are numbers: one program plays it fairly and in every unfair way."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.game import Game

STEPS = 6


class GrabRules(NamedTuple):
    first_wins: Array
    """Of several that grab, the lowest number has the prize; 0: they share it."""
    bonus: Array
    """What seat 2 is paid besides, as a share."""
    head_start: Array
    """How much more luck seat 0 begins with."""
    blind: Array
    """Seat 1 does not see the prize."""
    twins: Array
    """Seats 0 and 1 begin with the same luck: nobody has more, and yet seat 2 is alone with its own."""


class GrabState(NamedTuple):
    luck_S: Array
    prize: Array
    played: Array


class GrabChance(NamedTuple):
    prize: Array


class Grab(Game):
    """Grab (1) or wait (0): the prize goes to those who grab, and waiting pays a little luck."""

    spec: GameSpec = eqx.field(static=True)
    rules: GrabRules

    def start(self, key: Array) -> GrabState:
        luck_S = jax.random.uniform(key, (3,)).at[0].add(self.rules.head_start)
        luck_S = luck_S.at[1].set(jnp.where(self.rules.twins > 0, luck_S[0], luck_S[1]))
        return GrabState(luck_S, jnp.ones(()), jnp.zeros((), jnp.int32))

    def chance(self, key: Array) -> GrabChance:
        return GrabChance(1.0 + jnp.floor(3.0 * jax.random.uniform(key)))

    def observe(self, state: GrabState) -> Observation:
        prize_S = jnp.broadcast_to(state.prize, (3,)).at[1].multiply(1.0 - self.rules.blind)
        all_S = jnp.ones(3, bool)
        return Observation(jnp.stack([state.luck_S, prize_S], axis=1), jnp.ones((3, 2), bool), all_S, all_S)

    def step(self, state: GrabState, action: Action, chance: GrabChance) -> tuple[GrabState, Step]:
        grabs_S = action.discrete_SD[:, 0] == 1
        shared_S = jnp.where(grabs_S, state.prize / jnp.maximum(grabs_S.sum(), 1), 0.0)
        first_S = jnp.where(grabs_S & (jnp.cumsum(grabs_S) == 1), state.prize, 0.0)
        pay_S = jnp.where(self.rules.first_wins > 0, first_S, shared_S) + jnp.where(grabs_S, 0.0, 0.1 * state.luck_S)
        pay_S = pay_S.at[2].multiply(1.0 + self.rules.bonus)
        after = GrabState(state.luck_S, chance.prize, state.played + 1)
        over = after.played >= STEPS
        return after, Step(pay_S, jnp.zeros(3, bool), over, jnp.zeros((), bool), jnp.zeros(3))


class OneKey(NamedTuple):
    key: Array


class Keyed(Grab):
    """The prize is drawn in the step, from one key for all."""

    def chance(self, key: Array) -> OneKey:  # type: ignore[override]
        return OneKey(key)

    def step(self, state: GrabState, action: Action, chance: OneKey) -> tuple[GrabState, Step]:  # type: ignore[override]
        return super().step(state, action, GrabChance(1.0 + jnp.floor(3.0 * jax.random.uniform(chance.key))))


def grab(**wrong: float) -> Grab:
    spec = GameSpec(
        seats=3, side_of_seat=(0, 1, 2), action=ActionSpec(heads=(2,)), layout=(Feature("luck and prize", (2,)),),
        central=Central("seat", 6), longest=STEPS, shortest=STEPS, exchangeable=((0, 1, 2),),
    )  # fmt: skip
    rules = GrabRules(*(jnp.asarray(float(wrong.get(name, 0.0))) for name in GrabRules._fields))
    return Grab(spec, rules)
