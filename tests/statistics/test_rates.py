"""Rates by starts: numbers worked out by hand, and how often intervals hold the truth. No JAX."""

from math import isnan

import numpy as np
import pytest

from sparring.statistics.intervals import Moments, mean_interval
from sparring.statistics.rates import moments, of_starts, over_seeds, rate_interval, spread

T7 = 2.364624
"""Student's 97.5 % quantile of seven degrees of freedom."""


def test_mean_and_variance_are_those_of_starts_and_not_of_games():
    # Two starts lost, four halved, two won: eight shares of mean 1/2, of which four deviate by 1/2.
    mean, variance, count = moments([2, 0, 4, 0, 2])
    assert (mean, variance, count) == (0.5, pytest.approx(4 * 0.25 / 7), 8)
    mean, variance, count = moments([0, 1, 0, 1, 0])
    assert (mean, variance, count) == (0.5, pytest.approx(2 * 0.0625), 2)
    assert moments([0] * 5) == (0.5, 0.0, 0)


def test_the_spread_counts_one_more_unit_of_which_nothing_is_known():
    assert spread(0.5, 1 / 7, 8) == pytest.approx((8 / 7 + 0.25) / (8 * 0.25 + 0.25))
    assert spread(0.5, 0.0, 8) == pytest.approx(0.25 / 2.25), "starts that were all halved are not certain"
    assert spread(1.0, 0.0, 8) == 1.0, "starts that were all won say nothing about it,"
    assert spread(1.0, 0.0, 8, 0.5) == 0.5, "but others may"
    assert spread(0.5, 0.25 * 8 / 7, 8) == 1.0, "no more than there can be"


def test_the_interval_of_eight_starts_is_wilsons_with_as_many_games_as_are_as_sure():
    found = of_starts([2, 0, 4, 0, 2])
    games = 8 / ((8 / 7 + 0.25) / 2.25)
    half = (T7**2 * (games / 4 + T7**2 / 4)) ** 0.5 / (games + T7**2)
    assert (found.mean, found.count) == (0.5, 8)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)
    assert half == pytest.approx(0.274775, abs=1e-6)


def test_where_sides_decide_the_rate_is_surer_and_where_players_do_less_sure_than_of_single_games():
    alike, even, apart = (of_starts(starts) for starts in ([0, 0, 64, 0, 0], [16, 0, 32, 0, 16], [32, 0, 0, 0, 32]))
    single = of_starts([64, 0, 0, 0, 64])  # as many games, each a start of its own
    assert even.high - even.low == pytest.approx(single.high - single.low, rel=0.03), "independent games of a start"
    assert alike.high - alike.low < 0.2 * (single.high - single.low)
    assert apart.high - apart.low == pytest.approx(2**0.5 * (single.high - single.low), rel=0.03)


def test_everything_won_and_nothing_won_meet_the_ends_exactly():
    won, lost = of_starts([0, 0, 0, 0, 8]), of_starts([8, 0, 0, 0, 0])
    assert (won.high, lost.low) == (1.0, 0.0)
    assert won.low == pytest.approx(8 / (8 + T7**2), abs=1e-6)
    assert lost.high == pytest.approx(1 - won.low)


def test_one_start_or_none_leaves_everything_open():
    one, none = of_starts([0, 0, 0, 0, 1]), of_starts([0] * 5)
    assert (one.mean, one.low, one.high) == (1.0, 0.0, 1.0)
    assert isnan(none.mean) and (none.low, none.high, none.count) == (0.0, 1.0, 0)


def test_over_seeds_the_seed_is_the_unit():
    seeds = [Moments(rate, 0.2, 400) for rate in (0.5, 0.6, 0.7)]
    found, plain = over_seeds(seeds), mean_interval([0.5, 0.6, 0.7])
    assert (found.mean, found.low, found.high, found.count) == pytest.approx((0.6, plain.low, plain.high, 3))
    assert over_seeds([Moments(rate, 0.01, 10_000) for rate in (0.9, 0.95, 1.0)]).high == 1.0, "a rate ends at 1"


def test_seeds_that_agree_by_chance_are_not_surer_than_their_games():
    own = rate_interval(0.5, 0.25, 20)
    found = over_seeds([Moments(0.5, 0.25, 20)] * 4)
    assert found.high - found.mean == pytest.approx((own.high - own.mean) / 2)  # four times the games, half the width
    assert found.mean - found.low == pytest.approx((own.mean - own.low) / 2)
    assert over_seeds([Moments(0.5, 0.25, 20)]) == own, "one seed speaks for itself"


def test_two_kinds_of_games_give_means_of_one_each():
    assert Moments(1.0, 0.0, 9).and_other(Moments(0.0, 0.2, 8)) == Moments(0.5, 0.05, 8)
    assert Moments.of([1.0, 2.0, 3.0]) == Moments(2.0, 1.0, 3) and Moments.of([4.0]) == Moments(4.0, 0.0, 1)


@pytest.mark.parametrize("mean", [-0.1, 1.1, float("nan")])
def test_an_impossible_rate_is_refused(mean):
    with pytest.raises(ValueError, match="check the tally"):
        rate_interval(mean, 0.1, 10)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_confidence_is_a_share(confidence):
    with pytest.raises(ValueError, match=r"write 0\.95"):
        rate_interval(0.5, 0.25, 10, confidence)


def test_less_confidence_gives_a_narrower_interval():
    wide, narrow = rate_interval(0.5, 0.25, 10), rate_interval(0.5, 0.25, 10, 0.5)
    assert wide.low < narrow.low < 0.5 < narrow.high < wide.high


def test_many_starts_hold_the_truth_as_often_as_they_say():
    """Nine of ten starts are decided by the side; of the others seven of ten are won whole."""
    drawn_N5 = np.random.default_rng(0).multinomial(128, [0.03, 0, 0.9, 0, 0.07], size=2000)
    found = [of_starts(starts_5) for starts_5 in drawn_N5]
    covered = np.mean([one.low <= 0.52 <= one.high for one in found])
    assert covered == pytest.approx(0.95, abs=0.015)
    assert np.mean([one.high - one.low for one in found]) < 0.06, "256 independent games would leave 0.12 open"
