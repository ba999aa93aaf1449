"""The anchor as a price (R-NaD, arXiv:2206.15378): whoever does what its shadow would not pays for it, to the others.

A KL in the loss holds a policy back where it stands; a price is part of the game, so later dues count now.
Paid from side to side it leaves a zero-sum game zero-sum, and that game has one equilibrium, near the shadow.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.spec import GameSpec
from sparring.learn.batch import opinions, to_rows
from sparring.learn.config import PPOConfig
from sparring.learn.learner import Learner, behaviour
from sparring.learn.ppo import cut_of
from sparring.play.rollout import Rollout


def own_price(learner: Learner, rollout: Rollout, knobs: Any, config: PPOConfig) -> Array:
    """price_TWN: log policy(choice) - log shadow(choice), 0 where no choice was made. Its mean over the policy's
    choices is the KL of policy and shadow."""
    assert learner.shadow is not None
    cut = cut_of(rollout, config)
    rows = to_rows(rollout, cut)
    shadow = opinions(behaviour(learner.shadow, knobs, config), rows, config.minibatches)
    return cut.in_time(jnp.where(rows.acting, rows.log_prob - shadow.log_prob(rows.action), 0.0))


def dues_SS(spec: GameSpec) -> np.ndarray:
    """due[s, r]: what seat s pays of the price of seat r. It pays all of its own. The price of a seat is paid out to
    the other sides in equal parts, and within a side to its seats; what s receives of it is a negative due.

    With two sides or more every column sums to 0: what one seat pays, others receive.
    """
    side_S = np.asarray(spec.side_of_seat)
    size_S = (side_S[:, None] == side_S).sum(axis=1)
    foreign_SS = side_S[:, None] != side_S
    return np.eye(spec.seats) - foreign_SS / (size_S[:, None] * max(spec.sides - 1, 1))
