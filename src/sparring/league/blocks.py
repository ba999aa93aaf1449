"""Blocks of worlds as a league sees them: who was drawn for each, and what was played there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sparring.core.errors import RunError
from sparring.core.spec import GameSpec
from sparring.league.player import Player
from sparring.league.score import Score, counted

LATE = 2
"""Iterations after which results are read."""
NORMAL = -1
"""The level of what the normal mixture drew."""


class Draw(NamedTuple):
    """One player as drawn for a block."""

    player: Player
    probability: float = 1.0
    """Of this player among those of its branch, when it was drawn."""
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

    def draws_of(self, player: Player, iteration: int) -> tuple[Draw, ...]:
        """The draws to which games of a player in an iteration may belong.

        Before `since` every world was on what is `old` now: a block is given a player only when it is drained.
        """
        draws = (self.old, self.next) if iteration >= self.since else (self.old,)
        return tuple(draw for draw in draws if draw.player == player)


class Meeting(NamedTuple):
    """Completed games of one block's learner against one player in one iteration."""

    block: int
    player: Player
    probability: float
    """The one of the draw that gave the block this player."""
    weakened: bool
    games: int
    won: float
    drawn: float
    lost: float
    length_sum: int = 0
    return_sum: float = 0.0
    return_square_sum: float = 0.0

    @property
    def score(self) -> Score:
        return Score(self.won, self.drawn, self.lost)

    def counted(self, spec: GameSpec) -> Meeting:
        """As a league counts it; what was played has whole games."""
        return self._replace(**counted(spec, self.games, *self.score, self.return_sum)._asdict())


@dataclass(frozen=True)
class Played:
    """What an iteration showed."""

    iteration: int
    meetings: tuple[Meeting, ...]
    drained_B: tuple[bool, ...]
    """At the end of the iteration every world of the block plays `next`."""

    def check(self, blocks: int) -> None:
        if len(self.drained_B) != blocks:
            raise RunError(f"Results cover all {blocks} blocks, found {len(self.drained_B)}. Check the seating.")
        for row in self.meetings:
            if row.games != sum(row.score) or min(row.games, row.drawn) < 0 or (row.won and not row.games):
                raise RunError(f"Games must be the sum of won, drawn and lost, found {row}. Check the tally.")


Inbox = tuple[Played, ...]


def due(inbox: Inbox, iteration: int, last: int | None) -> tuple[Inbox, Inbox]:
    """What is read before an iteration is assigned, the oldest first, and what waits."""
    if last is not None and iteration <= last:
        raise RunError(f"Iteration {iteration} was already assigned; the next is {last + 1}.")
    old = sorted((one for one in inbox if one.iteration <= iteration - LATE), key=lambda played: played.iteration)
    return tuple(old), tuple(one for one in inbox if one.iteration > iteration - LATE)


def received(inbox: Inbox, played: Played, *, blocks: int, last: int | None) -> Inbox:
    """The inbox with what was played. It must come in time to be read, or the run could not be repeated."""
    played.check(blocks)
    last = -1 if last is None else last
    if not last - LATE < played.iteration <= last:
        raise RunError(f"After iteration {last} was assigned, results of {played.iteration} cannot be read.")
    if any(known.iteration == played.iteration for known in inbox):
        raise RunError(f"Iteration {played.iteration} was already reported. Report each once.")
    return (*inbox, played)


def after(blocks: Sequence[Block], played: Played) -> tuple[Block, ...]:
    """The blocks after an iteration: one whose worlds have all moved on is drained now."""
    return tuple(
        replace(block, drained=True) if drained and not block.drained and played.iteration >= block.since else block
        for block, drained in zip(blocks, played.drained_B, strict=True)
    )


def playing(blocks: Iterable[Block]) -> set[Player]:
    """Players whose weights some block needs; of a drained one `old` is no longer played."""
    return {draw.player for block in blocks for draw in ((block.next,) if block.drained else (block.next, block.old))}
