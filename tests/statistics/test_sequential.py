from math import inf, log, nan

import numpy as np
import pytest
from scipy.stats import ttest_ind_from_stats

from sparring.statistics.sequential import (
    games_to_see,
    running_half_width,
    sprt,
    surely_above,
    symmetry_evidence,
    welch,
)


def test_the_bounds_of_five_percent_are_the_logarithm_of_nineteen():
    decision = sprt(0, 0, null=0.5, alternative=0.55)
    assert (decision.lower, decision.upper) == pytest.approx((-2.944439, 2.944439), abs=1e-6)
    assert (decision.verdict, decision.ratio) == ("go on", 0.0)


def test_other_errors_move_each_its_own_bound():
    decision = sprt(0, 0, null=0.5, alternative=0.6, alpha=0.01, beta=0.2)
    assert decision.upper == pytest.approx(log(80))  # 0.8 / 0.01
    assert decision.lower == pytest.approx(-log(4.95))  # 0.2 / 0.99


def test_the_ratio_of_three_wins_and_two_defeats():
    decision = sprt(3, 2, null=0.5, alternative=0.75)
    assert decision.ratio == pytest.approx(log(1.5**3 * 0.5**2))  # 0.84375 times as likely
    assert decision.verdict == "go on"


@pytest.mark.parametrize(
    ("won", "lost", "verdict"),
    [(7, 0, "go on"), (8, 0, "accept"), (0, 4, "go on"), (0, 5, "reject"), (8, 1, "go on"), (2, 5, "go on")],
)
def test_the_first_game_beyond_a_bound_decides(won, lost, verdict):
    """Of 0.5 and 0.75: a win multiplies by 1.5, a defeat by 0.5; 1.5**7 = 17.1 < 19 < 25.6 and 1/16 > 1/19 > 1/32."""
    assert sprt(won, lost, null=0.5, alternative=0.75).verdict == verdict


def test_a_ratio_on_the_bound_decides():
    assert sprt(1, 0, null=0.25, alternative=0.5, alpha=0.25, beta=0.5).verdict == "accept"  # 2 = 0.5 / 0.25
    assert sprt(0, 1, null=0.5, alternative=0.75, alpha=0.5, beta=0.25).verdict == "reject"  # 1/2 = 0.25 / 0.5


def stopped(rate, generator, **rates):
    won = lost = 0
    while (verdict := sprt(won, lost, **rates).verdict) == "go on":
        win = generator.random() < rate
        won, lost = won + win, lost + (not win)
    return verdict


@pytest.mark.parametrize(("rate", "wrong"), [(0.4, "accept"), (0.6, "reject")])
def test_it_errs_at_most_as_often_as_it_says_though_asked_after_every_game(rate, wrong):
    generator = np.random.default_rng(5)
    verdicts = [stopped(rate, generator, null=0.4, alternative=0.6) for _ in range(1000)]
    assert 0.02 < verdicts.count(wrong) / 1000 < 0.05 + 0.015  # overshoot makes it a little less than 0.05


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"null": 0.0}, "null is a rate"),
        ({"alternative": 1.0}, "alternative is a rate"),
        ({"null": 0.6, "alternative": 0.6}, "tells them apart"),
        ({"alpha": 0.0}, "alpha and beta"),
        ({"beta": 0.0}, "alpha and beta"),
        ({"alpha": 0.5, "beta": 0.5}, "sum below 1"),
        ({"won": -1}, "cannot be negative"),
        ({"lost": -1}, "cannot be negative"),
    ],
)
def test_a_test_that_cannot_be_is_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        sprt(**{"won": 1, "lost": 1, "null": 0.5, "alternative": 0.6, **settings})


def test_wins_alone_show_a_rate_above_a_mark_when_higher_rates_explain_them_forty_times_as_well():
    """The mean of p ** n over p above m, over m ** n, is (1 - m ** (n + 1)) / (n + 1) / (1 - m) / m ** n."""
    for mark, enough in ((0.5, 8), (0.7, 15), (0.83, 29)):
        for wins in (enough - 1, enough):
            evidence = (1 - mark ** (wins + 1)) / (wins + 1) / (1 - mark) / mark**wins
            assert (evidence >= 40) == (wins == enough) == surely_above(wins, wins, mark)
    assert surely_above(7, 7, 0.5, confidence=0.9) and not surely_above(6, 6, 0.5, confidence=0.9)  # 20 times


def test_a_rate_that_is_not_above_the_mark_in_the_games_shows_nothing():
    assert not surely_above(500, 1000, 0.5) and not surely_above(0, 0, 0.5) and not surely_above(10, 1000, 0.5)
    assert surely_above(600.5, 1000, 0.5), "a draw is half a point"


@pytest.mark.parametrize("rate", [0.5, 0.8])
def test_one_who_looks_after_every_game_is_seldom_wrong_at_any_time(rate):
    won_RG = (np.random.default_rng(0).random((400, 400)) < rate).cumsum(axis=1)
    ever = [any(surely_above(int(won), game + 1, rate) for game, won in enumerate(own)) for own in won_RG]
    assert np.mean(ever) <= 0.025 + 3 * (0.025 * 0.975 / 400) ** 0.5


def test_a_mark_at_an_end_is_refused():
    for mark in (0.0, 1.0):
        with pytest.raises(ValueError, match="a mark is a rate between 0 and 1"):
            surely_above(1, 1, mark)


def test_welch_of_two_samples_with_one_degree_of_freedom_each():
    """t = 2 with 2 degrees of freedom: p = 1/2 - t / (2 sqrt(2 + t**2)) = 0.0917517."""
    assert welch(2.0, 1.0, 2, 0.0, 1.0, 2) == pytest.approx(0.5 - 1 / 6**0.5)
    assert welch(0.0, 1.0, 2, 2.0, 1.0, 2) == pytest.approx(0.5 + 1 / 6**0.5)


@pytest.mark.parametrize(
    "sides", [(0.6, 0.2, 30, 0.4, 0.25, 12), (3.0, 9.0, 5, 3.5, 0.01, 50), (1.0, 0.0, 9, 0.8, 0.1, 4)]
)
def test_welch_is_scipys_test_that_the_first_mean_is_greater(sides):
    mean_a, var_a, n_a, mean_b, var_b, n_b = sides
    theirs = ttest_ind_from_stats(
        mean_a, var_a**0.5, n_a, mean_b, var_b**0.5, n_b, equal_var=False, alternative="greater"
    )
    assert welch(*sides) == pytest.approx(theirs.pvalue, rel=1e-9)  # pyright: ignore


def test_values_without_spread_leave_no_doubt():
    assert welch(1.0, 0.0, 5, 0.5, 0.0, 5) == 0.0
    assert welch(0.5, 0.0, 5, 1.0, 0.0, 5) == 1.0
    assert welch(0.5, 0.0, 5, 0.5, 0.0, 5) == 0.5


def test_a_tiny_spread_is_not_lost_in_rounding():
    assert welch(2e-100, 1e-200, 2, 0.0, 1e-200, 2) == pytest.approx(0.5 - 1 / 6**0.5)


@pytest.mark.parametrize(
    "sides",
    [(9.0, 1.0, 1, 0.0, 1.0, 9), (9.0, 1.0, 9, 0.0, 1.0, 1), (inf, 1.0, 9, 0.0, 1.0, 9), (9.0, 1.0, 9, nan, 1.0, 9)],
)
def test_one_value_or_one_that_is_not_finite_shows_nothing(sides):
    assert welch(*sides) == 1.0


def test_symmetric_differences_seldom_gather_evidence_however_often_one_looks():
    random, alarms = np.random.default_rng(0), 0
    for _ in range(400):
        apart = random.standard_t(3, 500)
        total, squares = np.cumsum(apart), np.cumsum(apart**2)
        alarms += max(map(symmetry_evidence, total, squares, [100.0] * 500)) > log(20)
    assert alarms <= 0.05 * 400


def test_evidence_by_hand():
    # s = 3, q = 3, scale 1: half the log of 1 / 4, and 9 / 8.
    assert symmetry_evidence(3.0, 3.0, 1.0) == pytest.approx(0.5 * log(0.25) + 9 / 8)
    assert symmetry_evidence(0.0, 0.0, 1.0) == 0.0


def test_as_many_games_as_are_said_show_a_difference_as_often_as_is_said():
    random, games, seen = np.random.default_rng(0), games_to_see(0.2, 1.0, 0.01, 500), 0
    scale = 500 * (1.0 + 0.2**2)
    for _ in range(400):
        apart = random.normal(0.2, 1.0, games)
        found = map(symmetry_evidence, np.cumsum(apart), np.cumsum(apart**2), [scale] * games)
        seen += max(found) > log(100)
    assert 0.74 < seen / 400 < 0.92
    assert games_to_see(0.0, 1.0, 0.01, 500) == 0


def test_a_running_interval_holds_the_mean_at_every_look():
    random, missed = np.random.default_rng(0), 0
    for _ in range(200):
        values = random.normal(0.0, 1.0, 2000)
        looks = range(50, 2001, 50)
        missed += any(abs(values[:n].mean()) > running_half_width(values[:n].std(), n, 0.05, 500) for n in looks)
    assert missed <= 0.05 * 200
    assert running_half_width(1.0, 1, 0.05, 500) == float("inf")
