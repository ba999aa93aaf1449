"""Worlds that have gone wrong: numbers that are none, games that do not end. What they did then is left out of
training, and they start over; their game counts for nothing.

Elsewhere one such world would spoil every sum, such as the deviation that scales all advantages, and stay as it is for
good, since a state of NaN never ends. Letters as in ARCHITECTURE.md.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import LARGEST, Action, Step
from sparring.core.spec import GameSpec
from sparring.games.game import State
from sparring.play.branches import only_when


class Exhibit(NamedTuple):
    """The first world of a rollout that went wrong, as it was before: `game.step(state, action, chance)` repeats it."""

    world: Array
    """Its number among all; -1: none went wrong."""
    state: State
    action: Action
    """As the game received it, leaves [S, ...]."""
    chance: Any


class Faults(NamedTuple):
    """What went wrong in a rollout, in numbers of games."""

    left_out: Array
    overdue: Array
    """Those of them that had not ended after `spec.longest` steps."""
    reused: Array
    """Games that began from a start that another had begun from, because games were shorter than `spec.shortest`."""
    exhibit: Exhibit


def no_exhibit(spec: GameSpec, state: State, chance: Any) -> Exhibit:
    """In the shapes of one world, from leaves [V, ...]."""
    heads, dimensions = len(spec.action.heads), spec.action.dimensions
    action = Action(jnp.zeros((spec.seats, heads), jnp.int32), jnp.zeros((spec.seats, dimensions)))
    state, chance = jax.tree.map(lambda x: x[0], (state, chance))
    return Exhibit(jnp.full((), -1, jnp.int32), state, action, chance)


def with_first(exhibit: Exhibit, fault_BW: Array | None, state: State, action: Action, chance: Any) -> Exhibit:
    """The exhibit, or what went wrong in this step where nothing had before. It costs nothing while all is well."""
    assert fault_BW is not None
    fault_V = fault_BW.reshape(-1)

    first = (exhibit.world < 0) & fault_V.any()

    def taken() -> Exhibit:
        world = jnp.argmax(fault_V).astype(jnp.int32)
        found = Exhibit(world, *jax.tree.map(lambda x: x[world], (state, action, chance)))
        return jax.tree.map(lambda new, old: jnp.where(first, new, old), found, exhibit)

    return only_when(first, taken, lambda: exhibit)


def found_in(
    fault_TBW: Array | None, length_TBW: Array, spec: GameSpec, used_V: Array, bank_RV: State, exhibit: Exhibit
) -> Faults:
    """The faults of a rollout in which each world began used_V games from the bank, those after a fault included: for
    these the bank holds no more starts, so they are no sign that games are shorter than declared."""
    assert fault_TBW is not None
    starts = next((leaf.shape[0] for leaf in jax.tree.leaves(bank_RV)), fault_TBW.shape[0])
    planned_V = used_V - fault_TBW.sum(0, dtype=jnp.int32).reshape(-1)
    overdue_TBW = fault_TBW & (length_TBW >= spec.longest)
    return Faults(fault_TBW.sum(), overdue_TBW.sum(), jnp.maximum(planned_V - starts, 0).sum(), exhibit)


def unusable(array: Array, axes: int) -> Array:
    """Where numbers are none, or too large to be squared and added up; over all but the first axes."""
    return ~(jnp.abs(array) <= LARGEST).all(tuple(range(axes, array.ndim)))


def undefined(state: State) -> Array | bool:
    """Worlds with a NaN in their state, [B, W]. Infinity is allowed there: games may mean "never" by it."""
    found_BW: Array | bool = False
    for leaf in jax.tree.leaves(state):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            found_BW = found_BW | jnp.isnan(leaf).any(tuple(range(2, leaf.ndim)))
    return found_BW


def without_fault(step: Step, fault_BW: Array) -> Step:
    """The step where worlds that went wrong neither pay nor end."""
    terms = step.terms_SJ
    return step._replace(
        reward_S=jnp.where(fault_BW[..., None], 0.0, step.reward_S),
        terms_SJ=terms if isinstance(terms, tuple) else jnp.where(fault_BW[..., None, None], 0.0, terms),
        over=step.over & ~fault_BW,
        cut=step.cut & ~fault_BW,
    )


def left_out(fault_TW: Array, blind_TW: Array, ended_TWN: Array) -> tuple[Array, Array]:
    """Steps that teach nothing, and steps at which credit stops; both [T, W, N].

    A step that went wrong says nothing of what it earned, and one whose next observation is unusable (blind_TW, that
    after the last step included, [T + 1, W]) nothing of what it led to: neither is learned from. The step before them
    ends in an observation that the critic can judge, so it is taken as one cut there: it earned its reward and that
    value, which is as good an estimate as at any other cut.
    """
    lost_TWN = fault_TW[..., None] | (blind_TW[1:, ..., None] & ~ended_TWN)
    before_TWN = jnp.concatenate([lost_TWN[1:], jnp.zeros_like(lost_TWN[:1])])
    return lost_TWN, lost_TWN | before_TWN
