"""Proximal policy optimisation for one learner; stacked learners are a vmap of it (arXiv:1707.06347)."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.learn import calm
from sparring.learn.batch import Batch, Cut, opinions, to_rows
from sparring.learn.config import PPOConfig
from sparring.learn.epochs import Taken, evaluation, run_epochs, with_estimate
from sparring.learn.estimate import Estimate, estimate
from sparring.learn.feature_scale import with_statistics
from sparring.learn.groups import at_rollout
from sparring.learn.health import dead_units, feature_rank, hidden_sample
from sparring.learn.hyper_measures import hyper_measures
from sparring.learn.imagined import Imagined, dreams_of
from sparring.learn.learner import Learner, behaviour
from sparring.learn.losses import explained_variance, masked_mean, or_none, standardise
from sparring.learn.module import begun, ended
from sparring.learn.reward_scale import scaled
from sparring.learn.shadow import followed, past_opinions, recalled
from sparring.learn.shaping import paid
from sparring.learn.value_scale import rescaled
from sparring.play.chance import stream
from sparring.play.rollout import Rollout, where_first

LEAST_KL_WEIGHT, MOST_KL_WEIGHT = 1e-4, 1e4
"""Bounds of the adaptive KL penalty: without them a long stretch on one side of the band takes as long to undo."""


class UpdateStats(NamedTuple):
    """Means over the minibatches of an iteration, but for those that say otherwise."""

    policy_loss: Array
    value_loss: Array
    entropy: Array
    approx_kl: Array
    exact_kl: Array
    mean_ratio: Array
    clip_fraction: Array
    first_ratio_gap: Array
    """Largest distance of a ratio from 1 in the first minibatch, before any step."""
    grad_norm: Array
    grad_norm_actor: Array
    grad_norm_critic: Array
    grad_norm_trunk: Array
    skipped: Array
    """Share of minibatches not taken because the KL had stopped the iteration."""
    bad_minibatches: Array
    """How many had a loss, gradient or step that was not finite; they changed nothing."""
    advantage_mean: Array
    """Mean and deviation that scaled the advantages."""
    advantage_std: Array
    advantage_flat: Array
    """Share of scalings left out because the advantages did not differ."""
    explained_variance: Array
    value_spread: Array
    """Deviation of the values, in the units of the loss: what value_clip is to be compared with."""
    dead_units: Array
    """Share of the actor's last hidden units that hardly vary."""
    feature_rank: Array
    """How many directions those units span, weighted by how much they vary."""
    anchor_kl: Array
    """KL from the policy to its shadow; 0 without an anchor."""
    imitation: Array
    """How unlikely the policy finds what winners did, minus the mean log-probability; 0 without imitation."""
    smooth: Array
    """Mean square change of a generated weight from step to step; 0 where smooth is off."""
    past_kl: Array
    """KL from past policies, the nearest counting most; 0 where it is off."""
    kl_weight: Array
    """Weight of the KL penalty after this iteration; 0 without one."""
    critic_factor: Array
    """What calm_critic multiplies the critic's step size by after this iteration."""
    critic_calmed: Array
    """1 where calm_critic lowered it in this iteration."""
    own: Any = ()
    """What modules of one's own measure, by name, where there are any."""
    hyper: Any = ()
    """What there is to tell of a hypernetwork, by name, where there is one."""
    waits: Any = None
    """Where bots may play in the learner's place: 1 while one does, and nothing else of this is kept."""
    mind: Any = ()
    """The same of opponent models, where there are any."""


def update(
    learner: Learner, rollout: Rollout, key: Array, knobs: Any, config: PPOConfig, weight_J: Array | None = None,
    imagined: Imagined | None = None,
) -> tuple[Learner, UpdateStats, Batch]:  # fmt: skip
    """One iteration of learning from one rollout. The batch is the first minibatch that was not finite, or else any.

    weight_J: weights of the game's shaping terms, where shaping is on. imagined: short branches beside the rollout.
    """
    played = learner.model.actor
    learner, rollout = begun(learner, paid(rollout, weight_J, knobs, config), key)
    learner, rollout = with_rewards(learner, rollout, knobs, config)
    learner = learner._replace(optimiser=at_rollout(learner.optimiser, config))
    hidden_RH, seen_R = hidden_sample(learner.model.actor, rollout)
    first = estimate(rollout, stream(key, "advantage noise"), knobs, config)
    cut = cut_of(rollout, config)
    batch = to_rows(rollout, cut)
    seen, scale = rollout, learner.model.critic.scale
    if config.value_norm != "none":
        learner, seen, batch = with_value_scale(learner, rollout, batch, first, knobs, config)
    batch = with_opinions(learner, batch, knobs, config)
    dreams, dreamt = None, {}
    if imagined is not None:
        dreams, dreamt = dreams_of(learner, (rollout, first), imagined, key, knobs, config, scale)
        dreams = dreams._replace(batch=with_opinions(learner, dreams.batch, knobs, config))
    progress, taken = run_epochs(learner, seen, batch, cut, first, key, knobs, config, dreams)
    learner, adapted = adapt(progress.learner, rollout, first, taken, knobs)
    learner, own = ended(learner, rollout, taken.losses.own, key)
    suspect = jax.tree.map(lambda x: x[progress.suspect_M], with_estimate(learner, batch, cut, first))
    stats = UpdateStats(
        **means(taken), **adapted, bad_minibatches=1.0 * progress.bad,
        explained_variance=explained_variance(first.target_TWN, rollout.value_TWN, rollout.present_TWN),
        value_spread=standardise(batch.value, batch.present).std,
        dead_units=dead_units(hidden_RH, seen_R), feature_rank=feature_rank(hidden_RH, seen_R), own=own,
        hyper=hyper_measures(learner, suspect, taken.norms["hyper"], knobs, config) if "hyper" in taken.norms else (),
        mind={"gradient": taken.norms["mind"].mean(), **dreamt} if "mind" in taken.norms else dreamt or (),
    )  # fmt: skip
    learner = learner._replace(model=with_statistics(learner.model, rollout))
    return followed(recalled(learner, played), knobs, config), stats, suspect


def with_opinions(learner: Learner, batch: Batch, knobs: Any, config: PPOConfig) -> Batch:
    """Rows with what the policies say of them that the learner is held to."""
    if learner.shadow is not None and config.on("anchor"):
        batch = batch._replace(anchor=opinions(behaviour(learner.shadow, knobs, config), batch, config.minibatches))
    if learner.past is not None:
        batch = batch._replace(past=past_opinions(learner, batch, knobs, config))
    if config.recompute_old:
        batch = batch._replace(log_prob=evaluation(learner, batch, knobs, config).log_prob)
    return batch


def with_rewards(learner: Learner, rollout: Rollout, knobs: Any, config: PPOConfig) -> tuple[Learner, Rollout]:
    """Rewards as the learner counts them: scaled, clipped, and less what its anchor costs."""
    reward_TWN = rollout.reward_TWN
    if learner.reward is not None:
        ended_TWN, present_TWN = rollout.ended_TWN, rollout.present_TWN
        reward_TWN, scale = scaled(learner.reward, reward_TWN, ended_TWN, present_TWN, knobs.discount)
        # One reward that is not finite, or whose square is not, would spoil the statistics for ever.
        sound = jnp.isfinite(reward_TWN).all() & jnp.isfinite(scale.statistics.square_F).all()
        learner = learner._replace(reward=where_first(sound, scale, learner.reward))
    if config.on("reward_clip"):
        limit = or_none(knobs.reward_clip)
        reward_TWN = jnp.clip(reward_TWN, -limit, limit)
    if rollout.price_TWN is not None:
        reward_TWN = reward_TWN - knobs.anchor_price * rollout.price_TWN
    return learner, rollout._replace(reward_TWN=reward_TWN)


def with_value_scale(
    learner: Learner, rollout: Rollout, batch: Batch, first: Estimate, knobs: Any, config: PPOConfig
) -> tuple[Learner, Rollout, Batch]:
    """The critic in units moved by this rollout, and what it said before as its output layer says it now."""
    played, popart = learner.model.critic, config.value_norm == "popart"
    critic = rescaled(played, first.target_TWN, rollout.present_TWN, knobs.value_norm_rate, popart=popart)
    learner = learner._replace(model=eqx.tree_at(lambda m: m.critic, learner.model, critic))
    old: Any = played.scale
    new: Any = critic.scale
    if popart:  # the corrected layer speaks the new units, and values in units of reward are as they were
        return learner, rollout, batch._replace(value=new.normalised(batch.value))
    # The layer is unmoved, so its values move with the units; those behind a cut are not asked for again.
    rollout = rollout._replace(next_value_TWN=new.real(old.normalised(rollout.next_value_TWN)))
    return learner, rollout, batch._replace(value=old.normalised(batch.value))


def cut_of(rollout: Rollout, config: PPOConfig) -> Cut:
    """A policy without memory trains on single steps."""
    recurrent = bool(jax.tree.leaves(rollout.memory))
    return Cut(rollout.start_TW.shape[0], *((config.sequence, config.burn_in) if recurrent else (1, 0)))


def adapt(
    learner: Learner, rollout: Rollout, first: Estimate, taken: Taken, knobs: Any
) -> tuple[Learner, dict[str, Array]]:
    """What an iteration teaches the next: the weight of the KL penalty, and how careful the critic must be."""
    zero = jnp.zeros(())
    weight, factor, calmed = zero, zero + 1, zero
    if learner.kl_weight is not None:
        kl = taken.losses.exact_kl[-1].mean()
        change = jnp.where(kl > knobs.kl_max, 2.0, jnp.where(kl < knobs.kl_min, 0.5, 1.0))
        weight = jnp.clip(learner.kl_weight * change, LEAST_KL_WEIGHT, MOST_KL_WEIGHT)
        learner = learner._replace(kl_weight=weight)
    if learner.calm is not None:
        scale = learner.model.critic.scale
        units = scale.normalised if scale is not None else lambda value: value
        target = standardise(units(first.target_TWN), rollout.present_TWN)
        value_mean = masked_mean(units(rollout.value_TWN), rollout.present_TWN)
        after = calm.observed(learner.calm, taken.losses.value_loss.mean(), value_mean, target.mean, target.std)
        factor = calm.factor(after)
        calmed = 1.0 * (factor < calm.factor(learner.calm))
        learner = learner._replace(calm=after)
    return learner, {"kl_weight": weight, "critic_factor": factor, "critic_calmed": calmed}


def means(taken: Taken) -> dict[str, Array]:
    """The statistics of an iteration that come from its minibatches."""
    losses = taken.losses._asdict()
    gap, _ = losses.pop("ratio_gap"), losses.pop("own")
    mean, std, flat = taken.advantage
    norms = {name: norm for name, norm in taken.norms.items() if name not in ("hyper", "mind")}
    found = {**losses, **norms, "advantage_mean": mean, "advantage_std": std, "advantage_flat": flat}
    found["skipped"] = 1.0 * taken.stopped
    return {name: x.mean() for name, x in found.items()} | {"first_ratio_gap": gap[0, 0]}
