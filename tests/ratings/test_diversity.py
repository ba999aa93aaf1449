"""Diversity of pools whose worth is known."""

import numpy as np
import pytest

from sparring.ratings.diversity import Diversity, diversity
from sparring.ratings.nash import nash_average
from sparring.ratings.payoff import Payoff

RPS = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def pool(won_MM: np.ndarray, drawn_MM: np.ndarray | None = None) -> Payoff:
    names = tuple(f"p{i}" for i in range(len(won_MM)))
    return Payoff(names, won_MM, np.zeros_like(won_MM) if drawn_MM is None else drawn_MM)


def of(payoff: Payoff) -> Diversity:
    return diversity(payoff, nash_average(payoff)[0])


def test_rock_paper_and_scissors_share_the_equilibrium_and_win_a_third_of_each_other():
    found = of(pool(10_000 * RPS))
    assert found.effective == pytest.approx(1 / 3) and found.players == pytest.approx(3.0)


def test_copies_of_players_add_nothing_to_what_is_won():
    twice_MM = np.kron(10_000 * RPS, np.ones((2, 2), int))
    alike_MM = 10_000 * (np.kron(np.eye(3, dtype=int), np.ones((2, 2), int)) - np.eye(6, dtype=int))
    found = of(pool(twice_MM, alike_MM))
    assert found.effective == pytest.approx(1 / 3) and found.players == pytest.approx(6.0)


def test_a_ladder_has_one_player_that_matters_however_many_stand_below():
    found = of(pool(100 * np.tril(np.ones((5, 5), int), -1)))
    assert found.effective == pytest.approx(0.0, abs=1e-9) and found.players == pytest.approx(1.0)


def test_half_the_margin_is_half_the_diversity():
    # each beats the next in three games of four: a margin of 1/2 instead of 1
    won_MM = 7_500 * RPS + 2_500 * RPS.T
    assert of(pool(won_MM)).effective == pytest.approx(1 / 6)
