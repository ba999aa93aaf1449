import json
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from making import ALONE, GUEST, MEEK, SHADOW, learner, past, rate, rating, told

from sparring.core.plain import from_plain, to_plain
from sparring.league.book import Book
from sparring.league.sampling import pick
from sparring.league.score import Score, faded, rates, recent
from sparring.statistics.intervals import clopper_pearson

PAST, NEXT = past(0), past(1)
NOTHING = np.zeros(3)
ONE = (Score(won=1), Score(drawn=1), Score(lost=1))


def book() -> Book:
    """Of one learner, its shadow and two past selves."""
    return Book.blank((ALONE, SHADOW, PAST, NEXT))


def after(fading, score, forget) -> np.ndarray:
    return faded(np.array(fading, float), np.array(score), forget)


def one_rate(*fading: float, shrink: float = 0.0) -> float:
    return float(rates(np.array(fading, float), shrink))


def fading_of(found: Book, player) -> list[float]:
    return found.fading_LM3[0, found.roll.column[player]].tolist()


def test_each_game_fades_the_earlier_ones_first():
    assert after((2.0, 1.0, 4.0), Score(won=1), 0.5).tolist() == [2.0, 0.5, 2.0]


@pytest.mark.parametrize("score", [Score(2, 1, 1), Score(1, 0, 0), Score(0, 0, 4), Score(0, 0, 0), Score(2, 0, 2)])
def test_games_at_once_count_as_they_would_one_by_one_on_average_over_all_orders(score):
    def one_by_one(order) -> np.ndarray:
        fading = np.array([1.5, 0.25, 3.0])
        for outcome in order:
            fading = after(fading, ONE[outcome], 0.9)
        return fading

    orders = permutations([outcome for outcome, count in enumerate(score) for _ in range(count)])
    expected = np.mean([one_by_one(order) for order in orders], axis=0)
    np.testing.assert_allclose(after((1.5, 0.25, 3.0), score, 0.9), expected)


def test_no_outcome_outweighs_another_because_it_was_counted_last():
    assert one_rate(*after(NOTHING, Score(100, 0, 100), 0.99)) == pytest.approx(0.5, abs=0.005)
    assert one_rate(*after(NOTHING, Score(1000, 500, 2500), 0.99)) == pytest.approx(0.3125, abs=0.005)


def test_without_forgetting_counts_are_kept():
    assert after((1, 2, 3), Score(4, 5, 6), 1.0).tolist() == [5, 7, 9]
    assert after((1, 2, 3), Score(4000, 0, 6000), 1.0).tolist() == [4001, 2, 6003]


def test_the_memory_of_a_hundredth_is_a_hundred_games():
    fading = NOTHING
    for _ in range(100):
        fading = after(fading, Score(8, 0, 8), 0.99)
    assert fading.sum() == pytest.approx(100.0)  # less 100 * 0.99 ** 1600, which is 1e-5


def test_games_told_together_let_older_ones_fade_like_at_most_sixteen():
    """16 games weigh 1, 1/2, 1/4 and so on, in an order that is not known: each (2 - 2 ** -15) / 16. So does each of
    4000."""
    weight = (2 - 2**-15) / 16
    assert after((50, 0, 0), Score(lost=16), 0.5).tolist() == [50 * 2**-16, 0, 16 * weight]
    assert after((50, 0, 0), Score(lost=17), 0.5) == pytest.approx([50 * 2**-16, 0, 17 * weight])
    assert after((50, 0, 0), Score(1000, 0, 3000), 0.5) == pytest.approx(
        [50 * 2**-16 + 1000 * weight, 0, 3000 * weight]
    )


def test_a_rate_counts_a_draw_one_half_and_is_one_half_without_games():
    assert one_rate(0, 0, 0) == 0.5
    assert one_rate(3, 2, 5) == pytest.approx(0.4)
    assert one_rate(1, 0, 0) == 1.0
    assert one_rate(1, 0, 0, shrink=2.0) == pytest.approx(2 / 3)
    assert one_rate(0, 0, 0, shrink=2.0) == 0.5


def test_whole_counts_are_never_faded_and_give_the_interval():
    found = book()
    for _ in range(50):
        found = told(found, {(0, PAST): Score(3, 2, 5)}, 0.5)
    assert found.score(0, PAST) == Score(150, 100, 250)
    assert found.interval(0, PAST) == clopper_pearson(200, 500)
    assert found.interval(0, NEXT).count == 0
    assert (found.interval(0, NEXT).low, found.interval(0, NEXT).high) == (0.0, 1.0)


def test_nothing_but_wins_is_a_rate_of_one_whatever_rounding_says():
    fading = np.linspace(3.0, 3.99, 1000).tolist()
    assert any(won * 3 / won > 3 for won in fading)  # as of 3.94 fading games, which count as 3
    for found in (recent(np.array([won, 0.0, 0.0])) for won in fading):
        assert found.count == 3 and found.mean == pytest.approx(1.0) and found.high == 1.0


def test_players_do_not_fade_each_other():
    found = told(told(book(), {(0, PAST): Score(won=1)}, 0.5), {(0, SHADOW): Score(lost=8)}, 0.5)
    assert fading_of(found, PAST) == [1.0, 0.0, 0.0]


def test_one_game_moves_both_ratings_by_elo():
    found = told(book(), {(0, PAST): Score(won=1)})
    assert (rating(found, ALONE), rating(found, PAST)) == (8.0, -8.0)  # 16 * (1 - 1/2)
    drawn = told(found, {(0, PAST): Score(drawn=1)})
    assert 0.0 < rating(drawn, ALONE) < 8.0, "a draw with a weaker one costs"


def test_thousands_of_games_at_once_do_not_overshoot():
    found = book()
    for _ in range(30):
        found = told(found, {(0, PAST): Score(3_000, 0, 1_000)})
    gap = rating(found, ALONE) - rating(found, PAST)
    assert gap == pytest.approx(400 * np.log10(3.0), abs=1.0)


def test_a_game_between_two_learners_is_a_game_of_both_and_moves_their_ratings_once():
    one, two = learner(0), learner(1)
    found = told(Book.blank((one, two)), {(0, two): Score(won=1)})
    assert (found.score(0, two), found.score(1, one)) == (Score(won=1), Score(lost=1))
    assert (rating(found, one), rating(found, two)) == (8.0, -8.0)
    # Each tells one game of its own: one won by the first, one by the second.
    both = told(Book.blank((one, two)), {(0, two): Score(won=1), (1, one): Score(won=1)}, 0.5)
    assert (both.score(0, two), both.score(1, one)) == (Score(1, 0, 1), Score(1, 0, 1))
    assert both.fading_LM3[0, 1].tolist() == [0.75, 0.0, 0.75]  # weights 1/2 and 1, in an order that is not known


def test_a_copy_begins_at_the_rating_of_its_learner_and_a_guest_at_nothing():
    found = told(book(), {(0, PAST): Score(won=1)}).joined_by(past(2), (0,), 0.0)
    assert rating(found, past(2)) == 8.0
    two = told(Book.blank((learner(0), learner(1), PAST)), {(1, PAST): Score(won=1)})
    assert rating(two.joined_by(past(3, whose=1), (0, 1), 0.0), past(3)) == 8.0
    assert rating(two.joined_by(past(3, whose=0), (0, 1), 0.0), past(3)) == 0.0


def test_a_copy_is_known_to_do_against_others_as_its_learner_did():
    """Two wins of three against the first, with two virtual games at one half: 3 of 5. Nothing of the second: 1/2."""
    found = told(book(), {(0, PAST): Score(won=2, lost=1)}).joined_by(past(2), (0,), 2.0)
    payoff_MM = found.payoff([found.roll.column[player] for player in (PAST, NEXT, past(2))])
    np.testing.assert_allclose(payoff_MM, [[0, 0, -0.2], [0, 0, 0], [0.2, 0, 0]], atol=1e-12)


def after_draw(
    quality: Sequence[float], member: int, probability: float, won: float, rate: float = 0.01
) -> list[float]:
    """Scores of quality after one draw of a member, of which the learner won a share of the games."""
    players = [past(number) for number in range(len(quality))]
    found = Book.blank((ALONE, *players))
    found.quality_LM[0, 1:] = quality
    group_M, won_M = found.roll.meant(("past",)), np.zeros(len(quality) + 1)
    won_M[1 + member] = rate * won / probability
    return found.after_draws(0, group_M, won_M).quality_LM[0, 1:].tolist()


def test_columns_of_a_pool_are_in_the_order_of_age_whoever_joins_first():
    """A guest that joined before two copies of the same step comes after them, with all that is known of it."""
    book = Book.blank((ALONE, MEEK)).joined_by(past(0, born=5), (0,), 0.0)
    book = told(book.joined_by(GUEST, (0,), 0.0), {(0, GUEST): Score(won=3)})
    for number in (1, 2):
        book = book.joined_by(past(number, born=9), (0,), 0.0)
    assert book.players == (ALONE, MEEK, past(0), past(1), past(2), GUEST)
    assert book.score(0, GUEST) == Score(won=3) and book.score(0, past(2)) == Score()
    assert book.birth_MM[3].tolist() == [-1, -1, 0.5, -1, -1, 1.0], "the first copy knows the older one and the guest"
    assert book.without(past(1)).birth_MM[3].tolist() == [-1, -1, 0.5, -1, 1.0]


def test_a_win_lowers_the_score_by_the_rate_over_count_times_probability():
    before = [0.0, -0.2, 0.1, 0.0]
    assert after_draw(before, 1, 0.05, 0.75) == pytest.approx([0.0, -0.2 - 0.75 * 0.01 / (4 * 0.05), 0.1, 0.0])


def test_a_defeat_leaves_the_scores_as_they_are():
    assert after_draw([0.3, 0.1], 0, 0.5, 0.0) == [0.3, 0.1]


def test_the_drift_of_a_score_does_not_depend_on_how_often_the_member_is_drawn():
    """Expected change by each draw: p * rate / (M p) * P[win] = rate / M * P[win]."""
    probability_M, generator = np.array([0.9, 0.1]), np.random.default_rng(0)
    quality = [0.0, 0.0]
    for member in pick(probability_M, generator.random(20_000)).tolist():
        quality = after_draw(quality, member, float(probability_M[member]), float(generator.random() < 0.6))
    np.testing.assert_allclose(np.array(quality) / 20_000, -0.01 / 2 * 0.6, rtol=0.1)


def test_one_who_left_is_forgotten():
    found = told(book(), {(0, PAST): Score(won=3), (0, SHADOW): Score(lost=1)}, 0.9)
    left = found.without(PAST)
    assert left.players == (ALONE, SHADOW, NEXT)
    assert left.score(0, SHADOW) == Score(lost=1) and rate(left, SHADOW) == 0.0
    assert rating(left, SHADOW) == rating(found, SHADOW) and rating(left, ALONE) == rating(found, ALONE)
    assert left.count_LM3.shape == (1, 3, 3) and left.birth_MM.shape == (3, 3)


def test_who_begins_anew_is_known_to_nobody_and_knows_nobody():
    one, two = learner(0), learner(1)
    met = {(0, two): Score(6, 0, 2), (1, PAST): Score(9, 0, 1), (0, PAST): Score(5, 0, 5)}
    found = told(Book.blank((one, two, PAST)), met)
    anew = found.begun_anew(1)
    assert anew.count_LM3[1].sum() == anew.count_LM3[:, 1].sum() == anew.fading_LM3[1].sum() == 0
    assert anew.score(0, PAST) == Score(5, 0, 5), "the others keep what they know"
    assert rating(anew, two) == 0.0 and rating(anew, one) == rating(found, one) != 0.0
    assert rating(found.begun_anew(1, parent=one), two) == rating(found, one), "a copy is rated like its parent"


def test_a_book_survives_json_bit_by_bit():
    found = told(book(), {(0, PAST): Score(3, 1, 2), (0, SHADOW): Score(0, 0, 7)}, 0.97).joined_by(past(2), (0,), 0)
    again = from_plain(Book, json.loads(json.dumps(to_plain(found))))
    assert again.players == found.players and [p.born for p in again.players] == [p.born for p in found.players]
    for name in ("count_LM3", "fading_LM3", "quality_LM", "rating_M", "birth_MM"):
        kept, read = getattr(found, name), getattr(again, name)
        np.testing.assert_array_equal(kept, read)
        assert kept.dtype == read.dtype
