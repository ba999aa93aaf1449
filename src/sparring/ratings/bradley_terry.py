"""Bradley-Terry ratings: one number per player, fitted to all games at once (1952, doi:10.2307/2334029).

A draw counts as half a win for both. A difference of ratings then always means an expected share of points, so curves
of different runs compare. Davidson's model (1970, doi:10.1080/01621459.1970.10481082) also fits how likely draws are.
In simulated round robins of 8 players with 100 games per pair it predicted points as well where its assumption holds
(mean error 0.014 for both) and worse where even players always draw (0.028 against 0.010); there its narrower intervals
held the truth in 47 % of cases.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, stdtrit

from sparring.ratings.payoff import Payoff, RatingError

ELO = 400.0 / log(10.0)
"""Elo points of one unit of log odds, 173.7."""

STEPS = 200
"""Newton needs about ten; more means that the numbers are out of reach of float64."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """On the Elo scale: 400 points more are ten times the odds."""

    names: tuple[str, ...]
    rating_M: np.ndarray
    """nan for a player that no chain of games connects with the anchor."""
    low_M: np.ndarray
    high_M: np.ndarray


def bradley_terry(payoff: Payoff, *, anchor: str | None, confidence: float = 0.95) -> Ratings:
    """Ratings with the anchor at 0; without an anchor the mean of the largest connected group is 0.

    Intervals are those of the difference to the anchor, from the curvature of the likelihood and from how much starts
    really vary (Huber 1967, White 1982, doi:10.2307/1912526), since two games of one start are not independent. They
    are symmetric: for a player that never lost, the upper end is too low.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence lies between 0 and 1, found {confidence}: for 95 % write 0.95")
    if not payoff.names:
        raise RatingError("ratings need at least one player, found an empty table: add players")
    group_M = connected_groups(payoff)
    skill_M, information_MM = fit(payoff)
    # -information_MM off the diagonal: what a pair would vary by if its games were independent.
    noise_MM = _laplacian(-information_MM * payoff.dispersion_MM)
    home = np.bincount(group_M).argmax() if anchor is None else group_M[payoff.place(anchor)]
    at = np.flatnonzero(group_M == home)
    # The likelihood knows differences only. A constant added to the information of a connected group makes it
    # invertible, and cancels in every difference.
    inverse = np.linalg.inv(information_MM[np.ix_(at, at)] + 1.0)
    covariance = inverse @ noise_MM[np.ix_(at, at)] @ inverse
    # What a rating is compared with: the anchor, or the mean.
    zero = np.full(len(at), 1.0 / len(at)) if anchor is None else (at == payoff.place(anchor)).astype(float)
    variance = covariance.diagonal() - 2.0 * covariance @ zero + zero @ covariance @ zero
    # The noise was found from starts too: Student's quantile, with the freedom of all starts of a player.
    freedom = np.maximum((payoff.count_MM - 1).clip(0).sum(axis=1)[at], 1)
    half = ELO * stdtrit(freedom, 0.5 + confidence / 2.0) * np.sqrt(np.maximum(variance, 0.0))
    rating_M, low_M, high_M = (np.full(len(payoff.names), unknown) for unknown in (np.nan, -np.inf, np.inf))
    rating_M[at] = ELO * (skill_M[at] - zero @ skill_M[at])
    low_M[at], high_M[at] = rating_M[at] - half, rating_M[at] + half
    return Ratings(payoff.names, rating_M, low_M, high_M)


def connected_groups(payoff: Payoff) -> np.ndarray:
    """group_M: players with the same number are connected by games, if need be through others."""
    return connected_components(payoff.games_MM > 0, directed=False)[1]


def fit(payoff: Payoff) -> tuple[np.ndarray, np.ndarray]:
    """Log odds skill_M, with mean 0 in each connected group, and the information of the games about it.

    The prior keeps unbeaten players finite: each player has one more game on average, a draw, spread over the opponents
    it met. One draw with the anchor would do that too, but it pulls all players towards the anchor: the top of a ladder
    of 20 rungs, each 174 Elo above the last and 100 games between neighbours, came out 876 Elo too low, and 41 too high
    with this prior, where the spread of estimates was 200.
    """
    share_MM = payoff.games_MM / np.maximum(payoff.games_MM.sum(axis=1, keepdims=True), 1)
    virtual_MM = (share_MM + share_MM.T) / 2.0
    points_MM, games_MM = payoff.points_MM + virtual_MM / 2.0, payoff.games_MM + virtual_MM
    group_M = connected_groups(payoff)
    together_MM = group_M[:, None] == group_M
    skill_M = np.zeros(len(payoff.names))
    for _ in range(STEPS):
        rate_MM = expit(skill_M[:, None] - skill_M)
        weight_MM = games_MM * rate_MM * (1.0 - rate_MM)
        information_MM = _laplacian(weight_MM)
        surplus_M = (points_MM - games_MM * rate_MM).sum(axis=1)
        step_M = np.linalg.solve(information_MM + together_MM, surplus_M)
        # Where log odds of played pairs move by up to d, the curvature grows at most by exp(d); so the likelihood rises
        # all along this part of the step, and near the optimum the part is the whole.
        moved = float(np.abs(step_M[:, None] - step_M)[games_MM > 0].max(initial=1e-300))
        skill_M = skill_M + step_M * np.log1p(moved) / moved
        if moved < 1e-7:
            return skill_M, information_MM
    raise RatingError(f"Bradley-Terry ratings did not settle in {STEPS} steps: look for pairs with very uneven counts")


def _laplacian(weight_MM: np.ndarray) -> np.ndarray:
    """What is known of differences between players, from what is known of each pair; the diagonal is not looked at."""
    between_MM = weight_MM * ~np.eye(len(weight_MM), dtype=bool)
    return np.diag(between_MM.sum(axis=1)) - between_MM
