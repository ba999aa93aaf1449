"""A way up for beginners: bots from the weakest, then weakened selves, then the normal mixture; and how far before a
defeat it is tried again, farther back as the learner copes. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sparring.league.config import CurriculumConfig, DefeatsConfig
from sparring.league.events import Climbed, Event, Retreated
from sparring.league.score import Score

AT_LEVEL = 0.8
"""Share of the governed blocks that play the level itself; the others play the one below, lest it be forgotten."""
WINDOW = 10
"""A level is judged again after this many times `level_games` games: a bad beginning must not count for ever."""
FULL_STRENGTH = "full strength"
ENOUGH = 40
"""Second tries before they are judged; ten times as many without a verdict start a new count."""


@dataclass(frozen=True)
class Level:
    name: str
    bot: str = ""
    """The bot to meet; empty: a weakened self."""
    temperature: float = 1.0
    epsilon: float = 0.0


@dataclass(frozen=True)
class Standing:
    """Where the learner stands; the level after the last one is full strength, the normal mixture."""

    level: int = 0
    score: Score = field(default_factory=Score)
    """Of the present window at this level."""


def levels(ladder: Sequence[str], config: CurriculumConfig) -> tuple[Level, ...]:
    """From the weakest up, without full strength; none where there is no curriculum."""
    if not config.curriculum:
        return ()
    return (*(Level(bot, bot) for bot in ladder), *(_weakened(place, config) for place in range(config.weaken_levels)))


def _weakened(place: int, config: CurriculumConfig) -> Level:
    """Weakness falls linearly, and would be gone at the level after the last."""
    weakness = config.weakest * (1.0 - place / config.weaken_levels)
    if config.weaken == "epsilon":
        return Level(f"self with {weakness:.3g} of random actions", epsilon=weakness)
    return Level(f"self at temperature {1.0 + 3.0 * weakness:.3g}", temperature=1.0 + 3.0 * weakness)


def moved(
    standing: Standing, ways: Sequence[Level], score: Score, config: CurriculumConfig
) -> tuple[Standing, Event | None]:
    """After more games at this level. Acts where the rate is surely beyond a mark, however often one looks in a window,
    never on the rate itself."""
    total = standing.score.plus(score)
    if not ways or total.games < config.level_games:
        return replace(standing, score=total), None
    if total.surely_above(config.climb_rate) and standing.level < len(ways):
        return Standing(standing.level + 1), Climbed(_name(ways, standing.level + 1))
    if total.surely_below(config.retreat_rate) and standing.level > 0:
        return Standing(standing.level - 1), Retreated(_name(ways, standing.level - 1))
    over = total.games >= WINDOW * config.level_games
    return replace(standing, score=Score() if over else total), None


def _name(ways: Sequence[Level], level: int) -> str:
    return ways[level].name if level < len(ways) else FULL_STRENGTH


def level_drawn(level: int, chance: float) -> int:
    """The level a governed block plays, from a number of [0, 1)."""
    return level if chance < AT_LEVEL else max(0, level - 1)


@dataclass(frozen=True)
class Retries:
    reach: int
    """Steps before the defeat."""
    won: float = 0
    drawn: float = 0
    lost: float = 0

    def after(self, won: int, drawn: int, lost: int, config: DefeatsConfig, farthest: int) -> Retries:
        """With more second tries: a sure success doubles the reach, up to the farthest that is kept."""
        score = Score(self.won + won, self.drawn + drawn, self.lost + lost)
        if score.games >= ENOUGH and score.surely_above(config.defeat_coped):
            return Retries(min(2 * self.reach, farthest))
        if score.games >= 10 * ENOUGH:
            return Retries(self.reach)
        return Retries(self.reach, *score)
