"""What a seat may do, as one joint distribution over discrete heads and continuous dimensions.

One log-probability and one ratio for the whole action: heads and dimensions are independent, so theirs add up. In a
hybrid action (`ActionSpec.counts`) the first head is the kind, and the other parts add up where the kind has them.
"""

from collections.abc import Callable, Iterator
from math import log, pi

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

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
        if self.action.counts:
            kind_K = jax.nn.one_hot(action.discrete_SD[..., 0], self.action.heads[0])
            return self.by_kind(kind_K, list(self.log_prob_of_heads(action)), -self.surprise(action))
        total = sum(self.log_prob_of_heads(action), jnp.zeros(self.log_p_A.shape[:-1]))
        return total - self.surprise(action).sum(-1) if self.action.dimensions else total

    def log_prob_of_heads(self, action: Action) -> Iterator[Array]:
        for d, head in enumerate(split_heads(self.log_p_A, self.action)):
            # A comparison instead of a gather: its gradient is a select, a gather's is a scatter.
            chosen = action.discrete_SD[..., d, None] == jnp.arange(head.shape[-1])
            yield jnp.where(chosen, head, 0.0).sum(-1)

    def surprise(self, action: Action) -> Array:
        """Minus the log-density of each dimension."""
        deviation = (action.continuous_SC - self.mean_C) * jnp.exp(-self.log_std_C)
        return 0.5 * deviation**2 + self.log_std_C + 0.5 * log(2 * pi)

    def entropy(self) -> Array:
        total = jnp.zeros(self.log_p_A.shape[:-1])
        plogp_A = jnp.where(self.possible_A, jnp.exp(self.log_p_A) * self.log_p_A, 0.0)
        if self.action.counts:
            heads = [-head.sum(-1) for head in split_heads(plogp_A, self.action)]
            return self.by_kind(self.p_kind_K, heads, self.entropy_C)
        if self.action.heads:
            total = total - plogp_A.sum(-1)
        return total + self.entropy_C.sum(-1) if self.action.dimensions else total

    @property
    def entropy_C(self) -> Array:
        return self.log_std_C + 0.5 * (1 + log(2 * pi))

    def kl(self, new: "Distribution") -> Array:
        """KL(self || new), exact: how far `new` is from this distribution, in nats."""
        # Entries that are impossible here add nothing, whatever `new` says of them.
        gap_A = jnp.where(self.possible_A, jnp.exp(self.log_p_A) * (self.log_p_A - new.log_p_A), 0.0)
        heads = [head.sum(-1) for head in split_heads(gap_A, self.action)]
        ratio_C = jnp.exp(2 * (self.log_std_C - new.log_std_C))
        shift_C = (self.mean_C - new.mean_C) * jnp.exp(-new.log_std_C)
        gap_C = new.log_std_C - self.log_std_C + 0.5 * (ratio_C + shift_C**2 - 1)
        if self.action.counts:
            return self.by_kind(self.p_kind_K, heads, gap_C)
        return sum(heads, gap_C.sum(-1))

    def from_uniform(self) -> Array:
        """KL from uniform choices among the legal entries of each head to these, in nats; dimensions add nothing. Its
        slope on a score is the probability less the uniform one, so that it does not fade as a choice dies out."""
        even_A = self.changed(lambda head, ok: jnp.zeros_like(head) - jnp.log(ok.sum(-1, keepdims=True)))
        return Distribution(self.action, even_A, self.mean_C, self.log_std_C).kl(self)

    def tempered(self, temperature: Array) -> "Distribution":
        """Each part to the power 1 / temperature and normalised again: above 1 flatter, below 1 sharper."""

        def cooled(head: Array, possible: Array) -> Array:
            return jax.nn.log_softmax(jnp.where(possible, head / temperature, IMPOSSIBLE))

        log_std_C = self.log_std_C + 0.5 * jnp.log(temperature)
        return Distribution(self.action, self.changed(cooled), self.mean_C, log_std_C)

    def mixed(self, epsilon: Array) -> "Distribution":
        """With the share epsilon of a uniform choice among the legal entries of each head; dimensions stay."""

        def blended(head: Array, possible: Array) -> Array:
            # In logarithms, since epsilon may be 0 and a probability too small for a float.
            return jnp.logaddexp(
                jnp.log1p(-epsilon) + head, jnp.log(epsilon) - jnp.log(possible.sum(-1, keepdims=True))
            )

        return Distribution(self.action, self.changed(blended), self.mean_C, self.log_std_C)

    @property
    def possible_A(self) -> Array:
        return self.log_p_A > 0.5 * IMPOSSIBLE

    @property
    def p_kind_K(self) -> Array:
        return jnp.exp(split_heads(self.log_p_A, self.action)[0])

    def changed(self, change: Callable[[Array, Array], Array]) -> Array:
        """log_p_A with each head changed; what is impossible stays so."""
        if not self.action.heads:
            return self.log_p_A
        pairs = zip(*(split_heads(x_A, self.action) for x_A in (self.log_p_A, self.possible_A)), strict=True)
        return jnp.concatenate([jnp.where(ok, change(head, ok), IMPOSSIBLE) for head, ok in pairs], axis=-1)

    def by_kind(self, kind_K: Array, heads: list[Array], of_C: Array) -> Array:
        """A quantity of a hybrid action from that of its parts: each counts by the share of kinds that have it."""
        # A sum instead of a matrix product, which a GPU would round to a short format.
        share_P = (kind_K[..., None] * np.asarray(self.action.counts, np.float32)).sum(-2)
        of_P = jnp.concatenate([*(head[..., None] for head in heads[1:]), of_C], axis=-1)
        return heads[0] + (share_P * of_P).sum(-1)


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
    # In full precision, or a GPU rounds each probability to ten bits and the draw is from another distribution.
    upper_AA = jnp.triu(jnp.ones((size, size), p_A.dtype))
    cumulative_A = jnp.matmul(p_A, upper_AA, precision=lax.Precision.HIGHEST)
    return (cumulative_A <= uniform[..., None] * cumulative_A[..., -1:]).sum(-1)
