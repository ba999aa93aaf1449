"""All measures of a pool side by side, since each hides something: what the report of a tournament prints."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sparring.ratings.alpha_rank import alpha_rank
from sparring.ratings.bradley_terry import Ratings, bradley_terry
from sparring.ratings.cycles import Noise, cycle_count, cyclic_share, noise
from sparring.ratings.diversity import Diversity, diversity
from sparring.ratings.nash import nash_average
from sparring.ratings.payoff import Payoff
from sparring.statistics.intervals import Interval

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Summary:
    """A measure that could not be taken is None, and a sentence in `problems` says why."""

    names: tuple[str, ...]
    anchor: str | None
    ratings: Ratings | None
    nash_M: np.ndarray | None
    """The equilibrium of highest entropy of the log odds."""
    nash_rating_M: np.ndarray | None
    """Log odds of each player against that equilibrium; 0 on its support, negative elsewhere."""
    alpha_rank_M: np.ndarray | None
    """From win rates, alpha raised until the order is stable."""
    cyclic_share: float | None
    noise: Noise | None
    """What pools without cycles show."""
    cycles: int
    """Triples that beat each other round the loop at 0.7 or more."""
    diversity: Diversity | None
    worst: tuple[tuple[str, Interval] | None, ...]
    """For each player the opponent with the lowest win rate; biased low. None for a player without games."""
    problems: tuple[str, ...]


def summarise(payoff: Payoff, anchor: str | None, *, seed: int = 0) -> Summary:
    problems: list[str] = []

    def attempt(name: str, measure: Callable[[], T]) -> T | None:
        try:
            return measure()
        except (ValueError, ArithmeticError) as problem:  # LinAlgError is a ValueError
            problems.append(f"{name}: {problem}")
            return None

    def ranked() -> np.ndarray:
        payoff.check_all_met()
        return alpha_rank(payoff.rate_MM)

    nash_M, nash_rating_M = attempt("Nash average", lambda: nash_average(payoff)) or (None, None)
    return Summary(
        names=payoff.names,
        anchor=anchor,
        ratings=attempt("ratings", lambda: bradley_terry(payoff, anchor=anchor)),
        nash_M=nash_M,
        nash_rating_M=nash_rating_M,
        alpha_rank_M=attempt("alpha-rank", ranked),
        cyclic_share=attempt("cyclic share", lambda: cyclic_share(payoff)),
        noise=attempt("noise", lambda: noise(payoff, seed=seed)),
        cycles=cycle_count(payoff),
        diversity=None if nash_M is None else diversity(payoff, nash_M),
        worst=tuple(payoff.worst(row) if games else None for row, games in enumerate(payoff.games_MM.sum(axis=1))),
        problems=tuple(problems),
    )
