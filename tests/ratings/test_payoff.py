import json

import numpy as np
import pytest

from sparring.ratings.payoff import Payoff, RatingError
from sparring.statistics.rates import of_starts


def test_wins_losses_and_draws_are_seen_from_both_sides():
    payoff = Payoff.empty(["ann", "bob"]).with_games("ann", "bob", won=5, drawn=2, lost=3)
    payoff = payoff.with_games(1, 0, won=1, drawn=1, lost=0)  # a second meeting, by rows, from bob's side
    assert payoff.won_MM.tolist() == [[0, 5], [4, 0]]
    assert payoff.drawn_MM.tolist() == [[0, 3], [3, 0]]
    assert payoff.games_MM.tolist() == [[0, 12], [12, 0]]
    assert payoff.points_MM.tolist() == [[0, 6.5], [5.5, 0]]


def test_a_draw_is_half_a_win_and_no_game_is_one_half():
    payoff = Payoff.empty(["ann", "bob", "cat"]).with_games("ann", "bob", won=1, drawn=2, lost=1)
    payoff = payoff.with_games("bob", "cat", won=3, drawn=1, lost=0)
    assert payoff.rate_MM.tolist() == [[0.5, 0.5, 0.5], [0.5, 0.5, 0.875], [0.5, 0.125, 0.5]]


def test_log_odds_are_shrunk_by_half_a_win_and_half_a_loss():
    payoff = Payoff.empty(["ann", "bob", "cat"]).with_games("ann", "bob", won=10, drawn=0, lost=0)
    expected_MM = np.log([[1.0, 21.0, 1.0], [1.0 / 21.0, 1.0, 1.0], [1.0, 1.0, 1.0]])  # 10.5 to 0.5
    assert payoff.logit_MM == pytest.approx(expected_MM)
    assert (payoff.logit_MM == -payoff.logit_MM.T).all()


def test_adding_games_leaves_the_old_table_alone():
    before = Payoff.empty(["ann", "bob"])
    before.with_games("ann", "bob", 1, 1, 1)
    assert not before.games_MM.any()
    for array_MM in (before.won_MM, before.games_MM, before.points_MM, before.rate_MM, before.logit_MM):
        with pytest.raises(ValueError, match="read-only"):
            array_MM[0, 1] = 1


def test_the_interval_of_a_pair_is_that_of_its_points():
    payoff = Payoff.empty(["ann", "bob", "cat"]).with_games("ann", "bob", won=6, drawn=3, lost=1)
    assert payoff.interval("ann", "bob") == of_starts([1, 0, 3, 0, 6])
    assert payoff.interval("bob", "ann") == of_starts([6, 0, 3, 0, 1])
    assert (payoff.interval("ann", "cat").low, payoff.interval("ann", "cat").high) == (0.0, 1.0)


def test_of_mirrored_games_the_start_is_the_unit():
    starts_5 = [1, 0, 6, 0, 3]  # two games each: 2 x 3 + 6 of 20 points
    payoff = Payoff.empty(["ann", "bob"]).with_games("ann", "bob", won=12, drawn=0, lost=8, starts_5=starts_5)
    assert payoff.interval("ann", "bob") == of_starts(starts_5)
    assert payoff.interval("bob", "ann") == of_starts(starts_5[::-1])
    assert (payoff.count_MM[0, 1], payoff.games_MM[0, 1]) == (10, 20)
    again = Payoff.from_dict(json.loads(json.dumps(payoff.to_dict())))
    assert again.starts_MM5.tolist() == payoff.starts_MM5.tolist()
    assert payoff.only(["bob", "ann"]).interval(0, 1) == payoff.interval("bob", "ann")
    assert payoff.merged(payoff).starts_MM5[0, 1].tolist() == [2, 0, 12, 0, 6]


def test_the_dispersion_is_that_of_starts_against_as_many_single_games():
    single = Payoff.empty("ab").with_games(0, 1, 5, 0, 5)
    assert single.dispersion_MM[0, 1] == 1.0
    starts_5 = [2, 0, 4, 0, 2]  # variance 1/7 where 1/4 is the most, and one more start of which nothing is known
    payoff = Payoff.empty("abc").with_games(0, 1, 8, 0, 8, starts_5=starts_5)
    assert payoff.dispersion_MM[0, 1] == pytest.approx(2 * (8 / 7 + 0.25) / 2.25)
    third = payoff.with_games(1, 2, 6, 0, 6, starts_5=[0, 0, 6, 0, 0])  # or what other pairs show: no spread
    usual = (0 + 0.25) / (6 / 4 + 0.25)
    assert third.dispersion_MM[0, 1] == pytest.approx(2 * (8 / 7 + 0.25 * usual) / 2.25)
    alike = payoff.with_games(0, 1, 1000, 0, 1000, starts_5=[0, 0, 1000, 0, 0])
    assert alike.dispersion_MM[0, 1] < 0.02


@pytest.mark.parametrize(
    ("starts_5", "told"), [([0, 0, 1, 0, 0], "one game or two"), ([0, 0, 5, 0, 0], "one game or two"),
                           ([-1, 0, 4, 0, 1], "mirrored")],
)  # fmt: skip
def test_starts_that_cannot_be_are_refused(starts_5, told):
    with pytest.raises(RatingError, match=told):
        Payoff.empty("ab").with_games(0, 1, 2, 0, 2, starts_5=starts_5)


def test_the_worst_opponent_is_one_that_was_met():
    payoff = Payoff.empty(["ann", "bob", "cat", "dan"]).with_games("ann", "bob", won=9, drawn=0, lost=1)
    payoff = payoff.with_games("cat", "ann", won=3, drawn=0, lost=7)
    name, interval = payoff.worst("ann")  # dan, never met, stands at 0.5 in the table of rates
    assert (name, interval) == ("cat", of_starts([3, 0, 0, 0, 7]))
    with pytest.raises(RatingError, match="'dan' has no worst opponent"):
        payoff.worst("dan")


def test_the_lowest_of_thirty_rates_at_seven_tenths_is_about_six_tenths():
    names = tuple(f"p{number}" for number in range(31))
    lowest, generator = [], np.random.default_rng(0)
    for _ in range(400):
        won_MM = np.zeros((31, 31), np.int64)
        won_MM[0, 1:] = generator.binomial(100, 0.7, 30)
        won_MM[1:, 0] = 100 - won_MM[0, 1:]
        lowest.append(Payoff(names, won_MM, 0 * won_MM).worst("p0")[1].mean)
    assert np.mean(lowest) == pytest.approx(0.604, abs=0.004)  # three standard errors


def test_a_part_of_the_table_keeps_the_order_asked_for():
    payoff = Payoff.empty(["ann", "bob", "cat"]).with_games("ann", "cat", 1, 2, 3).with_games("ann", "bob", 9, 9, 9)
    part = payoff.only(["cat", "ann"])
    assert part.names == ("cat", "ann")
    assert part.won_MM.tolist() == [[0, 3], [1, 0]]
    assert part.drawn_MM.tolist() == [[0, 2], [2, 0]]


def test_merged_tables_add_the_games_of_players_with_the_same_name():
    one = Payoff.empty(["ann", "bob"]).with_games("ann", "bob", 1, 2, 3)
    two = Payoff.empty(["cat", "bob", "ann"]).with_games("bob", "ann", 10, 0, 20).with_games("cat", "ann", 5, 1, 0)
    both = one.merged(two)
    assert both.names == ("ann", "bob", "cat")
    assert both.won_MM.tolist() == [[0, 21, 0], [13, 0, 0], [5, 0, 0]]
    assert both.drawn_MM.tolist() == [[0, 2, 1], [2, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("names", [[], ["ann"], ["ann", "bob"]])
def test_a_table_survives_json(names):
    payoff = Payoff.empty(names)
    if len(names) > 1:
        payoff = payoff.with_games("ann", "bob", 1, 2, 3)
    again = Payoff.from_dict(json.loads(json.dumps(payoff.to_dict())))
    assert again.names == payoff.names
    assert (again.won_MM == payoff.won_MM).all() and (again.drawn_MM == payoff.drawn_MM).all()


def test_a_name_that_is_not_there_is_answered_with_the_nearest():
    with pytest.raises(RatingError, match="Did you mean 'bob'"):
        Payoff.empty(["ann", "bob"]).interval("ann", "bobb")


def test_pairs_that_never_met_are_named():
    payoff = Payoff.empty(["ann", "bob", "cat"]).with_games("ann", "bob", 1, 0, 0)
    with pytest.raises(RatingError, match="2 of 3 pairs never met, such as 'ann' and 'cat'"):
        payoff.check_all_met()
    payoff.only(["bob", "ann"]).check_all_met()


@pytest.mark.parametrize(
    ("won", "drawn", "sentence"),
    [
        ([[0, 1.5], [1, 0]], [[0, 0], [0, 0]], "whole games"),
        ([[0, -1], [1, 0]], [[0, 0], [0, 0]], "negative"),
        ([[1, 0], [0, 0]], [[0, 0], [0, 0]], "against itself"),
        ([[0, 1], [1, 0]], [[0, 1], [2, 0]], "symmetric"),
        ([[0, 1, 1], [1, 0, 1]], [[0, 0], [0, 0]], r"shape \(2, 3\)"),
        ([0, 1, 1, 0], [[0, 0], [0, 0]], r"shape \(4,\)"),
    ],
)
def test_impossible_counts_are_refused(won, drawn, sentence):
    with pytest.raises(RatingError, match=sentence):
        Payoff(("ann", "bob"), won, drawn)


def test_half_a_game_cannot_be_added_nor_a_name_used_twice():
    with pytest.raises(TypeError):
        Payoff.empty(["ann", "bob"]).with_games("ann", "bob", 0.5, 0, 0)
    with pytest.raises(RatingError, match="different names"):
        Payoff.empty(["ann", "ann"])
