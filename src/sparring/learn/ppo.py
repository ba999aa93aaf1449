"""Proximal policy optimisation for one learner; stacked learners are a vmap of it (arXiv:1707.06347)."""

from collections import namedtuple
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax

from sparring.core.schedules import Schedule
from sparring.learn.batch import Batch, recomputed, to_rows, unroll
from sparring.learn.learner import Learner, optimiser, trainable
from sparring.learn.losses import (
    approximate_kl,
    clipped_surrogate,
    explained_variance,
    masked_mean,
    standardise,
)
from sparring.learn.returns import gae
from sparring.nets.actor_critic import ActorCritic
from sparring.play.rollout import Rollout, where_first


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Fields of type Schedule are coefficients: traced, so a change never recompiles; each learner may have its own."""

    learning_rate: Schedule = Schedule.parse("7e-4 -> 0")
    """Step size of Adam. Lower it when the KL is large or returns collapse."""
    discount: Schedule = Schedule.parse(0.99)
    """How much the next step counts, in [0, 1]. Raise it for long games; variance grows with it."""
    decay: Schedule = Schedule.parse(0.95)
    """GAE's lambda, in [0, 1]: 1 trusts the rewards of the rollout, 0 the critic."""
    clip: Schedule = Schedule.parse(0.2)
    """How far the ratio of new to old probability may move before it stops paying, 0.05 to 0.3."""
    entropy: Schedule = Schedule.parse(0.01)
    """Weight of the entropy bonus: raise it when the policy settles too early."""
    value_weight: Schedule = Schedule.parse(0.5)
    """Weight of the critic's loss."""
    max_grad_norm: Schedule = Schedule.parse(10.0)
    """Gradients longer than this are scaled down to it: 10 in MAPPO's reference, 0.5 in CleanRL."""
    adam_eps: Schedule = Schedule.parse(1e-5)
    """Adam's epsilon."""
    target_kl: Schedule = Schedule.parse(0.0)
    """Stop the epochs of an iteration when a minibatch's KL exceeds this; 0 never stops. Usual: 0.02."""
    epochs: int = 4
    """Passes over a rollout."""
    minibatches: int = 4
    """Parts a rollout is split into in each pass."""
    sequence: int = 20
    """Steps in a training sequence of a recurrent policy; must divide the steps of a rollout."""
    normalise_advantage: bool = True
    """Scale advantages to unit deviation over the acting seats of a rollout."""
    recompute_old: bool = False
    """Compute the old log-probabilities once more with the training function, so the first ratio is exactly 1."""


COEFFICIENTS = tuple(field.name for field in fields(PPOConfig) if field.type in (Schedule, "Schedule"))
Knobs = namedtuple("Knobs", COEFFICIENTS)  # pyright: ignore[reportUntypedNamedTuple]
"""The coefficients of one iteration, as traced scalars under their own names."""


def knobs_at(config: PPOConfig, progress: float) -> np.ndarray:
    """knobs_H: this iteration's coefficients, computed on the host; progress runs from 0 to 1."""
    return np.asarray([getattr(config, name).at(progress) for name in COEFFICIENTS], np.float32)


class UpdateStats(NamedTuple):
    """Means over the minibatches of an iteration, but for those that say otherwise."""

    policy_loss: Array
    value_loss: Array
    entropy: Array
    approx_kl: Array
    clip_fraction: Array
    grad_norm: Array
    skipped: Array
    """Share of minibatches not taken because the KL had stopped the iteration."""
    explained_variance: Array
    advantage_std: Array
    first_ratio_gap: Array
    """Largest distance of a ratio from 1 in the first minibatch, before any step."""


def update(
    learner: Learner, rollout: Rollout, key: Array, knobs: Any, config: PPOConfig
) -> tuple[Learner, UpdateStats]:
    """One iteration of learning from one rollout."""
    advantage_TWN = gae(
        rollout.reward_TWN, rollout.value_TWN, rollout.next_value_TWN, rollout.over_TWN, rollout.ended_TWN,
        discount=knobs.discount, decay=knobs.decay,
    )  # fmt: skip
    target_TWN = advantage_TWN + rollout.value_TWN
    acting_TWN = rollout.acting_TWN
    spread = jnp.sqrt(masked_mean((advantage_TWN - masked_mean(advantage_TWN, acting_TWN)) ** 2, acting_TWN))
    scaled_TWN = standardise(advantage_TWN, acting_TWN) if config.normalise_advantage else advantage_TWN
    batch = to_rows(rollout, scaled_TWN, target_TWN)
    if config.recompute_old:
        batch = batch._replace(log_prob=recomputed(learner.model, batch, config.minibatches))
    learner, stats = run_epochs(learner, batch, key, knobs, config)
    explained = explained_variance(target_TWN, rollout.value_TWN, rollout.present_TWN)
    stats = stats._replace(explained_variance=explained, advantage_std=spread)
    return learner._replace(model=with_statistics(learner.model, rollout)), stats


def run_epochs(
    learner: Learner, batch: Batch, key: Array, knobs: Any, config: PPOConfig
) -> tuple[Learner, UpdateStats]:
    """Epochs of shuffled minibatches. After the KL passes its target nothing changes any more."""
    rows = batch.start.shape[0]
    # One sort of random bits an epoch: half the time of jax.random.permutation, which sorts twice or more.
    order_EM = jnp.argsort(jax.random.bits(key, (config.epochs, rows)), axis=1)
    order_IM = order_EM.reshape(config.epochs * config.minibatches, rows // config.minibatches)

    def minibatch(carry: tuple[Learner, Array], order_M: Array) -> tuple[tuple[Learner, Array], UpdateStats]:
        learner, stopped = carry
        part = jax.tree.map(lambda x: x[order_M], batch)
        stepped, stats = gradient_step(learner, part, knobs)
        beyond = (knobs.target_kl > 0) & (stats.approx_kl > knobs.target_kl)
        stopped = stopped | beyond
        return (where_first(stopped, learner, stepped), stopped), stats._replace(skipped=stopped.astype(jnp.float32))

    (learner, _), stats = lax.scan(minibatch, (learner, jnp.zeros((), bool)), order_IM)
    return learner, jax.tree.map(jnp.mean, stats)._replace(first_ratio_gap=stats.first_ratio_gap[0])


def gradient_step(learner: Learner, batch: Batch, knobs: Any) -> tuple[Learner, UpdateStats]:
    trained, statistics = trainable(learner.model)
    gradient, stats = jax.grad(objective, has_aux=True)(trained, statistics, batch, knobs)
    direction, state = optimiser(knobs.max_grad_norm, knobs.adam_eps).update(gradient, learner.optimiser)
    trained = jax.tree.map(lambda weight, move: weight - knobs.learning_rate * move, trained, direction)
    model = eqx.combine(trained, statistics)
    stats = stats._replace(grad_norm=optax.global_norm(gradient))
    return learner._replace(model=model, optimiser=state, updates=learner.updates + 1), stats


def objective(trained: ActorCritic, statistics: ActorCritic, batch: Batch, knobs: Any) -> tuple[Array, UpdateStats]:
    log_prob, entropy, value = unroll(eqx.combine(trained, statistics), batch)
    log_ratio = jnp.where(batch.acting, log_prob - batch.log_prob, 0.0)
    ratio = jnp.exp(log_ratio)
    policy_loss = masked_mean(clipped_surrogate(ratio, batch.advantage, knobs.clip), batch.acting)
    value_loss = 0.5 * masked_mean((value - batch.target) ** 2, batch.present)
    mean_entropy = masked_mean(entropy, batch.acting)
    zero = jnp.zeros(())
    stats = UpdateStats(
        policy_loss=policy_loss,
        value_loss=value_loss,
        entropy=mean_entropy,
        approx_kl=masked_mean(approximate_kl(log_ratio), batch.acting),
        clip_fraction=masked_mean(1.0 * (jnp.abs(ratio - 1) > knobs.clip), batch.acting),
        grad_norm=zero, skipped=zero, explained_variance=zero, advantage_std=zero,
        first_ratio_gap=jnp.abs(ratio - 1).max(),
    )  # fmt: skip
    return policy_loss + knobs.value_weight * value_loss - knobs.entropy * mean_entropy, stats


def with_statistics(model: ActorCritic, rollout: Rollout) -> ActorCritic:
    """Normalisers moved by this rollout, after the epochs: within an iteration play and learning see one scale."""
    actor, critic = model.actor.trunk.normaliser, model.critic.trunk.normaliser
    if actor is None or critic is None:
        return model
    features, views = rollout.features_TWNF, rollout.views_TWVG
    present_TWN = rollout.present_TWN.astype(jnp.float32)
    actor = actor.updated(flat(features), present_TWN.reshape(-1))
    if views is None:
        critic = critic.updated(flat(features), present_TWN.reshape(-1))
    else:  # a view that all seats share counts while any of them is present
        seen_TWV = present_TWN if views.shape[2] == present_TWN.shape[2] else present_TWN.max(2, keepdims=True)
        critic = critic.updated(flat(views), seen_TWV.reshape(-1))
    return eqx.tree_at(lambda m: (m.actor.trunk.normaliser, m.critic.trunk.normaliser), model, (actor, critic))


def flat(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])
