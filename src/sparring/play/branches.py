"""Conditions and loops where several seeds train as one program: no work that nobody needs, no body traced twice."""

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
