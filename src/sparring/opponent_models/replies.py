"""What the others do next, given what everybody does now, and how much an own action moves them: social influence
(Jaques et al. 2019, arXiv:1810.08647).

Influence compares what is expected of somebody after the action that was taken with what is expected whichever action
one's own policy might have taken. What would be legal next is not known of actions that were not taken, so the model
knows of no masks.

Letters: R rows, O the other seats, A legal entries, D heads of an action, C own actions that might have been taken.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense
from sparring.opponent_models.actions import log_likelihood, log_p
from sparring.opponent_models.metrics import log_shares
from sparring.opponent_models.sample import Sample, replies_in
from sparring.play.rollout import Rollout

MOST = 10.0
"""An influence above this counts as this much, as in the authors' code."""


class ReplyModel(eqx.Module):
    """What the watcher sees and what everybody does, own first, to log-probabilities [..., O, A] of the next step."""

    watched: Dense
    own: Dense
    others: Dense
    hidden: Dense
    head: Dense
    action: ActionSpec = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, features: int, others: int, action: ActionSpec, size: int) -> "ReplyModel":
        """The head starts near 0: at first every action is as likely, whatever is done, and nobody has influence."""
        return cls(
            Dense.make(seed / "watched", features, size, 1.0),
            Dense.make(seed / "own", action.entries, size, 1.0),
            Dense.make(seed / "others", others * action.entries, size, 1.0),
            Dense.make(seed / "hidden", size, size),
            Dense.make(seed / "head", size, others * action.entries, 0.01),
            action,
        )

    def __call__(self, features_F: Array, own_A: Array, others_OA: Array) -> Array:
        """log_p_OA; actions are one-hot, those of all heads one after another."""
        flat = others_OA.reshape(*others_OA.shape[:-2], -1)
        first = self.watched(features_F) + self.own(own_A) + self.others(flat)
        logits = self.head(jnp.tanh(self.hidden(jnp.tanh(first))))
        logits_OA = logits.reshape(*logits.shape[:-1], *others_OA.shape[-2:])
        return log_p(self.action, logits_OA, jnp.ones(logits_OA.shape, bool))

    def loss(self, sample: Sample) -> Array:
        """Cross-entropy of what the others did next."""
        replies: Any = sample.replies
        log_p_OA = self(
            sample.features_F, one_hot(self.action, replies.own_D), one_hot(self.action, sample.discrete_OD)
        )
        return -masked_mean(log_likelihood(self.action, log_p_OA, replies.next_OD), replies.known_O)


def one_hot(action: ActionSpec, discrete_D: Array) -> Array:
    """The entries of all heads, [..., A]."""
    return jnp.concatenate([jax.nn.one_hot(discrete_D[..., d], n) for d, n in enumerate(action.heads)], axis=-1)


def influence(model: ReplyModel, rollout: Rollout) -> Array:
    """influence_TWN: of each own action that was a choice, summed over the others who act after it."""
    seen: Any = rollout.others
    action, own_A = model.action, one_hot(model.action, rollout.action.discrete_SD)
    act_next = jnp.concatenate([seen.acting[1:], seen.acting[-1:]])  # beyond the rollout: whoever acts in its last step
    counted = act_next & (rollout.acting_TWN & ~rollout.ended_TWN)[..., None]
    every_CA, others_OA = jnp.eye(action.entries), one_hot(action, seen.discrete)
    log_p_COA = model(rollout.features_TWNF[..., None, :], every_CA, others_OA[..., None, :, :])
    kl_O = moved(log_p_COA, jnp.exp(rollout.distribution.log_p_A), own_A)
    return jnp.minimum(jnp.where(counted, kl_O, 0.0).sum(-1), MOST)


def moved(log_p_COA: Array, policy_C: Array, own_C: Array) -> Array:
    """[..., O]: the KL from what is expected of each after the action taken (`own_C`, one-hot) to what is expected on
    average over the policy's actions. It is 0 where nothing else could have been done, and at most -log policy."""
    p_COA = jnp.exp(log_p_COA)
    taken_OA = (own_C[..., None, None] * p_COA).sum(-3)
    average_OA = (policy_C[..., None, None] * p_COA).sum(-3)
    small = 1e-30
    log_ratio = jnp.log(jnp.maximum(taken_OA, small)) - jnp.log(jnp.maximum(average_OA, small))
    return jnp.maximum((taken_OA * log_ratio).sum(-1), 0.0)


def reply_measures(model: ReplyModel, rollout: Rollout, frequency_OA: Array) -> dict[str, Array]:
    """How well next actions are foreseen, beside how often each was chosen so far; and how much own actions move."""
    seen: Any = rollout.others
    replies, action = replies_in(rollout, model.action), model.action
    counted = replies.known_O & rollout.present_TWN[..., None]
    log_p_OA = model(rollout.features_TWNF, one_hot(action, replies.own_D), one_hot(action, seen.discrete))
    often_OA = log_shares(action, frequency_OA)
    nll, nll_marginal = (
        -masked_mean(log_likelihood(action, jnp.broadcast_to(p, log_p_OA.shape), replies.next_OD), counted)
        for p in (log_p_OA, often_OA)
    )
    own_choice = rollout.acting_TWN & ~rollout.ended_TWN
    return {
        "reply_skill": 1.0 - nll / jnp.maximum(nll_marginal, 1e-6),
        "influence": masked_mean(influence(model, rollout), own_choice),
    }
