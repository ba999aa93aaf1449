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

SHARED_OUT = ("policy", "entropy", "anchor", "smooth", "align_old", "past_kl")
"""Terms of the loss that move the actor."""


def hyper_measures(learner: Learner, batch: Batch, knobs: Any, config: PPOConfig) -> dict[str, Array]:
    """On the rows of one minibatch, with the weights after the iteration: before it, an old policy is no other."""
    return {**sizes(learner, batch), **shares(learner, batch, knobs, config)}


def sizes(learner: Learner, batch: Batch) -> dict[str, Array]:
    """`size`: length of the changes. `over_contexts`, `over_seats`, `over_time`: how far they differ from their mean,
    how far those of seats on average do, and how far each is from the one a step before."""
    actor = learner.model.actor
    hyper: Any = actor.hyper
    blank = jax.tree.map(jnp.zeros_like, batch.memory)
    # The first step of each row: its memory is there.
    memory = where_first(batch.start[:, 0], blank, batch.memory)[0]
    acting_MN, start_M = batch.acting[:, 0], batch.start[:, 0]
    now, before = actor.traits(batch.features[:, 0], memory)
    shape = acting_MN.shape
    now, before = (
        [jnp.broadcast_to(x, (*shape, *x.shape[x.ndim - own :])) for x in traits]
        for own in ((2 if hyper.recurrent else 1),)
        for traits in (now, before)
    )
    weight_MN = acting_MN / jnp.maximum(acting_MN.sum(), 1)

    def mean(x: Array, axes: tuple[int, ...]) -> Array:
        weight = weight_MN.reshape(*shape, *(1,) * (x.ndim - 2))
        return (weight * x).sum(axes) / jnp.maximum(weight.sum(axes), 1e-9)

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
        "gate": jnp.stack([change.gate for change in hyper.changes]).mean(),
    }


def shares(learner: Learner, batch: Batch, knobs: Any, config: PPOConfig) -> dict[str, Array]:
    """The length of each term's gradient among the actor's weights and the hypernetwork's, of all lengths together."""
    trained, untrained = trainable(learner.model)
    own = () if learner.model.modules is None else (jax.random.key(0),)

    def terms(trained: Any) -> dict[str, Array]:
        found, _ = judged(trained, untrained, batch, knobs, learner.kl_weight, config, *own)
        return {name: found[name] for name in SHARED_OUT if name in found}

    values, pull = jax.vjp(terms, trained)
    none, lengths = jax.tree.map(jnp.zeros_like, values), {}
    table = labels(trained)
    for name in values:
        (gradient,) = pull(none | {name: jnp.ones(())})
        moving = eqx.filter(gradient, jax.tree.map(lambda label: label in ("actor", "trunk", "hyper"), table))
        lengths[name] = optax.global_norm(moving)
        if name == "policy":
            of_hyper = eqx.filter(gradient, jax.tree.map(lambda label: label == "hyper", table))
            reach = optax.global_norm(of_hyper)
    total = jnp.maximum(sum(lengths.values()), 1e-12)
    return {"gradient": reach, **{f"share/{name}": length / total for name, length in lengths.items()}}
