"""What games at a table share: who sits where, and rows of zeros with a one.

A position says who decides when: 0 is the one that begins. With random positions each seat has each position equally
often, so that seats are alike and one policy learns all.
"""

from itertools import permutations
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError, GameError
from sparring.core.spec import GameSpec

Positions = Literal["random", "fixed"]


def exchangeable(positions: str, seats: int = 2) -> tuple[tuple[int, ...], ...]:
    """`GameSpec.exchangeable` of a table."""
    if positions not in ("random", "fixed"):
        raise ConfigError(f"positions is 'random' or 'fixed', found {positions!r}: fixed lets seat 0 decide first.")
    return (tuple(range(seats)),) if positions == "random" else ()


def seatings(spec: GameSpec) -> np.ndarray:
    """The positions of all seats, in every way to sit: a row for each, all as likely."""
    ways = permutations(range(spec.seats)) if spec.exchangeable else [range(spec.seats)]
    return np.array([*map(list, ways)], np.int32)


def seated(spec: GameSpec, key: Array) -> Array:
    """position_S of one game."""
    ways = seatings(spec)
    return jnp.asarray(ways)[jax.random.randint(key, (), 0, len(ways))]


def one_hot(value: Array, size: int) -> Array:
    """A one at the value; zeros alone where it is below 0."""
    return (value[..., None] == jnp.arange(size)).astype(float)


def rows_of(rows_RI: np.ndarray, width: int, game: str) -> np.ndarray:
    """Rows of OpenSpiel's tensor, if they are as long as those of the game with these options."""
    rows_RI = np.asarray(rows_RI, np.float32)
    if rows_RI.ndim != 2 or rows_RI.shape[1] != width:
        raise GameError(
            f"Rows of OpenSpiel's information_state_tensor: expected [R, {width}] as of {game}, found "
            f"{rows_RI.shape}. Load the game with the same options."
        )
    return rows_RI
