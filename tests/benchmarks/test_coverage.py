"""A small version of the table of coverage, with fixed seeds: what says 95 % holds the truth about as often."""

import sys
from importlib import import_module
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def coverage():
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        yield import_module("coverage")
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("part", ["rates", "played_on", "rates_over_seeds"])
def test_intervals_of_rates_hold_the_truth(coverage, part):
    rows = coverage.measured([part], cases=400)
    # 93 % less three standard errors of 400 cases
    assert [row for row in rows if row.share < 0.93 - 0.038] == []


def test_ratings_hold_the_truth_and_no_cycles_are_seen_where_there_are_none(coverage):
    rows = coverage.measured(["ratings"], cases=400)
    assert [row for row in rows if row.limit == "95 %" and row.share < 0.89] == []
    cyclic = [row.share for row in rows if row.limit != "95 %"]
    assert len(cyclic) == 8 and sum(cyclic) / 8 < 0.08


def test_one_who_looks_after_every_game_is_seldom_wrong(coverage):
    rows = coverage.measured(["looked_at"], cases=400)
    assert [row for row in rows if row.what == "surely above" and row.share > 0.025 + 0.033] == []


def test_normal_values_are_held_as_often_as_is_said_and_skewed_ones_are_called_narrow(coverage):
    rows = coverage.measured(["means"], cases=2000)
    assert all(0.935 <= row.share <= 0.975 for row in rows if "normal" in row.case)
    assert [row.verdict for row in rows if row.case == "one of five fails, 5 values"] == ["NARROW", ""]
    assert "| NARROW |" in coverage.table(rows)
