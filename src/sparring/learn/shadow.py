"""Other policies that a learner is held to: its shadow, the slow exponential average of its policy, which is also an
opponent and one to deploy; and its own policies of the last iterations."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.learn.batch import Batch, opinions
from sparring.learn.config import PPOConfig
from sparring.learn.learner import Learner, behaviour, trainable
from sparring.nets.actor_critic import Actor
from sparring.nets.distributions import Distribution
from sparring.nets.normalise import Normaliser


def rate(knobs: Any, config: PPOConfig) -> Array:
    """Share of the newest weights taken at each update: after half_life updates, half of what was is left."""
    if config.on("shadow_half_life"):
        return 1 - jnp.exp2(-1 / knobs.shadow_half_life)
    return knobs.shadow_tau


def followed(learner: Learner, knobs: Any, config: PPOConfig) -> Learner:
    """The learner with its shadow one update further."""
    if learner.shadow is None:
        return learner
    return learner._replace(shadow=towards(learner.shadow, learner.model.actor, rate(knobs, config)))


def recalled(learner: Learner, played: Actor) -> Learner:
    """The learner with the policy that played in this iteration as the newest of its past ones."""
    if learner.past is None:
        return learner
    return learner._replace(
        past=jax.tree.map(lambda new, old: jnp.concatenate([new[None], old[:-1]]), played, learner.past)
    )


def past_opinions(learner: Learner, batch: Batch, knobs: Any, config: PPOConfig) -> Distribution:
    """What each past policy would do in every row, leaves [M, sequence, H, N, ...]."""
    found = jax.vmap(lambda actor: opinions(behaviour(actor, knobs, config), batch, config.minibatches))(learner.past)
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, 2), found)


def towards(shadow: Actor, actor: Actor, tau: Array) -> Actor:
    """Weights are averaged; statistics of observations as well, so that the shadow sees by a scale as slow as it is;
    whatever else no gradient moves is copied."""
    slow, _ = trainable(shadow)
    fast, other = trainable(actor)
    moved = eqx.combine(jax.tree.map(lambda s, f: s + tau * (f - s), slow, fast), other)
    slow_scale, fast_scale = shadow.trunk.normaliser, actor.trunk.normaliser
    if slow_scale is None or fast_scale is None:
        return moved
    scale = averaged(slow_scale, fast_scale, tau)
    return eqx.tree_at(lambda a: a.trunk.normaliser, moved, scale)


def averaged(slow: Normaliser, fast: Normaliser, tau: Array) -> Normaliser:
    """Mean and second moment averaged; counts cannot be, and the newest says how much the sum of squares stands for."""

    def moment(scale: Normaliser) -> Array:
        return scale.square_F / jnp.maximum(scale.count, 1.0) + scale.mean_F**2

    share = jnp.where(slow.count > 0, tau, 1.0)  # before its first statistics there is nothing to average
    mean_F = slow.mean_F + share * (fast.mean_F - slow.mean_F)
    moment_F = moment(slow) + share * (moment(fast) - moment(slow))
    return Normaliser(mean_F, jnp.maximum(moment_F - mean_F**2, 0.0) * fast.count, fast.count)
