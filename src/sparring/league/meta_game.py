"""The meta-game of PSRO (policy-space response oracles, arXiv:1711.00832): past players are its pure strategies.

Its payoffs are measured in games apart from training. A solver turns them into the meta-strategy: how often each past
player is met by the next oracle, and what a run gives in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sparring.league.events import Event
from sparring.league.player import Player
from sparring.ratings.alpha_rank import alpha_rank
from sparring.ratings.nash import nash
from sparring.ratings.payoff import RatingError

MetaSolver = Literal["nash", "uniform", "alpha_rank"]
Pair = tuple[Player, Player]
"""An older and a younger past player."""

TOLD = 0.005
"""Least weight of a player that is named in a sentence."""


@dataclass(frozen=True)
class MetaStrategy(Event):
    """How often each past player is met from now on."""

    solver: str
    weights: dict[str, float]
    """By name, the oldest first."""

    def sentence(self) -> str:
        named = [(name, weight) for name, weight in self.weights.items() if weight >= TOLD]
        rest = len(self.weights) - len(named)
        told = ", ".join(f"{name} {weight:.2f}" for name, weight in named)
        return f"Meta-strategy now: {told}" + (f"; {rest} others less than {TOLD}." if rest else ".")


@dataclass(frozen=True, eq=False)
class MetaGame:
    """What is known of the first M past players."""

    payoff_MM: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """What the row earns against the column in a game, over both sides; antisymmetric."""
    weight_M: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """The meta-strategy."""

    def missing(self, past: Sequence[Player]) -> tuple[Pair, ...]:
        """Pairs whose games are to be played, now that these are the past players."""
        young = range(len(self.weight_M), len(past))
        return tuple((past[older], past[place]) for place in young for older in range(place))

    def with_payoffs(self, past: Sequence[Player], payoffs: Mapping[Pair, float]) -> np.ndarray:
        """payoff_MM of all these players; `payoffs` are what the older of each missing pair earned."""
        known, place = len(self.weight_M), {player: row for row, player in enumerate(past)}
        payoff_MM = np.zeros((len(past), len(past)))
        payoff_MM[:known, :known] = self.payoff_MM
        for older, younger in self.missing(past):
            row, column = place[older], place[younger]
            payoff_MM[row, column], payoff_MM[column, row] = payoffs[older, younger], -payoffs[older, younger]
        return payoff_MM


def meta_strategy(solver: MetaSolver, payoff_MM: np.ndarray) -> np.ndarray:
    """weight_M: the most even Nash equilibrium, all the same, or the time that alpha-rank's population spends at each.

    Raises RatingError where the solver finds nothing that can be used.
    """
    if solver == "uniform":
        return uniform(len(payoff_MM))
    weight_M = nash(payoff_MM) if solver == "nash" else alpha_rank(payoff_MM)
    if not np.isfinite(weight_M).all() or weight_M.min() < 0.0 or not abs(weight_M.sum() - 1.0) < 1e-6:
        raise RatingError(f"{solver} gave no distribution, but {weight_M}: use another solver")
    return weight_M


def uniform(players: int) -> np.ndarray:
    return np.full(players, 1.0 / players)
