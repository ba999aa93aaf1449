"""What a set of games shows: for each side of each line-up a score with its interval. NumPy only."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from sparring.core.spec import GameSpec
from sparring.statistics.intervals import Interval, Moments, mean_interval, student
from sparring.statistics.rates import over_seeds

LEARNED = "learned"
"""The team of a run's own learners in a line-up; every other team is a bot."""
SHADOW = "shadow"
"""The slow averages of the learners, where they have any."""
MIXTURE = "mixture"
"""The meta-strategy of PSRO: before each game one of the past players is drawn."""
UNTRAINED = -1
"""The iteration of an evaluation before the first one."""

COUNTS = ("games", "wins", "draws", "losses")


class MatchGames(NamedTuple):
    """The games of one line-up."""

    return_GS: np.ndarray
    length_G: np.ndarray
    outcome_GK: np.ndarray
    cause_GK: np.ndarray | None = None
    count_GSJ: np.ndarray | None = None


def company(opponents: str) -> str:
    """Several opponents by name and number, in no order, such as "2 x random, stay"."""
    counts = sorted(Counter(opponents.split(", ")).items())
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts)


def company_kind(part: str) -> str:
    """Of a part of a company, such as "2 x random", who it is."""
    return part.rpartition(" x ")[2]


@dataclass(frozen=True)
class SideScore:
    """How one side did in one line-up."""

    side: int
    team: str
    """Who drove the side."""
    opponents: str
    """Who drove the others."""
    games: int
    wins: int
    draws: int
    losses: int
    length: float
    """Mean number of steps of a game."""
    returns: tuple[Moments, ...]
    """Of a seat of the side over a game, for each seed."""
    scores: tuple[Moments, ...] = ()
    """The same of points, 1 for a win and one half for a draw; empty where games are not won or lost."""
    causes: tuple[tuple[str, int], ...] = ()
    """How often each cause ended the game for the side, the most frequent first."""
    counts: tuple[tuple[str, float], ...] = ()
    """How often a seat of the side did what the game counts, in a game on average."""

    @cached_property
    def mean_return(self) -> Interval:
        """Over seeds where there are several, else over games."""
        return student(*self.returns[0]) if len(self.returns) == 1 else mean_interval([r.mean for r in self.returns])

    @cached_property
    def points(self) -> Interval | None:
        """Share of points, the same way."""
        return over_seeds(self.scores) if self.scores else None


def score_sides(
    spec: GameSpec,
    lineups: Sequence[tuple[str, ...]],
    games_of_seed: Sequence[Sequence[MatchGames]],
    seats_of_side: Sequence[tuple[int, ...]] = (),
) -> list[SideScore]:
    """games_of_seed[r][b]: the games of line-up b with the players of seed r.

    `seats_of_side`: the sides as they are driven, where the seats of one side of the game learn apart. Each has returns
    of its own, and wins with its side.
    """
    scores = []
    for b, teams in enumerate(lineups):
        played = [games[b] for games in games_of_seed]
        length = float(np.concatenate([games.length_G for games in played]).mean())
        for driven, seats in enumerate(seats_of_side or spec.seats_of_side):
            side = spec.side_of_seat[seats[0]]
            returns = tuple(Moments.of(games.return_GS[:, list(seats)].mean(axis=1)) for games in played)
            outcomes = [np.sign(games.outcome_GK[:, side]) for games in played]
            outcome_G = np.concatenate(outcomes)
            wins, draws, losses = (int((outcome_G == sign).sum()) for sign in (1, 0, -1))
            if spec.score != "outcome":  # nothing is won, drawn or lost
                wins = draws = losses = 0
                outcomes = []
            others = ", ".join(team for k, team in enumerate(teams) if k != side)
            counts = (len(outcome_G), wins, draws, losses, length)
            won = tuple(Moments.of((outcome + 1) / 2) for outcome in outcomes)
            told = causes_of(spec, played, side), counts_of(spec, played, seats)
            scores.append(SideScore(driven, teams[side], others, *counts, returns, won, *told))
    return scores


def causes_of(spec: GameSpec, played: Sequence[MatchGames], side: int) -> tuple[tuple[str, int], ...]:
    if not spec.causes:
        return ()
    counts = Counter(
        spec.causes[int(c)] for games in played if games.cause_GK is not None for c in games.cause_GK[:, side]
    )
    return tuple(counts.most_common())


def counts_of(spec: GameSpec, played: Sequence[MatchGames], seats: Sequence[int]) -> tuple[tuple[str, float], ...]:
    found = [games.count_GSJ[:, list(seats)] for games in played if games.count_GSJ is not None]
    if not spec.counts or not found:
        return ()
    return tuple(zip(spec.counts, np.concatenate(found).mean(axis=(0, 1)).tolist(), strict=True))


def merged(scores: Sequence[SideScore]) -> list[SideScore]:
    """Both sides of one pairing together, where sides are alike; the side is then -1.

    A game from either side is one value: what the sides differ by is no uncertainty of their mean.
    """
    found = []
    for team, opponents in dict.fromkeys((score.team, score.opponents) for score in scores):
        parts = [score for score in scores if (score.team, score.opponents) == (team, opponents)]
        games, wins, draws, losses = (sum(getattr(p, name) for p in parts) for name in COUNTS)
        causes: Counter[str] = Counter()
        for part in parts:
            causes.update(dict(part.causes))
        length = sum(part.length * part.games for part in parts) / games
        returns, won = (
            tuple(reduce(Moments.and_other, own) for own in zip(*of_parts, strict=True))
            for of_parts in ([part.returns for part in parts], [part.scores for part in parts])
        )
        counts = (games, wins, draws, losses, length)
        did: Counter[str] = Counter()
        for part in parts:
            did.update({name: mean * part.games / games for name, mean in part.counts})
        told = tuple(causes.most_common()), tuple(did.items())
        found.append(SideScore(-1, team, opponents, *counts, returns, won, *told))
    return found
