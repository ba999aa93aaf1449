"""Rows that were imagined, beside those that were played: estimated and scaled by themselves, and never more than their
share of a step.

They move nothing but weights. What scales rewards, values and features, what stops an iteration and what is told of it
comes from rows that were played.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.learn.batch import Batch, Cut, to_rows
from sparring.learn.config import PPOConfig
from sparring.learn.estimate import Estimate, estimate
from sparring.learn.learner import Learner, trainable
from sparring.learn.losses import masked_mean, or_none, standardise
from sparring.learn.objective import objective
from sparring.learn.reward_scale import deviation
from sparring.nets.normalise import ValueScale
from sparring.play.branches import only_when
from sparring.play.chance import stream
from sparring.play.rollout import Rollout


class Imagined(NamedTuple):
    rollout: Rollout
    """Leaves [K, J, ...]: short branches beside a rollout."""
    open: Array
    """Whether there is anything in it; else all of this is left alone."""
    most: float
    """Largest share of a step."""


class Dreams(NamedTuple):
    """Rows to train on beside those that were played."""

    batch: Batch
    order_EIM: Array
    open: Array
    share: Array
    """Of each gradient: that of the rows, since all of them count alike."""


def scaled_alike(learner: Learner, rollout: Rollout, knobs: Any, config: PPOConfig) -> Rollout:
    """Rewards as the learner counts those that were played, by a scale that these do not move."""
    reward_TWN = rollout.reward_TWN
    if learner.reward is not None:
        reward_TWN = reward_TWN / deviation(learner.reward.statistics)
    if config.on("reward_clip"):
        limit = or_none(knobs.reward_clip)
        reward_TWN = jnp.clip(reward_TWN, -limit, limit)
    return rollout._replace(reward_TWN=reward_TWN)


def dreams_of(
    learner: Learner, played: tuple[Rollout, Estimate], imagined: Imagined, key: Array, knobs: Any, config: PPOConfig,
    before: ValueScale | None = None,
) -> tuple[Dreams, dict[str, Array]]:  # fmt: skip
    """Rows with what they were worth, in the order in which they are taken; and what there is to tell. `learner` counts
    rewards and values as it does for the rows that were played; `before` is the critic's scale as they were played."""
    real, worth = played
    rollout = scaled_alike(learner, imagined.rollout, knobs, config)
    branches = replace(config, time_limit="bootstrap")  # a branch says itself where nothing follows, else it only stops
    found = estimate(rollout, stream(key, "imagined noise"), knobs, branches)
    cut, scale = Cut(len(rollout.start_TW), 1), learner.model.critic.scale
    value, target = rollout.value_TWN, found.target_TWN
    if scale is not None and before is not None:  # without PopArt a critic's layer is unmoved: it speaks the old unit
        value = (scale if config.value_norm == "popart" else before).normalised(value)
        target = scale.normalised(target)
    batch = to_rows(rollout, cut)._replace(
        value=cut.rows(value), advantage=cut.rows(found.advantage_TWN), target=cut.rows(target)
    )
    order = jax.random.bits(stream(key, "imagined order"), (config.epochs, batch.start.shape[0]))
    order_EIM = jnp.argsort(order, axis=1).reshape(config.epochs, config.minibatches, -1)
    rows, beside = rollout.acting_TWN.sum(), real.acting_TWN.sum()
    share = jnp.where(imagined.open, jnp.minimum(rows / jnp.maximum(rows + beside, 1), imagined.most), 0.0)
    there = rollout.present_TWN & imagined.open
    told = {
        "share": share,
        "value_error": jnp.sqrt(masked_mean((found.target_TWN - rollout.value_TWN) ** 2, there)),
        "value_error_played": jnp.sqrt(masked_mean((worth.target_TWN - real.value_TWN) ** 2, real.present_TWN)),
        "reward": masked_mean(rollout.reward_TWN, there),
        "reward_played": masked_mean(real.reward_TWN, real.present_TWN),
    }
    return Dreams(batch, order_EIM, imagined.open, share), {f"imagined/{name}": x for name, x in told.items()}


def with_dreams(gradient: Any, learner: Learner, dreams: Dreams, order_M: Array, knobs: Any, config: PPOConfig) -> Any:
    """A gradient of played rows with that of imagined ones; as it was where there are none."""

    def of_dreams() -> Any:
        part = jax.tree.map(lambda x: x[order_M], dreams.batch)
        if config.normalise_advantage == "minibatch":
            part = part._replace(advantage=standardise(part.advantage, part.acting).x)
        trained, untrained = trainable(learner.model)
        return jax.grad(objective, has_aux=True)(trained, untrained, part, knobs, learner.kl_weight, config)[0]

    beside = only_when(dreams.open, of_dreams, lambda: jax.tree.map(jnp.zeros_like, gradient))
    share = dreams.share
    return jax.tree.map(lambda x, y: jnp.where(dreams.open, (1 - share) * x + share * y, x), gradient, beside)
