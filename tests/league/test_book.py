import json
from itertools import permutations

import numpy as np
import pytest

from sparring.league.ledger import Fading, Ledger, Score, faded
from sparring.league.player import LEARNER, PAST, SHADOW
from sparring.statistics.intervals import clopper_pearson

ONE = (Score(won=1), Score(drawn=1), Score(lost=1))


def test_each_game_fades_the_earlier_ones_first():
    fading = faded(Fading(2.0, 1.0, 4.0), Score(won=1), 0.5)
    assert fading == Fading(2.0, 0.5, 2.0)


@pytest.mark.parametrize("score", [Score(2, 1, 1), Score(1, 0, 0), Score(0, 0, 4), Score(0, 0, 0), Score(2, 0, 2)])
def test_games_at_once_count_as_they_would_one_by_one_on_average_over_all_orders(score):
    def one_by_one(order) -> Fading:
        fading = Fading(1.5, 0.25, 3.0)
        for outcome in order:
            fading = faded(fading, ONE[outcome], 0.9)
        return fading

    orders = permutations([outcome for outcome, count in enumerate(score) for _ in range(count)])
    expected = np.mean([one_by_one(order) for order in orders], axis=0)
    np.testing.assert_allclose(faded(Fading(1.5, 0.25, 3.0), score, 0.9), expected)


def test_no_outcome_outweighs_another_because_it_was_counted_last():
    assert faded(Fading(), Score(100, 0, 100), 0.99).rate() == pytest.approx(0.5, abs=0.005)
    assert faded(Fading(), Score(1000, 500, 2500), 0.99).rate() == pytest.approx(0.3125, abs=0.005)


def test_without_forgetting_counts_are_kept():
    assert faded(Fading(1, 2, 3), Score(4, 5, 6), 1.0) == Fading(5, 7, 9)


def test_the_memory_of_a_hundredth_is_a_hundred_games():
    assert sum(faded(Fading(), Score(5_000, 0, 5_000), 0.99)) == pytest.approx(100.0)


def test_a_rate_counts_a_draw_one_half_and_is_one_half_without_games():
    assert Fading().rate() == 0.5
    assert Fading(3, 2, 5).rate() == pytest.approx(0.4)
    assert Fading(1, 0, 0).rate() == 1.0
    assert Fading(1, 0, 0).rate(shrink=2.0) == pytest.approx(2 / 3)
    assert Fading().rate(shrink=2.0) == 0.5


def test_whole_counts_are_never_faded_and_give_the_interval():
    ledger = Ledger()
    for _ in range(50):
        ledger = ledger.after({PAST: Score(3, 2, 5)}, 0.5)
    assert ledger.score[PAST] == Score(150, 100, 250)
    assert ledger.interval(PAST) == clopper_pearson(200, 500)
    assert ledger.interval(PAST + 1).count == 0
    assert (ledger.interval(PAST + 1).low, ledger.interval(PAST + 1).high) == (0.0, 1.0)


def test_nothing_but_wins_is_a_rate_of_one_whatever_rounding_says():
    fading = [Fading(won, 0.0, 0.0) for won in np.linspace(3.0, 3.99, 1000).tolist()]
    assert any(one.won * 3 / one.won > 3 for one in fading)  # as of 3.94 fading games, which count as 3
    for found in (Ledger(fading={PAST: one}).recent(PAST) for one in fading):
        assert found.count == 3 and found.mean == pytest.approx(1.0) and found.high == 1.0


def test_players_do_not_fade_each_other():
    ledger = Ledger().after({PAST: Score(won=1)}, 0.5).after({SHADOW: Score(lost=8)}, 0.5)
    assert ledger.fading[PAST] == Fading(1.0, 0.0, 0.0)


def test_one_game_moves_both_ratings_by_elo():
    ledger = Ledger().after({PAST: Score(won=1)}, 1.0)
    assert (ledger.rating_of(LEARNER), ledger.rating_of(PAST)) == (8.0, -8.0)  # 16 * (1 - 1/2)
    drawn = ledger.after({PAST: Score(drawn=1)}, 1.0)
    assert 0.0 < drawn.rating_of(LEARNER) < 8.0, "a draw with a weaker one costs"


def test_thousands_of_games_at_once_do_not_overshoot():
    ledger = Ledger()
    for _ in range(30):
        ledger = ledger.after({PAST: Score(3_000, 0, 1_000)}, 1.0)
    gap = ledger.rating_of(LEARNER) - ledger.rating_of(PAST)
    assert gap == pytest.approx(400 * np.log10(3.0), abs=1.0)


def test_games_against_oneself_are_not_rated_or_counted():
    assert Ledger().after({LEARNER: Score(90, 0, 10), PAST: Score()}, 0.99) == Ledger()


def test_a_copy_begins_at_the_rating_of_the_learner():
    ledger = Ledger().after({PAST: Score(won=1)}, 1.0).born(PAST + 1)
    assert ledger.rating_of(PAST + 1) == 8.0


def test_one_who_left_is_forgotten():
    ledger = Ledger().after({PAST: Score(won=3), SHADOW: Score(lost=1)}, 0.9).without(PAST)
    assert set(ledger.score) == set(ledger.fading) == {SHADOW}
    assert PAST not in ledger.rating


def test_a_ledger_survives_json_bit_by_bit():
    ledger = Ledger().after({PAST: Score(3, 1, 2), SHADOW: Score(0, 0, 7)}, 0.97).born(PAST + 1)
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))) == ledger
