"""What a mind says, asked again: of the steps that its learner lived, with its weights as they are or with others."""

from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from sparring.play.rollout import Rollout
from sparring.play.witness import Situation, Witnessed


def thought_again(mind: Any, rollout: Rollout, beliefs: Any) -> tuple[Array, Any]:
    """said_TWNM of one learner's steps, and what was held before each. `beliefs`: before the first of them."""
    others: Any = rollout.others
    start_TWN = jnp.broadcast_to(rollout.start_TW[..., None], rollout.present_TWN.shape)
    situation = Situation(
        rollout.features_TWNF,
        start_TWN,
        others.acting,
        others.legal,
        others.open,
        others.steps,
        others.about,
        others.seen,
    )
    seen = Witnessed(
        others.discrete, others.continuous, others.reached, rollout.action, rollout.reward_TWN, others.paid
    )

    def step(beliefs: Any, now: tuple[Situation, Witnessed]) -> tuple[Any, tuple[Array, Any]]:
        thought, pending = mind.attend(now[0], beliefs)
        return mind.witness(now[1], pending), (thought.said_NM, beliefs)

    return lax.scan(step, beliefs, (situation, seen))[1]
