"""More parts of a user's own, invented after the audit of effects was built: ways to do nothing that people find by
themselves, and parts that work though they look dead. Each stands in `FAULTS`, `SOUND` or `REFUSED` with what it must
be told.
"""

import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring import Module
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense

sys.path.append(str(Path(__file__).parents[1] / "tests" / "audit" / "effects"))
from faults import Hyper, made, wanted


class BehindWhere(Hyper):
    """The output stands behind a condition that never holds."""

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        return jnp.where(jnp.abs(batch.features).sum() > 1e9, wanted(self.dense, batch, found), 0.0)


class WrongBranch(Hyper):
    """The policy's side is stopped where the module's should be: the policy never learns from it."""

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        return wanted(self.dense, batch, found._replace(entropy=lax.stop_gradient(found.entropy)))


class NeverFilled(Hyper):
    """It waits for a buffer that nobody fills: what `begin` gives back is what it was given."""

    def buffers(self, worlds: int, seats: int) -> Any:
        del worlds, seats
        return {"rows": jnp.zeros((16, 4)), "filled": jnp.zeros((), jnp.int32)}

    def begin(self, buffers: Any, rollout: Any, key: Array) -> tuple[Any, Any]:
        del key
        rows = self.dense(rollout.features_TWNF).reshape(-1, 4)[:1]
        buffers["rows"].at[0].set(rows[0])  # and the result is dropped
        ready = buffers["filled"] > 8
        bonus = jnp.where(ready, buffers["rows"].mean(), 0.0)
        return buffers, rollout._replace(reward_TWN=rollout.reward_TWN + bonus)


class ZeroMask(Hyper):
    """Its loss is averaged over the steps in which nobody acts."""

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        return masked_mean((self.dense(batch.features)[..., 0] - found.entropy) ** 2, batch.acting & ~batch.present)


class SmallUnits(Hyper):
    """Divided by the number of everything twice over: a loss of a billionth."""

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        return 1e-9 * wanted(self.dense, batch, found)


class WholeNumbers(Module):
    """Weights that were made of whole numbers: no optimiser takes them."""

    scale: Array
    table: Array

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, key
        return masked_mean((batch.features @ self.table.astype(float) * self.scale - found.entropy) ** 2, batch.acting)


def whole_numbers(seed: Any, spec: Any) -> WholeNumbers:
    del seed
    return WholeNumbers(np.ones(()), np.arange(spec.features))


class Body(eqx.Module):
    """One layer, and a second one whose output is put to a use that is none."""

    first: Dense
    second: Dense
    width: int = eqx.field(static=True)


class NormalisedAway(Body):
    """The same number is added to all units, and a normalisation takes it away again."""

    def __call__(self, x: Array) -> Array:
        hidden = jnp.tanh(self.first(x))
        hidden = hidden + self.second(x)[..., :1]
        centred = hidden - hidden.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


class DeadUnits(Body):
    """Units that begin so far below zero that they never fire."""

    def __call__(self, x: Array) -> Array:
        return jnp.tanh(self.first(x)) + jnp.maximum(self.second(x) - 100.0, 0.0)


class ClippedAway(Body):
    """A bound on the change that was set to nothing."""

    def __call__(self, x: Array) -> Array:
        return jnp.tanh(self.first(x)) + jnp.clip(self.second(x), -0.0, 0.0)


class ZeroStart(Body):
    """Sound: the second layer's weights begin at zero, and its gradient does not."""

    def __call__(self, x: Array) -> Array:
        hidden = jnp.tanh(self.first(x))
        return hidden + self.second(x)


class Saturated(Body):
    """Sound: a residual of a thousandth."""

    def __call__(self, x: Array) -> Array:
        return jnp.tanh(self.first(x)) + 1e-3 * jnp.tanh(self.second(x))


def body(kind: type, *, zero: bool = False) -> Any:
    def make(seed: Any, widths: tuple[int, ...]) -> Body:
        second = Dense.make(seed / 1, widths[0], widths[1])
        if zero:
            second = Dense(jnp.zeros_like(second.weight_IO), jnp.zeros_like(second.bias_O))
        return kind(Dense.make(seed / 0, widths[0], widths[1]), second, widths[1])

    return make


class Curious(Hyper):
    """Sound: it only changes rewards, and learns by a loss of its own."""

    def begin(self, buffers: Any, rollout: Any, key: Array) -> tuple[Any, Any]:
        del key
        novelty = jnp.abs(self.dense(rollout.features_TWNF)).mean(-1)
        return buffers, rollout._replace(reward_TWN=rollout.reward_TWN + 0.1 * novelty)

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del model, found, key
        return (self.dense(batch.features) ** 2).mean()


behind_where, wrong_branch, never_filled = made(BehindWhere), made(WrongBranch), made(NeverFilled)
zero_mask, small_units, curious = made(ZeroMask), made(SmallUnits), made(Curious)
normalised_away, dead_units, clipped_away = body(NormalisedAway), body(DeadUnits), body(ClippedAway)
zero_start, saturated = body(ZeroStart, zero=True), body(Saturated)


def drawn_to_one(model: Any, batch: Any, found: Any) -> Array:
    """Sound from the first update on, which a bonus for entropy is not: scores begin nearly equal, where it pulls at
    nothing. Sound, too, with a weight that grows from nothing."""
    del model
    return masked_mean((found.value - 1.0) ** 2, batch.acting)


NOTHING = ("DEAD", "DISCONNECTED", "CONNECTED-NO-EFFECT")
FAULTS = {
    "behind a condition": ("modules", "behind_where", NOTHING),
    "stop_gradient in the wrong branch": ("modules", "wrong_branch", ("DEAD", "DISCONNECTED")),
    "buffer never filled": ("modules", "never_filled", NOTHING),
    "averaged over nothing": ("modules", "zero_mask", NOTHING),
    "a loss of a billionth": ("modules", "small_units", NOTHING),
    "normalised away": ("body", "normalised_away", NOTHING),
    "units that never fire": ("body", "dead_units", NOTHING),
    "clipped away": ("body", "clipped_away", NOTHING),
}
SOUND = {
    "zero at first": ("body", "zero_start", "CONNECTED"),
    "a thousandth": ("body", "saturated", "CONNECTED"),
    "only rewards": ("modules", "curious", "CONNECTED"),
    "a loss": ("losses", "drawn_to_one=0.1", "CONNECTED"),
    "a weight that grows": ("losses", "drawn_to_one=0 -> 0.1", "CONNECTED"),
}
REFUSED = {"a table of whole numbers": ("modules", "whole_numbers", "table")}
"""Refused before anything is trained, by the name of what is wrong."""
