"""A network of one's own in place of the hidden layers of actor and critic: layers that see the input again.

sparring train kuhn --body examples/own/network.py:again --hidden 32 32
"""

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.core.seeding import Seed
from sparring.nets.blocks import Dense


class Again(eqx.Module):
    layers: list[Dense]
    width: int = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        """From [..., inputs] to [..., width]."""
        hidden = jnp.zeros((*x.shape[:-1], 0))
        for layer in self.layers:
            hidden = jnp.tanh(layer(jnp.concatenate([x, hidden], axis=-1)))
        return hidden


def again(seed: Seed, widths: tuple[int, ...]) -> Again:
    """`widths` are the inputs, then the entries of --hidden. Each part draws its weights from a seed with its name."""
    inputs, *hidden = widths
    sizes = zip((0, *hidden), hidden, strict=False)
    layers = [Dense.make(seed / i, inputs + before, width) for i, (before, width) in enumerate(sizes)]
    return Again(layers, hidden[-1])
