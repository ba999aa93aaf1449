"""Learning with the other's learning in view (LOLA, Foerster et al. 2018, arXiv:1709.04326), exact, in matrix games for
two that are played again and again.

Each learner climbs what it earns once the other has taken a plain step of its own, and the gradient goes through that
step. The authors cut the effect of the step off after its first order; here it is whole. Nothing is sampled: policies
remember the last joint choice, so that what each earns is a ratio of matrices.

Letters: S the two seats, J joint choices with seat 1 fastest, Q what was seen last (nothing, then J), A choices.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax


class Rates(NamedTuple):
    own: float
    """Step size of what a learner earns a step, by its logits."""
    foreseen: float
    """Step size that it takes the other to have; 0: the other is taken to stand still, which is plain learning."""


def earned_S(logits_SQA: Array, payoff_SAA: Array, discount: float) -> Array:
    """Exact mean return of a step, discounted and scaled by 1 - discount: each choice counts in both games that follow
    it. Policies are rows of logits by what was seen last."""
    first_QA, second_QA = jax.nn.softmax(logits_SQA)
    joint_QJ = (first_QA[:, :, None] * second_QA[:, None, :]).reshape(first_QA.shape[0], -1)
    begin_J, onward_JJ = joint_QJ[0], joint_QJ[1:]
    visits_J = jnp.linalg.solve((jnp.eye(len(begin_J)) - discount * onward_JJ).T, begin_J)
    return (1 - discount) * payoff_SAA.reshape(2, -1) @ visits_J


def slope_SQA(logits_SQA: Array, payoff_SAA: Array, discount: float) -> Array:
    """By its own logits, what each seat earns."""
    by_SSQA = jax.jacrev(earned_S)(logits_SQA, payoff_SAA, discount)
    return jnp.stack([by_SSQA[0, 0], by_SSQA[1, 1]])


def far_slope_SQA(logits_SQA: Array, payoff_SAA: Array, discount: float, foreseen: float) -> Array:
    """By its own logits, what each seat earns once the other has stepped, that step included."""

    def after(own: Array, seat: int) -> Array:
        now = logits_SQA.at[seat].set(own)
        step = slope_SQA(now, payoff_SAA, discount)[1 - seat]
        return earned_S(now.at[1 - seat].add(foreseen * step), payoff_SAA, discount)[seat]

    return jnp.stack([jax.grad(after)(logits_SQA[seat], seat) for seat in range(2)])


@partial(jax.jit, static_argnames=("steps",))
def learned(logits_RSQA: Array, payoff_SAA: Array, discount: float, rates: Rates, *, steps: int) -> Array:
    """Policies after so many simultaneous steps of both, for each of R beginnings."""

    def step(logits_SQA: Array, _: None) -> tuple[Array, None]:
        return logits_SQA + rates.own * far_slope_SQA(logits_SQA, payoff_SAA, discount, rates.foreseen), None

    return jax.vmap(lambda one: lax.scan(step, one, None, length=steps)[0])(logits_RSQA)
