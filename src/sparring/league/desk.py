"""What every league does with reports and blocks, whoever its learners are: read late and once, see who still plays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from sparring.core.errors import RunError
from sparring.league.ledger import Ledger
from sparring.league.orders import Block, Report
from sparring.league.player import Player
from sparring.statistics.intervals import Interval

LATE = 2
"""Iterations after which a report is read."""


class Member(NamedTuple):
    """A player as people read of it."""

    player: Player
    row: int | None
    """Of the pool; None for those who have none."""
    games: int
    rate: float
    """The learner's, old games counting less."""
    interval: Interval
    """Of the learner's rate over all games."""
    rating: float
    weight: float | None = None
    """In the meta-strategy of PSRO; None where there is none, or it does not know the player."""


def described(players: Iterable[Player], ledger: Ledger, row_of: Callable[[int], int | None]) -> tuple[Member, ...]:
    return tuple(
        Member(
            player=player,
            row=row_of(player.id),
            games=ledger.interval(player.id).count,
            rate=ledger.rate(player.id),
            interval=ledger.interval(player.id),
            rating=ledger.rating_of(player.id),
        )
        for player in players
    )


def due(inbox: Sequence[Report], iteration: int, last: int | None) -> tuple[list[Report], list[Report]]:
    """Reports to read before the orders of an iteration, the oldest first, and those that wait."""
    if last is not None and iteration <= last:
        raise RunError(f"Iteration {iteration} was already ordered; the next is {last + 1}.")
    old = sorted((one for one in inbox if one.iteration <= iteration - LATE), key=lambda report: report.iteration)
    return old, [one for one in inbox if one.iteration > iteration - LATE]


def received(inbox: Sequence[Report], report: Report, *, blocks: int, last: int | None) -> list[Report]:
    """The inbox with a report. It must come in time for the next orders, or the run could not be repeated."""
    report.check(blocks)
    last = -1 if last is None else last
    if not last - LATE < report.iteration <= last:
        raise RunError(f"After the orders of iteration {last}, a report of {report.iteration} cannot be read.")
    if any(known.iteration == report.iteration for known in inbox):
        raise RunError(f"Iteration {report.iteration} was already reported. Report each once.")
    return [*inbox, Report.from_dict(report.to_dict())]  # plain numbers, as after an interruption


def after(blocks: Sequence[Block], report: Report) -> list[Block]:
    """Blocks of which a report says that all worlds have moved on are drained."""
    return [
        replace(block, drained=block.drained or (bool(drained) and report.iteration >= block.since))
        for block, drained in zip(blocks, report.drained_B, strict=True)
    ]


def playing(blocks: Sequence[Block]) -> set[int]:
    """Players whose weights some block needs; of a drained one `old` is no longer played."""
    draws = [block.next for block in blocks] + [block.old for block in blocks if not block.drained]
    return {draw.player for draw in draws}
