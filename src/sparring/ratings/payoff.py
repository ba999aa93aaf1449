"""Who beat whom how often: whole numbers for every pair of a pool, and win rates with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

from sparring.core.errors import unknown
from sparring.statistics.intervals import Interval
from sparring.statistics.rates import UNKNOWN, moments, of_starts, spread


class RatingError(ValueError):
    """A measure cannot be taken from these games; the message is a sentence that says why."""


@dataclass(frozen=True, eq=False)
class Payoff:
    """Raw counts of a pool of M players, from the row player's view.

    They never decay: ratings and intervals need whole games. Methods take the name of a player or its row. Build a
    large table from arrays at once, since each `with_games` copies it.
    """

    names: tuple[str, ...]
    won_MM: np.ndarray
    """Games the row player won against the column player; what it lost is the transpose."""
    drawn_MM: np.ndarray
    """Symmetric."""
    starts_MM5: np.ndarray = None  # type: ignore[assignment]
    """Independent starts by what the row player got of their points: nothing, a quarter, half, three quarters, all. A
    start that was played from both sides is one of two games. None: all games are independent, each a start."""

    def __post_init__(self) -> None:
        names = tuple(self.names)
        if len(set(names)) < len(names):
            raise RatingError(f"players of a payoff table have different names, found {list(names)}: rename the copies")
        won_MM, drawn_MM = _counts("won", self.won_MM, len(names)), _counts("drawn", self.drawn_MM, len(names))
        if (drawn_MM != drawn_MM.T).any():
            raise RatingError("a draw counts for both players, so drawn_MM is symmetric, found one that is not")
        starts_MM5 = single_games(won_MM, drawn_MM) if self.starts_MM5 is None else _five(self.starts_MM5, len(names))
        _check_starts(starts_MM5, won_MM, drawn_MM)
        fields = (("names", names), ("won_MM", won_MM), ("drawn_MM", drawn_MM), ("starts_MM5", _sealed(starts_MM5)))
        for field, value in fields:
            object.__setattr__(self, field, value)

    @classmethod
    def empty(cls, names: Sequence[str]) -> Payoff:
        zero_MM = np.zeros((len(names), len(names)), np.int64)
        return cls(tuple(names), zero_MM, zero_MM)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Payoff:
        return cls(tuple(data["names"]), data["won"], data["drawn"], *([data["starts"]] if "starts" in data else []))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON. `from_dict` gives the same table back."""
        counts = {"won": self.won_MM, "drawn": self.drawn_MM, "starts": self.starts_MM5}
        return {"names": list(self.names), **{name: array.tolist() for name, array in counts.items()}}

    def with_games(
        self, row: str | int, column: str | int, won: int, drawn: int, lost: int, starts_5: Sequence[int] | None = None
    ) -> Payoff:
        """The table after more games; `won`, `lost` and `starts_5` as the row player saw them."""
        i, j = self.place(row), self.place(column)
        won_MM, drawn_MM, starts_MM5 = self.won_MM.copy(), self.drawn_MM.copy(), self.starts_MM5.copy()
        won_MM[i, j] += index(won)
        won_MM[j, i] += index(lost)
        drawn_MM[i, j] += index(drawn)
        drawn_MM[j, i] = drawn_MM[i, j]
        starts_MM5[i, j] += [lost, 0, drawn, 0, won] if starts_5 is None else [index(count) for count in starts_5]
        starts_MM5[j, i] = starts_MM5[i, j, ::-1]
        return Payoff(self.names, won_MM, drawn_MM, starts_MM5)

    def place(self, player: str | int) -> int:
        """The row of a player."""
        if not isinstance(player, str):
            return range(len(self.names))[player]
        if player not in self.names:
            raise RatingError(unknown("player", player, self.names))
        return self.names.index(player)

    @cached_property
    def games_MM(self) -> np.ndarray:
        return _sealed(self.won_MM + self.won_MM.T + self.drawn_MM)

    @cached_property
    def points_MM(self) -> np.ndarray:
        """Wins of the row player, a draw counting one half."""
        return _sealed(self.won_MM + 0.5 * self.drawn_MM)

    @cached_property
    def rate_MM(self) -> np.ndarray:
        """Share of the points; 0.5 where no game was played, and on the diagonal."""
        return _sealed(np.where(self.games_MM > 0, self.points_MM, 0.5) / np.maximum(self.games_MM, 1))

    @cached_property
    def logit_MM(self) -> np.ndarray:
        """Log odds of the rates, shrunk by half a win and half a loss so that they are finite; antisymmetric."""
        log_MM = np.log(self.points_MM + 0.5)
        return _sealed(log_MM - log_MM.T)

    @cached_property
    def count_MM(self) -> np.ndarray:
        """Starts of each pair: what is independent."""
        return _sealed(self.starts_MM5.sum(axis=-1))

    @cached_property
    def dispersion_MM(self) -> np.ndarray:
        """How much more a rate varies than that of as many independent games without draws would: 1 where games are
        that, near 0 where mirrored games of like players cancel, 2 where both games of a start always end alike.

        What a pair of few starts does not show is taken from all others together."""
        mean_MM, variance_MM, count_MM = moments(self.starts_MM5)
        most_MM, found_MM = count_MM * mean_MM * (1.0 - mean_MM), count_MM * variance_MM
        of_others = (x_MM.sum() / 2.0 - x_MM + UNKNOWN for x_MM in (found_MM, most_MM))  # each pair stands there twice
        usual_MM = np.minimum(np.divide(*of_others), 1.0)
        return _sealed(spread(mean_MM, variance_MM, count_MM, usual_MM) * self.games_MM / np.maximum(count_MM, 1))

    def interval(self, row: str | int, column: str | int) -> Interval:
        """The win rate of the row player against the column player with its 95 % interval, by starts."""
        return of_starts(self.starts_MM5[self.place(row), self.place(column)])

    def worst(self, row: str | int) -> tuple[str, Interval]:
        """The opponent met against which the win rate is lowest, and that rate.

        The lowest of many measured rates is biased low: 30 opponents at a true 0.70 with 100 games each show 0.604 on
        average. The interval is that of the one pair and does not know that the pair was chosen.
        """
        i = self.place(row)
        games_M = self.won_MM[i] + self.drawn_MM[i] + self.won_MM[:, i]
        if not games_M.any():
            raise RatingError(f"{self.names[i]!r} has no worst opponent, since it has played nobody: play it first")
        points_M = self.won_MM[i] + self.drawn_MM[i] / 2
        column = int(np.where(games_M > 0, points_M / np.maximum(games_M, 1), np.inf).argmin())
        return self.names[column], self.interval(i, column)

    def check_all_met(self) -> None:
        """Some measures take a pair without games for an even one, and then rank highest whom nobody met."""
        missing = np.argwhere(np.triu(self.games_MM == 0, k=1))
        if len(missing):
            row, column = (self.names[place] for place in missing[0])
            pairs = len(self.names) * (len(self.names) - 1) // 2
            raise RatingError(
                f"needs games between all players, but {len(missing)} of {pairs} pairs never met, such as {row!r} and "
                f"{column!r}: play them, or leave players out"
            )

    def only(self, names: Sequence[str]) -> Payoff:
        """The games among these players, in this order."""
        rows = [self.place(name) for name in names]
        own = np.ix_(rows, rows)
        return Payoff(tuple(names), self.won_MM[own], self.drawn_MM[own], self.starts_MM5[own])

    def merged(self, other: Payoff) -> Payoff:
        """All games of both tables; players of the same name are one player."""
        names = tuple(dict.fromkeys(self.names + other.names))
        place = {name: row for row, name in enumerate(names)}
        won_MM, drawn_MM = np.zeros((2, len(names), len(names)), np.int64)
        starts_MM5 = np.zeros((len(names), len(names), 5), np.int64)
        for table in (self, other):
            rows = np.ix_(*[[place[name] for name in table.names]] * 2)
            won_MM[rows] += table.won_MM
            drawn_MM[rows] += table.drawn_MM
            starts_MM5[rows] += table.starts_MM5
        return Payoff(names, won_MM, drawn_MM, starts_MM5)


def single_games(won_MM: np.ndarray, drawn_MM: np.ndarray) -> np.ndarray:
    """starts_MM5 of games that are independent."""
    none_MM = np.zeros_like(won_MM)
    return np.stack([won_MM.T, none_MM, drawn_MM, none_MM, won_MM], axis=-1)


def _five(values: Any, players: int) -> np.ndarray:
    given = np.array(values)
    if (given.size and not np.issubdtype(given.dtype, np.integer)) or given.size != 5 * players**2:
        raise RatingError(f"starts_MM5 has five whole numbers for each pair, found {given.shape}: check the table")
    return given.astype(np.int64).reshape(players, players, 5)


def _check_starts(starts_MM5: np.ndarray, won_MM: np.ndarray, drawn_MM: np.ndarray) -> None:
    games_MM, count_MM = won_MM + won_MM.T + drawn_MM, starts_MM5.sum(axis=-1)
    if (starts_MM5 != starts_MM5.transpose(1, 0, 2)[..., ::-1]).any() or (starts_MM5 < 0).any():
        raise RatingError(
            "what one player got of a start the other did not: starts_MM5 is mirrored, found one that is not"
        )
    if (count_MM > games_MM).any() or (games_MM > 2 * count_MM).any():
        raise RatingError("a start is one game or two, one from each side, found other numbers: check the tally")


def _counts(what: str, values: Any, players: int) -> np.ndarray:
    given = np.asarray(values)
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise RatingError(f"{what}_MM counts whole games, found {given.dtype}: decayed counts belong to match-making")
    if given.size != players**2 or (players and given.shape != (players, players)):
        raise RatingError(f"{what}_MM has a row and a column for each of {players} players, found shape {given.shape}")
    counts_MM = given.astype(np.int64).reshape(players, players)
    if (counts_MM < 0).any():
        raise RatingError(f"{what}_MM counts games, found a negative count: check the tally")
    if counts_MM.diagonal().any():
        raise RatingError(f"{what}_MM has games of a player against itself, which rate nobody: leave them out")
    return _sealed(counts_MM)


def _sealed(array: np.ndarray) -> np.ndarray:
    """Nobody can write to it, so it may be shared and kept."""
    array.setflags(write=False)
    return array
