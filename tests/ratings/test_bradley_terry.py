from math import log10

import numpy as np
import pytest
from scipy.special import expit

from sparring.ratings.bradley_terry import ELO, bradley_terry
from sparring.ratings.payoff import Payoff, RatingError

T8 = 2.306004
"""Student's 97.5 % quantile of eight degrees of freedom."""
MOST = 7 / 9 * 2 / 9
"""The largest variance of a score of mean 7/9."""
VARIANCE = (6 + 2 / 4 - 9 * (7 / 9) ** 2) / 8
"""Of six wins, two draws and a defeat."""


def simulated(rate_MM, games_MM, generator, draw_MM=0.0):
    """A table in which the row player takes `rate_MM` of the points, and draws are as likely as `draw_MM`."""
    size = len(rate_MM)
    won_MM, drawn_MM = np.zeros((2, size, size), np.int64)
    draw_MM = np.broadcast_to(draw_MM, rate_MM.shape)
    for i, j in zip(*np.triu_indices(size, 1), strict=True):
        draw = draw_MM[i, j]
        chances = [rate_MM[i, j] - draw / 2, draw, 1 - rate_MM[i, j] - draw / 2]
        won_MM[i, j], drawn_MM[i, j], won_MM[j, i] = generator.multinomial(games_MM[i, j], chances)
    return Payoff(tuple(f"p{row}" for row in range(size)), won_MM, drawn_MM + drawn_MM.T)


def rates(skill_M):
    return expit(skill_M[:, None] - skill_M)


def test_two_players_have_the_odds_of_their_games_and_one_virtual_draw():
    payoff = Payoff.empty(["bot", "ann"]).with_games("ann", "bot", won=6, drawn=2, lost=1)
    ratings = bradley_terry(payoff, anchor="bot")
    assert ratings.rating_M == pytest.approx([0.0, 400 * log10(7.5 / 2.5)])  # 6 + 1 + 0.5 of 9 + 1
    dispersion = (9 * VARIANCE + 0.25) / (9 * MOST + 0.25)  # one more start counts, of which nothing is known
    half = T8 * ELO * (dispersion / (10 * 0.75 * 0.25)) ** 0.5
    assert ratings.high_M == pytest.approx([0.0, ratings.rating_M[1] + half], rel=1e-6)
    assert ratings.low_M == pytest.approx([0.0, ratings.rating_M[1] - half], rel=1e-6)


def test_starts_that_cancel_make_a_rating_surer_and_starts_that_agree_less_sure():
    def width(starts_5):
        payoff = Payoff.empty(["bot", "ann"]).with_games("ann", "bot", 60, 0, 60, starts_5=starts_5)
        ratings = bradley_terry(payoff, anchor="bot")
        return ratings.high_M[1] - ratings.rating_M[1]

    independent, agreeing = width([15, 0, 30, 0, 15]), width([30, 0, 0, 0, 30])
    assert agreeing / independent == pytest.approx(2**0.5, rel=0.02)
    assert width([0, 0, 60, 0, 0]) < independent / 5


def test_expected_points_of_a_round_robin_equal_the_points_made():
    generator = np.random.default_rng(0)
    payoff = simulated(rates(generator.normal(size=6)), np.full((6, 6), 10_000), generator, draw_MM=0.02)
    skill_M = bradley_terry(payoff, anchor="p3").rating_M / ELO
    assert skill_M[3] == 0.0
    made_M = payoff.points_MM.sum(axis=1)
    assert (payoff.games_MM * rates(skill_M)).sum(axis=1) == pytest.approx(made_M, abs=1.0)  # the virtual draw


def test_the_interval_comes_from_the_information_without_the_row_of_the_anchor():
    generator = np.random.default_rng(1)
    games_MM = np.array([[0, 900, 50], [900, 0, 300], [50, 300, 0]])
    payoff = simulated(rates(np.array([0.0, 0.7, -0.4])), games_MM, generator)
    ratings = bradley_terry(payoff, anchor="p0", confidence=0.5)
    rate_MM = rates(ratings.rating_M / ELO)
    weight_MM = games_MM * rate_MM * (1 - rate_MM)
    covariance = np.linalg.inv((np.diag(weight_MM.sum(axis=1)) - weight_MM)[1:, 1:])
    half_M = ELO * 0.674490 * np.sqrt(covariance.diagonal())  # games are independent
    assert (ratings.high_M - ratings.rating_M)[1:] == pytest.approx(half_M, rel=0.01)  # the virtual draws are the rest
    assert (ratings.rating_M - ratings.low_M)[1:] == pytest.approx(half_M, rel=0.01)


def test_intervals_hold_the_truth_as_often_as_they_say():
    generator = np.random.default_rng(2)
    inside = []
    for _ in range(300):
        skill_M = generator.normal(size=6)
        payoff = simulated(rates(skill_M), np.full((6, 6), 20), generator)
        for anchor, zero in (("p0", skill_M[0]), (None, skill_M.mean())):
            ratings = bradley_terry(payoff, anchor=anchor)
            true_M = ELO * (skill_M - zero)
            inside.append(((ratings.low_M <= true_M) & (true_M <= ratings.high_M))[1:])
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("drawn", ["even players draw", "half of all games"])
def test_draws_as_half_wins_give_true_expected_points_and_intervals_that_hold_the_truth(drawn):
    """The points follow Elo's curve; draws are as likely as they can be, or a constant share of what that leaves."""
    generator = np.random.default_rng(3)
    error, inside = [], []
    for _ in range(150):
        rate_MM = rates(generator.normal(size=6))
        most_MM = 2 * np.minimum(rate_MM, 1 - rate_MM)
        payoff = simulated(rate_MM, np.full((6, 6), 100), generator, most_MM * (1 if "even" in drawn else 0.5))
        ratings = bradley_terry(payoff, anchor="p0")
        error.append(np.abs(rates(ratings.rating_M / ELO) - rate_MM).mean())
        inside.append(
            ((expit(ratings.low_M / ELO) <= rate_MM[:, 0]) & (rate_MM[:, 0] <= expit(ratings.high_M / ELO)))[1:]
        )
    assert np.mean(error) < 0.02
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_a_player_that_never_lost_stays_finite_and_above_all_others():
    payoff = Payoff.empty(["bot", "ann", "bob"])
    payoff = (
        payoff.with_games("ann", "bot", 50, 0, 0).with_games("ann", "bob", 50, 0, 0).with_games("bob", "bot", 9, 0, 9)
    )
    ratings = bradley_terry(payoff, anchor="bot")
    assert np.isfinite(ratings.high_M).all()
    assert 400 < ratings.rating_M[1] < 1600
    assert ratings.rating_M[2] == pytest.approx(0.0, abs=20.0)


def test_a_ladder_of_neighbours_is_not_shrunk_towards_the_anchor():
    """A virtual draw with the anchor itself would take some 800 points off the top."""
    generator, skill_M = np.random.default_rng(4), np.arange(21.0)
    games_MM = 100 * (np.abs(skill_M[:, None] - skill_M) == 1).astype(np.int64)
    top = [bradley_terry(simulated(rates(skill_M), games_MM, generator), anchor="p0").rating_M[-1] for _ in range(20)]
    assert np.mean(top) == pytest.approx(20 * ELO, abs=150)  # a standard error is about 45


def test_who_is_the_anchor_changes_no_difference():
    payoff = (
        Payoff.empty(["bot", "ann", "bob"])
        .with_games(0, 1, 1, 0, 9)
        .with_games(1, 2, 3, 1, 0)
        .with_games(0, 2, 1, 1, 5)
    )
    one, two, none = (bradley_terry(payoff, anchor=anchor).rating_M for anchor in ("bot", "bob", None))
    assert one - one[2] == pytest.approx(two)
    assert none == pytest.approx(one - one.mean())


def test_players_without_a_chain_of_games_to_the_anchor_are_unknown():
    names = ["ann", "bob", "bot", "cat", "dan", "eve"]
    payoff = Payoff.empty(names).with_games("bot", "cat", 1, 0, 3).with_games("cat", "dan", 2, 0, 2)
    payoff = payoff.with_games("ann", "bob", 3, 0, 1)
    ratings = bradley_terry(payoff, anchor="bot")
    assert np.isnan(ratings.rating_M).tolist() == [True, True, False, False, False, True]
    assert (ratings.low_M[[0, 1, 5]] == -np.inf).all() and (ratings.high_M[[0, 1, 5]] == np.inf).all()
    alone = bradley_terry(payoff.only(["bot", "cat", "dan"]), anchor="bot")
    assert ratings.rating_M[2:5] == pytest.approx(alone.rating_M)
    assert ratings.high_M[2:5] == pytest.approx(alone.high_M)
    largest = bradley_terry(payoff, anchor=None)  # the group of bot, cat and dan
    assert np.isfinite(largest.rating_M).tolist() == [False, False, True, True, True, False]
    assert largest.rating_M[2:5].sum() == pytest.approx(0.0, abs=1e-9)


def test_extreme_tables_settle():
    size = 60
    won_MM = np.zeros((size, size), np.int64)
    won_MM[np.arange(1, size), np.arange(size - 1)] = 10**6  # each beats the one below a million times
    ladder = bradley_terry(Payoff(tuple(map(str, range(size))), won_MM, 0 * won_MM), anchor="0")
    assert (np.diff(ladder.rating_M) > 1000).all()
    won = [[0] * 5, [1, 0, 20340, 67521, 0], [4, 17, 0, 0, 8], [1, 0, 0, 0, 76757], [0, 0, 112, 0, 0]]
    uneven = Payoff(tuple("abcde"), np.array(won), np.zeros((5, 5), np.int64))  # whole Newton steps run away here
    expected_M = (uneven.games_MM * rates(bradley_terry(uneven, anchor="a").rating_M / ELO)).sum(axis=1)
    assert expected_M == pytest.approx(uneven.points_MM.sum(axis=1), abs=2.0)
    even = bradley_terry(Payoff.empty(["ann", "bob"]).with_games(0, 1, 10**9, 0, 10**9), anchor="ann")
    assert even.rating_M == pytest.approx([0.0, 0.0], abs=1e-6)


def test_what_cannot_be_rated_is_refused():
    with pytest.raises(RatingError, match="Unknown player 'bott'"):
        bradley_terry(Payoff.empty(["bot"]), anchor="bott")
    with pytest.raises(RatingError, match="empty table"):
        bradley_terry(Payoff.empty([]), anchor=None)
    with pytest.raises(ValueError, match=r"write 0\.95"):
        bradley_terry(Payoff.empty(["bot"]), anchor="bot", confidence=95)
