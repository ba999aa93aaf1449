"""Code of a user's own: modules, losses and networks with a fault that an effect audit must find, and sound ones."""

import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring import Module
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense


def wanted(dense: Dense, batch: Any, found: Any) -> Array:
    """A loss by which a layer learns from the policy, and the policy from it."""
    return masked_mean((dense(batch.features)[..., 0] - found.entropy) ** 2, batch.acting)


class Hyper(Module):
    """One layer; what it does is up to those below."""

    dense: Dense


def made(kind: type) -> Any:
    def make(seed: Any, spec: Any) -> Module:
        return kind(Dense.make(seed / "dense", spec.features, 4))

    return make


class WrongMethod(Hyper):
    def act(self, features: Array) -> Array:  # training never calls it
        return self.dense(features)


class MisspeltMethod(Hyper):
    def losses(self, model: Any, batch: Any, found: Any, key: Array) -> Array:  # it is called loss
        del model, key
        return wanted(self.dense, batch, found)


class EvaluationOnly(Hyper):
    def measures(self, buffers: Any) -> dict[str, Array]:
        del buffers
        return {"size": jnp.abs(self.dense.weight_IO).mean()}


class Ignored(Hyper):
    def begin(self, buffers: Any, rollout: Any, key: Array) -> tuple[Any, Any]:
        del key
        self.dense(rollout.features_TWNF)  # and nobody takes what it gives
        return buffers, rollout


class Alone(Hyper):
    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, found, key
        return (self.dense(batch.features) ** 2).mean()  # it learns, and nobody learns from it


class Detached(Hyper):
    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        stopped = jax.tree.map(lax.stop_gradient, self.dense)
        return wanted(stopped, batch, found)


class Captured(Hyper):
    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        rows = batch.features.shape[-1]
        return wanted(Dense(jnp.full((rows, 4), 0.1), jnp.zeros(4)), batch, found)  # not its own weights


class HalfUsed(Module):
    used: Dense
    unused: Dense

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        return wanted(self.used, batch, found)


def half_used(seed: Any, spec: Any) -> HalfUsed:
    return HalfUsed(*(Dense.make(seed / name, spec.features, 4) for name in ("used", "unused")))


class BothZero(Module):
    """A change of low rank whose factors are both zero: neither ever gets a gradient."""

    left: Array
    right: Array

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        change = (batch.features @ self.left @ self.right)[..., 0]
        return masked_mean((change - found.entropy) ** 2, batch.acting)


def both_zero(seed: Any, spec: Any) -> BothZero:
    del seed
    return BothZero(np.zeros((spec.features, 2)), np.zeros((2, 1)))


class Static(Module):
    """Weights in a static field: numbers of the program, which no optimiser sees."""

    scale: Array
    weights: tuple[float, ...] = eqx.field(static=True)

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        given = batch.features @ jnp.asarray(self.weights) * self.scale
        return masked_mean((given - found.entropy) ** 2, batch.acting)


def static(seed: Any, spec: Any) -> Static:
    del seed
    return Static(np.ones(()), (0.1,) * spec.features)


class TimesZero(Hyper):
    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        return 0.0 * wanted(self.dense, batch, found)


class Waiting(Hyper):
    """Sound: it begins after a hundred iterations, which it counts itself."""

    def buffers(self, worlds: int, seats: int) -> Array:
        del worlds, seats
        return jnp.zeros(())

    def begin(self, buffers: Array, rollout: Any, key: Array) -> tuple[Array, Any]:
        del key
        bonus = jnp.where(buffers > 100, self.dense(rollout.features_TWNF)[..., 0], 0.0)
        return buffers + 1, rollout._replace(reward_TWN=rollout.reward_TWN + bonus)

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, found, key
        return (self.dense(batch.features) ** 2).mean()


class Sound(Hyper):
    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        return wanted(self.dense, batch, found)


class Target(Module):
    """Sound: one half learns to foresee what the other, which is meant to stay as it is, gives."""

    learner: Dense
    target: Dense

    def begin(self, buffers: Any, rollout: Any, key: Array) -> tuple[Any, Any]:
        del key
        gap = (self.learner(rollout.features_TWNF) - self.target(rollout.features_TWNF)) ** 2
        return buffers, rollout._replace(reward_TWN=rollout.reward_TWN + 0.1 * gap.mean(-1))

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, found, key
        stays = jax.tree.map(lax.stop_gradient, self.target)
        return ((self.learner(batch.features) - stays(batch.features)) ** 2).mean()


def target(seed: Any, spec: Any) -> Target:
    return Target(*(Dense.make(seed / name, spec.features, 4) for name in ("learner", "target")))


wrong_method, misspelt, evaluation_only = made(WrongMethod), made(MisspeltMethod), made(EvaluationOnly)
ignored, alone, detached, captured = made(Ignored), made(Alone), made(Detached), made(Captured)
times_zero, waiting, sound = made(TimesZero), made(Waiting), made(Sound)


def nothing(model: Any, batch: Any, found: Any) -> Array:
    """A loss that is a constant."""
    del model, batch, found
    return jnp.ones(())


def stopped(model: Any, batch: Any, found: Any) -> Array:
    """A loss without a gradient."""
    del model
    return masked_mean(lax.stop_gradient(found.entropy), batch.acting)


def flat(model: Any, batch: Any, found: Any) -> Array:
    """A loss that works."""
    del model
    return -masked_mean(found.entropy, batch.acting)


class Skipping(eqx.Module):
    """A body whose second layer is computed from the first, and dropped: the head reads the first."""

    first: Dense
    second: Dense
    width: int = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        hidden = jnp.tanh(self.first(x))
        self.second(hidden)
        return hidden


def skipping(seed: Any, widths: tuple[int, ...]) -> Skipping:
    return Skipping(Dense.make(seed / 0, widths[0], widths[1]), Dense.make(seed / 1, widths[1], widths[1]), widths[1])


class Gated(eqx.Module):
    """A sound body: a gate that is zero at first, and opens by its gradient."""

    first: Dense
    second: Dense
    gate: Array
    width: int = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        hidden = jnp.tanh(self.first(x))
        return hidden + self.gate * jnp.tanh(self.second(hidden))


def gated(seed: Any, widths: tuple[int, ...]) -> Gated:
    layers = Dense.make(seed / 0, widths[0], widths[1]), Dense.make(seed / 1, widths[1], widths[1])
    return Gated(*layers, np.zeros((), np.float32), widths[1])


sys.path.append(str(Path(__file__).parents[3] / "examples" / "own"))  # last: it hides nothing
from leave import Leave, Tick, leave  # noqa: E402


class Drawing(Leave):
    """The game of the example, whose chance is drawn from a part of its key: nothing else differs."""

    def chance(self, key: Array) -> Tick:
        own, _ = jax.random.split(key)
        return Tick(jax.random.uniform(own))


def drawing(seats: int = 3, drawn: bool = False) -> Leave:
    plain = leave(seats)
    return Drawing(plain.spec, plain.rules) if drawn else plain
