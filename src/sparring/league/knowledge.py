"""What the league knows of every player: results, scores of quality, and how past selves would do among themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparring.league.ledger import Ledger, Score
from sparring.league.orders import Result
from sparring.league.player import LEARNER, Player
from sparring.league.sampling import Field, quality_after


@dataclass(frozen=True)
class Knowledge:
    ledger: Ledger = field(default_factory=Ledger)
    quality: Mapping[int, float] = field(default_factory=dict)
    """Scores of OpenAI Five's rule; 0 where there is none."""
    at_birth: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    """The learner's rate against others when it was copied: what its copy would reach against them."""

    def after(self, scores: Mapping[int, Score], forget: float) -> Knowledge:
        """With the games of one iteration."""
        return Knowledge(self.ledger.after(scores, forget), self.quality, self.at_birth)

    def after_wins(self, rows: Iterable[Result], group: Sequence[int], rate: float) -> Knowledge:
        """With the scores of quality after games against members of a group; others are passed over."""
        quality_M = np.array([self.quality.get(player, 0.0) for player in group])
        for row in rows:
            if row.player in group:
                quality_M = quality_after(quality_M, group.index(row.player), row.probability, row.won, rate)
        return Knowledge(
            self.ledger, {**self.quality, **dict(zip(group, quality_M.tolist(), strict=True))}, self.at_birth
        )

    def with_copy(self, player: int, pool: Collection[int], shrink: float, like: int = LEARNER) -> Knowledge:
        """After the learner was copied as a new member of the pool, which joins with its highest score of quality and
        the rating of one that is `like` it."""
        quality = max((self.quality.get(other, 0.0) for other in pool), default=0.0)
        rates = {other: self.ledger.rate(other, shrink) for other in pool}
        return Knowledge(
            self.ledger.born(player, like), {**self.quality, player: quality}, {**self.at_birth, player: rates}
        )

    def without(self, player: int) -> Knowledge:
        def others(part: Mapping[int, Any]) -> dict[int, Any]:
            return {key: value for key, value in part.items() if key != player}

        at_birth = {key: others(rates) for key, rates in others(self.at_birth).items()}
        return Knowledge(self.ledger.without(player), others(self.quality), at_birth)

    def payoff(self, players: Sequence[int]) -> np.ndarray:
        """payoff_MM, antisymmetric: twice the rate of row against column, less 1; 0 where nothing is known."""
        payoff_MM = np.zeros((len(players), len(players)))
        for row, player in enumerate(players):
            for column, other in enumerate(players):
                rate = self.at_birth.get(player, {}).get(other)
                if rate is not None:
                    payoff_MM[row, column], payoff_MM[column, row] = 2 * rate - 1, 1 - 2 * rate
        return payoff_MM

    def field(self, players: Sequence[Player], shrink: float, *, with_payoff: bool = False) -> Field:
        """What a rule of sampling may know of these players; the payoff only where asked, since it takes longer."""
        ids = [player.id for player in players]
        return Field(
            born_M=np.array([player.born for player in players]),
            rate_M=np.array([self.ledger.rate(player, shrink) for player in ids]),
            rating_M=np.array([self.ledger.rating_of(player) for player in ids]),
            own_rating=self.ledger.rating_of(LEARNER),
            quality_M=np.array([self.quality.get(player, 0.0) for player in ids]),
            payoff_MM=self.payoff(ids) if with_payoff else None,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "ledger": self.ledger.to_dict(),
            "quality": {str(player): value for player, value in self.quality.items()},
            "at_birth": {
                str(player): {str(other): rate for other, rate in rates.items()}
                for player, rates in self.at_birth.items()
            },
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Knowledge:
        return cls(
            Ledger.from_dict(plain["ledger"]),
            {int(player): value for player, value in plain["quality"].items()},
            {
                int(player): {int(other): rate for other, rate in rates.items()}
                for player, rates in plain["at_birth"].items()
            },
        )
