"""The records that games, policies and learners exchange. All are pytrees of arrays; letters as in ARCHITECTURE.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # core loads without jax
    from jax import Array


LARGEST = 1e12
"""Rewards and features beyond this are a fault of the game: their squares and sums leave the range of float32."""


class Action(NamedTuple):
    """What every seat does."""

    discrete_SD: Array
    """Choice of each head, int32."""
    continuous_SC: Array
    """Raw sample of each dimension; only what the game receives is clipped to the bounds."""


class Observation(NamedTuple):
    """What every seat sees, and what it may do."""

    features_SF: Array
    legal_SA: Array
    """True where an entry may be chosen. Never empty: a seat that does not act has entry 0 of each head alone."""
    present_S: Array
    """Seats that are still in the game: their critic trains."""
    acting_S: Array
    """Seats whose choice counts now: their actor trains."""


class Step(NamedTuple):
    """What a step of a game brought."""

    reward_S: Array
    left_S: Array
    """This seat's credit ends now, though the game may go on."""
    over: Array
    """Ended by the rules: nothing follows."""
    cut: Array
    """Ended by a time limit that is not part of the rules: the value of the final observation follows."""
    outcome_K: Array
    """1 won, 0 drawn, -1 lost for each side; read only where the game ended."""
    terms_SJ: Array | tuple = ()
    """What each shaping term of kind reward pays now; nothing where a game has none."""
    cause_K: Array | tuple = ()
    """Why the game ended for each side, as an index into `GameSpec.causes`; read only where it ended."""
    count_SJ: Array | tuple = ()
    """How often each seat has done so far what `GameSpec.counts` names; read only where the game ended."""


class Goals(NamedTuple):
    """What seats may be after, in the order of `GameSpec.goals`; Z: numbers that tell one goal from another."""

    open_SG: Array
    """Whether that seat can still have that goal in this game."""
    steps_SG: Array
    """About how many steps away it is, a float; 0 where it is not open."""
    about_SGZ: Array
    """What a small network that knows no goal by its number needs: where the goal is as seen from that seat, in units
    of the board, of what kind it is, what it is worth; zeros where it is not open."""
