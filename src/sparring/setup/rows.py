"""Rows of stacks: learners, past players and guests are copied, loaded and put back here and nowhere else.

A stack of learners is [R, L, ...], a pool [R, P, ...], a roster of guests [P, ...].
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.learn.learner import Learner, while_games_go_on
from sparring.setup.program import TrainState


@jax.jit  # as one program: by itself every leaf would be one
def taken(stack: Any, *place: Any) -> Any:
    return jax.tree.map(lambda rows: rows[place], stack)


@jax.jit
def put(stack: Any, one: Any, *place: Any) -> Any:
    """The stack with something from elsewhere in one row."""
    return jax.tree.map(lambda rows, row: rows.at[place].set(jnp.asarray(row)), stack, one)


@jax.jit
def copied(pool: Any, learners: Learner, seed: Array, learner: Array, row: Array) -> Any:
    """The pool with a learner's present policy in one row."""
    return put(pool, taken(learners.model.actor, seed, learner), seed, row)


@jax.jit
def begun_anew(learners: Learner, origin: Learner, seed: Array, learner: Array) -> Learner:
    """One learner as it began: weights, optimiser, statistics and shadow; the others as they are."""
    return while_games_go_on(put(learners, taken(origin, seed, learner), seed, learner), learners)


def with_policy(learners: Learner, policy: Any, seed: int, learner: int) -> Learner:
    """One learner with the policy of another player, which is also the average of all it was so far."""
    actor = put(learners.model.actor, policy, seed, learner)
    shadow = None if learners.shadow is None else put(learners.shadow, policy, seed, learner)
    return learners._replace(model=eqx.tree_at(lambda model: model.actor, learners.model, actor), shadow=shadow)


@jax.jit
def descended(learners: Learner, seed: Array, parent_M: Array) -> Learner:
    """Learners of one seed as copies of their parents: weights, optimiser, statistics and shadow; who stays is the same
    to the last bit, and everybody keeps its identity, so that twins do not stay twins."""
    copies = jax.tree.map(lambda x: x.at[seed].set(x[seed][parent_M]), learners)
    return while_games_go_on(copies, learners)._replace(player=learners.player)


def with_blank_memory(state: TrainState, group: int, seed: int, learners: Sequence[int]) -> TrainState:
    """Learners with other weights remember nothing of the games they are in: a memory means something only to the
    weights that made it. `group` is their place in the seating; a blank memory is all zeros."""
    memory = list(state.cursor.memory)
    memory[group] = blanked(memory[group], seed, jnp.asarray(learners))
    return state._replace(cursor=state.cursor._replace(memory=tuple(memory)))


@jax.jit
def blanked(memory: Any, seed: Array, learners: Array) -> Any:
    return jax.tree.map(lambda x: x.at[seed, learners].set(jnp.zeros((), x.dtype)), memory)


def in_front(state: TrainState, leaders: Sequence[int]) -> TrainState:
    """The state with each seed's leader in the place of the first learner, who stands for all."""
    for seed, leader in enumerate(leaders):
        state = state._replace(learners=put(state.learners, taken(state.learners, seed, leader), seed, 0))
    return state
