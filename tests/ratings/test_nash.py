from time import process_time

import numpy as np
import pytest

from sparring.ratings import nash as nash_module
from sparring.ratings.nash import nash, nash_average, nash_zero_sum
from sparring.ratings.payoff import Payoff, RatingError

RPS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


def entropy(p_M):
    return -(p_M[p_M > 0] * np.log(p_M[p_M > 0])).sum()


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 1.0, 1.0), (1.0, 2.0, 5.0), (1e-3, 1e3, 1.0)])
def test_weighted_rock_paper_scissors_has_the_weights_of_the_opposite_pairs(a, b, c):
    p_M = nash(np.array([[0, -a, b], [a, 0, -c], [-b, c, 0]]))
    assert p_M == pytest.approx(np.array([c, b, a]) / (a + b + c), rel=1e-9)


def test_copies_of_a_strategy_share_its_mass_equally():
    rows = [0, 0, 0, 1, 2, 2]
    assert nash(RPS[np.ix_(rows, rows)]) == pytest.approx([1 / 9, 1 / 9, 1 / 9, 1 / 3, 1 / 6, 1 / 6], abs=1e-8)


def test_a_transitive_pool_is_pure_on_the_top_and_its_copies():
    skill_M = np.array([0.0, 3.0, 1.0, 2.0])
    assert nash(skill_M[:, None] - skill_M).tolist() == [0.0, 1.0, 0.0, 0.0]
    skill_M = np.array([3.0, 3.0, 1.0, 3.0])
    assert nash(skill_M[:, None] - skill_M) == pytest.approx([1 / 3, 1 / 3, 0.0, 1 / 3], abs=1e-8)


def test_where_nothing_matters_all_share():
    assert nash(np.zeros((4, 4))) == pytest.approx(np.full(4, 0.25), abs=1e-9)
    assert nash(np.zeros((1, 1))).tolist() == [1.0]


def test_a_strategy_outside_limits_the_most_even_mixture_of_those_inside():
    """Strategies 0, 1 and 2 draw among themselves. Strategy 3 gains 2 from 0 and loses 1 to each of 1 and 2, so the
    uniform mixture is just safe; strategy 4 gains 3 from 0 and loses 1 to 1 and 2, so 0 may have a quarter only."""
    game_MM = np.zeros((5, 5))
    game_MM[3, :3], game_MM[4, :3] = [2.0, -1.0, -1.0], [3.0, -1.0, -1.0]
    game_MM = game_MM - game_MM.T
    without = nash(game_MM[:4, :4])
    assert without == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=1e-6)
    assert nash(game_MM) == pytest.approx([1 / 4, 3 / 8, 3 / 8, 0.0, 0.0], abs=1e-6)


def test_equilibria_of_games_full_of_ties_cannot_be_exploited_and_are_more_even_than_any_vertex():
    generator = np.random.default_rng(0)
    several = 0
    for _ in range(150):
        size = generator.integers(2, 12)
        game_MM = np.triu(generator.integers(-1, 2, (size, size)), 1).astype(float)
        game_MM = game_MM - game_MM.T
        p_M = nash(game_MM)
        vertex_M = nash_zero_sum(game_MM)[0]
        assert p_M.sum() == pytest.approx(1.0)
        assert (game_MM @ p_M).max() < 1e-6
        assert entropy(p_M) > entropy(vertex_M) - 1e-6
        several += entropy(p_M) > entropy(vertex_M) + 1e-3
    assert several > 15  # games in which the linear program alone is not enough


def test_masses_of_very_different_size_are_found():
    """Payoffs over six orders of magnitude; a program with bounded x fails here."""
    generator = np.random.default_rng(0)
    for _ in range(100):
        game_MM = generator.normal(size=(15, 15)) * 10.0 ** generator.uniform(-6, 0, (15, 15))
        game_MM = game_MM - game_MM.T
        assert (game_MM @ nash(game_MM)).max() < 1e-9


def test_matching_pennies_with_a_bonus():
    """[[3, -1], [-1, 1]]: p is 1/3, 2/3 for both and the value is 1/3."""
    p_R, q_C, value = nash_zero_sum(np.array([[3.0, -1.0], [-1.0, 1.0]]))
    assert p_R == pytest.approx([1 / 3, 2 / 3])
    assert q_C == pytest.approx([1 / 3, 2 / 3])
    assert value == pytest.approx(1 / 3)


def test_the_row_player_maximises_and_unequal_numbers_of_strategies_are_allowed():
    p_R, q_C, value = nash_zero_sum(
        np.array([[4.0, 2.0, 9.0], [1.0, 0.0, 12.0]])
    )  # the saddle: first row, second column
    assert (p_R.tolist(), q_C.tolist(), value) == ([1.0, 0.0], [0.0, 1.0, 0.0], 2.0)
    assert nash_zero_sum(np.array([[7.0]]))[2] == 7.0


def played(rate_MM, games=100):
    won_MM = np.rint(games * np.array(rate_MM)).astype(np.int64)
    np.fill_diagonal(won_MM, 0)
    return Payoff(tuple("abcdefgh"[: len(won_MM)]), won_MM, 0 * won_MM)


def test_nash_average_of_a_cycle_with_a_weak_fourth():
    payoff = played([[0.5, 0.2, 0.8, 0.9], [0.8, 0.5, 0.2, 0.9], [0.2, 0.8, 0.5, 0.9], [0.1, 0.1, 0.1, 0.5]])
    p_M, rating_M = nash_average(payoff)
    assert p_M == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0])
    assert rating_M == pytest.approx([0.0, 0.0, 0.0, np.log(10.5 / 90.5)])


def test_nash_averaging_plays_the_game_of_log_odds():
    p_M, rating_M = nash_average(played([[0.5, 0.4, 0.9], [0.6, 0.5, 0.3], [0.1, 0.7, 0.5]]))
    weight_M = np.log([70.5 / 30.5, 90.5 / 10.5, 60.5 / 40.5])  # each player has the odds of the two others
    assert p_M == pytest.approx(weight_M / weight_M.sum())
    assert rating_M == pytest.approx(np.zeros(3), abs=1e-9)


def test_a_copy_of_a_player_changes_the_rating_of_nobody():
    rate_MM = np.array([[0.5, 0.3, 0.6], [0.7, 0.5, 0.2], [0.4, 0.8, 0.5]])
    rows = [0, 1, 2, 0]
    copied_MM = rate_MM[np.ix_(rows, rows)]
    (p_M, rating_M), (copied_p_M, copied_M) = nash_average(played(rate_MM)), nash_average(played(copied_MM))
    assert copied_M == pytest.approx(rating_M[rows], abs=1e-8)
    assert copied_p_M == pytest.approx([p_M[0] / 2, p_M[1], p_M[2], p_M[0] / 2], abs=1e-8)


def test_nash_averaging_refuses_a_table_with_gaps():
    with pytest.raises(RatingError, match="1 of 3 pairs never met, such as 'a' and 'c'"):
        nash_average(Payoff.empty(["a", "b", "c"]).with_games(0, 1, 1, 0, 0).with_games(1, 2, 1, 0, 0))


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.zeros((2, 3)), "square"),
        (np.zeros((0, 0)), "square"),
        (np.array([[0.5, 0.7], [0.3, 0.5]]), "antisymmetric"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "finite"),
    ],
)
def test_what_is_no_symmetric_zero_sum_game_is_refused(matrix, sentence):
    with pytest.raises(RatingError, match=sentence):
        nash(matrix)


@pytest.mark.parametrize("matrix", [np.zeros((0, 2)), np.array([[1.0, np.inf]])])
def test_a_matrix_without_finite_payoffs_is_refused(matrix):
    with pytest.raises(RatingError, match="finite payoffs"):
        nash_zero_sum(matrix)


def test_a_solver_that_fails_is_one_kind_of_error(monkeypatch):
    def broken(*_, **__):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(nash_module, "null_space", broken)
    with pytest.raises(RatingError, match="SVD did not converge"):
        nash(RPS)


def test_a_wrong_answer_of_the_solver_is_not_handed_on(monkeypatch):
    monkeypatch.setattr(nash_module, "_most_even", lambda *_: np.array([1.0, 0.0, 0.0]))
    with pytest.raises(RatingError, match=r"best response still gains 1\.0e\+00"):
        nash(RPS)


def test_sixty_four_players_take_less_than_two_seconds():
    generator = np.random.default_rng(0)
    won_MM = np.triu(generator.binomial(20, 0.5, (64, 64)), 1)  # equals: the widest support, the hardest case
    won_MM = won_MM + np.tril(20 - won_MM.T, -1)
    begun = process_time()
    p_M, _ = nash_average(Payoff(tuple(map(str, range(64))), won_MM, 0 * won_MM))
    assert process_time() - begun < 2.0
    assert (p_M > 0).sum() > 10
