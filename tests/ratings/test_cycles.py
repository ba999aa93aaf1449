import numpy as np
import pytest
from scipy.special import expit

from sparring.ratings.cycles import cycle_count, cyclic_share, noise_floor
from sparring.ratings.payoff import Payoff, RatingError


def table(won_MM, drawn_MM=None):
    won_MM = np.array(won_MM)
    return Payoff(tuple(f"p{row}" for row in range(len(won_MM))), won_MM, 0 * won_MM if drawn_MM is None else drawn_MM)


def transitive(skill_M, games, generator=None):
    """A round robin; without a generator everybody gets what it may expect, rounded."""
    rate_MM = expit(skill_M[:, None] - skill_M)
    won_MM = np.triu(
        np.rint(games * rate_MM).astype(int) if generator is None else generator.binomial(games, rate_MM), 1
    )
    return table(won_MM + np.tril(games - won_MM.T, -1))


RPS = table([[0, 2, 8], [8, 0, 2], [2, 8, 0]])


def test_rock_paper_scissors_is_all_cycle():
    assert cyclic_share(RPS) == pytest.approx(1.0)


def test_a_transitive_pool_with_many_games_has_almost_no_cycle_and_stays_below_the_floor():
    payoff = transitive(np.linspace(-1.0, 1.0, 6), games=10_000)
    assert cyclic_share(payoff) < 1e-5
    assert cyclic_share(payoff) < noise_floor(payoff, seed=0)


def test_with_equal_counts_the_best_rating_is_the_mean_of_a_row():
    generator = np.random.default_rng(0)
    payoff = transitive(generator.normal(size=7), 10, generator)
    logit_MM = payoff.logit_MM
    rating_M = logit_MM.mean(axis=1)
    left_MM = logit_MM - (rating_M[:, None] - rating_M)
    assert cyclic_share(payoff) == pytest.approx((left_MM**2).sum() / (logit_MM**2).sum())


def test_with_uneven_counts_pairs_weigh_as_their_games():
    """Log odds are the logs of points plus one half: 1, 0 and 0 times log 3 round a triangle of 1, 3 and 3 games.

    What runs round the loop, log 3, is spread like a voltage over resistors 1/games: 3/5 on the first pair, 1/5 on each
    other. Energy left: (1 x 9 + 3 x 1 + 3 x 1) / 25 of log 3 squared, of 1 in all.
    """
    payoff = Payoff.empty(["a", "b", "c"]).with_games("a", "b", 1, 0, 0)  # 1.5 to 0.5
    payoff = payoff.with_games("b", "c", 1, 1, 1).with_games("c", "a", 1, 1, 1)
    assert cyclic_share(payoff) == pytest.approx(15 / 25)


def test_a_schedule_without_loops_shows_no_cycle():
    payoff = (
        Payoff.empty("abcd").with_games("a", "b", 9, 0, 1).with_games("b", "c", 9, 0, 1).with_games("d", "c", 1, 0, 9)
    )
    assert cyclic_share(payoff) == pytest.approx(0.0, abs=1e-12)


def test_equal_rates_have_no_cycle():
    assert cyclic_share(table(4 - 4 * np.eye(3, dtype=int))) == 0.0
    assert cyclic_share(Payoff.empty("abc")) == 0.0


@pytest.mark.parametrize(("games", "share"), [(10, 0.22), (20, 0.14), (50, 0.06), (100, 0.03), (400, 0.009)])
def test_the_floor_of_twenty_players_is_the_share_that_noise_shows(games, share):
    generator = np.random.default_rng(games)
    pools = [transitive(generator.normal(size=20), games, generator) for _ in range(30)]
    shown = np.mean([cyclic_share(pool) for pool in pools])
    floor = np.mean([noise_floor(pool, draws=10, seed=0) for pool in pools])
    assert shown == pytest.approx(share, rel=0.15)
    assert floor == pytest.approx(shown, rel=0.1)


def test_a_cycle_stands_above_the_floor():
    assert noise_floor(RPS, seed=0) < 0.9 < cyclic_share(RPS)
    many = table(100 * RPS.won_MM)
    logit_MM = np.linspace(1.0, -1.0, 5)[:, None] - np.linspace(1.0, -1.0, 5)
    logit_MM[0, 4], logit_MM[4, 0] = -2.0, 2.0  # the worst beats the best
    won_MM = np.rint(200 * expit(logit_MM)).astype(int) * (1 - np.eye(5, dtype=int))
    assert cyclic_share(many) == pytest.approx(1.0)
    assert cyclic_share(table(won_MM)) > 5 * noise_floor(table(won_MM), seed=0)


def test_drawn_games_stay_drawn_in_the_simulation():
    """A pool that only draws shows no noise, and one with half its games drawn less than one with the same points."""
    apart, upper = 1 - np.eye(4, dtype=int), np.triu(np.ones((4, 4), int), 1)
    assert noise_floor(table(0 * apart, 20 * apart), seed=0) == 0.0
    decided = noise_floor(table(14 * upper + 6 * upper.T), seed=0)
    assert 0.0 < noise_floor(table(9 * upper + upper.T, 10 * apart), seed=0) < 0.7 * decided


def test_the_floor_is_repeated_by_the_same_seed_only():
    payoff = transitive(np.arange(4.0), 10)
    assert noise_floor(payoff, seed=1, draws=5) == noise_floor(payoff, seed=1, draws=5)
    assert noise_floor(payoff, seed=1, draws=5) != noise_floor(payoff, seed=2, draws=5)


def test_cycles_are_counted_once_each():
    assert cycle_count(RPS) == 1
    assert cycle_count(RPS, mark=0.8) == 1  # 8 of 10 reach the mark
    assert cycle_count(RPS, mark=0.81) == 0
    assert cycle_count(transitive(np.arange(5.0), 100)) == 0


def test_in_a_circle_of_five_where_each_beats_the_next_two_there_are_five_cycles():
    won_MM = np.zeros((5, 5), int)
    for row in range(5):
        won_MM[row, [(row + 1) % 5, (row + 2) % 5]] = 7
    assert cycle_count(table(won_MM)) == 5  # ten triples, of which half are transitive


def test_settings_without_a_meaning_are_refused():
    with pytest.raises(RatingError, match=r"above 0\.5"):
        cycle_count(RPS, mark=0.5)
    with pytest.raises(RatingError, match="draws=0"):
        noise_floor(RPS, draws=0, seed=0)
