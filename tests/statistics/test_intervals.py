from math import comb, isnan

import numpy as np
import pytest

from sparring.statistics.intervals import clopper_pearson, mean_interval


def test_the_interval_of_three_values_uses_the_t_distribution_with_two_degrees():
    interval = mean_interval([1.0, 2.0, 3.0])
    half = 4.302653 / 3**0.5  # t quantile 0.975 with 2 degrees of freedom, standard deviation 1
    assert interval.mean == pytest.approx(2.0)
    assert interval.low == pytest.approx(2.0 - half, abs=1e-5)
    assert interval.high == pytest.approx(2.0 + half, abs=1e-5)
    assert interval.count == 3


def test_less_confidence_gives_a_narrower_interval():
    half = 6.313752 / 2**0.5 * 2**0.5  # t quantile 0.95 with 1 degree, standard deviation of 0 and 2 is the root of 2
    assert mean_interval(np.array([0.0, 2.0]), 0.9).high == pytest.approx(1.0 + half, abs=1e-5)
    assert mean_interval([0.0, 2.0], 0.5).high == pytest.approx(1.0 + 1.0, abs=1e-9)  # tan(45 degrees) = 1


def test_equal_values_have_an_interval_without_width():
    interval = mean_interval([0.25, 0.25, 0.25, 0.25])
    assert (interval.low, interval.mean, interval.high) == (0.25, 0.25, 0.25)


def test_one_value_has_a_mean_but_no_bounds_and_no_value_has_neither():
    one, none = mean_interval([5.0]), mean_interval([])
    assert one.mean == 5.0
    assert isnan(one.low)
    assert isnan(one.high)
    assert none.count == 0
    assert isnan(none.mean)


def test_the_t_interval_covers_the_truth_as_often_as_it_says():
    samples = np.random.default_rng(0).normal(3.0, 2.0, (2000, 5))
    covered = np.mean([interval.low <= 3.0 <= interval.high for interval in map(mean_interval, samples)])
    assert covered == pytest.approx(0.95, abs=0.015)  # three standard errors


def test_the_exact_interval_of_five_wins_in_ten():
    interval = clopper_pearson(5, 10)
    assert (interval.mean, interval.count) == (0.5, 10)
    assert interval.low == pytest.approx(0.187086, abs=1e-6)  # there 5 or more wins have a chance of 2.5 %
    assert sum(comb(10, wins) * interval.low**wins * (1 - interval.low) ** (10 - wins) for wins in range(5, 11)) == (
        pytest.approx(0.025)
    )
    assert interval.high == pytest.approx(1.0 - interval.low)


def test_the_exact_interval_without_a_win_and_without_a_loss():
    none, all_won = clopper_pearson(0, 10), clopper_pearson(10, 10)
    assert (none.low, all_won.high) == (0.0, 1.0)
    assert none.high == pytest.approx(1.0 - 0.025**0.1)  # the rate at which ten losses have a chance of 2.5 %
    assert all_won.low == pytest.approx(0.025**0.1)
    assert clopper_pearson(0, 10, 0.9).high == pytest.approx(1.0 - 0.05**0.1)


def test_the_exact_interval_without_games_is_everything():
    interval = clopper_pearson(0, 0)
    assert isnan(interval.mean)
    assert (interval.low, interval.high, interval.count) == (0.0, 1.0, 0)


@pytest.mark.parametrize("drawn", [0.0, 0.2, 0.8])
def test_the_exact_interval_never_covers_less_than_it_says_whatever_the_share_of_draws(drawn):
    games = 12
    tallies = [(wins, draws) for wins in range(games + 1) for draws in range(games + 1 - wins)]
    intervals = [clopper_pearson(wins + draws / 2, games) for wins, draws in tallies]
    for win in np.linspace(0.001, 0.999 - drawn, 50):
        lost, rate, covered = 1.0 - win - drawn, win + drawn / 2, 0.0
        for (wins, draws), interval in zip(tallies, intervals, strict=True):
            ways = comb(games, wins) * comb(games - wins, draws)
            if interval.low <= rate <= interval.high:
                covered += ways * win**wins * drawn**draws * lost ** (games - wins - draws)
        assert covered >= 0.95


@pytest.mark.parametrize(("wins", "games"), [(-1, 10), (11, 10), (1, 0), (float("nan"), 10)])
def test_an_impossible_tally_is_refused(wins, games):
    with pytest.raises(ValueError, match="check the tally"):
        clopper_pearson(wins, games)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_confidence_is_a_share(confidence):
    with pytest.raises(ValueError, match=r"write 0\.95"):
        mean_interval([1.0, 2.0], confidence)
    with pytest.raises(ValueError, match=r"write 0\.95"):
        clopper_pearson(1, 2, confidence)


def test_a_table_of_values_is_refused():
    with pytest.raises(ValueError, match="flatten"):
        mean_interval(np.zeros((2, 2)))
