"""What goes out of the league and what comes back: orders for every block, reports of what was played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparring.core.errors import RunError
from sparring.league.events import Event

NORMAL = -1
"""The level of what the normal mixture drew."""


class Draw(NamedTuple):
    """One player as drawn for a block."""

    player: int
    probability: float = 1.0
    """Of this player among those of its kind, when it was drawn."""
    temperature: float = 1.0
    epsilon: float = 0.0
    level: int = NORMAL
    """The level of the curriculum that asked for it."""

    @property
    def weakened(self) -> bool:
        """Noise is added to the player's choices."""
        return self.temperature != 1.0 or self.epsilon != 0.0


@dataclass(frozen=True)
class Block:
    """Each world of a block moves from `old` to `next` at its own restart; when all have, the block is drained."""

    old: Draw
    next: Draw
    since: int = 0
    """The iteration for which `next` was drawn."""
    drained: bool = True

    def draws_of(self, player: int, iteration: int) -> tuple[Draw, ...]:
        """The draws to which games of a player in an iteration may belong.

        Before `since` every world was on what is `old` now: a block is given a player only when it is drained.
        """
        draws = (self.old, self.next) if iteration >= self.since else (self.old,)
        return tuple(draw for draw in draws if draw.player == player)

    def to_dict(self) -> dict[str, Any]:
        return {"old": list(self.old), "next": list(self.next), "since": self.since, "drained": self.drained}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Block:
        return cls(Draw(*plain["old"]), Draw(*plain["next"]), plain["since"], plain["drained"])


class Result(NamedTuple):
    """Completed games of one block against one player, from the learner's view."""

    block: int
    player: int
    probability: float
    """The one in the orders that gave the block this player."""
    games: int
    won: int
    drawn: int
    lost: int
    weakened: bool = False
    """As the draw by which the block was given this player."""


@dataclass(frozen=True)
class Report:
    """What an iteration showed. Games against the current self are not reported."""

    iteration: int
    rows: tuple[Result, ...]
    drained_B: tuple[bool, ...]
    """At the end of the iteration every world of the block plays `next`."""

    def check(self, blocks: int) -> None:
        if len(self.drained_B) != blocks:
            raise RunError(f"A report covers all {blocks} blocks, found {len(self.drained_B)}. Check the seating.")
        for row in self.rows:
            if row.games != row.won + row.drawn + row.lost or min(row[3:7]) < 0:
                raise RunError(f"Games must be the sum of won, drawn and lost, found {row}. Check the tally.")

    def to_dict(self) -> dict[str, Any]:
        rows = [[value.item() if isinstance(value, np.generic) else value for value in row] for row in self.rows]
        return {
            "iteration": int(self.iteration),
            "rows": rows,
            "drained": [bool(drained) for drained in self.drained_B],
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Report:
        return cls(plain["iteration"], tuple(Result(*row) for row in plain["rows"]), tuple(plain["drained"]))


@dataclass(frozen=True)
class Orders:
    """Who plays in each block in one iteration."""

    old_B: np.ndarray
    """Ids of players, uint32."""
    next_B: np.ndarray
    old_probability_B: np.ndarray
    probability_B: np.ndarray
    old_temperature_B: np.ndarray
    temperature_B: np.ndarray
    old_epsilon_B: np.ndarray
    epsilon_B: np.ndarray
    old_weakened_B: np.ndarray
    weakened_B: np.ndarray
    changed_B: np.ndarray
    """A new draw was made: every world moves to `next` at its next restart, also where the same player came again.

    Were such a block drained at once, it would draw again sooner, and likely players would get less than their share.
    """
    events: tuple[Event, ...]
    """In the order in which they must be carried out, before the iteration."""


def orders_of(blocks: Sequence[Block], changed_B: np.ndarray, events: Sequence[Event]) -> Orders:
    def column(slot: str, name: str, kind: type) -> np.ndarray:
        return np.array([getattr(getattr(block, slot), name) for block in blocks], kind)

    return Orders(
        old_B=column("old", "player", np.uint32),
        next_B=column("next", "player", np.uint32),
        old_probability_B=column("old", "probability", np.float64),
        probability_B=column("next", "probability", np.float64),
        old_temperature_B=column("old", "temperature", np.float32),
        temperature_B=column("next", "temperature", np.float32),
        old_epsilon_B=column("old", "epsilon", np.float32),
        epsilon_B=column("next", "epsilon", np.float32),
        old_weakened_B=column("old", "weakened", bool),
        weakened_B=column("next", "weakened", bool),
        changed_B=changed_B,
        events=tuple(events),
    )
