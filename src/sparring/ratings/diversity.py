"""Does a pool hold different players that matter, or one best player and its weaker copies?"""

from typing import NamedTuple

import numpy as np

from sparring.ratings.payoff import Payoff


class Diversity(NamedTuple):
    effective: float
    """What players drawn from the equilibrium win of each other (arXiv:1901.08106): 0 where one beats all or all are
    equal, 1/3 in rock, paper, scissors, below 1/2. Copies of a player change nothing."""
    players: float
    """How many share the equilibrium: the exponential of its entropy. Copies count."""


def diversity(payoff: Payoff, nash_M: np.ndarray) -> Diversity:
    """By the equilibrium of the pool. Chance results of few games look like differences: compare pools that played
    equally often."""
    won_MM = np.maximum(2.0 * payoff.rate_MM - 1.0, 0.0)
    held_M = nash_M[nash_M > 0]
    return Diversity(float(nash_M @ won_MM @ nash_M), float(np.exp(-np.sum(held_M * np.log(held_M)))))
