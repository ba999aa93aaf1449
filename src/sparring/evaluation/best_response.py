"""A trained best response: a fresh learner that meets one frozen policy and nobody else. What it wins is a lower bound
of what can be won, and so of the policy's exploitability; a better learner or a larger budget may find more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.evaluation.match import prepare_match
from sparring.evaluation.scoring import MatchGames
from sparring.evaluation.tournament import ready
from sparring.games.game import Game
from sparring.statistics.intervals import Interval, mean_interval, wilson

Train = Callable[[Any], Sequence[Any]]
"""From a frozen policy to the policies that were trained against it, one for each attempt."""

RESPONSE, TARGET = "response", "target"


@dataclass(frozen=True)
class BestResponse:
    policy: Any
    games: int
    points: Interval | None
    """Share of points of the response, a draw one half; None where games are not won or lost."""
    mean_return: Interval
    """Of a seat of the response, over both sides. In a zero-sum game of sides that are alike this estimates a lower
    bound of exploitability (NashConv / 2): the policy against itself earns 0."""
    returns: tuple[float, ...]
    """Mean return of every attempt in the games that chose among them; the larger their spread, the more is left."""

    @property
    def exploitable(self) -> bool:
        """Whether the response surely wins: the interval is above what equals get."""
        measure, even = (self.mean_return, 0.0) if self.points is None else (self.points, 0.5)
        return measure.low > even


def best_response(game: Game, policy: Any, train: Train, *, games: int = 256, seed: int = 0) -> BestResponse:
    """Train against the policy, choose the attempt that earns most, and measure that one in other games.

    The games that choose are not those that measure: the best of several in the same games would look too good.
    """
    check_answerable(game.spec)
    if games < 2 or games % 2:
        raise ConfigError(f"games must be even, half of them from each side, found {games}.")
    target = ready(TARGET, policy, game.spec)
    attempts = [ready(RESPONSE, attempt, game.spec) for attempt in train(target)]
    if not attempts:
        raise ConfigError("Training gave no policy. It must give one for each attempt.")
    lineups = [(RESPONSE, TARGET), (TARGET, RESPONSE)]
    match = prepare_match(game, lineups, {RESPONSE: attempts[0], TARGET: target}, games=games // 2)

    def measured(attempt: Any, games_seed: int) -> tuple[np.ndarray, np.ndarray]:
        return of_response(game.spec, match({RESPONSE: attempt, TARGET: target}, seed=games_seed))

    means = [float(measured(attempt, seed)[0].mean()) for attempt in attempts]
    chosen = attempts[int(np.argmax(means))]
    returns_G, outcome_G = measured(chosen, seed + 1)
    won = (outcome_G > 0).sum() + (outcome_G == 0).sum() / 2
    points = wilson(float(won), games) if game.spec.score == "outcome" else None
    return BestResponse(chosen, games, points, mean_interval(returns_G), tuple(means))


def of_response(spec: GameSpec, played: Sequence[MatchGames]) -> tuple[np.ndarray, np.ndarray]:
    """return_G of a seat of the response and outcome_G of its side, of the games on side 0 and on side 1."""
    returns = [games.return_GS[:, list(spec.seats_of_side[side])].mean(1) for side, games in enumerate(played)]
    outcomes = [games.outcome_GK[:, side] for side, games in enumerate(played)]
    return np.concatenate(returns), np.concatenate(outcomes)


def check_answerable(spec: GameSpec) -> None:
    if spec.sides != 2 or not spec.exchangeable_sides:
        raise ConfigError(
            f"A best response needs a game of two sides that are alike, found {spec.sides} sides"
            f"{' that are not' if spec.sides == 2 else ''}. Train against a frozen side with --opponent instead."
        )
