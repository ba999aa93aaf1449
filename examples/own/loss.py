"""A loss term of one's own: no choice shall be less likely than one in a hundred.

sparring train kuhn --losses 'examples/own/loss.py:floor=0.1 -> 0'
"""

import jax.numpy as jnp
from jax import Array

from sparring.learn.losses import masked_mean


def floor(model, batch, found) -> Array:
    """One number for a minibatch, to be made small. `model` is the actor and critic, `batch` the rows (features, legal,
    action, advantage, acting ...: learn/batch.Batch), `found` what the policy gives on them (log_prob, entropy, kl,
    value: learn/batch.Evaluation)."""
    del model
    short = jnp.maximum(jnp.log(0.01) - found.log_prob, 0.0)
    return masked_mean(short, batch.acting)
