"""A learner: weights, optimiser state and a count. Learners of one family are stacked on L, also when L = 1."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from sparring.nets.actor_critic import ActorCritic
from sparring.nets.normalise import Normaliser


class Learner(NamedTuple):
    model: ActorCritic
    optimiser: Any
    updates: Array
    """Gradient steps taken."""
    player: Array
    """The identity whose keys this learner uses, uint32; it keeps it wherever it is stored."""


def optimiser(max_grad_norm: Array | float, adam_eps: Array | float) -> optax.GradientTransformation:
    """Adam on clipped gradients. The learning rate is multiplied in by the caller, from this iteration's knobs."""
    return optax.chain(optax.clip_by_global_norm(max_grad_norm), optax.scale_by_adam(eps=adam_eps))


def new_learner(model: ActorCritic, player: int) -> Learner:
    trained: Any = trainable(model)[0]
    state = optimiser(1.0, 1e-5).init(trained)
    return Learner(model, state, jnp.zeros((), jnp.int32), jnp.asarray(player, jnp.uint32))


def trainable(model: ActorCritic) -> tuple[ActorCritic, ActorCritic]:
    """What gradients move, and the rest: the statistics of normalisers."""

    def spec(node: Any) -> Any:
        return jax.tree.map(lambda _: not isinstance(node, Normaliser), node)

    return eqx.partition(model, jax.tree.map(spec, model, is_leaf=lambda node: isinstance(node, Normaliser)))
