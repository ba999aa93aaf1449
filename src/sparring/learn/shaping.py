"""Shaping: what a learner is paid besides the reward, each term with its own weight."""

import jax.numpy as jnp
from jax import Array

from sparring.play.rollout import Rollout


def shaped(rollout: Rollout, weight_J: Array | None, discount: Array, *, cut_ends: bool = False) -> Rollout:
    """Rewards with the weighted terms added; rewards come first among the weights, then potentials.

    A potential pays discount x later - earlier with the learner's own discount, and 0 follows an end, so that over a
    game it sums to minus its first value and changes no policy's rank (Ng, Harada and Russell 1999). `cut_ends`: a time
    limit counts as an end too.
    """
    if rollout.shaping is None or weight_J is None:
        return rollout
    terms = rollout.shaping
    first = terms.reward.shape[-1]
    paid = (terms.reward * weight_J[:first]).sum(-1)
    later = jnp.where(rollout.ended_TWN[..., None], 0.0, terms.next_potential) if cut_ends else terms.next_potential
    gained = discount * later - terms.potential
    return rollout._replace(reward_TWN=rollout.reward_TWN + paid + (gained * weight_J[first:]).sum(-1))
