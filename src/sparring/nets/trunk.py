"""The trunk: from an observation and a memory to hidden features."""

from collections.abc import Callable
from math import prod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core import code
from sparring.core.code import reference
from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.core.spec import Feature
from sparring.nets.blocks import ACTIVATIONS, CELLS, Activation, Convolution, Dense, LayerNorm, Residual
from sparring.nets.config import NetConfig
from sparring.nets.normalise import Normaliser

Memory = Any


class Grids(eqx.Module):
    """Convolutions over the blocks of a feature vector that are grids; the other blocks stay where they are."""

    stacks: list[list[Convolution]]
    """For each grid its convolutions."""
    layout: tuple[Feature, ...] = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, layout: tuple[Feature, ...], channels: tuple[int, ...], activation: Activation):
        grids = [block for block in layout if is_grid(block)]
        if not grids:
            found = ", ".join(f"{block.name} {block.shape}" for block in layout)
            raise ConfigError(
                f"convolutions={channels} need a block of features shaped (rows, columns, planes); this game has "
                f"{found}. Leave convolutions empty, or choose a game with a grid."
            )

        def stack(block: Feature) -> list[Convolution]:
            widths = (block.shape[-1], *channels)
            return [Convolution.make(seed / block.name / i, widths[i], widths[i + 1]) for i in range(len(channels))]

        return cls([stack(block) for block in grids], layout, activation)

    @property
    def outputs(self) -> int:
        channels = self.stacks[0][-1].kernel.bias_O.shape[-1]
        return sum(prod(block.shape[:2]) * channels if is_grid(block) else block.size for block in self.layout)

    def __call__(self, x: Array) -> Array:
        parts, start, stacks = [], 0, iter(self.stacks)
        for block in self.layout:
            part = x[..., start : start + block.size]
            if is_grid(block):
                part = part.reshape(*part.shape[:-1], *block.shape)
                for convolution in next(stacks):
                    part = ACTIVATIONS[self.activation](convolution(part))
                part = part.reshape(*part.shape[:-3], -1)
            parts.append(part)
            start += block.size
        return jnp.concatenate(parts, axis=-1)


def is_grid(block: Feature) -> bool:
    """A list of seats is none: its first axis has no neighbours."""
    return len(block.shape) == 3 and not block.lists


class Trunk(eqx.Module):
    """Normaliser, convolutions, hidden layers, recurrent cell."""

    normaliser: Normaliser | None
    grids: Grids | None
    input_norm: LayerNorm | None
    layers: list[Any]
    """Dense layers; in a simba body residual blocks after the first."""
    norms: list[LayerNorm | None]
    """What follows each layer."""
    cell: Any
    cell_norm: LayerNorm | None
    activation: Activation | None = eqx.field(static=True)
    """None in a simba body and in one that is code, which have their own."""
    width: int = eqx.field(static=True)
    """Number of hidden features."""
    games: int = eqx.field(static=True, default=1)
    """Over which its memory lasts."""

    @classmethod
    def make(
        cls,
        seed: Seed,
        inputs: int,
        config: NetConfig,
        *,
        hidden: tuple[int, ...] | None = None,
        layout: tuple[Feature, ...] = (),
        beside: int = 0,
    ) -> "Trunk":
        """`layout` says where grids are in the input; `beside` counts the features that join after the normaliser."""
        hidden = config.hidden if hidden is None else hidden
        grids = None
        if config.convolutions and layout:
            grids = Grids.make(seed / "grids", layout, config.convolutions, config.activation)
        widths = ((inputs if grids is None else grids.outputs) + beside, *hidden)
        layers, norms = make_body(seed / "layer", widths, config)
        cell, width = None, layers[0].width if reference(config.body) else widths[-1]
        if config.memory != "none":
            cell, width = CELLS[config.memory].make(seed / "cell", width, config.memory_size), config.memory_size
        return cls(
            normaliser=Normaliser.make(inputs) if config.normalise else None,
            grids=grids,
            input_norm=LayerNorm.make(widths[0]) if config.layer_norm else None,
            layers=layers,
            norms=norms,
            cell=cell,
            cell_norm=LayerNorm.make(width) if config.layer_norm and cell is not None else None,
            activation=config.activation if config.body == "mlp" else None,
            width=width,
            games=config.memory_games if cell is not None else 1,
        )

    def initial(self, *batch: int) -> Memory:
        return () if self.cell is None else self.cell.initial(*batch)

    def __call__(
        self,
        x: Array,
        memory: Memory,
        beside: Array | None = None,
        changed: Callable[[int, Array, Array], Array] | None = None,
    ) -> tuple[Array, Memory]:
        """`changed` gives what layer i makes of x, where by itself it makes y of it: changed(i, x, y)."""
        if self.normaliser is not None:
            x = self.normaliser(x)
        if self.grids is not None:
            x = self.grids(x)
        if beside is not None:
            x = joined(x, beside)
        if self.input_norm is not None:
            x = self.input_norm(x)
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            x = layer(x) if changed is None else changed(i, x, layer(x))
            if self.activation is not None:
                x = ACTIVATIONS[self.activation](x)
            if norm is not None:
                x = norm(x)
        if self.cell is not None:
            memory, x = self.cell(memory, x)
        if self.cell_norm is not None:
            x = self.cell_norm(x)
        return x, memory


def make_body(seed: Seed, widths: tuple[int, ...], config: NetConfig) -> tuple[list[Any], list[LayerNorm | None]]:
    """The layers, and the norm or None that follows each."""
    count = len(widths) - 1
    if reference(config.body):
        return [own_body(config.body, seed, widths)], [None]
    if config.body == "simba":
        first = Dense.make(seed / 0, widths[0], widths[1], 1.0)
        blocks = [Residual.make(seed / i, widths[i]) for i in range(1, count)]
        return [first, *blocks], [None] * (count - 1) + [LayerNorm.make(widths[-1])]
    layers = [Dense.make(seed / i, widths[i], widths[i + 1]) for i in range(count)]
    return layers, [LayerNorm.make(width) if config.layer_norm else None for width in widths[1:]]


def own_body(text: str, seed: Seed, widths: tuple[int, ...]) -> Any:
    """A body that is code: body(seed, widths) gives a module from [..., widths[0]] to [..., width]. `widths` are the
    inputs and the entries of hidden, which it may follow."""
    body = code.load(text)(seed, widths)
    width = getattr(body, "width", None)
    if not callable(body) or not isinstance(width, int):
        raise ConfigError(f"{text} must return a module with a whole number `width`, found {type(body).__name__}.")
    found = jax.eval_shape(body, jax.ShapeDtypeStruct((2, 3, widths[0]), jnp.float32)).shape
    if found != (2, 3, width):
        raise ConfigError(
            f"The body {text} must turn the last axis, of {widths[0]}, into its width of {width} and leave the others: "
            f"from (2, 3, {widths[0]}) to (2, 3, {width}), found {found}."
        )
    return body


def joined(x: Array, beside: Array) -> Array:
    """Two sets of features side by side, leading axes broadcast."""
    batch = jnp.broadcast_shapes(x.shape[:-1], beside.shape[:-1])
    return jnp.concatenate([jnp.broadcast_to(part, (*batch, part.shape[-1])) for part in (x, beside)], axis=-1)
