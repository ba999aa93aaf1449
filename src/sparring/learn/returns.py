"""From rewards and values to advantages."""

import jax.numpy as jnp
from jax import Array, lax


def gae(
    reward_TW: Array,
    value_TW: Array,
    next_value_TW: Array,
    over_TW: Array,
    ended_TW: Array,
    *,
    discount: Array | float,
    decay: Array | float,
) -> Array:
    """Generalised advantage estimation (arXiv:1506.02438, eq. 16). Further axes may follow T.

    Two different cuts: `over` means that nothing follows, so no value is added; `ended` means that what follows
    belongs to another game, so no credit flows back. A time limit that is not part of the rules is ended, not over.
    """
    delta_TW = reward_TW + discount * jnp.where(over_TW, 0.0, next_value_TW) - value_TW
    keep_TW = jnp.where(ended_TW, 0.0, discount * decay)

    def back(advantage_W: Array, inputs: tuple[Array, Array]) -> tuple[Array, Array]:
        delta_W, keep_W = inputs
        advantage_W = delta_W + keep_W * advantage_W
        return advantage_W, advantage_W

    _, advantage_TW = lax.scan(back, jnp.zeros_like(delta_TW[0]), (delta_TW, keep_TW), reverse=True, unroll=8)
    return advantage_TW
