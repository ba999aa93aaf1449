"""Conditions, loops and rows where several seeds, learners or players are one program: no work that nobody needs, no
body traced twice."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

Tree = TypeVar("Tree")


@jax.custom_batching.custom_vmap
def anywhere(flag: Array) -> Array:
    """Whether a flag is set anywhere: under vmap in any of the copies, and the answer is then one for all of them."""
    return flag.any()


@anywhere.def_vmap
def _(copies: int, batched: list[bool], flag: Array) -> tuple[Array, bool]:
    del copies, batched
    return anywhere(flag), False


def only_when(needed: Array, work: Callable[[], Tree], otherwise: Callable[[], Tree]) -> Tree:
    """`work` where `needed` is set anywhere, in this seed or in one beside it; else `otherwise`.

    A plain `lax.cond` whose condition differs from seed to seed becomes a select under vmap, which computes both. So
    `work` must be harmless where it was not needed.
    """
    return lax.cond(anywhere(needed), work, otherwise)


@jax.custom_batching.custom_vmap
def of_each(carry: Tree) -> Tree:
    """The carry with which a loop begins. Under vmap every copy has one of its own, also of what begins alike in all:
    else vmap goes through the loop's body once to learn what comes to differ, and then once more, in loops within loops
    twice at every level. For what differs after a step only: a counter common to all should stay so."""
    return carry


@of_each.def_vmap
def _(copies: int, batched: list[Any], carry: Tree) -> tuple[Tree, Any]:
    spread = jax.tree.map(lambda x, own: x if own else jnp.broadcast_to(x, (copies, *x.shape)), carry, batched[0])
    return of_each(spread), jax.tree.map(lambda _: True, carry)


def over_rows(
    function: Callable[..., Tree], in_axes: tuple[int, ...] | int = 0, out_axes: int = 0
) -> Callable[..., Tree]:
    """A vmap of the function over the rows of stacks. A single row it is given as it is: without the axis a program is
    traced, lowered and compiled a quarter sooner."""

    def over(*stacks: Any) -> Tree:
        axes = (in_axes,) * len(stacks) if isinstance(in_axes, int) else in_axes
        pairs = list(zip(stacks, axes, strict=True))
        if {leaf.shape[axis] for stack, axis in pairs for leaf in jax.tree.leaves(stack)} != {1}:
            return jax.vmap(function, axes, out_axes)(*stacks)
        row = (jax.tree.map(lambda x, axis=axis: lax.squeeze(x, (axis,)), stack) for stack, axis in pairs)
        return jax.tree.map(lambda x: jnp.expand_dims(x, out_axes), function(*row))

    return over
