"""Probes of one step: a riddle is drawn and shown, the answer is paid, and the game is over.

Each names its best return, and what is left of it where one feature of learning is broken.
"""

from typing import NamedTuple, Protocol, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Feature, GameSpec
from sparring.games.game import Chance, Game
from sparring.games.probes.one_seat import another, number, one_hot, one_seat, paid, seen


class Question(Protocol):
    """What is drawn: a record of arrays that knows how it is shown and what an answer is worth."""

    @classmethod
    def draw(cls, key: Array) -> Self: ...

    def show(self) -> Array:
        """features_F."""
        ...

    def allow(self) -> Array:
        """legal_A."""
        ...

    def pay(self, action: Action) -> Array: ...


class Riddle(Game):
    """One seat, one step, one question of a kind."""

    spec: GameSpec = eqx.field(static=True)
    rules: tuple
    kind: type[Question] = eqx.field(static=True)

    def start(self, key: Array) -> Question:
        return self.kind.draw(key)

    def observe(self, state: Question) -> Observation:
        return seen(state.show(), state.allow())

    def step(self, state: Question, action: Action, chance: Chance) -> tuple[Question, Step]:
        del chance
        return state, paid(state.pay(action), over=True)


def riddle(kind: type[Question], action: ActionSpec, *layout: Feature) -> Riddle:
    return Riddle(one_seat(action, *layout), (), kind)


class Arm(NamedTuple):
    right: Array

    @classmethod
    def draw(cls, key: Array) -> Self:
        return cls(number(key, 3))

    def show(self) -> Array:
        return one_hot(self.right, 3)

    def allow(self) -> Array:
        return jnp.ones(3, bool)

    def pay(self, action: Action) -> Array:
        return action.discrete_SD[0, 0] == self.right


def bandit() -> Riddle:
    """Three arms, one step: the arm that is shown pays 1.

    Best 1; a policy that does not look gets 1/3.
    """
    return riddle(Arm, ActionSpec(heads=(3,)), Feature("right", (3,)))


class Lock(NamedTuple):
    right: Array
    open: Array

    @classmethod
    def draw(cls, key: Array) -> Self:
        key_right, key_open = jax.random.split(key)
        return cls(number(key_right, 4), jax.random.bernoulli(key_open, 0.25))

    def show(self) -> Array:
        return one_hot(self.right, 4)

    def allow(self) -> Array:
        return jnp.concatenate([self.open[None], jnp.ones(4, bool)])

    def pay(self, action: Action) -> Array:
        choice = action.discrete_SD[0, 0]
        return jnp.where(choice == 0, jnp.where(self.open, 4.0, -1.0), choice - 1 == self.right)


def mask() -> Riddle:
    """Entry 0 pays 4 but is legal in one game of four, which the mask alone tells; of the rest the shown one pays 1.

    Best 1/4 * 4 + 3/4 * 1 = 1.75. An illegal choice costs 1, so play without masks gets 1 at best, by leaving entry 0
    alone. Learning without masks drowns the other entries in the probability of entry 0: whatever pays less than the
    mean return looks bad, and the choice among them stays near chance, which is worth 1 + 3/4 * 1/4 = 1.19.
    """
    return riddle(Lock, ActionSpec(heads=(5,)), Feature("right", (4,)))


def right_and_wrong(key: Array, first: int, second: int) -> tuple[Array, Array]:
    """right_D and wrong_D: a number below each size, and another one."""
    keys = jax.random.split(key, 4)
    one, two = number(keys[0], first), number(keys[1], second)
    return jnp.stack([one, two]), jnp.stack([another(keys[2], one, first), another(keys[3], two, second)])


class Pair(NamedTuple):
    right_D: Array
    banned_D: Array
    """A wrong entry of each head."""

    @classmethod
    def draw(cls, key: Array) -> Self:
        return cls(*right_and_wrong(key, 3, 4))

    def show(self) -> Array:
        return jnp.concatenate([one_hot(self.right_D[0], 3), one_hot(self.right_D[1], 4)])

    def allow(self) -> Array:
        return jnp.concatenate([jnp.arange(3) != self.banned_D[0], jnp.arange(4) != self.banned_D[1]])

    def pay(self, action: Action) -> Array:
        choice_D = action.discrete_SD[0]
        return jnp.where((choice_D == self.banned_D).any(), -1.0, (choice_D == self.right_D).all())


def heads() -> Riddle:
    """Two heads, of three and four entries: 1 where each matches its cue; a wrong entry of each is illegal and costs 1.

    Best 1. Where the second head is not learned, 1/3 (three of its entries are legal); where the first is not, 1/2.
    """
    return riddle(Pair, ActionSpec(heads=(3, 4)), Feature("first", (3,)), Feature("second", (4,)))


class Target(NamedTuple):
    target_C: Array

    @classmethod
    def draw(cls, key: Array) -> Self:
        return cls(jax.random.uniform(key, (2,), minval=-1.5, maxval=1.5))

    def show(self) -> Array:
        return self.target_C

    def allow(self) -> Array:
        return jnp.ones(0, bool)

    def pay(self, action: Action) -> Array:
        return 1.0 - jnp.abs(action.continuous_SC[0] - self.target_C).mean()


def aim() -> Riddle:
    """Aim at a shown point: 1 less the mean distance. Coordinates go up to 1.5, and actions are clipped to 1.

    Best 11/12, at the bound where the target lies beyond it; more is possible only if the bounds do not hold. A policy
    wider than the bounds (initial_std of 1.2) shows whether learning sees actions as they were drawn: with clipped ones
    all choices that went too far look unlikely, and the policy widens instead of aiming. Aiming at 0 gets 1/4.
    """
    return riddle(Target, ActionSpec(low=(-1.0, -1.0), high=(1.0, 1.0)), Feature("target", (2,)))


class Order(NamedTuple):
    kind: Array
    target: Array
    right: Array

    @classmethod
    def draw(cls, key: Array) -> Self:
        key_kind, key_target, key_right = jax.random.split(key, 3)
        target = jax.random.uniform(key_target, minval=-1.0, maxval=1.0)
        return cls(number(key_kind, 3), target, number(key_right, 3))

    def show(self) -> Array:
        return jnp.concatenate([one_hot(self.kind, 3), self.target[None], one_hot(self.right, 3)])

    def allow(self) -> Array:
        return jnp.ones(6, bool)

    def pay(self, action: Action) -> Array:
        kind, picked = action.discrete_SD[0]
        near = 1.0 - jnp.abs(action.continuous_SC[0, 0] - self.target)
        worth_A = jnp.stack([jnp.ones(()), near, (picked == self.right).astype(float)])
        return jnp.where(kind == self.kind, worth_A[self.kind], 0.0)


def hybrid() -> Riddle:
    """Wait, aim at a shown number, or pick a shown one of three: the kind that is asked for pays up to 1, others 0.

    Best 1. Where only the kind is learned, (1 + 1/2 + 1/3) / 3 = 0.61 at best. Arguments that do not count change
    nothing on average but for the entropy bonus: with one of 0.1 and unscaled advantages it is three times as strong on
    them as it should be, once it does not know that two actions of three have no use for them.
    """
    counts = ((False, False), (False, True), (True, False))
    action = ActionSpec(heads=(3, 3), low=(-1.0,), high=(1.0,), counts=counts)
    return riddle(Order, action, Feature("kind", (3,)), Feature("target", (1,)), Feature("right", (3,)))


class Lights(NamedTuple):
    lit_D: Array
    decoy_D: Array

    @classmethod
    def draw(cls, key: Array) -> Self:
        return cls(*right_and_wrong(key, 4, 5))

    def show(self) -> Array:
        planes = [one_hot(row, 4)[:, None] * one_hot(column, 5) for row, column in self]
        return jnp.stack(planes, axis=-1).reshape(-1)

    def allow(self) -> Array:
        return jnp.ones(9, bool)

    def pay(self, action: Action) -> Array:
        return (action.discrete_SD[0] == self.lit_D).mean()


def grid() -> Riddle:
    """Find the lit cell in the first of two planes of 4 x 5: half for its row, half for its column.

    The second plane has a decoy in another row and column. Best 1; 1/2 for a policy that does not tell the planes
    apart; (1/4 + 1/5) / 2 for one that does not see where a cell lies.
    """
    return riddle(Lights, ActionSpec(heads=(4, 5)), Feature("board", (4, 5, 2)))
