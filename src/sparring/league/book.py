"""The book of results: what the games of each learner against each player showed. A row for a learner, a column for a
player; the first columns are the learners themselves, and ratings are common to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sparring.league.player import NOBODY, Kind, Player
from sparring.league.pool import by_age
from sparring.league.score import TOGETHER, Score, faded, rates
from sparring.ratings.elo import expected
from sparring.statistics.intervals import Interval

K = 16.0
"""The most a rating moves by one game."""
UNKNOWN = -1.0
POOLED: tuple[Kind, ...] = ("past", "guest")
"""Kinds of players that are in a pool."""


@dataclass(frozen=True)
class Roll:
    """The players of a book in the order of its columns, and what is known of them before any game. Those of a pool
    come last, the oldest first."""

    players: tuple[Player, ...]

    @cached_property
    def column(self) -> dict[Player, int]:
        return {player: place for place, player in enumerate(self.players)}

    @cached_property
    def kind_M(self) -> np.ndarray:
        return np.array([player.kind for player in self.players])

    @cached_property
    def learner_M(self) -> np.ndarray:
        return np.array([player.learner for player in self.players])

    @cached_property
    def role_M(self) -> np.ndarray:
        return np.array([player.role for player in self.players])

    def meant(self, kinds: tuple[Kind, ...], role: str = "", owner: int | None = None) -> np.ndarray:
        """meant_M: players of these kinds; of learners with a role, if one is named; of an owner, if one is named, and
        those who are nobody's."""
        asked = kinds, role, owner
        if asked not in self._meant:
            meant_M = np.isin(self.kind_M, kinds)
            if role:
                meant_M &= self.role_M == role
            if owner is not None:
                meant_M &= (self.learner_M == owner) | (self.learner_M == NOBODY)
            self._meant[asked] = meant_M
        return self._meant[asked]

    @cached_property
    def _meant(self) -> dict[tuple[tuple[Kind, ...], str, int | None], np.ndarray]:
        """What was asked before: all learners ask in every iteration, and a roll seldom changes."""
        return {}


@dataclass(frozen=True, eq=False)
class Book:
    roll: Roll
    count_LM3: np.ndarray
    """Games won, drawn and lost, as `counted` counts them."""
    fading_LM3: np.ndarray
    """The same, old games counting less: learners change, so old games say less about them."""
    quality_LM: np.ndarray
    """Scores of OpenAI Five's rule."""
    rating_M: np.ndarray
    """A live trend; a past self begins at its learner's rating, everyone else at 0. Games against oneself are not
    rated."""
    birth_MM: np.ndarray
    """Rate of the learner that a past self is a copy of against others when it was copied: what the copy would reach.
    Empty where nobody asks for it."""

    @classmethod
    def blank(cls, players: Sequence[Player], *, births: bool = True) -> Book:
        """Of learners and whoever is there from the start; nothing was played. `births`: what a copy would reach is
        remembered, which takes the square of their number."""
        count, learners = len(players), sum(player.kind == "learner" for player in players)
        square = np.full((count, count) if births else (0, 0), UNKNOWN)
        counts = np.zeros((learners, count, 3))
        return cls(Roll(tuple(players)), counts, counts.copy(), counts[..., 0].copy(), np.zeros(count), square)

    @property
    def learners(self) -> int:
        return len(self.count_LM3)

    @property
    def players(self) -> tuple[Player, ...]:
        return self.roll.players

    def after(self, score_LM3: np.ndarray, forget: float) -> Book:
        """With the games of one iteration, each told once: one between two learners is a game of both."""
        rating_M = self.rating_M.copy()
        games_LM = score_LM3.sum(-1)
        for learner, column in zip(*np.nonzero(games_LM), strict=True):
            won, drawn, _ = score_LM3[learner, column].tolist()
            games = int(games_LM[learner, column])
            surprise = (won + drawn / 2) / games - expected(float(rating_M[learner]), float(rating_M[column]))
            gain = K * min(games, TOGETHER) * surprise
            rating_M[learner] += gain
            rating_M[column] -= gain
        both_LM3 = score_LM3.copy()
        both_LM3[:, : self.learners] += np.swapaxes(score_LM3[:, : self.learners], 0, 1)[..., ::-1]
        count_LM3, fading_LM3 = self.count_LM3 + both_LM3, faded(self.fading_LM3, both_LM3, forget)
        return replace(self, count_LM3=count_LM3, fading_LM3=fading_LM3, rating_M=rating_M)

    def after_draws(self, learner: int, group_M: np.ndarray, won_M: np.ndarray) -> Book:
        """The book with new scores of quality, after games of a learner against a group. `won_M`: for each player of
        the group the learner's share of wins, divided by the chance of the draw and summed over draws: so a player that
        is drawn often does not lose its score faster."""
        quality_LM = self.quality_LM.copy()
        quality_LM[learner, group_M] -= won_M[group_M] / max(1, group_M.sum())
        return replace(self, quality_LM=quality_LM)

    def joined_by(self, player: Player, owners: Sequence[int], shrink: float) -> Book:
        """With a new member of a pool. `owners`: whose past each learner meets; NOBODY: everybody's. It joins with the
        highest score of quality of all that a learner meets there; a past self with its learner's rating, and its
        learner's rates against the pool of its own."""
        pooled = [other for other in self.players if other.kind in POOLED]
        place = len(self.players) - len(pooled) + by_age((*pooled, player)).index(player)
        best_L = [self._best_quality(learner, owner) for learner, owner in enumerate(owners)]
        copied = player.kind == "past" and player.learner != NOBODY
        birth_MM = self.birth_MM
        if birth_MM.size:
            birth_MM = np.insert(np.insert(birth_MM, place, UNKNOWN, axis=0), place, UNKNOWN, axis=1)
        if birth_MM.size and copied:
            others_M = np.insert(self.roll.meant(POOLED, owner=player.learner), place, False)
            birth_MM[place, others_M] = np.insert(self.rates(shrink)[player.learner], place, UNKNOWN)[others_M]
        return Book(
            Roll((*self.players[:place], player, *self.players[place:])),
            np.insert(self.count_LM3, place, 0, axis=1),
            np.insert(self.fading_LM3, place, 0.0, axis=1),
            np.insert(self.quality_LM, place, best_L, axis=1),
            np.insert(self.rating_M, place, self.rating_M[player.learner] if copied else 0.0),
            birth_MM,
        )

    def _best_quality(self, learner: int, owner: int) -> float:
        met_M = self.roll.meant(POOLED, owner=None if owner == NOBODY else owner)
        return self.quality_LM[learner, met_M].max() if met_M.any() else 0.0

    def without(self, player: Player) -> Book:
        """Forget one who left, so that memory stays flat; the run's results keep the history."""
        stay = np.array([other != player for other in self.players])
        return Book(
            Roll(tuple(other for other in self.players if other != player)),
            self.count_LM3[:, stay], self.fading_LM3[:, stay], self.quality_LM[:, stay], self.rating_M[stay],
            self.birth_MM[stay][:, stay] if self.birth_MM.size else self.birth_MM,
        )  # fmt: skip

    def begun_anew(self, learner: int, parent: Player | None = None) -> Book:
        """A learner has other weights now, those of a parent, whose rating it takes over, or those it began with: what
        games of the old ones showed is no longer true of anybody."""
        count_LM3, fading_LM3, rating_M = self.count_LM3.copy(), self.fading_LM3.copy(), self.rating_M.copy()
        quality_LM = self.quality_LM.copy()
        for part in (count_LM3, fading_LM3, quality_LM):
            part[learner] = 0
            part[:, learner] = 0
        rating_M[learner] = 0.0 if parent is None else rating_M[self.roll.column[parent]]
        return replace(self, count_LM3=count_LM3, fading_LM3=fading_LM3, quality_LM=quality_LM, rating_M=rating_M)

    # What is known of a player.

    def rates(self, shrink: float = 0.0) -> np.ndarray:
        """rate_LM of every learner against everybody, old games counting less; one half where unknown."""
        if shrink not in self._rates:
            self._rates[shrink] = rates(self.fading_LM3, shrink)
        return self._rates[shrink]

    @cached_property
    def _rates(self) -> dict[float, np.ndarray]:
        """By how much is shrunk: several ask in every iteration."""
        return {}

    def score(self, learner: int, player: Player) -> Score:
        return Score(*self.count_LM3[learner, self.roll.column[player]].tolist())

    def interval(self, learner: int, player: Player) -> Interval:
        """Of the rate over all games since the player appeared, from whole counts."""
        return self.score(learner, player).interval()

    def payoff(self, columns: Sequence[int]) -> np.ndarray:
        """payoff_MM of past selves among themselves, antisymmetric: twice the rate of row against column, less 1; 0
        where nothing is known. Of two past selves, the younger's learner met the older."""
        if not self.birth_MM.size:
            return np.zeros((len(columns), len(columns)))
        rate_MM = self.birth_MM[np.ix_(columns, columns)]
        known_MM = np.where(rate_MM == UNKNOWN, 0.0, 2.0 * rate_MM - 1.0)
        later_MM = (rate_MM != UNKNOWN).astype(float)
        return known_MM * later_MM - (known_MM * later_MM).T
