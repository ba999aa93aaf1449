"""Whether a network is still alive: units that no longer react, and how many directions its features span."""

import jax
import jax.numpy as jnp
from jax import Array

from sparring.learn.losses import FLAT
from sparring.nets.actor_critic import Actor
from sparring.nets.minds import telling
from sparring.play.rollout import Rollout, where_first

SAMPLE = 128
"""World steps that are looked at in an iteration."""
MOMENTS = 16
"""From so many moments of the rollout, so that they are not all of one step of a game."""
DORMANT = 0.025
"""A unit is dead when it varies less than this share of the average unit: the threshold of arXiv:2302.12902, on the
deviation instead of the mean size, so that a saturated tanh counts as well as a silent ReLU."""


def hidden_sample(actor: Actor, rollout: Rollout) -> tuple[Array, Array]:
    """The actor's last hidden layer on some steps of a rollout, [rows, H], and which of these rows count."""
    steps, worlds = rollout.start_TW.shape
    kept = jax.tree.leaves(rollout.memory)
    every = steps // kept[0].shape[0] if kept else max(1, steps // MOMENTS)
    some = max(1, -(-steps // every) * worlds // SAMPLE)

    def at(x_TW: Array) -> Array:
        return x_TW[::every, ::some]

    memory = jax.tree.map(lambda x: x[:, ::some], rollout.memory[0])
    memory = where_first(at(rollout.start_TW), jax.tree.map(jnp.zeros_like, memory), memory)
    said = None if rollout.thought is None else at(rollout.thought.said_NM)
    _, hidden, _ = actor.scores(at(rollout.features_TWNF), telling(memory, said))
    return hidden.reshape(-1, hidden.shape[-1]), at(rollout.acting_TWN).reshape(-1)


def dead_units(hidden_RH: Array, mask_R: Array) -> Array:
    """Share of hidden units that hardly vary over the rows."""
    deviation_H = jnp.sqrt(jnp.diagonal(covariance(hidden_RH, mask_R)))
    return jnp.mean(deviation_H <= jnp.maximum(DORMANT * deviation_H.mean(), FLAT))


def feature_rank(hidden_RH: Array, mask_R: Array) -> Array:
    """How many directions the features span: (sum of variances)^2 / sum of squared variances, over the principal axes.

    k directions of equal weight give k; 0 where nothing varies. This participation ratio needs no eigenvalues, which
    cost a GPU a quarter of a small iteration.
    """
    covariance_HH = covariance(hidden_RH, mask_R)
    total = jnp.trace(covariance_HH)
    return jnp.where(total > FLAT**2, total**2 / jnp.maximum((covariance_HH**2).sum(), FLAT**4), 0.0)


def covariance(hidden_RH: Array, mask_R: Array) -> Array:
    weight_R1 = mask_R[:, None] / jnp.maximum(mask_R.sum(), 1)
    centred_RH = hidden_RH - (weight_R1 * hidden_RH).sum(0)
    return (weight_R1 * centred_RH).T @ centred_RH
