"""alpha-rank: how much time a population that copies what wins spends at each strategy (arXiv:1903.01373)."""

import numpy as np

from sparring.ratings.payoff import RatingError

MOVED = 1e-4
"""A sweep ends when the order stays and no share moves by more than this."""


def alpha_rank(payoff_MM: np.ndarray, *, alpha: float | None = None, population: int = 50) -> np.ndarray:
    """p_M: the stationary distribution of one population that plays a symmetric game, payoffs from the row's view.

    `alpha` is how strongly a better strategy is preferred. Where it is not given, it rises until the order is stable.
    The sign of an advantage then matters more than its size, so noise decides in a pair near 0.5; an advantage below a
    ten-thousandth of the largest may count as none.
    """
    payoff_MM = np.asarray(payoff_MM, dtype=np.float64)
    if payoff_MM.ndim != 2 or payoff_MM.shape[0] != payoff_MM.shape[1] or not np.isfinite(payoff_MM).all():
        raise RatingError(f"a symmetric game has a square matrix of finite payoffs, found shape {payoff_MM.shape}")
    if population < 2 or (alpha is not None and not 0.0 < alpha < np.inf):
        raise RatingError(f"alpha-rank needs a population of 2 or more and alpha > 0, found {population} and {alpha}")
    # advantage_MM[s, t]: what a single t earns more than the s around it.
    advantage_MM = payoff_MM.T - payoff_MM
    if alpha is not None or not advantage_MM.any():
        return _stationary(_log_rates(advantage_MM, alpha or 1.0, population))
    return _settled(advantage_MM, population)


def _settled(advantage_MM: np.ndarray, population: int) -> np.ndarray:
    """Raise alpha fourfold, from where the largest advantage hardly matters to where the smallest decides."""
    alpha = 0.1 / np.abs(advantage_MM).max()
    before_M = _stationary(_log_rates(advantage_MM, alpha, population))
    for _ in range(40):
        alpha *= 4.0
        now_M = _stationary(_log_rates(advantage_MM, alpha, population))
        # Equal players differ by rounding, so they are compared after rounding, and keep their places.
        same = (np.argsort(before_M.round(6), kind="stable") == np.argsort(now_M.round(6), kind="stable")).all()
        if same and np.abs(now_M - before_M).max() < MOVED:
            return now_M
        before_M = now_M
    raise RatingError(f"the order of alpha-rank was not stable up to alpha {alpha:.0e}: give alpha yourself")


def _log_rates(advantage_MM: np.ndarray, alpha: float, population: int) -> np.ndarray:
    """log_rate_MM[s, t]: log of the chance that one t among s takes over, times a constant.

    The chance is (1 - exp(-a)) / (1 - exp(-m a)) with a = alpha x advantage and m = population, and 1 / m for a = 0.
    For a < 0 it is exp((m - 1) a) times that of -a, so nothing overflows.
    """
    strength_MM = alpha * np.abs(advantage_MM)
    even_MM = strength_MM == 0.0
    safe_MM = np.where(even_MM, 1.0, strength_MM)
    log_MM = np.log(-np.expm1(-safe_MM)) - np.log(-np.expm1(-population * safe_MM))
    uphill_MM = np.where(even_MM, -np.log(population), log_MM)
    return uphill_MM - np.where(advantage_MM < 0.0, (population - 1) * strength_MM, 0.0)


def _stationary(log_rate_MM: np.ndarray) -> np.ndarray:
    """The stationary distribution of a chain with these rates between different states.

    Elimination of one state after another (Grassmann, Taksar and Heyman 1985, doi:10.1287/opre.33.5.1107) never
    subtracts, so it works on logarithms, and rates as small as exp(-1e6) keep their meaning.
    """
    log_MM = log_rate_MM.copy()
    size = len(log_MM)
    for last in range(size - 1, 0, -1):
        log_MM[:last, last] -= np.logaddexp.reduce(log_MM[last, :last])
        detour = log_MM[:last, last, None] + log_MM[last, :last]
        log_MM[:last, :last] = np.logaddexp(log_MM[:last, :last], detour)
    log_p_M = np.zeros(size)
    for state in range(1, size):
        log_p_M[state] = np.logaddexp.reduce(log_p_M[:state] + log_MM[:state, state])
    p_M = np.exp(log_p_M - log_p_M.max(initial=0.0))
    return p_M / p_M.sum()
