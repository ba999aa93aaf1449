"""The start bank: the states from which worlds begin, drawn in one batch before a rollout, each used once."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from sparring.games.game import Game, State


def starts_needed(steps: int, shortest: int) -> int:
    """How often one world can restart within a rollout: once at any step, then after no fewer than `shortest`."""
    return 1 + (steps - 1) // shortest


def fresh_starts(game: Game, key: Array, *shape: int) -> State:
    """Fresh states with leading axes `shape`."""
    keys = jax.random.split(key, shape)
    start = game.start
    for _ in shape:
        start = jax.vmap(start)
    return start(keys)


def draw(bank_RV: Any, used_V: Array) -> Any:
    """The next unused start of every world: leaves [R, V, ...] to [V, ...]."""

    def pick(leaf: Array) -> Array:
        if leaf.shape[0] == 1:
            return leaf[0]
        return leaf[used_V, jnp.arange(leaf.shape[1])]

    return jax.tree.map(pick, bank_RV)
