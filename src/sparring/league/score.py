"""Games won, drawn and lost: counted, and with old games counting less. Where a game is judged by return, won and lost
are parts of games (`counted`)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sparring.core.spec import GameSpec
from sparring.statistics.intervals import Interval, clopper_pearson
from sparring.statistics.sequential import surely_above

TOGETHER = 16
"""Games reported together move a rating, and let older games fade, like at most this many. Thousands at once would let
a rating overshoot the truth, and would leave nothing of all iterations but the last."""


GRAIN = 1024
"""Parts of a game, so that sums of them are exact in any order."""


class Score(NamedTuple):
    """Games from the learner's view."""

    won: float = 0
    drawn: float = 0
    lost: float = 0

    @property
    def games(self) -> int:
        return round(self.won + self.drawn + self.lost)

    @property
    def points(self) -> float:
        """By return, few games may be worth more than all points, or less than none: what is beyond is left out here,
        and never where games are summed."""
        return min(max(self.won + self.drawn / 2, 0.0), self.games)

    def plus(self, other: Score) -> Score:
        return Score(self.won + other.won, self.drawn + other.drawn, self.lost + other.lost)

    def minus(self, other: Score) -> Score:
        return Score(self.won - other.won, self.drawn - other.drawn, self.lost - other.lost)

    def interval(self) -> Interval:
        """Of the rate, in a number of games that nobody chose by looking at them."""
        return known_interval(self.points, self.games)

    def surely_above(self, mark: float) -> bool:
        """For those who look after every iteration until it is so; no rate is above 1, every one above less than 0."""
        return mark < 1.0 and self.games > 0 and (mark <= 0.0 or surely_above(self.points, self.games, mark))

    def surely_below(self, mark: float) -> bool:
        return Score(self.lost, self.drawn, self.won).surely_above(1.0 - mark)


def counted(spec: GameSpec, games: int, won: float, drawn: float, lost: float, earned: float) -> Score:
    """Completed games as a league counts them.

    Where nobody wins, all are draws to it. Where a zero-sum game is judged by return, half of the games without a draw
    are won, and more by what was `earned` in units of twice the stake s. For rewards of 1 and -1 these are the games
    that were won. In general the rate is the mean of 1/2 + r / 2s, whose variance is 1/4 - (rate - 1/2)^2
    = rate (1 - rate) where s is the root mean square of r: as many games that are won at that rate have the same mean
    and the same variance, so all that is known of rates (intervals, tests, Elo) holds.
    """
    if not spec.has_winners:
        return Score(0, games, 0)
    if not spec.rated_by_return:
        return Score(won, drawn, lost)
    lead = round(GRAIN * earned / (2.0 * spec.stake)) / GRAIN
    return Score((games - drawn) / 2 + lead, drawn, (games - drawn) / 2 - lead)


known_interval = lru_cache(maxsize=2**14)(clopper_pearson)
"""A league asks for thousands in every iteration, and most have not changed."""


def faded(fading: np.ndarray, score: np.ndarray, forget: float) -> np.ndarray:
    """Fading counts [..., 3] after the games of `score` [..., 3], each of which first multiplies what was by `forget`.

    In which order games came that are reported together is not known: each counts the mean over all orders. (In blocks,
    all wins and then all defeats, the last block would outweigh the others.) More than TOGETHER games fade what was
    before like that many, and all of them count alike.
    """
    games = np.minimum(score.sum(-1, keepdims=True), TOGETHER)
    left = forget**games
    each = np.ones_like(left) if forget == 1.0 else (1.0 - left) / (1.0 - forget) / np.maximum(games, 1)
    return fading * left + score * each


def rates(fading: np.ndarray, shrink: float = 0.0) -> np.ndarray:
    """Rates of winning from fading counts [..., 3], with `shrink` virtual games at one half; one half without any."""
    games = fading.sum(-1) + shrink
    known = games != 0
    rate = np.where(known, (fading[..., 0] + (fading[..., 1] + shrink) / 2) / np.where(known, games, 1.0), 0.5)
    return np.clip(rate, 0.0, 1.0)


def recent(fading_3: np.ndarray) -> Interval:
    """An estimate of the rate as it is now: from fading counts, as if they were that many games. Since old games fade,
    and it is looked at in every iteration, its ends are passed by chance more often than those of an interval."""
    won, drawn, lost = fading_3.tolist()
    total = won + drawn + lost
    games = int(total + 1e-9)
    points = (won + drawn / 2) * games / total if games else 0.0
    return known_interval(min(max(points, 0.0), games), games)  # rounding, or returns, could leave it beyond
