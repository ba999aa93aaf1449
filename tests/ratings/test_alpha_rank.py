from math import log

import numpy as np
import pytest

from sparring.ratings.alpha_rank import alpha_rank
from sparring.ratings.payoff import RatingError

RPS = np.array([[0.5, 0.0, 1.0], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5]])


def by_eigenvector(payoff_MM, alpha, population):
    """The definition: a chain with these chances of taking over, and its left eigenvector."""
    size = len(payoff_MM)
    chance_MM = np.zeros((size, size))
    for s in range(size):
        for t in range(size):
            a = alpha * (payoff_MM[t, s] - payoff_MM[s, t])
            if s != t:
                fixed = (1 - np.exp(-a)) / (1 - np.exp(-population * a)) if a else 1 / population
                chance_MM[s, t] = fixed / (size - 1)
    np.fill_diagonal(chance_MM, 1 - chance_MM.sum(axis=1))
    values, vectors = np.linalg.eig(chance_MM.T)
    vector = np.real(vectors[:, np.abs(values - 1).argmin()])
    return vector / vector.sum()


@pytest.mark.parametrize("alpha", [None, 0.01, 1.0, 1e5])
def test_rock_paper_scissors_is_uniform(alpha):
    assert alpha_rank(RPS, alpha=alpha) == pytest.approx(np.full(3, 1 / 3))


def test_two_strategies_by_hand():
    """Advantage 2, two individuals: the better takes over with (1 - e^-2a)/(1 - e^-4a), the worse with that at -2a; the
    ratio is e^2a, which is 3."""
    assert alpha_rank(np.array([[0.0, 1.0], [-1.0, 0.0]]), alpha=log(3) / 2, population=2) == pytest.approx(
        [0.75, 0.25]
    )


def test_a_larger_population_selects_more_sharply():
    """With m individuals the ratio is e^((m - 1) a): here 3^4."""
    p_M = alpha_rank(np.array([[0.0, 1.0], [-1.0, 0.0]]), alpha=log(3) / 2, population=5)
    assert p_M == pytest.approx([81 / 82, 1 / 82])


@pytest.mark.parametrize("population", [2, 10])
def test_the_distribution_is_the_eigenvector_of_the_chain(population):
    generator = np.random.default_rng(0)
    for size in (2, 3, 7):
        payoff_MM = generator.normal(size=(size, size))
        payoff_MM[0, 1] = payoff_MM[1, 0]  # a pair without advantage
        p_M = alpha_rank(payoff_MM, alpha=0.3, population=population)
        assert p_M == pytest.approx(by_eigenvector(payoff_MM, 0.3, population), rel=1e-6)


def test_a_dominated_strategy_gets_nothing():
    payoff_MM = np.full((4, 4), 0.5)
    payoff_MM[:3, :3], payoff_MM[3, :3], payoff_MM[:3, 3] = RPS, 0.2, 0.8
    assert alpha_rank(payoff_MM) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=1e-6)


def test_strong_selection_does_not_overflow_and_keeps_only_the_best():
    skill_M = np.array([0.1, 0.9, 0.3])
    p_M = alpha_rank(skill_M[:, None] - skill_M, alpha=1e6)
    assert p_M.tolist() == [0.0, 1.0, 0.0]


def test_the_risk_dominant_convention_wins_where_both_are_equilibria():
    """Stag and hare: hare earns 3 against a stag hunter who earns 0, and stag 4 against stag. A hare among stags earns
    3 - 0 more than those around it."""
    assert alpha_rank(np.array([[4.0, 0.0], [3.0, 2.0]])) == pytest.approx([0.0, 1.0], abs=1e-6)


def test_a_small_advantage_decides_in_the_end():
    payoff_MM = np.array([[0.5, 0.51, 1.0], [0.49, 0.5, 1.0], [0.0, 0.0, 0.5]])
    assert alpha_rank(payoff_MM, alpha=0.1) == pytest.approx([0.52, 0.48, 0.0], abs=0.01)
    assert alpha_rank(payoff_MM) == pytest.approx([1.0, 0.0, 0.0], abs=1e-3)


def test_equal_strategies_share():
    assert alpha_rank(np.full((5, 5), 0.5)) == pytest.approx(np.full(5, 0.2))
    assert alpha_rank(np.array([[1.0]])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("matrix", "settings", "sentence"),
    [
        (np.zeros((2, 3)), {}, "square"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), {}, "finite"),
        (RPS, {"alpha": 0.0}, "alpha > 0"),
        (RPS, {"population": 1}, "population of 2"),
    ],
)
def test_what_cannot_be_ranked_is_refused(matrix, settings, sentence):
    with pytest.raises(RatingError, match=sentence):
        alpha_rank(matrix, **settings)
