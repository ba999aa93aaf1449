"""Lengths and products that come out alike for every unit, on either side, whatever a compiler makes of them.

A compiler may add a product before it is rounded, or take an estimate of 1 / sqrt(x) for a division, and do so for some
places of an array alone: for the main part of a loop, not its rest; for one side, not the other. Two units that are
exactly alike would then drift apart by a last bit. It may do neither across a bound that it cannot prove to be idle.
Whatever is not a whole number passes through here before it is added.
"""

import jax.numpy as jnp
from jax import Array

VAST = 1e30
SHORT = 1e-6


def rounded(product: Array) -> Array:
    """The product itself, which is rounded here and not after something was added to it. (A minimum would do as well;
    this is one instruction, and what is not a number stays so.)"""
    return jnp.where(product > VAST, VAST, product)


def squared(delta_X: Array) -> Array:
    x, y = delta_X
    return rounded(x * x) + rounded(y * y)


def length(squared: Array) -> Array:
    """Something to divide by: at least SHORT."""
    return jnp.maximum(jnp.sqrt(squared), SHORT)
