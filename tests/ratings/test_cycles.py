import numpy as np
import pytest
from scipy.special import expit

from sparring.ratings.cycles import cycle_count, cyclic_share, noise, results
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
    assert cyclic_share(payoff) < noise(payoff, seed=0).floor


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


def mirrored(skill_M, starts, generator, by_side=0.9):
    """A round robin of starts from both sides, of which the side alone decides most between players that are alike."""
    size = len(skill_M)
    payoff = Payoff.empty([f"p{row}" for row in range(size)])
    for i, j in zip(*np.triu_indices(size, 1), strict=True):
        rate = expit(skill_M[i] - skill_M[j])
        decided = by_side * 2 * min(rate, 1 - rate)
        whole = (rate - decided / 2) / (1 - decided)  # the rate of both games of the others
        chances = (1 - decided) * np.array([(1 - whole) ** 2, 2 * whole * (1 - whole), whole**2]) + [0, decided, 0]
        lost, halved, won = generator.multinomial(starts, chances)
        games = (2 * won + halved, 0, 2 * lost + halved)
        payoff = payoff.with_games(i, j, *map(int, games), starts_5=[lost, 0, halved, 0, won])
    return payoff


@pytest.mark.parametrize(("spread", "by_side"), [(0.0, 0.0), (0.0, 0.9), (0.7, 0.0), (0.7, 0.9)])
def test_pools_without_cycles_seldom_look_cyclic_whatever_mirrored_games_share(spread, by_side):
    generator = np.random.default_rng(7)
    pools = [mirrored(spread * generator.normal(size=8), 16, generator, by_side) for _ in range(100)]
    found = [noise(pool, draws=99, seed=0) for pool in pools]
    assert np.mean([one.p_value <= 0.05 for one in found]) <= 0.1  # 0.05 and two and a half standard errors
    for pool, one in zip(pools, found, strict=True):
        assert (cyclic_share(pool) > one.floor) == (one.p_value <= 0.05)


def test_a_cycle_among_mirrored_games_is_seen_that_independent_games_would_hide():
    """Three that beat each other round the loop by 0.55, where the side decides nine starts of ten."""
    round_the_loop = [(0, 1), (1, 2), (2, 0)]
    payoff = single = Payoff.empty("abc")
    for i, j in round_the_loop:  # 80 starts: 72 halved, 8 won whole are 88 points of 160
        payoff = payoff.with_games(i, j, 88, 0, 72, starts_5=[0, 0, 72, 0, 8])
        single = single.with_games(i, j, 88, 0, 72)
    assert noise(payoff, seed=0).p_value <= 0.01 and noise(single, seed=0).p_value > 0.02
    assert cyclic_share(payoff) == cyclic_share(single) == pytest.approx(1.0)


def test_a_cycle_stands_above_the_floor():
    assert noise(RPS, seed=0).floor < 0.9 < cyclic_share(RPS)
    many = table(100 * RPS.won_MM)
    logit_MM = np.linspace(1.0, -1.0, 5)[:, None] - np.linspace(1.0, -1.0, 5)
    logit_MM[0, 4], logit_MM[4, 0] = -2.0, 2.0  # the worst beats the best
    won_MM = np.rint(200 * expit(logit_MM)).astype(int) * (1 - np.eye(5, dtype=int))
    assert cyclic_share(many) == pytest.approx(1.0)
    assert cyclic_share(table(won_MM)) > 5 * noise(table(won_MM), seed=0).floor
    assert noise(table(won_MM), seed=0).p_value == 1 / 500, "none of 499 pools without cycles"


def test_a_start_has_the_mean_and_the_variance_that_it_shall_have():
    chance_P3 = results(np.array([0.5, 0.6, 0.9]), np.array([1.0, 0.5, 0.0]))
    assert chance_P3[0] == pytest.approx([0.5, 0.0, 0.5])
    assert chance_P3[1] == pytest.approx([0.4 - 0.24, 0.48, 0.6 - 0.24])  # two independent games
    assert chance_P3[2] == pytest.approx([0.0, 0.2, 0.8]), "no fewer defeats than none"
    shares = np.array([0.0, 0.5, 1.0])
    assert chance_P3 @ shares == pytest.approx([0.5, 0.6, 0.9])
    assert (chance_P3 @ shares**2 - (chance_P3 @ shares) ** 2)[:2] == pytest.approx([0.25, 0.12])


def test_drawn_games_make_less_noise():
    """A pool that only draws shows no noise, and one with half its games drawn less than one with the same points."""
    apart, upper = 1 - np.eye(4, dtype=int), np.triu(np.ones((4, 4), int), 1)
    assert noise(table(0 * apart, 20 * apart), seed=0) == (0.0, 1.0)
    decided = noise(table(14 * upper + 6 * upper.T), seed=0).floor
    assert 0.0 < noise(table(9 * upper + upper.T, 10 * apart), seed=0).floor < 0.7 * decided


def test_the_noise_is_repeated_by_the_same_seed_only():
    payoff = transitive(np.arange(4.0), 10)
    assert noise(payoff, seed=1, draws=19) == noise(payoff, seed=1, draws=19)
    assert noise(payoff, seed=1, draws=19) != noise(payoff, seed=2, draws=19)


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
    with pytest.raises(RatingError, match="draws=18"):
        noise(RPS, draws=18, seed=0)
