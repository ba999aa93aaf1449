"""Equilibria of zero-sum games, and Nash averaging: a rating that copies of a player cannot distort."""

from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import OptimizeResult, linprog

from sparring.ratings.payoff import Payoff, RatingError

TOLERANCE = 1e-6
"""What an opponent may gain from an equilibrium, as a share of the largest entry of the matrix."""

CLOSE = 1e-9
"""Singular values below this share of the largest are ties."""


def nash(payoff_MM: np.ndarray) -> np.ndarray:
    """p_M: the equilibrium of highest entropy of the symmetric zero-sum game with this antisymmetric matrix.

    It is unique, and copies of a strategy share its mass equally, which no vertex that a linear program returns does.
    """
    payoff_MM = np.asarray(payoff_MM, dtype=np.float64)
    if payoff_MM.ndim != 2 or payoff_MM.shape[0] != payoff_MM.shape[1] or not payoff_MM.size:
        raise RatingError(f"a symmetric game has a square matrix, found shape {payoff_MM.shape}: check the pool")
    scale = np.abs(payoff_MM).max()
    if not np.isfinite(scale) or np.abs(payoff_MM + payoff_MM.T).max() > 1e-9 * scale:
        raise RatingError("a symmetric zero-sum game has a finite antisymmetric matrix: use 2 x rate - 1, or log odds")
    game_MM = payoff_MM / (scale or 1.0)
    game_MM = (game_MM - game_MM.T) / 2.0
    try:
        p_M = _most_even(game_MM, *_every_equilibrium(game_MM))
    except np.linalg.LinAlgError as problem:
        raise RatingError(f"the most even equilibrium was not found: {problem}") from problem
    _check(float((game_MM @ p_M).max()))
    return p_M


def nash_zero_sum(payoff_RC: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """p_R, q_C and the value to the row player, who maximises. Where there are several equilibria, one vertex."""
    payoff_RC = np.asarray(payoff_RC, dtype=np.float64)
    if payoff_RC.ndim != 2 or not payoff_RC.size or not np.isfinite(payoff_RC).all():
        raise RatingError(f"a game has a matrix of finite payoffs, found shape {payoff_RC.shape}: check its entries")
    low, scale = payoff_RC.min(), np.ptp(payoff_RC)
    game_RC = (payoff_RC - low) / (scale or 1.0)
    rows, columns = game_RC.shape
    # Variables are p_R and the value v; every column must give the row player at least v.
    solution = _solve(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-game_RC.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * rows + [(None, None)],
    )
    p_R, q_C = _distribution(solution.x[:-1]), _distribution(-solution.ineqlin.marginals)
    _check(float((game_RC @ q_C).max() - (p_R @ game_RC).min()))
    return p_R, q_C, float(p_R @ payoff_RC @ q_C)


def nash_average(payoff: Payoff) -> tuple[np.ndarray, np.ndarray]:
    """p_M and rating_M, the log odds of each player against p_M (arXiv:1806.02643). At most 0, and 0 on the support.

    Every pair must have met: a player whom nobody met loses to nobody, and would be an equilibrium by itself.
    """
    payoff.check_all_met()
    p_M = nash(payoff.logit_MM)
    return p_M, payoff.logit_MM @ p_M


def _every_equilibrium(game_MM: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which strategies are in the support of some equilibrium, and an equilibrium in the interior of the set of all.

    With K = -A there is x >= 0 with Kx >= 0 and x + Kx > 0 (Tucker 1956, "Dual systems of homogeneous linear
    relations"). Since x'Kx = 0, a strategy has either x > 0, or Kx > 0: it loses against x and is in no equilibrium. As
    x may be scaled, the program below asks for x + Kx >= 1, so no threshold has to tell a small mass from none.
    """
    size = len(game_MM)
    # Variables are x and t <= 1 with t <= x + Kx, and the sum of t is as large as possible. Asking for x + Kx >= 1
    # directly is half the size, but where x must be large the solver finds no point to begin with.
    solution = _solve(
        np.append(np.zeros(size), -np.ones(size)),
        A_ub=np.block([[game_MM, np.zeros((size, size))], [game_MM - np.eye(size), np.eye(size)]]),
        b_ub=np.zeros(2 * size),
        bounds=[(0.0, None)] * size + [(0.0, 1.0)] * size,
    )
    x_M = solution.x[:size]
    inside = x_M > -game_MM @ x_M
    return inside, _distribution(np.where(inside, x_M, 0.0))


def _most_even(game_MM: np.ndarray, inside: np.ndarray, start_M: np.ndarray) -> np.ndarray:
    """The equilibrium of highest entropy, by an interior point method from one in the interior.

    Equilibria are the p with A p = 0 on the rows inside, A p <= 0 on the rows outside.
    """
    within = game_MM[np.ix_(inside, inside)]
    solutions = null_space(within, rcond=CLOSE)
    p = solutions @ (solutions.T @ start_M[inside])
    p = p / p.sum()
    # Changes of p that keep A p = 0 and the sum: what entropy may choose. Mostly there are none.
    directions = null_space(np.vstack([within, np.ones(len(p))]), rcond=CLOSE)
    if directions.shape[1]:
        sides = np.vstack([-game_MM[np.ix_(~inside, inside)], np.eye(len(p))])
        if not (sides @ p).min() > 0.0:
            raise RatingError("the set of equilibria was not found: two strategies may be too close to tell apart")
        for barrier in 10.0 ** -np.arange(13.0):
            p = _centre(p, directions, sides, barrier)
    p_M = np.zeros(len(game_MM))
    p_M[inside] = p
    return _distribution(p_M)


def _centre(p: np.ndarray, directions: np.ndarray, sides: np.ndarray, barrier: float) -> np.ndarray:
    """Newton steps to the minimum of sum p log p - barrier sum log(sides p), over p + directions z."""

    def cost(p: np.ndarray) -> float:
        slack = sides @ p
        return np.inf if slack.min() <= 0.0 else float(p @ np.log(p) - barrier * np.log(slack).sum())

    for _ in range(50):
        slack = sides @ p
        gradient = directions.T @ (np.log(p) - barrier * sides.T @ (1.0 / slack))
        pull = sides @ directions / slack[:, None]
        curvature = directions.T @ (directions / p[:, None]) + barrier * pull.T @ pull
        step = -np.linalg.solve(curvature, gradient)
        gain, length = -float(gradient @ step), 1.0
        if gain < 1e-14:
            break
        while cost(p + length * directions @ step) > cost(p) - 1e-4 * length * gain and length > 1e-12:
            length /= 2.0
        p = p + length * directions @ step
    return p


def _solve(cost: np.ndarray, **constraints: Any) -> OptimizeResult:
    solution = linprog(cost, **constraints)
    if solution.status != 0:
        raise RatingError(f"the linear program of an equilibrium was not solved: {solution.message.strip()}")
    return solution


def _distribution(mass: np.ndarray) -> np.ndarray:
    mass = np.maximum(mass, 0.0)
    return mass / mass.sum()


def _check(gain: float) -> None:
    if not gain <= TOLERANCE:
        raise RatingError(
            f"no equilibrium was found: a best response still gains {gain:.1e} of the largest payoff, where at most "
            f"{TOLERANCE:.0e} is rounding; two strategies may be too close to tell apart"
        )
