"""A hypernetwork: from a context to changes of the layers of an actor or a critic.

residual    theta = theta0 + delta(z), with theta0 learned as ever and delta 0 at the start
recurrent   theta_t = theta0 + leak (theta_{t-1} - theta0) + delta(z_t), of low rank; its memory is the sum so far
full        theta = H z alone, for comparison; its weights begin as large as those of a plain network
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.core.seeding import Seed
from sparring.core.spec import GameSpec
from sparring.nets.blocks import Dense, filled
from sparring.nets.config import NetConfig
from sparring.nets.hyper.context import Context, told_size
from sparring.nets.hyper.generated import Added, Change, Gain, squared, within
from sparring.nets.normalise import Normaliser

Traits = tuple[Array, ...]
"""What determines the weights of a step, layer by layer: contexts; where weights add up in time, these themselves."""


class Layer(NamedTuple):
    """A layer that is to be changed, as far as that matters."""

    inputs: int
    outputs: int
    start: float
    """Deviation of its weights at the start."""


class Hyper(eqx.Module):
    context: Context
    changes: list[Change]
    """Of each layer of the trunk in order, then of the head."""
    gate_L: Array
    """Learned factor of each change. It is on what generates, where it costs nothing: on z, its gradient would be a sum
    over all rows."""
    recurrent: bool = eqx.field(static=True)
    leak: float = eqx.field(static=True)
    cap: float = eqx.field(static=True)
    """Longest change of a layer, in lengths of its own weights; 0: any."""
    made: list[Any] | None = None
    """Layers of each seat that were made beforehand; they stand for all steps."""

    @classmethod
    def make(
        cls, seed: Seed, inputs: int, layers: Sequence[Layer], spec: GameSpec, config: NetConfig, *, of_actor: bool
    ) -> "Hyper":
        """Of an actor, or of a critic, whose context is what it sees at the moment."""
        recurrent = of_actor and config.hyper == "recurrent"
        *trunk, head = layers
        whole = config.hyper_layers != "last"
        changes = [change_of(seed / i, layer, config, whole=whole) for i, layer in enumerate(trunk)]
        changes.append(change_of(seed / "head", head, config, whole=True))
        context = Context.make(
            seed / "context", inputs, config, seats=max(map(len, spec.seats_of_side)),
            layout=spec.layout if of_actor or config.critic == "local" else (), of_actor=of_actor,
            previous=sum(change.count for change in changes) if recurrent and config.hyper_previous else 0,
            beside=told_size(spec.action, config.hyper_recalls) if of_actor else 0,
        )  # fmt: skip
        return cls(
            context, changes, filled(config.hyper_gate, len(changes)), recurrent, config.hyper_leak, config.hyper_cap
        )

    @property
    def gated(self) -> list[Any]:
        return [change.times(gate) for change, gate in zip(self.changes, self.gate_L, strict=True)]

    def initial(self, *batch: int) -> Any:
        sums = tuple(jnp.zeros((*batch, *change.shape)) for change in self.changes) if self.recurrent else ()
        return self.context.initial(*batch), sums

    def __call__(
        self, features_NF: Array, memory: Any, bases: Sequence[Any], normaliser: Normaliser | None
    ) -> tuple["Changed", Any]:
        """How the layers `bases` are changed now, and the memory after it."""
        past, sums = memory
        past = self.context.later(features_NF, past)
        traits = self.contexts(features_NF, past, sums, bases, normaliser)
        if self.recurrent:
            new = [change.weights(z) for change, z in zip(self.gated, traits, strict=True)]
            traits = sums = tuple(self.leak * old + one for old, one in zip(sums, new, strict=True))
        return Changed(self, traits), (past, sums)

    @property
    def by_seat(self) -> bool:
        """Whether only the seat counts, so that its layers are the same in all steps."""
        return not self.recurrent and self.context.encoder is None

    def of_seats(self, seats: int, bases: Sequence[Any]) -> list[Any]:
        """The layers of so many seats, where only the seat counts; their weights lead with N."""
        if self.made is not None:
            return self.made
        contexts = self.contexts(jnp.zeros((seats, 1)), (), (), bases, None)
        return [change.made(base, z) for change, base, z in zip(self.gated, bases, contexts, strict=True)]

    def contexts(
        self, features_NF: Array, past: Any, sums: Traits, bases: Sequence[Any], normaliser: Normaliser | None
    ) -> Traits:
        """z for each layer, no longer than the cap allows."""
        previous = None
        if self.context.previous is not None:
            previous = jnp.concatenate([x.reshape(*x.shape[:-2], -1) for x in sums], axis=-1)
        z = self.context.of(features_NF, past, normaliser, previous)
        if not self.cap:
            return (z,) * len(self.changes)
        return tuple(within(change, z, self.cap, base) for change, base in zip(self.gated, bases, strict=True))

    def traits(
        self, features_NF: Array, memory: Any, bases: Sequence[Any], normaliser: Normaliser | None
    ) -> tuple[Traits, Traits]:
        """Those of this step and of the one before it, which means nothing where a game begins."""
        past, sums = memory
        changed, _ = self(features_NF, memory, bases, normaliser)
        if self.recurrent:
            return changed.traits, sums
        if not self.context.history:
            return changed.traits, changed.traits
        return changed.traits, self.contexts(features_NF, past, sums, bases, normaliser)

    def mean_square(self, traits: Traits) -> Array:
        """Mean square of the numbers that are generated for all layers together."""
        if self.recurrent:
            total = sum((x**2).sum((-2, -1)) for x in traits)
        else:
            total = sum(squared(change, z) for change, z in zip(self.gated, traits, strict=True))
        return jnp.asarray(total) / sum(change.count for change in self.changes)


class Changed(NamedTuple):
    """The changes of one step: changed(i, x, y) is what layer i gives for x, where by itself it gives y."""

    hyper: Hyper
    traits: Traits

    def __call__(self, number: int, x: Array, y: Array) -> Array:
        own = self.traits[number]
        change: Any = self.hyper.changes[number].times(self.hyper.gate_L[number])
        if self.hyper.recurrent:
            return change.with_weights(x, y, own)
        if own.shape[:-1] != x.shape[:-1]:  # else they would be stretched, and each row get the weights of all others
            raise ValueError(f"contexts {own.shape} must have the rows of what the layer sees, {x.shape}")
        return change.applied(x, y, own)


def change_of(seed: Seed, layer: Layer, config: NetConfig, *, whole: bool) -> Change:
    if not whole:
        return Gain.make(layer.outputs, config.hyper_size)
    return Added.make(
        seed, layer.inputs, layer.outputs, config.hyper_size, gate=config.hyper_gate,
        rank=min(config.hyper_rank, layer.inputs) if config.hyper_layers == "low_rank" else 0,
        start=layer.start if config.hyper == "full" else 0.0,
    )  # fmt: skip


def layer_of(dense: Dense, gain: float) -> Layer:
    inputs, outputs = dense.weight_IO.shape
    return Layer(inputs, outputs, gain / max(inputs, outputs) ** 0.5)  # of an orthogonal matrix times gain
