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
    """price_TWN: by how much the policy found its choice more likely than its shadow does; 0 where it made none."""
    assert learner.shadow is not None
    cut = cut_of(rollout, config)
    rows = to_rows(rollout, cut)
    shadow = opinions(behaviour(learner.shadow, knobs, config), rows, config.minibatches)
    return cut.in_time(jnp.where(rows.acting, rows.log_prob - shadow.log_prob(rows.action), 0.0))


def dues_SS(spec: GameSpec) -> np.ndarray:
    """What seat s pays of the price of seat r: all of its own; that of another side is shared out to all sides but
    that one, evenly among their seats."""
    side_S = np.asarray(spec.side_of_seat)
    size_S = (side_S[:, None] == side_S).sum(axis=1)
    foreign_SS = side_S[:, None] != side_S
    return np.eye(spec.seats) - foreign_SS / (size_S[:, None] * max(spec.sides - 1, 1))
