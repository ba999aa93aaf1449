"""How much of a pool goes round in circles: A beats B, B beats C, C beats A. Ratings cannot show it."""

import numpy as np
from scipy.special import expit

from sparring.core.seeding import Seed
from sparring.ratings.bradley_terry import fit
from sparring.ratings.payoff import Payoff, RatingError


def cyclic_share(payoff: Payoff) -> float:
    """The share in [0, 1] of the energy of the log odds that no rating explains (arXiv:1901.08106).

    Log odds a of each pair are fitted by differences of ratings, weighted by games; the share is what is left of the
    sum of games x a^2. Where all pairs met equally often the best rating is the mean of a row. Noise looks cyclic:
    compare with `noise_floor`. A schedule without loops shows no cycles, whatever the players; nor do equal rates.
    """
    return _share(payoff.games_MM, payoff.logit_MM, _solver(payoff.games_MM))


def noise_floor(payoff: Payoff, *, draws: int = 200, seed: int) -> float:
    """The mean cyclic share of pools without cycles that played as often: simulated from the Bradley-Terry fit.

    Drawn games stay drawn; only the others are played again.
    """
    if draws < 1:
        raise RatingError(f"a noise floor needs at least 1 simulated pool, found draws={draws}: 200 is usual")
    skill_M, _ = fit(payoff)
    games_MM, drawn_MM = np.triu(payoff.games_MM), np.triu(payoff.drawn_MM)
    decided_MM = games_MM - drawn_MM
    points_MM = games_MM * expit(skill_M[:, None] - skill_M) - drawn_MM / 2.0
    rate_MM = np.clip(points_MM / np.maximum(decided_MM, 1), 0.0, 1.0)
    generator, solver_MM = (Seed.of(seed) / "noise floor").generator(), _solver(payoff.games_MM)
    shares = []
    for _ in range(draws):
        won_MM = generator.binomial(decided_MM, rate_MM)
        upper_MM = np.log(won_MM + drawn_MM / 2.0 + 0.5) - np.log(decided_MM - won_MM + drawn_MM / 2.0 + 0.5)
        shares.append(_share(payoff.games_MM, upper_MM - upper_MM.T, solver_MM))
    return float(np.mean(shares))


def cycle_count(payoff: Payoff, mark: float = 0.7) -> int:
    """Triples in which each beats the next at a rate of at least `mark`, round the loop."""
    if not 0.5 < mark <= 1.0:
        raise RatingError(f"a mark lies above 0.5, where one of two beats the other, and up to 1, found {mark}")
    beats_MM = (payoff.rate_MM >= mark).astype(np.float64)
    return round(float(np.einsum("ij,ji->", beats_MM @ beats_MM, beats_MM)) / 3)


def _solver(games_MM: np.ndarray) -> np.ndarray:
    """The matrix that turns weighted row sums into the ratings of least squares; groups apart have ratings apart."""
    return np.linalg.pinv(np.diag(games_MM.sum(axis=1)) - games_MM.astype(np.float64), hermitian=True)


def _share(games_MM: np.ndarray, logit_MM: np.ndarray, solver_MM: np.ndarray) -> float:
    rating_M = solver_MM @ (games_MM * logit_MM).sum(axis=1)
    left_MM = logit_MM - (rating_M[:, None] - rating_M)
    energy = float((games_MM * logit_MM**2).sum())
    return float((games_MM * left_MM**2).sum()) / energy if energy else 0.0
