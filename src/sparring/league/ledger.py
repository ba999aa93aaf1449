"""What the learner's games against each player showed: whole counts for intervals, fading ones for sampling, and Elo.

The learner changes, so old games say less about it: before each game the fading counts of that player are multiplied
by `forget`. Games reported together are counted as if played one after another, wins, draws and defeats evenly mixed.
In blocks (all wins, then all defeats) the last block would outweigh the others: 100 wins and 100 defeats would give a
rate of 0.27 at forget = 0.99.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from sparring.league.player import LEARNER
from sparring.ratings.elo import expected
from sparring.statistics.intervals import Interval, clopper_pearson

K = 16.0
"""The most a rating moves by one game."""
MOST_RATED = 16
"""Games reported together move a rating like at most this many: thousands at once would overshoot the truth."""


class Score(NamedTuple):
    """Games from the learner's view."""

    won: int = 0
    drawn: int = 0
    lost: int = 0

    @property
    def games(self) -> int:
        return self.won + self.drawn + self.lost

    @property
    def points(self) -> float:
        return self.won + self.drawn / 2

    def plus(self, other: Score) -> Score:
        return Score(self.won + other.won, self.drawn + other.drawn, self.lost + other.lost)

    def minus(self, other: Score) -> Score:
        return Score(self.won - other.won, self.drawn - other.drawn, self.lost - other.lost)

    def interval(self) -> Interval:
        return known_interval(self.points, self.games)


known_interval = lru_cache(maxsize=2**14)(clopper_pearson)
"""A league asks for thousands in every iteration, and most have not changed."""


class Fading(NamedTuple):
    """The same, old games counting less."""

    won: float = 0.0
    drawn: float = 0.0
    lost: float = 0.0

    def rate(self, shrink: float = 0.0) -> float:
        """The rate of winning, with `shrink` virtual games at one half; one half without any game."""
        games = self.won + self.drawn + self.lost + shrink
        return (self.won + (self.drawn + shrink) / 2) / games if games != 0 else 0.5


def faded(fading: Fading, score: Score, forget: float) -> Fading:
    """After the games of `score`, each of which first multiplies what was there by `forget`.

    In which order games came that are reported together is not known: each counts the mean over all orders.
    """
    games = score.games
    left = forget**games
    each = 1.0 if forget == 1.0 or games == 0 else (1.0 - left) / (1.0 - forget) / games
    return Fading(*(old * left + new * each for old, new in zip(fading, score, strict=True)))


@dataclass(frozen=True)
class Ledger:
    score: Mapping[int, Score] = field(default_factory=dict)
    fading: Mapping[int, Fading] = field(default_factory=dict)
    rating: Mapping[int, float] = field(default_factory=dict)
    """A live trend; everyone begins at 0, a past self at the learner's rating. Games against oneself are not rated."""

    def after(self, scores: Mapping[int, Score], forget: float) -> Ledger:
        """With the games of one iteration against each player."""
        score, fading, rating = dict(self.score), dict(self.fading), dict(self.rating)
        for player, new in sorted(scores.items()):
            if player == LEARNER or not new.games:
                continue
            score[player] = score.get(player, Score()).plus(new)
            fading[player] = faded(fading.get(player, Fading()), new, forget)
            surprise = new.points / new.games - expected(rating.get(LEARNER, 0.0), rating.get(player, 0.0))
            gain = K * min(new.games, MOST_RATED) * surprise
            rating[LEARNER] = rating.get(LEARNER, 0.0) + gain
            rating[player] = rating.get(player, 0.0) - gain
        return Ledger(score, fading, rating)

    def rate(self, player: int, shrink: float = 0.0) -> float:
        known = self.fading.get(player)
        return 0.5 if known is None else known.rate(shrink)

    def interval(self, player: int) -> Interval:
        """Of the rate over all games since the player appeared, from whole counts."""
        return self.score.get(player, Score()).interval()

    def recent(self, player: int) -> Interval:
        """Of the rate as it is now: from the fading counts, as if they were that many games."""
        won, drawn, lost = self.fading.get(player, Fading())
        total = won + drawn + lost
        games = int(total + 1e-9)
        points = (won + drawn / 2) * games / total if games else 0.0
        return known_interval(min(points, games), games)  # rounding could leave it a bit above

    def rating_of(self, player: int) -> float:
        return self.rating.get(player, 0.0)

    def born(self, player: int, like: int = LEARNER) -> Ledger:
        """A copy begins at the rating of whom it is like, the learner or an earlier copy."""
        return replace(self, rating={**self.rating, player: self.rating_of(like)})

    def without(self, player: int) -> Ledger:
        """Forget one who left, so that memory stays flat; the run's results keep the history."""
        left = ({key: value for key, value in part.items() if key != player} for part in self._parts())
        return Ledger(*left)

    def to_dict(self) -> dict[str, Any]:
        score, fading, rating = self._parts()
        return {
            "score": {str(player): list(counts) for player, counts in score.items()},
            "fading": {str(player): list(counts) for player, counts in fading.items()},
            "rating": {str(player): value for player, value in rating.items()},
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Ledger:
        return cls(
            {int(player): Score(*counts) for player, counts in plain["score"].items()},
            {int(player): Fading(*counts) for player, counts in plain["fading"].items()},
            {int(player): value for player, value in plain["rating"].items()},
        )

    def _parts(self) -> tuple[Mapping[int, Any], ...]:
        return self.score, self.fading, self.rating
