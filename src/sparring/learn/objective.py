"""What a minibatch is judged by: the policy's loss within its trust region, the critic's loss, and entropy."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.learn.batch import Batch, Evaluation, unroll
from sparring.learn.config import PPOConfig
from sparring.learn.learner import behaviour
from sparring.learn.losses import (
    approximate_kl,
    clipped_surrogate,
    clipped_value_error,
    masked_mean,
    nearest_mean,
    or_none,
    spo_surrogate,
    value_error,
)
from sparring.learn.module import losses_of
from sparring.nets.actor_critic import ActorCritic, Critic
from sparring.play.rollout import entry


class Losses(NamedTuple):
    policy_loss: Array
    value_loss: Array
    entropy: Array
    approx_kl: Array
    exact_kl: Array
    mean_ratio: Array
    ratio_gap: Array
    """Largest distance of a ratio from 1."""
    clip_fraction: Array
    anchor_kl: Array
    imitation: Array
    smooth: Array
    past_kl: Array
    own: Any = ()
    """Losses of modules of one's own by name, where there are any."""


def objective(
    trained: ActorCritic, untrained: ActorCritic, batch: Batch, knobs: Any, kl_weight: Array | None, config: PPOConfig,
    key: Array | None = None,
) -> tuple[Array, Losses]:  # fmt: skip
    """The loss of actor and critic together. `key` is for modules of one's own."""
    terms, losses = judged(trained, untrained, batch, knobs, kl_weight, config, key)
    first, *others = terms.values()
    return sum(others, first), losses


def judged(
    trained: ActorCritic, untrained: ActorCritic, batch: Batch, knobs: Any, kl_weight: Array | None, config: PPOConfig,
    key: Array | None = None,
) -> tuple[dict[str, Array], Losses]:  # fmt: skip
    """The terms of the loss by name, each with its weight, and what there is to tell."""
    model = eqx.combine(trained, untrained)
    smoothed = model.actor if config.on("smooth") else None
    found = unroll(behaviour(model.actor, knobs, config), model.judge, batch, smoothed, config.on("support"))
    # Before the exponential, not after: that of a choice nobody made may overflow, and its gradient, masked, be NaN.
    log_ratio = jnp.where(batch.acting, found.log_prob - batch.log_prob, 0.0)
    ratio = jnp.exp(log_ratio)
    exact_kl = masked_mean(found.kl, batch.acting)
    if batch.merit is None:
        loss = surrogate(ratio, batch.advantage, knobs, config)
    else:
        loss = loss_of_choices(ratio, found, batch, knobs, config)
    policy_loss = masked_mean(loss, batch.acting)
    if kl_weight is not None:
        policy_loss = policy_loss + kl_weight * exact_kl
    value_loss = critic_loss(found, model.critic, batch, knobs, config)
    entropy = masked_mean(found.entropy, batch.acting)
    anchor_kl = imitation = smooth = past_kl = jnp.zeros(())
    terms = {"policy": policy_loss, "value": knobs.value_weight * value_loss, "entropy": -knobs.entropy * entropy}
    if found.from_uniform is not None:
        terms["support"] = knobs.support * masked_mean(found.from_uniform, batch.acting)
    if found.anchor_kl is not None:
        anchor_kl = masked_mean(found.anchor_kl, batch.acting)
        terms["anchor"] = knobs.anchor * anchor_kl
    if batch.imitate is not None:
        imitation = -masked_mean(found.log_prob, batch.imitate)
        terms["imitation"] = knobs.imitation * imitation
    if found.jump is not None:
        smooth = masked_mean(found.jump, batch.acting & ~batch.start[..., None])
        terms["smooth"] = knobs.smooth * smooth
    if config.on("align_old"):
        terms["align_old"] = knobs.align_old * exact_kl
    if found.past_kl is not None:
        past_kl = nearest_mean(found.past_kl, batch.acting, knobs.past_temperature)
        terms["past_kl"] = knobs.past_kl * past_kl
    own: Any = ()
    if model.modules is not None:
        assert key is not None
        terms["own"], own = losses_of(model.modules, knobs.own_M, (model, batch, found), key)
    losses = Losses(
        policy_loss=policy_loss,
        value_loss=value_loss,
        entropy=entropy,
        approx_kl=masked_mean(approximate_kl(log_ratio), batch.acting),
        exact_kl=exact_kl,
        mean_ratio=masked_mean(ratio, batch.acting),
        ratio_gap=jnp.abs(ratio - 1).max(),
        clip_fraction=masked_mean(1.0 * (jnp.abs(ratio - 1) > knobs.clip), batch.acting),
        anchor_kl=anchor_kl,
        imitation=imitation,
        smooth=smooth,
        past_kl=past_kl,
        own=own,
    )
    return terms, losses


def surrogate(ratio: Array, advantage: Array, knobs: Any, config: PPOConfig) -> Array:
    """The policy's loss of each choice, before any KL penalty."""
    if config.loss == "kl":
        return -ratio * advantage
    if config.loss == "spo":
        return spo_surrogate(ratio, advantage, knobs.clip)
    return clipped_surrogate(ratio, advantage, knobs.clip)


def loss_of_choices(ratio: Array, found: Evaluation, batch: Batch, knobs: Any, config: PPOConfig) -> Array:
    """The policy's loss where the critic judges choices: what it says of all of them, each as likely as it was, and
    what the one that was taken turned out to be worth beyond that."""
    assert batch.merit is not None and found.log_p is not None
    old = batch.distribution.log_p_A
    possible = batch.distribution.possible_A & batch.acting[..., None]
    ratio_A = jnp.exp(jnp.where(possible, found.log_p - old, 0.0))
    judged = jnp.where(possible, jnp.exp(old) * surrogate(ratio_A, batch.merit, knobs, config), 0.0).sum(-1)
    beyond = batch.advantage - entry(batch.merit, batch.action.discrete_SD[..., 0])
    return judged + surrogate(ratio, beyond, knobs, config)


def critic_objective(
    trained: ActorCritic, untrained: ActorCritic, batch: Batch, knobs: Any, config: PPOConfig
) -> Array:
    """The critic's loss alone, for the epochs in which the actor waits."""
    model = eqx.combine(trained, untrained)
    found = unroll(behaviour(model.actor, knobs, config), model.judge, batch)
    return knobs.value_weight * critic_loss(found, model.critic, batch, knobs, config)


def critic_loss(found: Evaluation, critic: Critic, batch: Batch, knobs: Any, config: PPOConfig) -> Array:
    """Half the mean error of the values, in normalised units where the critic has them, as old values and targets."""
    value = found.value if critic.scale is None else critic.scale.normalised(found.value)
    delta = knobs.huber_delta if config.value_loss == "huber" else None
    if config.on("value_clip"):
        error = clipped_value_error(value, batch.value, batch.target, or_none(knobs.value_clip), delta)
    else:
        error = value_error(value, batch.target, delta)
    if found.worth is not None and batch.choice is not None:
        chosen = entry(found.worth, batch.choice.taken)
        error = error + value_error(
            chosen if critic.scale is None else critic.scale.normalised(chosen), batch.target, delta
        )
    return 0.5 * masked_mean(error, batch.present)
