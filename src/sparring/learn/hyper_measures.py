"""What there is to tell of a hypernetwork: how large its changes are, over what they vary, and which term moves it.

Lengths are relative to those of what is changed: learned weights, and gains of 1.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from sparring.learn.batch import Batch
from sparring.learn.config import PPOConfig
from sparring.learn.groups import labels
from sparring.learn.learner import Learner, trainable
from sparring.learn.losses import masked_mean
from sparring.learn.objective import judged
from sparring.nets.hyper.generated import base_squared
from sparring.play.rollout import where_first

REGULARISERS = ("anchor", "smooth", "align_old", "past_kl")
"""Terms of the loss that hold the policy back."""
ACTING = ("actor", "trunk", "hyper")
"""Groups of the weights that act."""


def hyper_measures(learner: Learner, batch: Batch, gradient: Array, knobs: Any, config: PPOConfig) -> dict[str, Array]:
    """`gradient`: lengths of its gradient in all minibatches. The rest is measured on the rows of one of them, with the
    weights after the iteration: before it, an old policy is no other."""
    return {"gradient": gradient.mean(), **sizes(learner, batch), **shares(learner, batch, knobs, config)}


def sizes(learner: Learner, batch: Batch) -> dict[str, Array]:
    """`size`: length of the changes. `over_contexts`, `over_seats`, `over_time`: how far they differ from their mean,
    how far those of seats on average do, and how far each is from the one a step before."""
    actor = learner.model.actor
    hyper: Any = actor.hyper
    blank = jax.tree.map(jnp.zeros_like, batch.memory)
    # The first step of each row: its memory is there.
    memory = where_first(batch.start[:, 0], blank, batch.memory)[0]
    acting_MN, start_M = batch.acting[:, 0], batch.start[:, 0]
    shape, own = acting_MN.shape, 2 if hyper.recurrent else 1
    now, before = (
        [jnp.broadcast_to(x, (*shape, *x.shape[x.ndim - own :])) for x in traits]  # those of seats alone have no rows
        for traits in actor.traits(batch.features[:, 0], memory)
    )

    def mean(x: Array, axes: tuple[int, ...]) -> Array:
        acts = acting_MN.reshape(*shape, *(1,) * own)
        return jnp.where(acts, x, 0.0).sum(axes) / jnp.maximum(acts.sum(axes), 1)

    def length(traits: list[Array], mask_MN: Array) -> Array:
        return jnp.sqrt(masked_mean(hyper.mean_square(tuple(traits)), mask_MN)) / own_length

    pairs = zip(hyper.changes, actor.bases, strict=True)
    count = sum(change.count for change in hyper.changes)
    own_length = jnp.sqrt(jnp.maximum(sum(base_squared(*pair) for pair in pairs) / count, 1e-12))
    centred = [x - mean(x, (0, 1)) for x in now]
    by_seat = [jnp.broadcast_to(mean(x, (0,)) - mean(x, (0, 1)), x.shape) for x in now]
    moved = [a - b for a, b in zip(now, before, strict=True)]
    return {
        "size": length(now, acting_MN),
        "over_contexts": length(centred, acting_MN),
        "over_seats": length(by_seat, acting_MN),
        "over_time": length(moved, acting_MN & ~start_M[:, None]),
        "gate": hyper.gate_L.mean(),
    }


def shares(learner: Learner, batch: Batch, knobs: Any, config: PPOConfig) -> dict[str, Array]:
    """The length of each regulariser's gradient, and of that of the policy's own loss with its entropy bonus, among the
    weights that act: parts of all lengths together. Nothing where there is no regulariser."""
    trained, untrained = trainable(learner.model)
    own = () if learner.model.modules is None else (jax.random.key(0),)

    def terms(trained: Any) -> dict[str, Array]:
        found, _ = judged(trained, untrained, batch, knobs, learner.kl_weight, config, *own)
        return {"policy": found["policy"] + found["entropy"]} | {x: found[x] for x in REGULARISERS if x in found}

    if len(jax.eval_shape(terms, trained)) == 1:
        return {}
    values, pull = jax.vjp(terms, trained)
    none, acts = jax.tree.map(jnp.zeros_like, values), jax.tree.map(lambda label: label in ACTING, labels(trained))
    lengths = {name: optax.global_norm(eqx.filter(pull(none | {name: jnp.ones(())})[0], acts)) for name in values}
    total = jnp.maximum(sum(lengths.values()), 1e-12)
    return {f"share/{name}": length / total for name, length in lengths.items()}
