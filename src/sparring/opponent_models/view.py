"""All that a seat with a mind knows in a moment, as the numbers that a model of the world foresees: what it sees, how
the others are placed to their goals, and everything that is yes or no.

So a moment that was imagined can be thought about like one that was played. Letters as in `mind`; J: branches.
"""

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.spec import ActionSpec
from sparring.nets.distributions import split_heads
from sparring.opponent_models.beliefs import STEPS
from sparring.opponent_models.world import Transition
from sparring.play.rollout import Rollout
from sparring.play.witness import Situation


class Moment(NamedTuple):
    """Leaves [J, N, ...]."""

    situation: Situation
    legal: Array
    acting: Array
    state: Any = ()
    """The whole world, where it is known."""


class Row(NamedTuple):
    """Rows that a model of the world is fitted on, leaves [R, ...]."""

    transition: Transition
    useful: Array


@dataclass(frozen=True)
class View:
    """How many there are of what."""

    action: ActionSpec
    features: int
    others: int
    goals: int
    """G: those that the game lists, 0 where the mind does not look at goals."""
    about: int
    """Z."""

    @property
    def numbers(self) -> int:
        return self.features + self.others * self.goals * (1 + self.about)

    @property
    def flags(self) -> int:
        return sum(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Legal entries and whether it acts; the same of the others, the goals open to them and those they reach."""
        own, others = self.action.entries, self.others
        return own, 1, others * own, others, others * self.goals, others * self.goals

    def seen(self, situation: Situation) -> Situation:
        """A situation without goals that nobody looks at."""
        if self.goals:
            return situation
        none = situation.open[..., :0]
        return situation._replace(open=none, steps=situation.steps[..., :0], about=jnp.zeros((*none.shape, 0)))

    def numbers_of(self, seen: Any) -> Array:
        """`seen`: a Situation."""
        parts = (seen.features, STEPS * seen.steps, seen.about)
        return jnp.concatenate([flat(x, seen.features.ndim - 1) for x in parts], axis=-1)

    def flags_of(self, seen: Any, legal: Array, acting: Array, reached: Array) -> Array:
        """`reached`: the goals that the others had reached when they came here."""
        parts = (legal, acting[..., None], seen.legal, seen.acting, seen.open, reached)
        return jnp.concatenate([flat(x, acting.ndim) for x in parts], axis=-1)

    def moment(self, numbers: Array, chance: Array) -> tuple[Moment, Array]:
        """The moment that numbers, and how likely everything else is, say; and the goals that were reached on the way.
        What is likelier than not is so; who does not act has its first entries alone, and somebody always has one."""
        batch, shape = numbers.shape[:-1], (self.others, self.goals)
        first, second = self.features, self.features + prod(shape)
        legal, acting, legal_O, acting_O, open_O, reached = (
            part for part in jnp.split(chance, np.cumsum(self.sizes)[:-1], axis=-1)
        )
        acting, acting_O = acting[..., 0] > 0.5, acting_O > 0.5
        open_ = open_O.reshape(*batch, *shape) > 0.5
        steps = jnp.maximum(numbers[..., first:second].reshape(open_.shape) / STEPS, 0.0)
        about = numbers[..., second:].reshape(*batch, *shape, self.about)
        situation = Situation(
            features=numbers[..., :first], start=jnp.zeros(batch, bool), acting=acting_O,
            legal=allowed(self.action, legal_O.reshape(*batch, self.others, -1), acting_O), open=open_,
            steps=jnp.where(open_, steps, 0.0), about=jnp.where(open_[..., None], about, 0.0),
        )  # fmt: skip
        moment = Moment(situation, allowed(self.action, legal, acting), acting)
        return moment, reached.reshape(*batch, *shape) > 0.5


def allowed(action: ActionSpec, chance_A: Array, acting: Array) -> Array:
    """Entries that are likelier legal than not, in each head the likeliest at least."""
    heads = []
    for head in split_heads(chance_A, action):
        place = jnp.arange(head.shape[-1])
        legal = (head > 0.5) | (place == jnp.argmax(head, axis=-1)[..., None])
        heads.append(jnp.where(acting[..., None], legal, place == 0))
    return jnp.concatenate(heads, axis=-1)


def blank_rows(view: View, count: int) -> Row:
    heads, none = len(view.action.heads), jnp.zeros((count,), bool)
    numbers = jnp.zeros((count, view.numbers))
    choices = jnp.zeros((count, 1 + view.others, heads), jnp.int32)
    transition = Transition(
        numbers, choices[:, 0], choices[:, 1:], jnp.zeros(count), none, numbers, jnp.zeros((count, view.flags), bool)
    )
    return Row(transition, none)


def flat(x: Array, leading: int) -> Array:
    return x.reshape(*x.shape[:leading], -1)


def situation_of(rollout: Rollout, view: View) -> Situation:
    """What seats knew at every step of a rollout, leaves [T, W, N, ...]."""
    seen: Any = rollout.others
    start = jnp.broadcast_to(rollout.start_TW[..., None], rollout.present_TWN.shape)
    situation = Situation(
        rollout.features_TWNF, start, seen.acting, seen.legal, seen.open, seen.steps, seen.about
    )  # fmt: skip
    return view.seen(situation)


def transitions(rollout: Rollout, view: View, *, cut_ends: bool = False) -> Row:
    """All steps of a rollout as rows, T W N in a line. Useful are those after which something is known: the end, or
    what was seen next; not a game that was cut, but if a time limit counts as an end (`cut_ends`), or the last step of
    the rollout."""
    others: Any = rollout.others
    over_TWN = rollout.ended_TWN if cut_ends else rollout.over_TWN
    situation = situation_of(rollout, view)
    numbers_TWNF = view.numbers_of(situation)
    none = jnp.zeros_like(situation.open)
    flags_TWNA = view.flags_of(situation, rollout.legal_TWNA, rollout.acting_TWN, none)
    next_flags = later(flags_TWNA)
    if view.goals:
        reached = flat(others.reached, 3)
        next_flags = jnp.concatenate([next_flags[..., : -reached.shape[-1]], reached], axis=-1)
    last_T11 = (jnp.arange(len(none)) == len(none) - 1)[:, None, None]
    useful = rollout.present_TWN & (over_TWN | ~(rollout.ended_TWN | last_T11))
    transition = Transition(
        features_F=numbers_TWNF, own_D=rollout.action.discrete_SD, discrete_OD=others.discrete,
        reward=rollout.reward_TWN, ended=over_TWN, next_features_F=later(numbers_TWNF), next_legal_A=next_flags,
    )  # fmt: skip
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[3:]), Row(transition, useful))


def later(x_T: Array) -> Array:
    """What the next step had."""
    return jnp.concatenate([x_T[1:], x_T[-1:]])
