"""How far before a defeat it is tried again: farther back as the learner copes."""

from __future__ import annotations

from dataclasses import dataclass

from sparring.league.config import DefeatsConfig
from sparring.league.score import Score

ENOUGH = 40
"""Second tries before they are judged; ten times as many without a verdict start a new count."""


@dataclass(frozen=True)
class Retries:
    reach: int
    """Steps before the defeat."""
    won: int = 0
    drawn: int = 0
    lost: int = 0

    def after(self, won: int, drawn: int, lost: int, config: DefeatsConfig, farthest: int) -> Retries:
        """With more second tries: a sure success doubles the reach, up to the farthest that is kept."""
        score = Score(self.won + won, self.drawn + drawn, self.lost + lost)
        if score.games >= ENOUGH and score.interval().low > config.defeat_coped:
            return Retries(min(2 * self.reach, farthest))
        if score.games >= 10 * ENOUGH:
            return Retries(self.reach)
        return Retries(self.reach, *score)
