"""What board games share: whose turn it is, stones as the bits of whole numbers, how games end.

Letter: Z the sets of cells of which one, full of own stones, wins.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.balance import Suits
from sparring.games.cards.table import exchangeable

FIRST, SECOND, ENDED = range(3)
"""Whose turn it is among two, by position; nobody's once the game has ended."""
CERTAIN = 30.0
"""A difference of logits that leaves no chance worth the name to the lower one."""


def board_spec(
    choices: int,
    layout: tuple[Feature, ...],
    *,
    central: int,
    shortest: int,
    longest: int,
    positions: str,
    seats: int = 2,
    suits: Suits = (),
) -> GameSpec:
    """Seats that win, draw or lose, one choice at a time."""
    return GameSpec(
        seats=seats,
        side_of_seat=tuple(range(seats)),
        action=ActionSpec(heads=(choices,)),
        layout=layout,
        central=Central("seat", central),
        longest=longest,
        shortest=shortest,
        exchangeable=exchangeable(positions, seats),
        in_turn=True,
        zero_sum=True,
        score="outcome",
        suits=suits,
    )


def cells_of(mask: Array, cells: int) -> Array:
    """The lowest `cells` bits of whole numbers, as flags on a new last axis."""
    return (mask[..., None] >> jnp.arange(cells)) & 1 > 0


def mask_of(cells_A: Array) -> Array:
    """The opposite: flags of cells, or features that are 0 or 1, as the bits of a whole number."""
    weight_A = np.left_shift(1, np.arange(cells_A.shape[-1]))
    return jnp.sum(jnp.where(cells_A > 0.5, weight_A, 0), axis=-1).astype(jnp.int32)


def stone_of(choice_S: Array, moves_S: Array) -> Array:
    """stone_S: the bit of the cell that a seat chose where it is its turn, else none."""
    return jnp.where(moves_S, jnp.left_shift(1, choice_S), 0).astype(jnp.int32)


def has_won(own_S: Array, position_S: Array, sets: Sequence[Sequence[int]]) -> Array:
    """won_S: whether a seat's stones fill a set that wins for its position."""
    first_Z, second_Z = (np.array(own, np.int32) for own in sets)

    def fills(set_Z: np.ndarray) -> Array:
        return jnp.any(own_S[:, None] & set_Z == set_Z, axis=1)

    return jnp.where(position_S == FIRST, fills(first_Z), fills(second_Z))


def observation(features_SF: Array, free_SA: Array, moves_S: Array) -> Observation:
    """One seat moves, to what is free for all it knows; the others have entry 0 alone."""
    waits_A = np.arange(free_SA.shape[1]) == 0
    legal_SA = jnp.where(moves_S[:, None], free_SA, waits_A)
    return Observation(features_SF, legal_SA, jnp.ones_like(moves_S), moves_S)


def ending(won_S: Array, full: Array) -> Step:
    """Over where one has won, or drawn where the board is full. The others share what the winner earns."""
    won, never = jnp.any(won_S), jnp.zeros((), bool)
    outcome_S = jnp.where(won_S, 1.0, jnp.where(won, -1.0, 0.0))
    reward_S = jnp.where(won_S, 1.0, outcome_S / (won_S.shape[0] - 1))
    return Step(reward_S, jnp.zeros_like(won_S), won | full, never, outcome_S)
