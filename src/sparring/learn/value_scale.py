"""The unit in which a critic learns: the running mean and deviation of its targets.

Moved once a rollout, before the epochs: old values and targets are then compared in one unit throughout an iteration.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.nets.actor_critic import Critic
from sparring.nets.blocks import Dense
from sparring.nets.normalise import ValueScale


def rescaled(critic: Critic, target: Array, mask: Array, rate: Array | float, *, popart: bool) -> Critic:
    """The critic with its unit moved by these targets; with PopArt its values in units of reward stay what they were.

    Targets that are not numbers, or too large to square, change nothing: one such rollout would spoil all later ones.
    """
    old = critic.scale
    if old is None:
        raise ConfigError(
            "Value normalisation needs a critic made with value_scale=True, found one without a ValueScale. "
            "Make the network with it, or choose value_norm=none."
        )
    moved = old.updated(target, mask, rate)
    # Squares overflow first, and a sum keeps every NaN: where this is finite, all of the scale is.
    sane = jnp.isfinite(moved.square_sum)
    new = jax.tree.map(lambda after, before: jnp.where(sane, after, before), moved, old)
    head = corrected(critic.head, old, new) if popart else critic.head
    return eqx.tree_at(lambda c: (c.scale, c.head), critic, (new, head))


def corrected(head: Dense, old: ValueScale, new: ValueScale) -> Dense:
    """The output layer that says in the new unit what the given one says in the old (PopArt, arXiv:1602.07714)."""
    # A value in units of reward is std * (weight @ x + bias) + mean. Solved for the new weight and bias that leave it:
    ratio = old.std / new.std
    # The bias is (old.std * bias + old.mean - new.mean) / new.std, written so that equal units change no bit.
    return Dense(head.weight_IO * ratio, head.bias_O * ratio + (old.mean - new.mean) / new.std)
