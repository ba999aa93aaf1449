"""From rewards and values to advantages."""

import jax.numpy as jnp
from jax import Array, lax


def gae(
    reward_TW: Array, value_TW: Array, next_value_TW: Array, over_TW: Array, ended_TW: Array, *,
    discount: Array | float, decay: Array | float, weight_TW: Array | None = None,
) -> Array:  # fmt: skip
    """Generalised advantage estimation (arXiv:1506.02438, eq. 16). Further axes may follow T.

    Two different cuts: `over` means that nothing follows, so no value is added; `ended` means that what follows
    belongs to another game, so no credit flows back. A time limit that is not part of the rules is ended, not over.

    With a weight for each step, the ratio of new to old probability clipped from above, this is V-trace with decay
    (arXiv:1802.01561, remark 2): what follows a step is weighted by how likely the policy of today goes that way. The
    step's own weight is left to the surrogate, which multiplies by the ratio; the critic's target is
    value + weight * advantage.
    """
    # delta: by how much one step turned out better than the critic thought. An advantage is the sum of this delta and
    # all later ones, each weighted by (discount * decay) to the power of its distance.
    delta_TW = reward_TW + discount * jnp.where(over_TW, 0.0, next_value_TW) - value_TW
    keep_TW = jnp.where(ended_TW, 0.0, discount * decay)

    def back(later_W: Array, inputs: tuple[Array, Array, Array | None]) -> tuple[Array, Array]:
        delta_W, keep_W, weight_W = inputs
        advantage_W = delta_W + keep_W * later_W
        # The weight says how likely the policy goes this way: it counts in what earlier steps see of this one.
        return advantage_W if weight_W is None else weight_W * advantage_W, advantage_W

    steps = (delta_TW, keep_TW, weight_TW)
    return lax.scan(back, jnp.zeros_like(delta_TW[0]), steps, reverse=True, unroll=8)[1]
