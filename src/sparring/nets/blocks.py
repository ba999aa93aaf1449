"""The parts networks are made of. Each works on the last axis (a convolution on the last three), so one
module serves a seat, a side or a batch.

Weights are drawn with NumPy from a seed that carries the path of the module: nothing is compiled to make a network,
and adding a part never moves the numbers of another.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.seeding import SHAPES, Seed
from sparring.nets.config import Activation

ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
}


def orthogonal(seed: Seed, rows: int, columns: int, gain: float) -> np.ndarray | Array:
    """A matrix with orthonormal rows or columns (whichever are fewer), times gain (arXiv:1312.6120)."""
    if seed is SHAPES:
        return jnp.zeros((rows, columns), jnp.float32)
    normal = seed.generator().standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(normal)
    q = q * np.sign(np.diag(r))  # makes the decomposition unique, hence q uniform
    return np.asarray(gain * (q if rows >= columns else q.T), np.float32)


def filled(value: float, *shape: int) -> Array:
    """Made by NumPy and put: each shape that JAX fills, or takes by jnp.asarray, is a program of its own to compile. A
    large one is left to JAX, which makes nothing where only shapes are asked for."""
    if prod(shape) > 2**20:
        return jnp.full(shape, value, jnp.float32)
    return jax.device_put(np.full(shape, value, np.float32))


@jax.custom_vjp
def product(x_RI: Array, weight_IO: Array) -> Array:
    """x @ weight, with a gradient of the weight that stacked policies compute as fast as one.

    Differentiate it over all rows at once: under a `vmap` of rows each would have a gradient of its own, summed later.
    """
    return x_RI @ weight_IO


def product_kept(x_RI: Array, weight_IO: Array) -> tuple[Array, tuple[Array, Array]]:
    return x_RI @ weight_IO, (x_RI, weight_IO)


def product_gradient(kept: tuple[Array, Array], gradient_RO: Array) -> tuple[Array, Array]:
    x_RI, weight_IO = kept
    # On a CPU the compiler has a fast product only for factors that lie in order. It copies x itself for one policy;
    # for a stack it would fold the transpose into a slow product (2 to 3 times as long), and the barrier forbids that.
    x_IR = lax.platform_dependent(x_RI, cpu=lambda x: lax.optimization_barrier(x.T), default=jnp.transpose)
    return gradient_RO @ weight_IO.T, x_IR @ gradient_RO


product.defvjp(product_kept, product_gradient)


class Dense(eqx.Module):
    weight_IO: Array
    bias_O: Array

    @classmethod
    def make(cls, seed: Seed, inputs: int, outputs: int, gain: float = 2**0.5) -> "Dense":
        return cls(jax.device_put(orthogonal(seed, inputs, outputs, gain)), filled(0.0, outputs))

    def __call__(self, x: Array) -> Array:
        rows_RO = product(x.reshape(-1, x.shape[-1]), self.weight_IO)
        return rows_RO.reshape(*x.shape[:-1], rows_RO.shape[-1]) + self.bias_O


class Fixed(Dense):
    """A layer that no gradient moves: of zeros, where a context generates all of its weights."""


class LayerNorm(eqx.Module):
    """Each vector to mean 0 and deviation 1, then a learned scale and offset (arXiv:1607.06450)."""

    scale_F: Array
    offset_F: Array

    @classmethod
    def make(cls, size: int) -> "LayerNorm":
        return cls(filled(1.0, size), filled(0.0, size))

    def __call__(self, x: Array) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred**2).mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(variance + 1e-5) * self.scale_F + self.offset_F


class Residual(eqx.Module):
    """SimBa's block (arXiv:2410.09754): what is added to x passes a layer norm and a wide hidden layer."""

    norm: LayerNorm
    wide: Dense
    narrow: Dense

    @classmethod
    def make(cls, seed: Seed, size: int) -> "Residual":
        # With these gains every entry has He's variance, 2 / inputs, as in the reference.
        wide = Dense.make(seed / "wide", size, WIDENING * size, (2 * WIDENING) ** 0.5)
        return cls(LayerNorm.make(size), wide, Dense.make(seed / "narrow", WIDENING * size, size))

    def __call__(self, x: Array) -> Array:
        return x + self.narrow(jax.nn.relu(self.wide(self.norm(x))))


WIDENING = 4
"""Width of a residual block's hidden layer, in widths of the block."""


class Convolution(eqx.Module):
    """3x3, stride 1, zeros beyond the edge: x[..., rows, columns, channels] to as many rows and columns.

    Written as patches times a matrix, so that stacked policies are one batched product: with a kernel for each of 16
    policies the gradient of a convolution proper took 40 times as long (two CPU cores; for one policy, 0.4 times).
    """

    kernel: Dense

    @classmethod
    def make(cls, seed: Seed, channels: int, outputs: int) -> "Convolution":
        return cls(Dense.make(seed, 9 * channels, outputs))

    def __call__(self, x: Array) -> Array:
        return self.kernel(patches(x))


def patches(x: Array) -> Array:
    """Each cell with its 8 neighbours, row by row from the upper left, one after another on the channel axis."""
    rows, columns = x.shape[-3:-1]
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 3) + [(1, 1), (1, 1), (0, 0)])
    shifts = [padded[..., r : r + rows, c : c + columns, :] for r in range(3) for c in range(3)]
    return jnp.concatenate(shifts, axis=-1)


class GRU(eqx.Module):
    """Gated recurrent unit (arXiv:1406.1078); its memory is one vector."""

    inputs: Dense
    hidden: Dense

    @classmethod
    def make(cls, seed: Seed, inputs: int, size: int) -> "GRU":
        return cls(gates(seed / "inputs", inputs, size, 3), gates(seed / "hidden", size, size, 3))

    def initial(self, *batch: int) -> Array:
        return jnp.zeros((*batch, self.hidden.weight_IO.shape[-2]))

    def __call__(self, memory: Array, x: Array) -> tuple[Array, Array]:
        update_x, reset_x, new_x = jnp.split(self.inputs(x), 3, axis=-1)
        update_h, reset_h, new_h = jnp.split(self.hidden(memory), 3, axis=-1)
        update = jax.nn.sigmoid(update_x + update_h)
        new = jnp.tanh(new_x + jax.nn.sigmoid(reset_x + reset_h) * new_h)
        memory = (1 - update) * new + update * memory
        return memory, memory


class LSTM(eqx.Module):
    """Long short-term memory; its memory is the pair (output, cell). Forget bias 1, so that it remembers at first."""

    inputs: Dense
    hidden: Dense

    @classmethod
    def make(cls, seed: Seed, inputs: int, size: int) -> "LSTM":
        return cls(gates(seed / "inputs", inputs, size, 4), gates(seed / "hidden", size, size, 4))

    def initial(self, *batch: int) -> tuple[Array, Array]:
        zeros = jnp.zeros((*batch, self.hidden.weight_IO.shape[-2]))
        return zeros, zeros

    def __call__(self, memory: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        output, cell = memory
        keep, write, show, new = jnp.split(self.inputs(x) + self.hidden(output), 4, axis=-1)
        cell = jax.nn.sigmoid(keep + 1.0) * cell + jax.nn.sigmoid(write) * jnp.tanh(new)
        output = jax.nn.sigmoid(show) * jnp.tanh(cell)
        return (output, cell), output


def gates(seed: Seed, inputs: int, size: int, count: int) -> Dense:
    """The matrices of several gates side by side, each orthogonal on its own."""
    blocks = [orthogonal(seed / gate, inputs, size, 1.0) for gate in range(count)]
    joined = jnp.concatenate(blocks, axis=1) if seed is SHAPES else jax.device_put(np.concatenate(blocks, axis=1))
    return Dense(joined, filled(0.0, count * size))


CELLS: dict[str, Any] = {"gru": GRU, "lstm": LSTM}
