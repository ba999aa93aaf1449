"""The statistics by which policies and critics normalise what they see, moved once a rollout."""

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.nets.actor_critic import ActorCritic
from sparring.nets.normalise import Normaliser
from sparring.play.rollout import Rollout, where_first


def with_statistics(model: ActorCritic, rollout: Rollout) -> ActorCritic:
    """Normalisers moved by this rollout, after the epochs: within an iteration play and learning see one scale."""
    actor = model.actor.trunk.normaliser
    if actor is None:
        return model
    features, views = rollout.features_TWNF, rollout.views_TWVG
    present_TWN = rollout.present_TWN.astype(jnp.float32)
    model = eqx.tree_at(lambda m: m.actor.trunk.normaliser, model, moved(actor, features, present_TWN))
    critic = None if model.critic.trunk is None else model.critic.trunk.normaliser
    if critic is None:
        return model
    if views is None:
        critic = moved(critic, features, present_TWN)
    else:  # a view that all seats share counts while any of them is present
        seen_TWV = present_TWN if views.shape[2] == present_TWN.shape[2] else present_TWN.max(2, keepdims=True)
        critic = moved(critic, views, seen_TWV)
    return eqx.tree_at(lambda m: m.critic.trunk.normaliser, model, critic)


def moved(normaliser: Normaliser, x: Array, weight: Array) -> Normaliser:
    """Unmoved by a rollout that is not finite: one such number would spoil the statistics for ever."""
    after = normaliser.updated(x.reshape(-1, x.shape[-1]), weight.reshape(-1))
    return where_first(jnp.isfinite(after.square_F).all(), after, normaliser)
