"""Work that is done only when it is needed, also where several seeds train as one program."""

from collections.abc import Callable
from typing import TypeVar

import jax
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
