"""A rollout as rows to train on, and the policy evaluated on them: what play computed, computed again."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.records import Action
from sparring.nets.actor_critic import ActorCritic
from sparring.play.rollout import Rollout, where_first


class Batch(NamedTuple):
    """Rows to train on, each a stretch of one world's steps with all seats of the side: [M, sequence, N, ...]."""

    features: Array
    legal: Array
    views: Array | None
    action: Action
    log_prob: Array
    advantage: Array
    target: Array
    present: Array
    acting: Array
    start: Array
    memory: tuple
    """[M, ...]: memories of policy and critic at the first step."""


def to_rows(rollout: Rollout, advantage_TWN: Array, target_TWN: Array) -> Batch:
    """Cut the rollout into sequences: memory was kept at the start of each, so their number gives their length."""
    steps = rollout.start_TW.shape[0]
    kept = jax.tree.leaves(rollout.memory)
    sequence = steps // kept[0].shape[0] if kept else 1

    def rows(x_TW: Array) -> Array:
        worlds = x_TW.shape[1]
        parts = x_TW.reshape(steps // sequence, sequence, worlds, *x_TW.shape[2:])
        return jnp.swapaxes(parts, 1, 2).reshape(steps // sequence * worlds, sequence, *x_TW.shape[2:])

    batch = Batch(
        features=rollout.features_TWNF, legal=rollout.legal_TWNA, views=rollout.views_TWVG, action=rollout.action,
        log_prob=rollout.log_prob_TWN, advantage=advantage_TWN, target=target_TWN, present=rollout.present_TWN,
        acting=rollout.acting_TWN, start=rollout.start_TW, memory=(),
    )  # fmt: skip
    memory = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rollout.memory)
    return jax.tree.map(rows, batch)._replace(memory=memory)


def unroll(model: ActorCritic, batch: Batch) -> tuple[Array, Array, Array]:
    """Log-probability, entropy and value of every row, [M, sequence, N]: what play computed, computed again."""

    def at_step(memory: tuple, row: Batch) -> tuple[tuple, tuple[Array, Array, Array]]:
        blank = jax.tree.map(jnp.zeros_like, memory)
        actor_memory, critic_memory = where_first(row.start, blank, memory)
        distribution, actor_memory = model.actor(row.features, row.legal, actor_memory)
        value, critic_memory = model.critic(row.features if row.views is None else row.views, critic_memory)
        value = jnp.broadcast_to(value, row.log_prob.shape)
        return (actor_memory, critic_memory), (distribution.log_prob(row.action), distribution.entropy(), value)

    def of_row(row: Batch) -> tuple[Array, Array, Array]:
        steps = row._replace(memory=())
        if not jax.tree.leaves(row.memory):
            return jax.vmap(lambda step: at_step(row.memory, step)[1])(steps)
        return lax.scan(at_step, row.memory, steps)[1]

    return jax.vmap(of_row)(batch)


def recomputed(model: ActorCritic, batch: Batch, minibatches: int) -> Array:
    """Old log-probabilities from the training function, in parts of the size of a minibatch: the same program."""
    size = batch.start.shape[0] // minibatches
    parts = jax.tree.map(lambda x: x.reshape(minibatches, size, *x.shape[1:]), batch)
    log_prob = lax.map(lambda part: unroll(model, part)[0], parts)
    return lax.stop_gradient(log_prob.reshape(batch.log_prob.shape))
