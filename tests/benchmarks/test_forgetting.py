"""What counts as forgotten, by hand: nothing is trained."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "forgetting.py"


@pytest.fixture(scope="module")
def forgetting() -> ModuleType:
    spec = importlib.util.spec_from_file_location("forgetting", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLIMBING = np.array([[0.5, 0.4, 0.3, 0.2], [0.6, 0.5, 0.4, 0.3], [0.7, 0.6, 0.5, 0.4], [0.8, 0.7, 0.6, 0.5]])
FORGOT = np.array([[0.5, 0.4, 0.3, 0.7], [0.6, 0.5, 0.4, 0.3], [0.7, 0.6, 0.5, 0.4], [0.3, 0.7, 0.6, 0.5]])


def test_one_that_only_climbs_has_dropped_nothing_though_it_is_near_one_half_against_the_last(forgetting):
    assert forgetting.drops(CLIMBING, CLIMBING).tolist() == [0.0, 0.0, 0.0]


def test_the_drop_is_the_best_that_anybody_later_had_less_what_the_newest_has(forgetting):
    assert forgetting.drops(FORGOT, FORGOT) == pytest.approx([0.7 - 0.3, 0.0, 0.0])
    assert forgetting.largest(FORGOT, CLIMBING) == pytest.approx(0.7 - 0.8), (
        "other games measure than those that choose"
    )


def test_against_bots_the_best_checkpoint_of_all_counts(forgetting):
    points_MB = np.array([[0.9, 0.1], [0.5, 0.2], [0.6, 0.4]])
    assert forgetting.outside_drops(points_MB, points_MB) == pytest.approx([0.3, 0.0])


def test_a_table_has_means_over_seeds_with_intervals(forgetting):
    half = {"matrix": FORGOT.tolist(), "bots": [[0.5], [0.5], [0.9], [0.6]]}
    other = {"matrix": CLIMBING.tolist(), "bots": [[0.5], [0.5], [0.6], [0.6]]}
    found = forgetting.summary([[half, half], [other, other]])
    assert found["mean drop"].mean == pytest.approx(0.4 / 3 / 2)
    assert found["drop against bots"].mean == pytest.approx(0.15) and found["drop against bots"].count == 2
    assert "| rps | pool | " in forgetting.table({"rps": {"pool": [[half, half], [other, other]]}})
