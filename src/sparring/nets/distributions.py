"""What a seat may do, as one joint distribution over discrete heads and continuous dimensions.

One log-probability and one ratio for the whole action: heads and dimensions are independent, so theirs add up.
"""

from math import log, pi

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action
from sparring.core.spec import ActionSpec

IMPOSSIBLE = -1e9
"""Score of an illegal entry: finite, so that no gradient is NaN, and so low that its probability is exactly 0."""


class Distribution(eqx.Module):
    action: ActionSpec = eqx.field(static=True)
    log_p_A: Array
    """Log-probability of every entry, normalised within its head; leading axes are free."""
    mean_C: Array
    log_std_C: Array

    @classmethod
    def make(cls, action: ActionSpec, logits_A: Array, legal_A: Array, mean_C: Array, log_std_C: Array):
        masked_A = jnp.where(legal_A, logits_A, IMPOSSIBLE)
        heads = [jax.nn.log_softmax(head) for head in split_heads(masked_A, action)]
        log_p_A = jnp.concatenate(heads, axis=-1) if heads else masked_A
        return cls(action, log_p_A, mean_C, jnp.broadcast_to(log_std_C, mean_C.shape))

    def sample(self, uniform_D: Array, normal_C: Array) -> Action:
        """The action that these random numbers choose: one uniform in [0, 1) per head, one normal per dimension."""
        choices = [
            inverse_cdf(jnp.exp(head), uniform_D[..., d])
            for d, head in enumerate(split_heads(self.log_p_A, self.action))
        ]
        return Action(stack_heads(choices, self.mean_C), self.mean_C + jnp.exp(self.log_std_C) * normal_C)

    def mode(self) -> Action:
        choices = [jnp.argmax(head, axis=-1) for head in split_heads(self.log_p_A, self.action)]
        return Action(stack_heads(choices, self.mean_C), self.mean_C)

    def log_prob(self, action: Action) -> Array:
        total = jnp.zeros(self.log_p_A.shape[:-1])
        for d, head in enumerate(split_heads(self.log_p_A, self.action)):
            # A comparison instead of a gather: its gradient is a select, a gather's is a scatter.
            chosen = action.discrete_SD[..., d, None] == jnp.arange(head.shape[-1])
            total = total + jnp.where(chosen, head, 0.0).sum(-1)
        if self.action.dimensions:
            deviation = (action.continuous_SC - self.mean_C) * jnp.exp(-self.log_std_C)
            total = total - (0.5 * deviation**2 + self.log_std_C + 0.5 * log(2 * pi)).sum(-1)
        return total

    def entropy(self) -> Array:
        total = jnp.zeros(self.log_p_A.shape[:-1])
        if self.action.heads:
            possible = self.log_p_A > 0.5 * IMPOSSIBLE
            total = total - jnp.where(possible, jnp.exp(self.log_p_A) * self.log_p_A, 0.0).sum(-1)
        if self.action.dimensions:
            total = total + (self.log_std_C + 0.5 * (1 + log(2 * pi))).sum(-1)
        return total


def split_heads(entries_A: Array, action: ActionSpec) -> list[Array]:
    """The entries of each discrete head."""
    heads, start = [], 0
    for size in action.heads:
        heads.append(entries_A[..., start : start + size])
        start += size
    return heads


def stack_heads(choices: list[Array], mean_C: Array) -> Array:
    if not choices:
        return jnp.zeros((*mean_C.shape[:-1], 0), jnp.int32)
    return jnp.stack(choices, axis=-1).astype(jnp.int32)


def inverse_cdf(p_A: Array, uniform: Array) -> Array:
    """The first entry at which the cumulative probability exceeds the uniform number: never one of probability 0.

    One random number a head instead of one an entry. Scaling by the total keeps the threshold strictly below it,
    because the largest number `jax.random.uniform` gives is 1 - 2**-23.
    """
    size = p_A.shape[-1]
    cumulative_A = p_A @ jnp.triu(jnp.ones((size, size), p_A.dtype))
    return (cumulative_A <= uniform[..., None] * cumulative_A[..., -1:]).sum(-1)
