from math import isnan

import numpy as np
import pytest

from sparring.statistics.iqm import iqm, iqm_interval


def test_of_four_values_the_middle_two_count():
    assert iqm([1.0, 2.0, 4.0, 100.0]) == pytest.approx(3.0)


def test_of_five_values_the_neighbours_of_the_middle_count_three_quarters():
    assert iqm([-50.0, 0.0, 1.0, 10.0, 99.0]) == pytest.approx((0.75 * 0 + 1 + 0.75 * 10) / 2.5)


def test_of_eight_values_the_middle_four_count():
    assert iqm([0.0, 0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 70.0]) == pytest.approx((1 + 2 + 3 + 6) / 4)


def test_few_values_lose_no_less_than_a_quarter_at_each_end():
    assert iqm([7.0]) == 7.0
    assert iqm([1.0, 2.0]) == pytest.approx(1.5)
    assert iqm([0.0, 3.0, 12.0]) == pytest.approx((0.25 * 0 + 3 + 0.25 * 12) / 1.5)


def test_the_order_of_values_does_not_matter_and_a_list_repeated_has_the_same_iqm():
    values = np.random.default_rng(0).normal(size=5)
    assert iqm(values[::-1]) == pytest.approx(iqm(values), rel=1e-12)
    assert iqm(np.tile(values, 4)) == pytest.approx(iqm(values), rel=1e-12)  # leaving out whole values fails here


def test_shifting_and_scaling_values_shifts_and_scales_iqm_and_interval():
    values = np.random.default_rng(1).normal(size=7)
    plain, moved = iqm_interval(values), iqm_interval(3.0 - 2.0 * values)
    assert moved.mean == pytest.approx(3 - 2 * plain.mean)
    assert plain.low < plain.mean < plain.high and moved.low < moved.mean < moved.high
    stretched = iqm_interval(10.0 * values)
    assert (stretched.low, stretched.high) == (pytest.approx(10 * plain.low), pytest.approx(10 * plain.high))


def test_one_lucky_run_moves_the_mean_but_not_the_iqm():
    assert iqm([1.0, 2.0, 3.0, 4.0, 1e9]) == pytest.approx(3.0)


def test_the_interval_of_three_values_is_students_and_a_tenth_wider():
    found = iqm_interval([1.0, 2.0, 3.0])
    half = 1.1 * 4.302653 / 3**0.5  # t quantile 0.975 with 2 degrees of freedom, standard deviation 1
    assert (found.low, found.mean, found.high, found.count) == pytest.approx((2 - half, 2.0, 2 + half, 3), abs=1e-5)


@pytest.mark.parametrize("count", [3, 5, 10])
def test_the_interval_holds_the_truth_as_often_as_it_says(count):
    rows = np.random.default_rng(0).normal(size=(2000, count))
    covered = np.mean([found.low <= 0.0 <= found.high for found in map(iqm_interval, rows)])
    assert 0.94 <= covered <= 0.97


def test_one_value_has_no_bounds_and_none_has_no_mean():
    one, none = iqm_interval([5.0]), iqm_interval([])
    assert one.mean == 5.0 and isnan(one.low) and isnan(one.high)
    assert none.count == 0 and isnan(none.mean) and isnan(iqm([]))


def test_a_value_that_is_not_a_number_is_never_trimmed_away():
    assert isnan(iqm([1.0, 2.0, 3.0, 4.0, float("nan")]))
    assert isnan(iqm_interval([1.0, 2.0, 3.0, 4.0, float("nan")]).high)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match=r"write 0\.95"):
        iqm_interval([1.0, 2.0], level=95)
    with pytest.raises(ValueError, match="flatten"):
        iqm(np.zeros((2, 2)))
