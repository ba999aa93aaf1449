"""What may be asked after every game: tests of a rate; and one of two means."""

from dataclasses import dataclass
from math import log, sqrt
from typing import Literal

from scipy.special import betainc, betaln, stdtr

from sparring.statistics.intervals import check_confidence, check_tally

Answer = Literal["accept", "reject", "go on"]


@dataclass(frozen=True)
class Decision:
    verdict: Answer
    """Accept or reject the alternative, or play on."""
    ratio: float
    """Log-likelihood ratio: above 0 the alternative explains the games better."""
    lower: float
    """Reject at or below this."""
    upper: float
    """Accept at or above this."""


def sprt(
    won: float, lost: float, *, null: float, alternative: float, alpha: float = 0.05, beta: float = 0.05
) -> Decision:
    """Wald's sequential probability ratio test of a win rate (Wald 1945, doi:10.1214/aoms/1177731118).

    `alpha`: how often the alternative is accepted where the null rate is true; `beta`: how often it is rejected where
    the alternative is. Both hold however often one looks, which an interval does not promise. Draws are left out: the
    rates are those of the games with a winner. Where all games are drawn it goes on for ever: the caller counts them.
    """
    for name, rate in (("null", null), ("alternative", alternative)):
        if not 0.0 < rate < 1.0:
            raise ValueError(f"{name} is a rate between 0 and 1, found {rate}: at the ends one game would decide")
    if null == alternative:
        raise ValueError(f"null and alternative are both {null}: no number of games tells them apart")
    if not (alpha > 0.0 and beta > 0.0 and alpha + beta < 1.0):
        raise ValueError(f"alpha and beta lie above 0 and sum below 1, found {alpha} and {beta}: 0.05 is usual")
    if won < 0 or lost < 0:
        raise ValueError(f"games cannot be negative, found {won} won and {lost} lost: check the tally")
    ratio = won * log(alternative / null) + lost * log((1.0 - alternative) / (1.0 - null))
    lower, upper = log(beta / (1.0 - alpha)), log((1.0 - beta) / alpha)
    verdict = "accept" if ratio >= upper else "reject" if ratio <= lower else "go on"
    return Decision(verdict, ratio, lower, upper)


def surely_above(points: float, games: int, mark: float, confidence: float = 0.95) -> bool:
    """Whether a rate is above a mark for sure, however often one asks and whenever one stops.

    The lower end of a confidence sequence (Robbins 1970; Howard et al. 2021, doi:10.1214/20-AOS1991): it is, where all
    rates above the mark together, weighed alike, explain the games 2 / (1 - confidence) times as well as the mark does.
    The rate may change from game to game, as that of a learner does: where it never was above the mark, the answer is
    ever yes with a chance of half of 1 - confidence at most. A draw counts one half, which keeps the promise. It asks
    for more than an interval that may be looked at once: 15 wins of 15 for a mark of 0.7, where that needs 11.
    """
    check_confidence(confidence)
    check_tally(points, games)
    if not 0.0 < mark < 1.0:
        raise ValueError(f"a mark is a rate between 0 and 1, found {mark}: at the ends nothing is to be shown")
    lost = games - points
    if points <= mark * games:
        return False
    above = betainc(lost + 1.0, points + 1.0, 1.0 - mark)  # share of the likelihood that lies above the mark
    explained = betaln(points + 1.0, lost + 1.0) - points * log(mark) - lost * log(1.0 - mark)
    return bool(log(above) + explained - log(1.0 - mark) >= log(2.0 / (1.0 - confidence)))


def welch(mean_a: float, var_a: float, n_a: int, mean_b: float, var_b: float, n_b: int) -> float:
    """One-sided p-value of Welch's t test (Welch 1947, doi:10.1093/biomet/34.1-2.28): small where a is better than b.

    The variances are those of samples (divided by n - 1) and need not be equal. Fewer than two values on a side, or a
    number that is not finite, show nothing: 1. Values without spread leave no doubt: 0 where a leads, 1 where b does.
    """
    if min(n_a, n_b) < 2 or not abs(mean_a) + abs(mean_b) + abs(var_a) + abs(var_b) < float("inf"):
        return 1.0
    square_a, square_b = var_a / n_a, var_b / n_b
    square = square_a + square_b
    if square <= 0.0:
        return 0.5 if mean_a == mean_b else float(mean_a < mean_b)
    # Shares of the whole rather than the squares themselves: those of tiny variances would be rounded to 0.
    freedom = 1.0 / ((square_a / square) ** 2 / (n_a - 1) + (square_b / square) ** 2 / (n_b - 1))
    return float(stdtr(freedom, (mean_b - mean_a) / sqrt(square)))
