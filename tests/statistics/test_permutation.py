"""Tests that only shuffle: p-values by counting arrangements."""

import numpy as np
import pytest

from sparring.statistics.intervals import wilson
from sparring.statistics.permutation import friedman, holm, page, two_way, within_blocks


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6]) == [0.6] and holm([]) == []


@pytest.mark.parametrize("seeds", [2, 3])
def test_one_order_in_every_seed_has_the_chance_that_counting_gives(seeds):
    table = np.asarray([[4.0, 3.0, 2.0, 1.0]] * seeds)
    assert page(table) == pytest.approx(24.0**-seeds), "named beforehand"
    assert friedman(table) == pytest.approx(24.0 ** (1 - seeds)), "any of the 24 orders"
    assert page(table[:, ::-1]) == 1.0


def test_many_arrangements_are_drawn_and_the_seen_one_counts_among_them():
    table = np.asarray([[4.0, 3.0, 2.0, 1.0]] * 5)
    assert within_blocks(table, lambda x: (x * [4, 3, 2, 1]).sum((1, 2)), drawn=999) == 1 / 1000


def test_what_belongs_to_the_column_is_told_from_what_belongs_to_the_label():
    random = np.random.default_rng(0)
    label_BN = np.stack([random.permutation(4) for _ in range(300)])
    noise_BN = random.normal(size=(300, 4))
    by_column = two_way(noise_BN + np.eye(4)[0], label_BN)
    assert by_column.column_p < 0.001 < 0.05 < by_column.label_p
    assert by_column.column_N == pytest.approx([0.75, -0.25, -0.25, -0.25], abs=0.15)
    by_label = two_way(noise_BN + np.eye(4)[0][label_BN], label_BN)
    assert by_label.label_p < 0.001 < 0.05 < by_label.column_p


def test_the_interval_of_a_rate_by_hand():
    # Half of 10: the middle is one half, and the half width 1.96 / (1 + 0.38416) * sqrt(0.025 + 0.0096).
    assert wilson(5, 10).low == pytest.approx(0.2366, abs=1e-4) and wilson(5, 10).high == pytest.approx(
        0.7634, abs=1e-4
    )
    assert wilson(0, 200).low == 0.0 and wilson(0, 200).high == pytest.approx(0.01885, abs=1e-4)
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
