"""Games of a contest that is judged by return, as leagues count them. Numbers are worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.league.book import Book
from sparring.league.player import bot_players, learners_named
from sparring.league.score import Score, counted, recent

POKER = GameSpec(
    seats=2, side_of_seat=(0, 1), action=ActionSpec(heads=(2,)), layout=(Feature("card", (1,)),),
    central=Central("world", 1), longest=1, zero_sum=True, score="return", stake=2.0,
)  # fmt: skip


def score_of(spec: GameSpec, returns: list[float]) -> Score:
    signs = np.sign(returns)
    counts = (int((signs == sign).sum()) for sign in (1, 0, -1))
    return counted(spec, len(returns), *counts, float(np.sum(returns)))


def test_games_of_equal_stakes_are_the_games_that_were_won():
    returns = [2.0, 2.0, 0.0, -2.0, 2.0]
    assert score_of(POKER, returns) == Score(3, 1, 1) == score_of(replace(POKER, score="outcome"), returns)


def test_many_small_gains_and_a_large_loss_are_no_lead():
    """Three hands of four are won and nothing is earned: by games won this would be a rate of 0.75."""
    assert score_of(POKER, [1.0, 1.0, 1.0, -3.0]) == Score(2, 0, 2)
    assert score_of(replace(POKER, stake=0.0), [1.0, 1.0, 1.0, -3.0]) == Score(3, 0, 1), "it has no stake"
    assert score_of(replace(POKER, zero_sum=False), [1.0, 1.0, 1.0, -3.0]) == Score(0, 4, 0), "nobody wins"


def test_a_rate_by_return_is_as_sure_as_that_of_as_many_games_won():
    """With the root mean square as the stake, parts of games have the mean and variance of games won at that rate."""
    returns = np.array([1.0, 1.0, 5.0, -1.0, -2.0, 4.0, -3.0, 1.0])
    spec = replace(POKER, stake=float(np.sqrt(np.mean(returns**2))))
    rate = score_of(spec, list(returns)).points / 8
    assert rate == pytest.approx(np.mean(0.5 + returns / (2 * spec.stake)), abs=1 / 1024)
    assert np.var(0.5 + returns / (2 * spec.stake)) == pytest.approx(rate * (1 - rate), abs=1e-3)


def test_what_is_beyond_all_points_counts_in_sums_and_not_in_rates():
    lucky = score_of(POKER, [6.0])
    assert lucky == Score(2, 0, -1) and (lucky.games, lucky.points) == (1, 1.0)
    assert lucky.plus(score_of(POKER, [-6.0])) == Score(1, 0, 1)
    assert lucky.interval().high == 1.0 and recent(np.array([-1.0, 0.0, 2.0])).low == 0.0
    (learner, bot) = (*learners_named(("learner",), ("",)), *bot_players(("fish",)))
    book = Book.blank((learner, bot)).after(np.array([[[0, 0, 0], lucky]]), 1.0)
    assert book.rates()[0, 1] == 1.0 and book.score(0, bot) == lucky and book.rating_M[0] > 0.0


def test_sums_of_parts_of_games_do_not_depend_on_their_order():
    parts = [score_of(replace(POKER, stake=1.46), [x]) for x in np.random.default_rng(0).normal(size=500)]
    forth, back = Score(), Score()
    for one, other in zip(parts, reversed(parts), strict=True):
        forth, back = forth.plus(one), back.plus(other)
    assert forth == back and forth.games == 500
