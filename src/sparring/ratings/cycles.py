"""How much of a pool goes round in circles: A beats B, B beats C, C beats A. Ratings cannot show it."""

from math import ceil
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from sparring.core.seeding import Seed
from sparring.ratings.bradley_terry import fit
from sparring.ratings.payoff import Payoff, RatingError


def cyclic_share(payoff: Payoff) -> float:
    """The share in [0, 1] of the energy of the log odds that no rating explains (arXiv:1901.08106).

    Log odds a of each pair are fitted by differences of ratings, weighted by games; the share is what is left of the
    sum of games x a^2. Where all pairs met equally often the best rating is the mean of a row. Noise looks cyclic:
    compare with `noise`. A schedule without loops shows no cycles, whatever the players; nor do equal rates.
    """
    left, energy = _energies(payoff.games_MM, payoff.logit_MM, _solver(payoff.games_MM))
    return left / energy if energy else 0.0


class Noise(NamedTuple):
    """What pools without cycles show that played as often."""

    floor: float
    """The cyclic share that 95 % of them stay below; 1 where the noise could be all there is."""
    p_value: float
    """How often they are at least as cyclic as this pool: small where there are cycles."""


def noise(payoff: Payoff, *, draws: int = 499, seed: int) -> Noise:
    """Simulated from the Bradley-Terry fit, start by start, each pair with the spread that its starts had: the two
    games of a start vary together.

    What is compared is the energy that no rating explains, not its share: the fit follows the noise of these games, so
    pools made from it have more energy that a rating explains than the truth has, and smaller shares.
    """
    if draws < 19:
        raise RatingError(f"a 95 % quantile needs at least 19 simulated pools, found draws={draws}: 499 is usual")
    solver_MM, skill_M = _solver(payoff.games_MM), fit(payoff)[0]
    own, energy = _energies(payoff.games_MM, payoff.logit_MM, solver_MM)
    if not energy:
        return Noise(0.0, 1.0)
    pairs = np.nonzero(np.triu(payoff.games_MM))
    games_P, count_P = payoff.games_MM[pairs], payoff.count_MM[pairs]
    spread_P = payoff.dispersion_MM[pairs] * count_P / games_P
    chance_P3 = results(expit(skill_M[pairs[0]] - skill_M[pairs[1]]), spread_P)
    generator, found, upper_MM = (Seed.of(seed) / "noise floor").generator(), [], np.zeros_like(solver_MM)
    for _ in range(draws):
        points_P = generator.multinomial(count_P, chance_P3) @ [0.0, 0.5, 1.0] * games_P / count_P
        upper_MM[pairs] = np.log(points_P + 0.5) - np.log(games_P - points_P + 0.5)
        found.append(_energies(payoff.games_MM, upper_MM - upper_MM.T, solver_MM)[0])
    # The quantile of a finite number of draws, such that it is passed exactly where the p-value is 0.05 or less.
    at = max(0, ceil(0.95 * (draws + 1)) - 1)
    beyond = sum(one >= own * (1.0 - 1e-12) for one in found)
    return Noise(min(1.0, float(np.sort(found)[at]) / energy), (1 + beyond) / (draws + 1))


def results(rate_P: np.ndarray, spread_P: np.ndarray) -> np.ndarray:
    """chance_P3: a start is lost, halved or won, with this mean and `spread` times the most variance it could have.

    Halved stands for one won and one lost, and for draws. Where that would need fewer defeats than none, there is more.
    """
    most_P = rate_P * (1.0 - rate_P)
    halved_P = np.minimum(4.0 * (1.0 - spread_P) * most_P, 2.0 * np.minimum(rate_P, 1.0 - rate_P))
    return np.stack([1.0 - rate_P - halved_P / 2.0, halved_P, rate_P - halved_P / 2.0], axis=-1).clip(0.0, 1.0)


def cycle_count(payoff: Payoff, mark: float = 0.7) -> int:
    """Triples in which each beats the next at a rate of at least `mark`, round the loop."""
    if not 0.5 < mark <= 1.0:
        raise RatingError(f"a mark lies above 0.5, where one of two beats the other, and up to 1, found {mark}")
    beats_MM = (payoff.rate_MM >= mark).astype(np.float64)
    return round(float(np.einsum("ij,ji->", beats_MM @ beats_MM, beats_MM)) / 3)


def _solver(games_MM: np.ndarray) -> np.ndarray:
    """The matrix that turns weighted row sums into the ratings of least squares; groups apart have ratings apart."""
    return np.linalg.pinv(np.diag(games_MM.sum(axis=1)) - games_MM.astype(np.float64), hermitian=True)


def _energies(games_MM: np.ndarray, logit_MM: np.ndarray, solver_MM: np.ndarray) -> tuple[float, float]:
    """What the best ratings leave of the energy of the log odds, and all of it."""
    rating_M = solver_MM @ (games_MM * logit_MM).sum(axis=1)
    left_MM = logit_MM - (rating_M[:, None] - rating_M)
    return float((games_MM * left_MM**2).sum()), float((games_MM * logit_MM**2).sum())
