"""Elo: a rating that follows along, game by game. A live trend only, since it depends on the order of games.

What is published comes from `bradley_terry`, which fits all games at once.
"""

from typing import Any

import numpy as np


def expected(own: float | np.ndarray, other: float | np.ndarray) -> Any:
    """Expected points of one game, of many at once where ratings are arrays; 400 points more are ten times the odds."""
    return 1.0 / (1.0 + 10.0 ** ((other - own) / 400.0))


def after(own: float, other: float, score: float, k: float = 16.0) -> float:
    """The rating after one game: `score` is 1 for a win, 0.5 for a draw, 0 for a loss; `k` is the largest change."""
    if not 0.0 <= score <= 1.0:
        raise ValueError(f"a score lies between 0 (lost) and 1 (won), found {score}: give the outcome, not a reward")
    return own + k * (score - expected(own, other))
