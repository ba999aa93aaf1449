"""A hypernetwork of one's own, as a module that learns beside the policy; first in the wrong place, then in the right.

sparring audit effects kuhn --modules examples/own/hyper.py:misplaced     DEAD (proved): nothing calls `act`
sparring audit effects kuhn --modules examples/own/hyper.py:hyper         CONNECTED
"""

import jax
import jax.numpy as jnp
from jax import Array

from sparring import Module
from sparring.core.seeding import Seed
from sparring.core.spec import GameSpec
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense


class Hyper(Module):
    """From what a seat sees to scores of its choices."""

    encoder: Dense
    head: Dense

    def scores(self, features: Array) -> Array:
        return self.head(jnp.tanh(self.encoder(features)))


class Misplaced(Hyper):
    """`act` is a method that training never calls: the run is the baseline to the last bit, however long it trains."""

    def act(self, features: Array) -> Array:
        return self.scores(features).argmax(-1)


class Distilled(Hyper):
    """`loss` is called in every minibatch: the generated policy learns the actor's choices, and the actor is paid for
    being near it."""

    def loss(self, model, batch, found, key: Array) -> Array:
        del model, key
        log_NA = jax.nn.log_softmax(jnp.where(batch.legal, self.scores(batch.features), -1e9))
        chosen = jnp.take_along_axis(log_NA, batch.action.discrete_SD, axis=-1)[..., 0]
        return masked_mean(-chosen - 0.1 * found.log_prob * jax.lax.stop_gradient(chosen), batch.acting)


def misplaced(seed: Seed, spec: GameSpec) -> Misplaced:
    return Misplaced(*layers(seed, spec))


def hyper(seed: Seed, spec: GameSpec) -> Distilled:
    return Distilled(*layers(seed, spec))


def layers(seed: Seed, spec: GameSpec) -> tuple[Dense, Dense]:
    return Dense.make(seed / "encoder", spec.features, 16), Dense.make(seed / "head", 16, spec.action.heads[0], 0.01)
