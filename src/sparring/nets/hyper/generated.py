"""What a context does to one layer: weights that it adds, or gains by which it scales what the layer gives.

Both are linear in the context z, so that nothing of their size need be made to measure them: with H the map from
contexts to weights, the squared length of the weights of z is z' (H'H) z, and H'H is only as large as z.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.seeding import SHAPES, Seed
from sparring.nets.blocks import Dense, filled, orthogonal, product


class Added(eqx.Module):
    """Weights added to those of a dense layer: y = x W0 + b0 + x W(z) + b(z).

    `map_KF` gives what each entry of the context would add to y, F = [Z * O] side by side, and the context weighs them:
    the product with weights made for z, without a matrix for each sample. It starts at 0, and then the layer is the
    plain one. Of low rank, W(z) = V U(z) with V random and shared: never are both 0, or no gradient would reach either.
    """

    map_KF: Array
    """H; its last row is that of the biases."""
    down_IR: Array | None
    """V."""
    size: int = eqx.field(static=True)
    """Z."""

    @classmethod
    def make(
        cls, seed: Seed, inputs: int, outputs: int, size: int, *, rank: int = 0, gate: float = 1.0, start: float = 0.0
    ) -> "Added":
        """`start`: deviation of the weights that it generates at first, times a gate; 0: none."""
        rows = rank or inputs
        down_IR = jnp.asarray(orthogonal(seed / "down", inputs, rank, 1.0)) if rank else None
        map_KF = filled(0.0, rows + 1, size * outputs)
        if start and seed is not SHAPES:
            # HyperFan-in (arXiv:2312.08399): a context of Z entries of variance 1 sums Z such numbers, V U that of R.
            deviation = start / (gate * size**0.5) * (inputs / rank if rank else 1.0) ** 0.5
            drawn = deviation * (seed / "head").generator().standard_normal((rows, size * outputs))
            map_KF = jnp.asarray(np.pad(drawn, ((0, 1), (0, 0))).astype(np.float32))
        return cls(map_KF, down_IR, size)

    def times(self, gate: Array) -> "Added":
        return Added(gate * self.map_KF, self.down_IR, self.size)

    @property
    def map_KZO(self) -> Array:
        return self.map_KF.reshape(self.map_KF.shape[0], self.size, -1)

    def weights(self, z: Array) -> Array:
        """[..., K, O] of contexts [..., Z]: U(z) or W(z), biases in the last row."""
        return jnp.einsum("...z,kzo->...ko", z, self.map_KZO)

    def inputs(self, x: Array) -> Array:
        if self.down_IR is None:
            return x
        return product(x.reshape(-1, x.shape[-1]), self.down_IR).reshape(*x.shape[:-1], -1)

    def applied(self, x: Array, y: Array, z: Array) -> Array:
        """For contexts that differ from row to row."""
        parts = Dense(self.map_KF[:-1], self.map_KF[-1])(self.inputs(x)).reshape(*x.shape[:-1], self.size, -1)
        return y + (z[..., None] * parts).sum(-2)

    def with_weights(self, x: Array, y: Array, weights_NKO: Array) -> Array:
        """For weights that are made, those of each row."""
        added = jnp.einsum("...k,...ko->...o", self.inputs(x), weights_NKO[..., :-1, :])
        return y + added + weights_NKO[..., -1, :]

    def made(self, base: Dense, z_NZ: Array) -> Dense:
        """The layer with what it adds, for each context."""
        # Few contexts and many numbers: written as a sum, since the product behind the gradient of z would have one
        # short row for each seat and thousands of terms, which a GPU adds up one after another.
        weights_NKO = (z_NZ[:, None, :, None] * self.map_KZO).sum(2)
        rows_NKO = weights_NKO[:, :-1]
        whole_NIO = rows_NKO if self.down_IR is None else jnp.einsum("ir,nro->nio", self.down_IR, rows_NKO)
        return Dense(base.weight_IO + whole_NIO, base.bias_O + weights_NKO[:, -1])

    @property
    def gram_ZZ(self) -> Array:
        return jnp.einsum("kzo,kyo->zy", self.map_KZO, self.map_KZO)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights of one context."""
        return self.map_KF.shape[-2], self.map_KF.shape[-1] // self.size

    @property
    def count(self) -> int:
        """Generated numbers."""
        return self.shape[0] * self.shape[1]


class Scaled(eqx.Module):
    """A layer with a factor on each of its outputs."""

    layer: Any
    factor_O: Array

    def __call__(self, x: Array) -> Array:
        return self.layer(x) * self.factor_O


class Gain(eqx.Module):
    """A factor of 1 + g(z) for each output of a layer that is not generated itself; at first 1."""

    map_ZO: Array

    @classmethod
    def make(cls, outputs: int, size: int) -> "Gain":
        return cls(filled(0.0, size, outputs))

    def times(self, gate: Array) -> "Gain":
        return Gain(gate * self.map_ZO)

    def weights(self, z: Array) -> Array:
        return product(z.reshape(-1, z.shape[-1]), self.map_ZO).reshape(*z.shape[:-1], -1)

    def applied(self, x: Array, y: Array, z: Array) -> Array:
        del x
        return y * (1 + self.weights(z))

    def made(self, base: Any, z_NZ: Array) -> Scaled:
        same = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(z_NZ), *x.shape)), base)
        return Scaled(same, 1 + self.weights(z_NZ))

    @property
    def gram_ZZ(self) -> Array:
        return self.map_ZO @ self.map_ZO.T

    @property
    def shape(self) -> tuple[int]:
        return (self.map_ZO.shape[-1],)

    @property
    def count(self) -> int:
        return self.shape[0]


Change = Added | Gain


def squared(change: Change, z: Array) -> Array:
    """Squared length of what a context generates for a layer."""
    return ((z @ change.gram_ZZ) * z).sum(-1)


def base_squared(change: Change, base: Any) -> Array:
    """Squared length of what is changed: a layer's own weights, or gains of 1."""
    if isinstance(change, Gain):
        return jnp.asarray(change.count, jnp.float32)
    return (base.weight_IO**2).sum() + (base.bias_O**2).sum()


def within(change: Change, z: Array, cap: float, base: Any) -> Array:
    """The context, shortened where what it generates would be longer than `cap` times what it changes."""
    limit = cap * jnp.sqrt(base_squared(change, base))
    found = squared(change, z)
    beyond = found > limit**2
    # The root is taken only where it is used: at 0, where all begins, its slope is infinite.
    return z * jnp.where(beyond, limit / jnp.sqrt(jnp.where(beyond, found, 1.0)), 1.0)[..., None]
