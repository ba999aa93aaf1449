"""Shaping: what a learner is paid besides the reward, each term with its own weight."""

from jax import Array

from sparring.play.rollout import Rollout


def shaped(rollout: Rollout, weight_J: Array | None, discount: Array) -> Rollout:
    """Rewards with the weighted terms added; rewards come first among the weights, then potentials.

    A potential pays discount x later - earlier with the learner's own discount, and 0 follows an end, so that over a
    game it sums to minus its first value and changes no policy's rank (Ng, Harada and Russell 1999).
    """
    if rollout.shaping is None or weight_J is None:
        return rollout
    terms = rollout.shaping
    first = terms.reward.shape[-1]
    paid = (terms.reward * weight_J[:first]).sum(-1)
    gained = discount * terms.next_potential - terms.potential
    return rollout._replace(reward_TWN=rollout.reward_TWN + paid + (gained * weight_J[first:]).sum(-1))
