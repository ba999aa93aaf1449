"""Cross-play tables small enough to work out by hand."""

import json

import numpy as np
import pytest

from sparring.ratings.conventions import conventions, fits
from sparring.ratings.cross_play import CrossPlay
from sparring.ratings.payoff import RatingError


def table(mean, *, variance=0.0, starts=16, names="abcdefg") -> CrossPlay:
    count = len(mean)
    shape = (count, count)
    return CrossPlay(tuple(names[:count]), mean, np.full(shape, variance), np.full(shape, starts))


LEFT_LEFT_RIGHT = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
"""Two drive on the left, one on the right."""
STAG_HARE = [[4, 4, 0, 0], [4, 4, 0, 0], [3, 3, 2, 2], [3, 3, 2, 2]]


def test_two_conventions_are_two_groups_and_the_gap_is_what_meeting_the_other_costs():
    found = conventions(table(LEFT_LEFT_RIGHT))
    # Of six ordered pairs of different players two agree.
    assert (found.self_play, found.cross_play) == (1.0, pytest.approx(1 / 3))
    assert found.gap is not None and found.gap.mean == found.gap.low == found.gap.high == pytest.approx(2 / 3)
    assert found.loss == pytest.approx(2 / 3)
    assert found.groups is not None
    assert [(group.names, group.inside, group.across) for group in found.groups] == [
        (("a", "b"), 1.0, 0.0),
        (("c",), 1.0, 0.0),
    ]
    assert found.group_M == [0, 0, 1] and found.order == [0, 1, 2]


def test_hunters_of_stag_and_of_hare_are_two_groups_of_which_one_is_the_better_partner():
    found = conventions(table(STAG_HARE))
    assert found.groups is not None
    assert [(group.names, group.inside, group.across) for group in found.groups] == [
        (("a", "b"), 4.0, 0.0),
        (("c", "d"), 2.0, 3.0),
    ]
    # D = (4 + 4 + 2 + 2) / 4; O: stag 4 0 0 and hare 3 3 2, twice each, over 12.
    assert (found.self_play, found.cross_play) == (3.0, pytest.approx(24 / 12))
    assert found.loss == pytest.approx(1 / 3)
    assert [round(one.mean, 3) for one in found.with_others] == [1.333, 1.333, 2.667, 2.667]
    assert [round(one.mean, 3) for one in found.to_others] == [3.333, 3.333, 0.667, 0.667]


def test_one_who_is_exploited_does_not_share_a_convention_with_the_one_who_gains():
    # The prisoner's dilemma: together the two earn more than the defector with its copy, but the cooperator loses.
    found = conventions(table([[3, 0], [5, 1]]))
    assert found.groups is not None and [group.names for group in found.groups] == [("a",), ("b",)]
    assert found.gap is not None and found.gap.mean == -0.5 and found.loss == -0.25


def test_players_that_are_the_same_have_no_gap_and_one_convention():
    found = conventions(table(np.full((3, 3), 2.0)))
    assert found.gap is not None and found.gap.mean == 0.0 and found.loss == 0.0
    assert found.groups is not None and [group.names for group in found.groups] == [("a", "b", "c")]
    assert found.groups[0].across is None and found.groups[0].misfits == 0


def test_a_player_that_fits_two_who_do_not_fit_each_other_makes_one_mixed_group():
    found = conventions(table([[1, 0, 1], [0, 1, 1], [1, 1, 1]]))
    assert found.groups is not None and [(g.names, g.misfits) for g in found.groups] == [(("a", "b", "c"), 1)]


def test_a_loss_parts_two_players_only_where_it_is_sure_and_larger_than_near():
    mean = [[1.0, 0.9], [1.0, 1.0]]
    assert not fits(table(mean), 0.05)[0, 1] and not fits(table(mean), 0.05)[1, 0], "one that loses is enough"
    assert fits(table(mean), 0.1)[0, 1]
    # The difference 0.1 - 0.05 has an error of 0.1 with a variance of 0.08 and 16 starts, of 0.01 with 0.0008.
    assert fits(table(mean, variance=0.08), 0.05)[0, 1]
    assert not fits(table(mean, variance=0.0008), 0.05)[0, 1]
    assert fits(table(mean, variance=np.nan, starts=1), 0.05)[0, 1], "one start says nothing"


def test_near_is_a_twentieth_of_the_largest_return_unless_said_otherwise():
    mean = [[-20.0, -20.9], [-20.9, -20.0]]
    assert conventions(table(mean)).near == pytest.approx(1.045)
    assert len(conventions(table(mean)).groups or ()) == 1
    assert len(conventions(table(mean), near=0.5).groups or ()) == 2


def test_the_interval_of_the_gap_adds_the_errors_of_a_pair_and_squares_those_of_different_games():
    found = conventions(table([[1.0, 0.0], [0.0, 1.0]], variance=0.16))  # an error of 0.1 each
    # Diagonal: (0.01 + 0.01) / 4. The pair: (0.1 + 0.1)^2 / 4. Together 0.015; 2.131 is Student's for 15.
    assert found.gap is not None
    assert found.gap.high - found.gap.mean == pytest.approx(2.1314 * np.sqrt(0.015), rel=1e-4)
    # With others there is one entry: 0.1.
    assert found.with_others[0].high == pytest.approx(2.1314 * 0.1, rel=1e-4)


def test_other_players_made_the_same_way_may_show_another_gap():
    found = conventions(table(np.kron(np.eye(2), np.ones((2, 2)))))  # two of each convention
    # Draws of four are all alike (gap 0), three to one (1/2) or two to two (2/3), times 4/3.
    others = found.gap_of_others
    assert others is not None and (others.low, others.high) == (0.0, pytest.approx(8 / 9))
    assert others.mean == pytest.approx(2 / 3) and others.count == 4
    assert conventions(table([[1, 0], [0, 1]])).gap_of_others is None


def test_a_share_of_nothing_is_not_taken():
    assert conventions(table([[0, -1], [1, -10]])).loss is None
    assert conventions(table([[0, 1], [1, 0]])).loss is None


def test_in_a_zero_sum_game_there_is_neither_gap_nor_convention():
    found = conventions(table([[0, 0.5], [-0.5, 0]]), zero_sum=True)
    assert (found.gap, found.gap_of_others, found.loss, found.groups) == (None, None, None, None)
    assert found.order == [0, 1] and found.with_others[0].mean == 0.5


def test_a_table_survives_a_file_and_counts_its_games():
    once = CrossPlay(("x", "y"), [[1, 2], [3, 4]], [[0.5, np.nan], [np.nan, 0]], [[8, 1], [1, 4]])
    again = CrossPlay.from_dict(json.loads(json.dumps(once.to_dict(), allow_nan=False)))
    assert again.names == once.names and once.games == again.games == 2 * (8 + 1 + 4)
    np.testing.assert_array_equal(again.variance_MM, once.variance_MM)
    assert np.isnan(once.interval(0, 1).low) and once.interval(0, 1).mean == 2
    assert once.interval(0, 0).high == pytest.approx(1 + 2.3646 * np.sqrt(0.5 / 8), rel=1e-4)


@pytest.mark.parametrize(
    ("names", "mean", "starts", "told"),
    [
        ("aa", np.eye(2), np.ones((2, 2)), "different names"),
        ("abc", np.eye(2), np.ones((2, 2)), "each of 3 players"),
        ("ab", np.eye(2), np.eye(2), "games of every pair"),
        ("ab", np.full((2, 2), np.inf), np.ones((2, 2)), "games of every pair"),
    ],
)
def test_what_is_no_table_is_refused(names, mean, starts, told):
    with pytest.raises(RatingError, match=told):
        CrossPlay(tuple(names), mean, np.zeros_like(mean), starts)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(RatingError, match="two players or more, found 1"):
        conventions(table([[1.0]]))
    with pytest.raises(RatingError, match="not negative, found -1"):
        conventions(table(LEFT_LEFT_RIGHT), near=-1)
