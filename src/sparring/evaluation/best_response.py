"""A trained best response: a learner that meets one frozen policy and nobody else. What it wins is a lower bound
of what can be won, and so of the policy's exploitability; a better learner or a larger budget may find more."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import hypot
from typing import Any, NamedTuple

import numpy as np

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.evaluation.match import prepare_match
from sparring.evaluation.scoring import MatchGames
from sparring.evaluation.tournament import ready
from sparring.games.game import Game
from sparring.statistics.intervals import Interval, Moments, student
from sparring.statistics.rates import rate_interval


class Stage(NamedTuple):
    """How far training has come."""

    steps: int
    attempts: Sequence[Any]
    """The policies of all attempts."""


Train = Callable[[Any], Iterable[Stage]]
"""From a frozen policy to what was trained against it, stage by stage."""

RESPONSE, TARGET, OWN = "response", "target", "own"


class Point(NamedTuple):
    """Of the curve over training."""

    steps: int
    returns: tuple[float, ...]
    """Mean return of every attempt in the games that chose; the larger their spread, the more is left to find."""


@dataclass(frozen=True)
class BestResponse:
    policy: Any
    side: int | None
    """The side that it drives; None: either, since they are alike."""
    steps: int
    """It was trained for so many."""
    games: int
    points: Interval | None
    """Share of points of the response, a draw one half; None where games are not won or lost."""
    mean_return: Interval
    """Of a seat of the response, over both sides where they are alike."""
    present: Interval | None
    """The same of who drives its side at present; None where nobody is named for it."""
    curve: tuple[Point, ...]

    @property
    def gain(self) -> Interval | None:
        """What the response earns beyond the present. In a zero-sum game the mean of both sides' gains estimates a
        lower bound of exploitability (NashConv / 2)."""
        if self.present is None:
            return None
        mean = self.mean_return.mean - self.present.mean
        half = hypot(self.mean_return.high - self.mean_return.mean, self.present.high - self.present.mean)
        return Interval(mean, mean - half, mean + half, self.games)

    @property
    def exploitable(self) -> bool:
        """Whether the response surely wins: where sides are alike, more than equals get; else more than is earned
        there at present."""
        if self.side is None and self.points is not None:
            return self.points.low > 0.5
        return self.gain is not None and self.gain.low > 0.0


def best_response(
    game: Game,
    policy: Any,
    train: Train,
    *,
    side: int | None = None,
    own: Any = None,
    games: int = 256,
    seed: int = 0,
) -> BestResponse:
    """Train against the policy, choose the attempt and the stage that earn most, and measure that one in other games.

    The games that choose are not those that measure: the best of several in the same games would look too good.
    Where sides are unlike, `side` is the one that answers, and `own` who drives it at present, if anybody.
    """
    spec, sides = game.spec, (0, 1) if side is None else (side,)
    check_answerable(spec, side)
    if games < 2 or games % 2:
        raise ConfigError(f"games must be even, half of them from each side, found {games}.")
    target = ready(TARGET, policy, spec)
    stages = [Stage(steps, [ready(RESPONSE, one, spec) for one in attempts]) for steps, attempts in train(target)]
    if not stages or not all(stage.attempts for stage in stages):
        raise ConfigError("Training gave no policy. It must give one for each attempt.")
    players = {RESPONSE: stages[0].attempts[0], TARGET: target}
    nothing = side is None and spec.zero_sum  # is what the policy earns against itself
    if not nothing and (own is not None or side is None):
        players[OWN] = target if own is None else ready(OWN, own, spec)
    names = [name for name in (RESPONSE, OWN) if name in players]
    lineups = [seated(name, place) for name in names for place in sides]
    match = prepare_match(game, lineups, players, games=games // len(sides))

    def played(attempt: Any, games_seed: int) -> list[MatchGames]:
        return match({**players, RESPONSE: attempt}, seed=games_seed)

    def mean(attempt: Any) -> float:
        return of_side(spec, played(attempt, seed)[: len(sides)], sides)[0].mean

    curve = tuple(Point(stage.steps, tuple(map(mean, stage.attempts))) for stage in stages)
    _, place, number = max((value, -k, -n) for k, point in enumerate(curve) for n, value in enumerate(point.returns))
    chosen = stages[-place].attempts[-number]  # of equals the first
    measured = played(chosen, seed + 1)
    returns, scores = of_side(spec, measured[: len(sides)], sides)
    points = rate_interval(*scores) if spec.score == "outcome" else None
    present = Interval(0.0, 0.0, 0.0, games) if nothing else None
    if OWN in players:
        present = student(*of_side(spec, measured[len(sides) :], sides)[0])
    return BestResponse(chosen, side, stages[-place].steps, games, points, student(*returns), present, curve)


def seated(name: str, side: int) -> tuple[str, str]:
    """A line-up with this player on a side, the policy that is answered on the other."""
    return (name, TARGET) if side == 0 else (TARGET, name)


def of_side(spec: GameSpec, played: Sequence[MatchGames], sides: Sequence[int] = (0, 1)) -> tuple[Moments, Moments]:
    """Of the return of a seat and of the points of whoever drove these sides: a game from each of them is one value."""
    pairs = list(zip(sides, played, strict=True))
    returns = [Moments.of(own.return_GS[:, list(spec.seats_of_side[side])].mean(1)) for side, own in pairs]
    scores = [Moments.of((np.sign(own.outcome_GK[:, side]) + 1) / 2) for side, own in pairs]
    return reduce(Moments.and_other, returns), reduce(Moments.and_other, scores)


def check_answerable(spec: GameSpec, side: int | None = None) -> None:
    if spec.sides != 2:
        raise ConfigError(
            f"A best response needs a game of two sides, found {spec.sides}. Train against a frozen side with "
            "--opponent instead."
        )
    if side is None and not spec.exchangeable_sides:
        raise ConfigError(
            "The sides of this game are not alike, so a response is of one of them. Name it: side=0 or 1."
        )
