"""The book of results: what the games of each learner against each player showed. A row for a learner, a column for a
player; the first columns are the learners themselves, and ratings are common to all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sparring.league.player import NOBODY, Player
from sparring.league.score import TOGETHER, Score, faded, rates
from sparring.ratings.elo import expected
from sparring.statistics.intervals import Interval

K = 16.0
"""The most a rating moves by one game."""
UNKNOWN = -1.0


@dataclass(frozen=True)
class Roll:
    """The players of a book in the order of its columns, and what can be told of them without a game."""

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

    @cached_property
    def born_M(self) -> np.ndarray:
        return np.array([player.born for player in self.players])

    @cached_property
    def age_M(self) -> np.ndarray:
        """Columns, the oldest first; of those born together the one that came first."""
        return np.argsort(self.born_M, kind="stable")


@dataclass(frozen=True, eq=False)
class Book:
    roll: Roll
    count_LM3: np.ndarray
    """Games won, drawn and lost."""
    fading_LM3: np.ndarray
    """The same, old games counting less: learners change, so old games say less about them."""
    quality_LM: np.ndarray
    """Scores of OpenAI Five's rule."""
    rating_M: np.ndarray
    """A live trend; a past self begins at its learner's rating, everyone else at 0. Games against oneself are not
    rated."""
    birth_MM: np.ndarray
    """Rate of the learner that a past self is a copy of against others when it was copied: what the copy would
    reach."""

    @classmethod
    def blank(cls, players: Sequence[Player]) -> Book:
        """Of learners and whoever is there from the start; nothing was played."""
        count, learners = len(players), sum(player.kind == "learner" for player in players)
        square = np.full((count, count), UNKNOWN)
        counts = np.zeros((learners, count, 3))
        return cls(Roll(tuple(players)), counts.astype(int), counts, counts[..., 0], np.zeros(count), square)

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
            surprise = (won + drawn / 2) / games - expected(rating_M[learner], rating_M[column])
            gain = K * min(games, TOGETHER) * surprise
            rating_M[learner] += gain
            rating_M[column] -= gain
        both_LM3 = score_LM3.copy()
        both_LM3[:, : self.learners] += np.swapaxes(score_LM3[:, : self.learners], 0, 1)[..., ::-1]
        count_LM3, fading_LM3 = self.count_LM3 + both_LM3, faded(self.fading_LM3, both_LM3, forget)
        return replace(self, count_LM3=count_LM3, fading_LM3=fading_LM3, rating_M=rating_M)

    def after_draws(self, learner: int, group: np.ndarray, won_M: np.ndarray) -> Book:
        """With scores of quality after games of a learner against a group of columns: `won_M` is for each of them what
        the games of a draw won, each draw counting like one game, over the chance of the draw."""
        quality_LM = self.quality_LM.copy()
        quality_LM[learner, group] -= won_M[group] / max(1, len(group))
        return replace(self, quality_LM=quality_LM)

    def joined_by(self, player: Player, rivals: Iterable[Player], shrink: float) -> Book:
        """With a new member of a pool. It joins with the highest score of quality among its `rivals` there; a past self
        with its learner's rating, and its learner's rates against them."""
        columns = [self.roll.column[other] for other in rivals]
        quality_L1 = self.quality_LM[:, columns].max(axis=1, keepdims=True, initial=-np.inf)
        quality_L1 = np.where(np.isfinite(quality_L1), quality_L1, 0.0)
        copied = player.kind == "past" and player.learner != NOBODY
        birth_M = np.full(len(self.players) + 1, UNKNOWN)
        if copied:
            birth_M[columns] = self.rates(player.learner, shrink)[columns]
        birth_MM = np.pad(self.birth_MM, ((0, 1), (0, 1)), constant_values=UNKNOWN)
        birth_MM[-1] = birth_M
        return Book(
            Roll((*self.players, player)),
            np.pad(self.count_LM3, ((0, 0), (0, 1), (0, 0))),
            np.pad(self.fading_LM3, ((0, 0), (0, 1), (0, 0))),
            np.concatenate([self.quality_LM, quality_L1], axis=1),
            np.append(self.rating_M, self.rating_M[player.learner] if copied else 0.0),
            birth_MM,
        )

    def without(self, player: Player) -> Book:
        """Forget one who left, so that memory stays flat; the run's results keep the history."""
        stay = np.array([other != player for other in self.players])
        return Book(
            Roll(tuple(other for other in self.players if other != player)),
            self.count_LM3[:, stay], self.fading_LM3[:, stay], self.quality_LM[:, stay], self.rating_M[stay],
            self.birth_MM[stay][:, stay],
        )  # fmt: skip

    def begun_anew(self, learner: int, parent: int = NOBODY) -> Book:
        """A learner has other weights now, those of a parent or those it began with: what games of the old ones showed
        is no longer true of anybody."""
        count_LM3, fading_LM3, rating_M = self.count_LM3.copy(), self.fading_LM3.copy(), self.rating_M.copy()
        quality_LM = self.quality_LM.copy()
        for part in (count_LM3, fading_LM3, quality_LM):
            part[learner] = 0
            part[:, learner] = 0
        rating_M[learner] = 0.0 if parent == NOBODY else rating_M[parent]
        return replace(self, count_LM3=count_LM3, fading_LM3=fading_LM3, quality_LM=quality_LM, rating_M=rating_M)

    # What is known of a player.

    def rates(self, learner: int, shrink: float = 0.0) -> np.ndarray:
        """rate_M of a learner against everybody, old games counting less; one half where unknown."""
        return rates(self.fading_LM3[learner], shrink)

    def score(self, learner: int, player: Player) -> Score:
        return Score(*self.count_LM3[learner, self.roll.column[player]].tolist())

    def interval(self, learner: int, player: Player) -> Interval:
        """Of the rate over all games since the player appeared, from whole counts."""
        return self.score(learner, player).interval()

    def payoff(self, columns: Sequence[int]) -> np.ndarray:
        """payoff_MM of past selves among themselves, antisymmetric: twice the rate of row against column, less 1; 0
        where nothing is known. Of two past selves, the younger's learner met the older."""
        rate_MM = self.birth_MM[np.ix_(columns, columns)]
        known_MM = np.where(rate_MM == UNKNOWN, 0.0, 2.0 * rate_MM - 1.0)
        later_MM = (rate_MM != UNKNOWN).astype(float)
        return known_MM * later_MM - (known_MM * later_MM).T
