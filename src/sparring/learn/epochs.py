"""The epochs of an iteration: shuffled minibatches, a gradient step for each, and what stops or spoils one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array, lax

from sparring.learn import calm
from sparring.learn.batch import Batch, Cut, Evaluation, evaluated
from sparring.learn.config import PPOConfig
from sparring.learn.estimate import Estimate, estimate, with_values
from sparring.learn.groups import GROUPS, group_norms, labels, optimiser
from sparring.learn.imagined import Dreams, with_dreams
from sparring.learn.learner import Learner, behaviour, trainable
from sparring.learn.losses import standardise
from sparring.learn.objective import Losses, critic_objective, objective
from sparring.play.branches import of_each
from sparring.play.chance import stream
from sparring.play.rollout import Rollout, where_first


class Taken(NamedTuple):
    """What a minibatch leaves; after the epochs leaves [E, I]."""

    losses: Losses
    norms: dict[str, Array]
    advantage: tuple[Array, Array, Array]
    """Mean, deviation and flatness of the advantages as they were scaled."""
    stopped: Array


class Progress(NamedTuple):
    """What goes from minibatch to minibatch."""

    learner: Learner
    stopped: Array
    bad: Array
    """How many minibatches were not finite."""
    suspect_M: Array
    """The rows of the first of them."""


def run_epochs(
    learner: Learner, rollout: Rollout, batch: Batch, cut: Cut, first: Estimate, key: Array, knobs: Any,
    config: PPOConfig, dreams: Dreams | None = None,
) -> tuple[Progress, Taken]:  # fmt: skip
    """Epochs of shuffled minibatches, then those of the critic alone. After the KL passes its target the actor and
    its critic stay as they are. `dreams`: rows that were imagined, some of them beside those of each minibatch."""

    def epoch(progress: Progress, orders: tuple[Array, ...]) -> tuple[Progress, Taken]:
        found = first
        if config.advantage == "vtrace" or config.recompute == "epoch":
            found = renewed(progress.learner, rollout, batch, cut, key, knobs, config)
        rows = with_estimate(progress.learner, batch, cut, found)
        return lax.scan(lambda p, own: minibatch(p, rows, found, own, knobs, config, key, dreams), progress, orders)

    order_EIM = shuffled(key, config.epochs, batch, config)
    none = jnp.zeros((), bool)
    begun = of_each(Progress(learner, none, jnp.zeros((), jnp.int32), order_EIM[0, 0]))
    progress, taken = lax.scan(epoch, begun, (order_EIM,) if dreams is None else (order_EIM, dreams.order_EIM))
    if config.critic_epochs:
        # The targets are those of the first epoch: a critic that chased its own newer values would have no fixed aim.
        rows = with_estimate(learner, batch, cut, first)
        order_EIM = shuffled(stream(key, "critic epochs"), config.critic_epochs, batch, config)
        order_JM = order_EIM.reshape(-1, order_EIM.shape[-1])
        progress, _ = lax.scan(lambda p, order_M: critic_minibatch(p, rows, order_M, knobs, config), progress, order_JM)
    return progress, taken


def shuffled(key: Array, epochs: int, batch: Batch, config: PPOConfig) -> Array:
    """The rows of every minibatch of every epoch, [E, I, M]."""
    rows = batch.start.shape[0]
    # One sort of random bits an epoch: half the time of jax.random.permutation, which sorts twice or more.
    order_EM = jnp.argsort(jax.random.bits(key, (epochs, rows)), axis=1)
    return order_EM.reshape(epochs, config.minibatches, rows // config.minibatches)


def renewed(
    learner: Learner, rollout: Rollout, batch: Batch, cut: Cut, key: Array, knobs: Any, config: PPOConfig
) -> Estimate:
    """The estimate with the critic as it is now and, for V-trace, with the policy as it is now."""
    found = evaluation(learner, batch, knobs, config)
    ratio = jnp.where(batch.acting, jnp.exp(found.log_prob - batch.log_prob), 1.0)
    ratio_TWN = cut.in_time(ratio) if config.advantage == "vtrace" else None
    seen = with_values(rollout, cut.in_time(found.value))
    if seen.worth is not None and found.worth is not None:
        seen = seen._replace(worth=seen.worth._replace(q_TWNA=cut.in_time(found.worth)))
    return estimate(seen, stream(key, "advantage noise"), knobs, config, ratio_TWN)


def minibatch(
    progress: Progress, rows: Batch, found: Estimate, orders: tuple[Array, ...], knobs: Any, config: PPOConfig,
    key: Array, dreams: Dreams | None = None,
) -> tuple[Progress, Taken]:  # fmt: skip
    """One gradient step, unless the KL has stopped the iteration or something is not finite. What it tells is of the
    rows that were played."""
    learner, order_M = progress.learner, orders[0]
    part = jax.tree.map(lambda x: x[order_M], rows)
    advantage = (found.mean, found.std, found.flat)
    if config.normalise_advantage == "minibatch":
        part_scaled = standardise(part.advantage, part.acting)
        part, advantage = part._replace(advantage=part_scaled.x), part_scaled[1:]
    trained, untrained = trainable(learner.model)
    loss_of = jax.value_and_grad(objective, has_aux=True)
    own = () if learner.model.modules is None else (jax.random.fold_in(stream(key, "modules"), learner.updates),)
    (loss, losses), gradient = loss_of(trained, untrained, part, knobs, learner.kl_weight, config, *own)
    step = gradient if dreams is None else with_dreams(gradient, learner, dreams, orders[1], knobs, config)
    stepped, sound = gradient_step(learner, loss, step, knobs, config)
    # The KL is that of the weights before this step: the minibatch that finds it too large takes none itself.
    stopped = progress.stopped | ((knobs.target_kl > 0) & (losses.approx_kl > knobs.target_kl))
    norms = {"grad_norm": optax.global_norm(gradient)}
    norms |= {f"grad_norm_{name}": norm for name, norm in group_norms(gradient, labels(trained)).items()}
    if learner.model.actor.hyper is not None:
        norms["hyper"] = optax.global_norm(gradient.actor.hyper)
    if learner.model.actor.fusion is not None:
        norms["mind"] = optax.global_norm(gradient.actor.fusion)
    progress = kept(progress, stepped, sound, stopped, order_M)
    return progress, Taken(losses, norms, advantage, stopped)


def critic_minibatch(
    progress: Progress, rows: Batch, order_M: Array, knobs: Any, config: PPOConfig
) -> tuple[Progress, None]:
    """One step of the critic's own weights; those it shares with the actor wait with it."""
    learner = progress.learner
    part = jax.tree.map(lambda x: x[order_M], rows)
    trained, untrained = trainable(learner.model)
    loss, gradient = jax.value_and_grad(critic_objective)(trained, untrained, part, knobs, config)
    stepped, sound = gradient_step(learner, loss, gradient, knobs, config, moving=("critic",))
    return kept(progress._replace(stopped=jnp.zeros((), bool)), stepped, sound, jnp.zeros((), bool), order_M), None


def gradient_step(
    learner: Learner, loss: Array, gradient: Any, knobs: Any, config: PPOConfig, moving: Sequence[str] = tuple(GROUPS)
) -> tuple[Learner, Array]:
    """The learner after one step, and whether all of it is finite."""
    trained, untrained = trainable(learner.model)
    factor = 1.0 if learner.calm is None else calm.factor(learner.calm)
    rule = optimiser(config, knobs, labels(trained), factor, moving=moving)
    step, state = rule.update(gradient, learner.optimiser, trained)
    moved = jax.tree.map(lambda weight, change: weight + change, trained, step)
    # A gradient that is not finite makes the step not finite; a step may also leave the numbers of its own accord.
    sound = jnp.isfinite(loss) & jnp.isfinite(optax.global_norm(moved))
    model = eqx.combine(moved, untrained)
    return learner._replace(model=model, optimiser=state, updates=learner.updates + 1), sound


def kept(progress: Progress, stepped: Learner, sound: Array, stopped: Array, order_M: Array) -> Progress:
    """Progress after a minibatch: its step is taken, or the learner stays as it was."""
    learner = where_first(stopped | ~sound, progress.learner, stepped)
    suspect_M = jnp.where((progress.bad == 0) & ~sound, order_M, progress.suspect_M)
    return Progress(learner, stopped, progress.bad + ~sound, suspect_M)


def evaluation(learner: Learner, batch: Batch, knobs: Any, config: PPOConfig) -> Evaluation:
    """The whole rollout as the learner sees it now."""
    policy = behaviour(learner.model.actor, knobs, config)
    return evaluated(policy, learner.model.judge, batch, config.minibatches)


def with_estimate(learner: Learner, batch: Batch, cut: Cut, found: Estimate) -> Batch:
    """Advantages and targets put into the rows, targets in the units of the critic's loss."""
    scale = learner.model.critic.scale
    target_TWN = found.target_TWN if scale is None else scale.normalised(found.target_TWN)
    merit = None if found.merit_TWNA is None else cut.rows(found.merit_TWNA)
    return batch._replace(advantage=cut.rows(found.advantage_TWN), target=cut.rows(target_TWN), merit=merit)
