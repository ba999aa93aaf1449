import json
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges
from sparring.core.seeding import Seed
from sparring.core.settings import from_dict, to_dict
from sparring.league.population import (
    LIMIT,
    Copied,
    Fitness,
    PopulationConfig,
    check_population,
    copies,
    explore,
    first_factors,
    ranked,
    scaled,
    select,
    steps_between,
)
from sparring.statistics.rates import of_starts

SEED = Seed.of(3)
EIGHT = PopulationConfig(population=8)
WAYS = [replace(EIGHT, pbt_select=way) for way in ("truncation", "welch", "tournament")]
BOLD = [replace(config, pbt_sure=False) for config in WAYS]


def rng(seed=0):
    return np.random.default_rng(seed)


def shown(mean, half=0.01, count=100):
    """Fitness with bounds half a width away, and the spread of games that gives such bounds: half is 2 errors."""
    mean_M = np.array(mean, np.float64)
    variance_M = np.full(len(mean_M), (half / 2) ** 2 * count)
    return Fitness(mean_M, mean_M - half, mean_M + half, variance_M, np.full(len(mean_M), count))


def replaced(parent_M):
    return set(np.flatnonzero(parent_M != np.arange(len(parent_M))).tolist())


# Settings.


def test_the_defaults_are_allowed_and_survive_plain_data():
    check_population(PopulationConfig())
    check_population(EIGHT)
    assert from_dict(PopulationConfig, to_dict(EIGHT), where="test") == EIGHT
    assert (EIGHT.pbt_share, EIGHT.pbt_factors, EIGHT.pbt_sure) == (0.2, (0.8, 1.2), True)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"population": 1}, "population must be 0 .none. or at least 2, found 1"),
        ({"population": -1}, "population must be at least 0, found -1"),
        ({"pbt_every": -1}, "pbt_every must be at least 0, found -1"),
        ({"pbt_games": 0}, "pbt_games must be at least 2, found 0"),
        ({"pbt_resample": 1.1}, r"pbt_resample must be in \[0, 1\], found 1.1"),
        ({"pbt_spread": 0.5}, r"pbt_spread must be in \[1, 1000\], found 0.5"),
        ({"pbt_spread": 2000.0}, "pbt_spread"),
        ({"pbt_share": 0.0}, "pbt_share must be above 0 and at most 0.5, found 0.0"),
        ({"pbt_share": 0.6}, "pbt_share"),
        ({"pbt_factors": ()}, "pbt_factors must be numbers above 0"),
        ({"pbt_factors": (0.8, 0.0)}, "pbt_factors must be above 0, found 0.0"),
        ({"pbt_factors": (inf,)}, "pbt_factors"),
        ({"pbt_knobs": ()}, "pbt_knobs must name coefficients, each once, found none"),
        ({"pbt_knobs": ("clip", "clip")}, "found clip, clip"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(settings, says):
    with pytest.raises(ConfigError, match=says):
        check_ranges(replace(EIGHT, **settings))
        check_population(replace(EIGHT, **settings))


def test_there_are_twenty_rounds_unless_said_otherwise():
    assert steps_between(EIGHT, 1000) == 50
    assert steps_between(EIGHT, 10) == 1
    assert steps_between(replace(EIGHT, pbt_every=7), 1000) == 7


# Coefficients.


def test_a_factor_multiplies_a_coefficient_and_the_horizon_of_a_discount():
    assert scaled("learning_rate", 3e-4, 1.2) == pytest.approx(3.6e-4)
    assert scaled("discount", 0.99, 1.2) == pytest.approx(1 - 1 / 120)
    assert scaled("discount", 0.99, 0.8) == pytest.approx(0.9875)  # 80 steps
    assert scaled("decay", 0.95, 2.0) == pytest.approx(0.975)
    np.testing.assert_allclose(scaled("discount", 0.9, np.array([0.5, 1.0, 4.0])), [0.8, 0.9, 0.975])


def test_a_horizon_stays_between_nothing_and_all_and_one_without_end_stays_so():
    assert scaled("discount", 0.99, 0.001) == 0.0
    assert scaled("discount", 1.0, 0.5) == 1.0
    assert scaled("decay", 0.0, 0.8) == 0.0
    assert scaled("decay", 0.0, 2.0) == 0.5


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 0.7, 0.95, 0.997, 1.0])
def test_a_factor_of_one_changes_no_bit(value):
    for name in ("discount", "decay", "entropy"):
        assert scaled(name, value, 1.0) == value


def test_the_first_member_has_the_runs_own_coefficients_and_the_others_spread_evenly_on_a_log_scale():
    factor_MH = first_factors(replace(EIGHT, population=2001, pbt_spread=10.0), ("clip", "entropy"), SEED)
    assert factor_MH.shape == (2001, 2)
    assert factor_MH[0].tolist() == [1.0, 1.0]
    assert 0.1 <= factor_MH.min() < 0.101 < 9.9 < factor_MH.max() <= 10.0
    quarter = np.mean(np.log10(factor_MH[1:]) < -0.5, axis=0)
    np.testing.assert_allclose(quarter, 0.25, atol=0.03)  # three standard errors
    assert abs(np.corrcoef(np.log(factor_MH[1:].T))[0, 1]) < 0.07


def test_more_members_or_knobs_leave_the_factors_of_the_others_as_they_were():
    few_MH = first_factors(EIGHT, ("learning_rate", "entropy"), SEED)
    many_MH = first_factors(replace(EIGHT, population=9), ("clip", "entropy", "learning_rate"), SEED)
    np.testing.assert_array_equal(few_MH, many_MH[:8, [2, 1]])
    assert not np.array_equal(few_MH, first_factors(EIGHT, ("learning_rate", "entropy"), Seed.of(4)))
    assert first_factors(PopulationConfig(), ("clip",), SEED).shape == (0, 1)


# Selection.


def test_the_lowest_fifth_copies_the_highest_fifth():
    """Of 8 members a fifth is 1.6, rounded up 2: 3 and 6 are the lowest, 1 and 4 the highest, drawn evenly."""
    fitness = shown([0.5, 0.9, 0.4, 0.1, 0.8, 0.3, 0.2, 0.6])
    parents_NM = np.array([select(fitness, EIGHT, rng(seed)) for seed in range(400)])
    stay = [0, 1, 2, 4, 5, 7]
    np.testing.assert_array_equal(parents_NM[:, stay], np.tile(stay, (400, 1)))
    for loser in (3, 6):
        assert set(parents_NM[:, loser]) == {1, 4}
        assert np.mean(parents_NM[:, loser] == 1) == pytest.approx(0.5, abs=0.075)  # three standard errors
    assert np.mean(parents_NM[:, 3] == parents_NM[:, 6]) == pytest.approx(0.5, abs=0.075)


@pytest.mark.parametrize(
    ("members", "share", "count"), [(2, 0.2, 1), (3, 0.2, 1), (3, 0.5, 1), (5, 0.2, 1), (6, 0.2, 2), (5, 0.5, 2),
                                    (4, 0.5, 2), (100, 0.07, 7), (30, 0.2, 6)],
)  # fmt: skip
def test_a_share_is_rounded_up_but_never_beyond_half(members, share, count):
    config = replace(EIGHT, population=members, pbt_share=share)
    parent_M = select(shown(np.arange(members) / members, half=1e-3), config, rng())
    assert replaced(parent_M) == set(range(count))
    assert set(parent_M[:count]) <= set(range(members - count, members))


@pytest.mark.parametrize("config", WAYS + BOLD)
@pytest.mark.parametrize("mean", [[], [0.3], [nan], [nan, nan], [nan] * 5, [0.5] * 7, [0.2, 0.2]])
def test_one_alone_equals_and_those_who_all_diverged_stay(config, mean):
    for seed in range(20):
        assert select(shown(mean), config, rng(seed)).tolist() == list(range(len(mean)))


@pytest.mark.parametrize("config", WAYS + BOLD)
def test_of_two_the_worse_copies_the_better(config):
    assert select(shown([0.2, 0.7]), config, rng()).tolist() == [1, 1]
    assert select(shown([0.7, 0.2]), config, rng()).tolist() == [0, 0]


@pytest.mark.parametrize("config", WAYS + BOLD)
@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_whoever_diverged_is_always_replaced_by_one_who_did_not(config, bad):
    """However many they are, and however unsure the others: 0.5 with bounds of 0 and 1."""
    fitness = shown([bad, 0.5, bad, bad, 0.5, bad], half=0.5)
    for seed in range(50):
        parent_M = select(fitness, config, rng(seed))
        assert parent_M[[1, 4]].tolist() == [1, 4]
        assert set(parent_M[[0, 2, 3, 5]]) <= {1, 4}
    lone = select(shown([bad, bad, bad, 0.0], half=0.5), replace(config, pbt_share=0.5), rng())
    assert lone.tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("config", WAYS + BOLD)
def test_whoever_is_copied_stays_and_is_better(config):
    generator = rng(7)
    for _ in range(300):
        mean_M = generator.choice([nan, 0.1, 0.2, 0.4, 0.6, 0.8], generator.integers(1, 12))
        parent_M = select(shown(mean_M, half=0.15), config, generator)
        np.testing.assert_array_equal(parent_M[parent_M], parent_M)
        for member in replaced(parent_M):
            assert np.isfinite(mean_M[parent_M[member]])
            assert np.isnan(mean_M[member]) or mean_M[parent_M[member]] > mean_M[member]


@pytest.mark.parametrize("config", [WAYS[0], WAYS[2]])
def test_a_copy_waits_until_the_winner_is_surely_better(config):
    touching = shown([0.25, 0.75], half=0.25)
    apart = shown([0.25, 0.75], half=0.249)
    assert replaced(select(touching, config, rng())) == set()
    assert replaced(select(touching, replace(config, pbt_sure=False), rng())) == {0}
    assert replaced(select(apart, config, rng())) == {0}
    unknown = touching._replace(low_M=np.array([nan, nan]), high_M=np.array([nan, nan]))
    assert replaced(select(unknown, config, rng())) == set()


def test_with_bounds_a_loser_draws_among_the_winners_that_are_surely_better():
    mean_M = np.array([0.1, 0.5, 0.5, 0.8, 0.9])
    low_M = np.array([0.0, 0.4, 0.4, 0.1, 0.8])
    high_M = np.array([0.2, 0.6, 0.6, 1.0, 1.0])
    fitness = Fitness(mean_M, low_M, high_M, np.ones(5), np.ones(5))
    config = replace(EIGHT, pbt_share=0.4)
    assert {int(select(fitness, config, rng(seed))[0]) for seed in range(50)} == {4}
    assert {int(select(fitness, replace(config, pbt_sure=False), rng(seed))[0]) for seed in range(50)} == {3, 4}


def test_ties_for_the_last_place_are_broken_by_chance():
    chosen = [replaced(select(shown([0.1, 0.1, 0.1, 0.1, 0.9]), EIGHT, rng(seed))) for seed in range(400)]
    assert all(len(one) == 1 for one in chosen)
    assert [sum(member in one for one in chosen) / 400 for member in range(5)] == pytest.approx(
        [0.25, 0.25, 0.25, 0.25, 0.0], abs=0.065
    )  # three standard errors


def test_welchs_test_decides_where_it_is_chosen_and_bounds_do_not():
    """100 games each, a spread of 0.5 a game: a lead of 0.12 has t = 1.697 and p = 0.0456, one of 0.11 p = 0.0607."""
    welch = WAYS[1]
    for lead, who in ((0.12, {0}), (0.11, set())):
        fitness = shown([0.4, 0.4 + lead], half=0.1)
        assert fitness.variance_M.tolist() == pytest.approx([0.25, 0.25])
        assert replaced(select(fitness, welch, rng())) == who
        assert replaced(select(fitness, replace(welch, pbt_sure=False), rng())) == who


@pytest.mark.parametrize("config", [BOLD[2], WAYS[1]])
def test_a_member_meets_one_other_so_the_middle_of_three_copies_half_of_the_time(config):
    """The middle one (1) copies 2 where it meets it, with chance 1/2. The lowest always copies: 2 where it meets it, or
    where it meets 1 and that has just become 2; else 1. So it becomes 1 with chance 1/4."""
    parents_NM = np.array([select(shown([0.1, 0.5, 0.9]), config, rng(seed)) for seed in range(800)])
    assert np.mean(parents_NM[:, 1] == 2) == pytest.approx(0.5, abs=0.053)  # three standard errors
    assert np.mean(parents_NM[:, 0] == 1) == pytest.approx(0.25, abs=0.046)
    assert np.all(parents_NM[:, 0] != 0)
    assert np.all(parents_NM[:, 2] == 2)


def test_the_same_chance_selects_the_same():
    for config in WAYS:
        fitness = shown(rng(1).random(8))
        np.testing.assert_array_equal(select(fitness, config, rng(5)), select(fitness, config, rng(5)))


def test_points_a_game_with_their_bounds_are_a_fitness():
    starts_M5 = np.array([[2, 0, 2, 0, 6], [0] * 5, [0, 0, 0, 0, 2], [1, 0, 0, 0, 9]])
    fitness = Fitness.of(starts_M5, diverged={3})
    assert fitness.mean_M[:3].tolist() == pytest.approx([0.7, 0.5, 1.0])
    assert np.isnan(fitness.mean_M[3])
    assert fitness.count_M.tolist() == [10, 0, 2, 10]
    assert (fitness.low_M[1], fitness.high_M[1]) == (0.0, 1.0)
    assert fitness.low_M[2] == of_starts([0, 0, 0, 0, 2]).low
    # Ten shares of mean 0.7 whose squares sum to 6.5, and one more of which nothing is known.
    assert fitness.variance_M[0] == pytest.approx((6.5 - 10 * 0.49) / 9 + 0.25 / 10)
    assert fitness.variance_M[2] == pytest.approx(0.25 / 2)  # not 0, though both were won


def test_two_games_convince_nobody_and_thirty_do():
    for games, who in ((2, set()), (30, {1})):
        fitness = Fitness.of(np.array([[0, 0, 0, 0, games], [games, 0, 0, 0, 0]]))
        for config in WAYS:
            assert replaced(select(fitness, config, rng())) == who


# Exploration.


def test_a_copy_tries_its_parents_factors_times_four_fifths_or_six_fifths():
    config = replace(EIGHT, pbt_resample=0.0)
    factor_MH = np.array([[2.0, 0.5], [7.0, 7.0]])
    tried_NMH = np.array([explore(factor_MH, np.array([0, 0]), config, rng(seed)) for seed in range(400)])
    ratio_NH = tried_NMH[:, 1] / factor_MH[0]
    np.testing.assert_allclose(np.where(ratio_NH < 1, 0.8, 1.2), ratio_NH)
    assert np.mean(ratio_NH < 1, axis=0) == pytest.approx([0.5, 0.5], abs=0.075)  # three standard errors
    assert np.mean(ratio_NH[:, 0] == ratio_NH[:, 1]) == pytest.approx(0.5, abs=0.075)


def test_a_quarter_of_the_coefficients_is_drawn_anew_from_the_first_range():
    factor_MH = np.full((2, 1), 500.0)
    tried_N = np.array([explore(factor_MH, np.array([0, 0]), EIGHT, rng(seed))[1, 0] for seed in range(800)])
    anew_N = tried_N[tried_N < 10]
    assert len(anew_N) / 800 == pytest.approx(0.25, abs=0.046)  # three standard errors
    assert 1 / 3 <= anew_N.min() < 0.4 < 2.5 < anew_N.max() <= 3.0
    assert np.mean(anew_N < 1) == pytest.approx(0.5, abs=0.11)


def test_who_stays_keeps_every_bit_even_beyond_the_limit_and_nothing_is_changed_in_place():
    factor_MH = rng(2).lognormal(size=(8, 3))
    factor_MH[1] = 12345.678
    kept_MH = factor_MH.copy()
    parent_M = np.array([0, 1, 2, 1, 4, 5, 4, 7])
    after_MH = explore(factor_MH, parent_M, EIGHT, rng())
    stay = [0, 1, 2, 4, 5, 7]
    assert after_MH[stay].tobytes() == kept_MH[stay].tobytes()
    assert np.all(after_MH[[3, 6]] != kept_MH[[3, 6]])
    assert factor_MH.tobytes() == kept_MH.tobytes()


def test_factors_cannot_run_away():
    factor_MH, config = np.array([[1.0, 1.0], [1.0, 1.0]]), replace(EIGHT, pbt_resample=0.0)
    for factors, end in (((1.2,), LIMIT), ((0.8,), 1 / LIMIT)):
        for turn in range(200):
            parent_M = np.full(2, turn % 2)
            factor_MH = explore(factor_MH, parent_M, replace(config, pbt_factors=factors), rng())
        np.testing.assert_allclose(factor_MH, end)


def test_what_a_copy_tries_does_not_depend_on_who_else_was_replaced():
    factor_MH = rng(2).lognormal(size=(4, 2))
    alone_MH = explore(factor_MH, np.array([0, 1, 2, 0]), EIGHT, rng())
    together_MH = explore(factor_MH, np.array([0, 0, 0, 0]), EIGHT, rng())
    np.testing.assert_array_equal(alone_MH[3], together_MH[3])


# The record.


def test_a_round_is_told_as_plain_data_and_as_sentences():
    fitness = shown([0.3125, 0.75, nan])
    before_MH, after_MH = np.array([[0.5, 2.0], [1.0, 1.0], [3.0, 1.0]]), np.array([[0.8, 1.2], [1.0, 1.0], [1.2, 0.8]])
    first, second = copies(fitness, np.array([1, 1, 1]), before_MH, after_MH, ("learning_rate", "entropy"))
    assert first == Copied(
        0, 1, 0.3125, 0.75, {"learning_rate": 0.5, "entropy": 2.0}, {"learning_rate": 0.8, "entropy": 1.2}
    )
    assert first.sentence() == (
        "Member 0 (0.312) copied member 1 (0.75); tries learning_rate x0.5 -> x0.8, entropy x2 -> x1.2."
    )
    assert second.sentence() == (
        "Member 2 (diverged) copied member 1 (0.75); tries learning_rate x3 -> x1.2, entropy x1 -> x0.8."
    )
    plain = json.loads(json.dumps(second.to_dict(), allow_nan=False))
    assert plain == second.to_dict() == {
        "event": "copied", "member": 2, "parent": 1, "mean": None, "parent_mean": 0.75,
        "before": {"learning_rate": 3.0, "entropy": 1.0}, "after": {"learning_rate": 1.2, "entropy": 0.8},
    }  # fmt: skip
    assert copies(fitness, np.arange(3), before_MH, before_MH, ("learning_rate", "entropy")) == ()


# A whole run of rounds.


def run(config, factor_MH, *, best, rounds, seed, half=0.05):
    """Members learn better the nearer their rate is to the best, on a log scale; measured with an error of 0.025."""
    generator, winners = rng(seed), []
    for _ in range(rounds):
        mean_M = -np.abs(np.log(factor_MH[:, 0] / best)) + generator.normal(0.0, 0.025, len(factor_MH))
        parent_M = select(shown(mean_M, half), config, generator)
        winners.append(int(parent_M[np.argmax(mean_M)]) == int(np.argmax(mean_M)))
        factor_MH = explore(factor_MH, parent_M, config, generator)
    assert all(winners)
    return factor_MH


@pytest.mark.parametrize("config", WAYS)
@pytest.mark.parametrize("seed", range(10))
def test_half_a_population_a_hundred_times_off_comes_back(config, seed):
    factor_MH = np.array([1.0, 1.1, 0.9, 1.3, 100.0, 0.01, 100.0, 0.01])[:, None]
    after_MH = run(config, factor_MH, best=1.0, rounds=20, seed=seed)
    assert np.all(np.abs(np.log(after_MH)) <= np.log(3.0))


def test_without_sure_differences_they_stay_off():
    factor_MH = np.array([1.0, 1.1, 0.9, 1.3, 100.0, 0.01, 100.0, 0.01])[:, None]
    after_MH = run(EIGHT, factor_MH, best=1.0, rounds=20, seed=0, half=3.0)  # the gap is 4.6
    np.testing.assert_array_equal(after_MH, factor_MH)


@pytest.mark.parametrize("config", WAYS)
@pytest.mark.parametrize("seed", range(5))
def test_a_rate_that_no_member_had_is_found_by_small_changes(config, seed):
    after_MH = run(config, np.ones((8, 1)) * np.linspace(0.9, 1.1, 8)[:, None], best=8.0, rounds=100, seed=seed)
    assert np.median(np.abs(np.log(after_MH / 8.0))) < np.log(1.5)


def test_a_round_tells_how_all_did_and_who_leads_also_where_nobody_was_copied():
    fitness = Fitness(np.array([0.4, np.nan, 0.6]), *(np.zeros(3) for _ in range(4)))
    found = ranked(fitness, np.array([[1.0], [2.0], [0.5]]), ("entropy",))
    assert (found.means, found.leader) == ((0.4, None, 0.6), 2)
    assert found.sentence() == "Compared the members: 0.4, diverged, 0.6. Member 2 leads (entropy x0.5)."
    assert json.loads(json.dumps(found.to_dict()))["event"] == "ranked"
