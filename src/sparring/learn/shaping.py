"""What a learner is paid in place of its own reward: a share of a common one, what it is worth to move the others, and
terms with weights of their own."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.spec import GameSpec
from sparring.learn.config import PPOConfig
from sparring.play.rollout import Rollout


def paid(rollout: Rollout, weight_J: Array | None, knobs: Any, config: PPOConfig) -> Rollout:
    """A rollout with all that its learner is paid, before any scale. weight_J: of the game's shaping terms, where
    shaping is on."""
    rollout = influential(shared(rollout, knobs.shared_reward), knobs.influence)
    return shaped(rollout, weight_J, knobs.discount, cut_ends=config.time_limit == "end")


def sharers_SS(spec: GameSpec, shared_with: str) -> np.ndarray:
    """Weights of the rewards of all seats in the mean that a seat shares: of everybody, or of its side."""
    side_S = np.asarray(spec.side_of_seat)
    with_SS = (side_S[:, None] == side_S) | (shared_with == "all")
    return with_SS / with_SS.sum(axis=1, keepdims=True)


def shared(rollout: Rollout, weight: Array) -> Rollout:
    """Rewards between the own (0) and the common mean (1), as prosocial agents have them (Peysakhovich and Lerer 2018).

    Whatever the weight, the rewards of a game add up to what they were."""
    if rollout.common_TWN is None:
        return rollout
    return rollout._replace(reward_TWN=(1 - weight) * rollout.reward_TWN + weight * rollout.common_TWN)


def influential(rollout: Rollout, weight: Array) -> Rollout:
    """Rewards with a share for moving the others (Jaques et al. 2019)."""
    if rollout.influence_TWN is None:
        return rollout
    return rollout._replace(reward_TWN=rollout.reward_TWN + weight * rollout.influence_TWN)


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
