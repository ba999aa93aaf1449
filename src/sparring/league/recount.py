"""The book of a league counted again from the rows of a run's results, and where the league's own differs from it.

A league keeps sums, since it decides again in every iteration; the results keep all that was summed, and are the truth.
What a league forgot on purpose needs no second record. Who gets other weights begins with an empty row and column, so
only games since then count. A past self or guest leaves when its last games have been read, and its number is never
given again, so all its games are forgotten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sparring.league.blocks import LATE
from sparring.league.book import Book
from sparring.league.league import League
from sparring.league.player import Player, packed, unpacked
from sparring.league.results import says_something
from sparring.league.score import Score

ROUNDING = 1e-6
"""Fading counts that differ by no more are the same."""


class Row(NamedTuple):
    """Completed games of one learner against one player at full strength; an iteration may have several such rows."""

    iteration: int
    learner: int
    """Its place in the line-up."""
    player: int
    """As packed for arrays and files."""
    won: float
    drawn: float
    lost: float


class Difference(NamedTuple):
    """What a league holds of a learner's games against a player, and what the results give."""

    learner: int
    player: Player
    score: tuple[Score, Score]
    fading: tuple[tuple[float, ...], tuple[float, ...]]


def differences(league: League, rows: Sequence[Row]) -> list[Difference]:
    """Where the book of a league, or what it has yet to read, is not what the rows of its seed give."""
    last = league.state.iteration
    read = 0 if last is None else max(0, last + 1 - LATE)
    done = read if last is None else last + 1
    waiting = [
        Row(played.iteration, league.learner_of(row.block), packed(row.player), *row.score)
        for played in league.state.inbox
        for row in played.meetings
        if not row.weakened
    ]
    old, new = ([row for row in rows if row.iteration in span] for span in (range(read), range(read, done)))
    return [
        *compared(league.state.book, recounted(league, old)),
        *compared(recounted(league, waiting), recounted(league, new)),
    ]


def recounted(league: League, rows: Iterable[Row]) -> Book:
    """Whole and fading counts of the games that count. Ratings, which ask when everybody was born, are left out."""
    book = Book.blank(league.players, births=False)
    column = {(player.kind, player.number): place for place, player in enumerate(league.players)}
    games: dict[int, np.ndarray] = defaultdict(lambda: np.zeros(book.count_LM3.shape))
    for row in rows:
        place = column.get(unpacked(row.player) or ("", 0))
        if place is None or place == row.learner:
            continue
        if says_something(league.state, row.learner, league.players[place], row.iteration):
            games[row.iteration][row.learner, place] += (row.won, row.drawn, row.lost)
    for _, score_LM3 in sorted(games.items()):
        book = book.after(score_LM3, league.rules.config.forget)
    return book


def compared(kept: Book, derived: Book) -> list[Difference]:
    near_LM = (np.abs(kept.fading_LM3 - derived.fading_LM3) <= ROUNDING).all(-1)
    wrong_LM = (kept.count_LM3 != derived.count_LM3).any(-1) | ~near_LM
    return [
        Difference(
            int(learner), kept.players[column],
            (Score(*kept.count_LM3[learner, column].tolist()), Score(*derived.count_LM3[learner, column].tolist())),
            (tuple(kept.fading_LM3[learner, column].tolist()), tuple(derived.fading_LM3[learner, column].tolist())),
        )
        for learner, column in zip(*np.nonzero(wrong_LM), strict=True)
    ]  # fmt: skip
