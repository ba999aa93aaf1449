"""Matrix games from payoffs that somebody writes down in words."""

import numpy as np

from sparring.core.errors import ConfigError
from sparring.games.matrix import MOST_CHOICES, MatrixGame, matrix_game


def custom(payoff: str = "0 -1 1; 1 0 -1; -1 1 0", second: str = "", rounds: int = 1) -> MatrixGame:
    """Your own payoffs for two: a row for each choice of the first, separated by ";", a number for each of the second.

    What the first earns the second loses, unless `second` says, in the same places, what the second earns.
    """
    first = _table("payoff", payoff)
    other = _table("second", second) if second else -first
    if first.shape != other.shape:
        raise ConfigError(f"second must have the shape of payoff, {first.shape}, found {other.shape}.")
    return matrix_game(np.stack([first, other]), rounds)


def _table(option: str, text: str) -> np.ndarray:
    rows = [row.replace(",", " ").split() for row in text.strip("; ").split(";")]
    example = 'write rows separated by ";", as in "0 -1 2; 1 0 -1; -2 1 0"'
    try:
        table = np.array([[float(word) for word in row] for row in rows])
    except ValueError:
        raise ConfigError(f"{option} must be rows of as many numbers each, found {text!r}: {example}.") from None
    if not table.size or table.shape[0] > MOST_CHOICES or table.shape[1] > MOST_CHOICES:
        raise ConfigError(f"{option} has {table.shape} payoffs, expected 1 to {MOST_CHOICES} on each side: {example}.")
    return table
