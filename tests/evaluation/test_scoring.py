from dataclasses import replace

import numpy as np
import pytest

from sparring.evaluation.scoring import MatchGames, merged, score_sides
from sparring.statistics.intervals import Moments
from sparring.statistics.rates import of_starts, over_seeds
from toy_games import timetable

SPEC = timetable([[0.0, 0.0, 0.0]], side_of_seat=(0, 1, 0)).spec
"""Side 0 holds the seats 0 and 2; the game is judged by return."""
WON = replace(SPEC, score="outcome")


def games(returns_GS, lengths, outcome_of_side_0) -> MatchGames:
    outcome_G = np.asarray(outcome_of_side_0, float)
    return MatchGames(np.asarray(returns_GS, float), np.asarray(lengths), np.stack([outcome_G, -outcome_G], axis=1))


FOUR = games([[1, 10, 3], [2, 20, 4], [0, 0, 0], [1, 30, 1]], [5, 7, 9, 11], [1, 1, 0, -1])


def test_a_side_is_scored_by_its_own_seats_and_outcomes():
    hunters, prey = score_sides(WON, [("learned", "random")], [[FOUR]])
    assert (hunters.team, hunters.opponents, hunters.side) == ("learned", "random", 0)
    assert (hunters.games, hunters.wins, hunters.draws, hunters.losses) == (4, 2, 1, 1)
    assert (prey.wins, prey.draws, prey.losses) == (1, 1, 2)
    assert hunters.length == 8.0
    # A seat of side 0 earned 2, 3, 0 and 1 in the four games; seat 1 earned 10, 20, 0 and 30.
    assert hunters.mean_return.mean == pytest.approx(1.5)
    assert prey.mean_return.mean == pytest.approx(15.0)


def test_a_draw_is_half_a_point_where_games_are_won_or_lost_and_there_are_no_points_elsewhere():
    hunters, prey = score_sides(WON, [("learned", "random")], [[FOUR]])
    assert hunters.points == of_starts([1, 0, 1, 0, 2])
    assert prey.points == of_starts([2, 0, 1, 0, 1])
    by_return = score_sides(SPEC, [("learned", "random")], [[FOUR]])[0]
    assert by_return.points is None
    assert (by_return.wins, by_return.draws, by_return.losses) == (0, 0, 0)


def test_of_several_seeds_the_mean_is_over_seeds_and_games_are_counted_together():
    other = games([[9, 0, 9], [9, 0, 9]], [1, 1], [1, -1])
    hunters, _ = score_sides(WON, [("learned", "random")], [[FOUR], [other]])
    assert hunters.games == 6
    assert (hunters.wins, hunters.losses) == (3, 2)
    assert hunters.mean_return.mean == pytest.approx((1.5 + 9.0) / 2)  # not (6 + 18) / 6
    assert hunters.length == pytest.approx((5 + 7 + 9 + 11 + 1 + 1) / 6)
    assert hunters.points == over_seeds([Moments.of([1.0, 1.0, 0.5, 0.0]), Moments.of([1.0, 0.0])])
    assert hunters.points.mean == pytest.approx((2.5 / 4 + 1 / 2) / 2) and hunters.points.count == 2


def test_what_two_sides_differ_by_is_no_uncertainty_of_their_mean():
    """All games are won from side 0 and lost from side 1: the mean is one half, whatever happened."""
    won, lost = (games([[1, 1, 1]] * 20, [1] * 20, [outcome] * 20) for outcome in (1, -1))
    scores = score_sides(WON, [("a", "b"), ("b", "a")], [[won, won]])
    (both,) = [score for score in merged(scores) if score.team == "a"]
    assert (both.games, both.wins, both.losses) == (40, 20, 20)
    assert both.points == of_starts([0, 0, 20, 0, 0]) and both.points.high < 0.56
    assert score_sides(WON, [("a", "b")], [[lost]])[0].points.mean == 0.0


def test_every_line_up_reads_its_own_games():
    other = games([[9, 0, 9]], [1], [1])
    scores = score_sides(SPEC, [("learned", "random"), ("random", "learned")], [[FOUR, other]])
    assert [(score.team, score.side, score.games) for score in scores] == [
        ("learned", 0, 4), ("random", 1, 4), ("random", 0, 1), ("learned", 1, 1),
    ]  # fmt: skip


def test_what_a_game_counts_is_a_mean_over_games_and_the_seats_of_a_side():
    """Seats 0 and 2 did it 1, 3 and 2, 2 times in two games; seat 1 never, then 5 times."""
    counting = replace(SPEC, counts=("hares",))
    two = games([[0, 0, 0]] * 2, [1, 1], [0, 0])._replace(count_GSJ=np.array([[[1], [0], [3]], [[2], [5], [2]]]))
    hunters, prey = score_sides(counting, [("learned", "random")], [[two]])
    assert hunters.counts == (("hares", 2.0),) and prey.counts == (("hares", 2.5),)
    assert score_sides(SPEC, [("learned", "random")], [[FOUR]])[0].counts == ()
    twice = [replace(hunters, games=6), replace(prey, team="learned", opponents="random", games=2)]
    assert merged(twice)[0].counts == (("hares", pytest.approx(2.125)),)  # 6 games of 2 and 2 of 2.5
