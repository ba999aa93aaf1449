"""The table of the ladder, by hand: nothing is trained."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sparring.recipes.minds import ARMS

PATH = Path(__file__).parents[2] / "benchmarks" / "ladder.py"


@pytest.fixture(scope="module")
def ladder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ladder", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(arm: str, returns: Any, seconds: list[float], **rest: Any) -> dict[str, Any]:
    return {"arm": arm, "return": returns, "seconds": seconds, "against": {}, "mind": {}, **rest}


PLAIN = row("plain", [[0.0] * 8 + [1.0, 1.0], [0.0] * 8 + [3.0, 3.0]], [9.0] + [1.0] * 9, against={"flee": [0.5, 0.7]})
RICH = row("full", [[0.0] * 4 + [1.0, 5.0] + [3.0] * 4, [0.0] * 6 + [4.0] * 4], [30.0] + [2.0] * 9)


def test_the_last_fifth_counts_seed_by_seed(ladder):
    assert ladder.late(PLAIN, 10).tolist() == [1.0, 3.0]
    assert ladder.late(RICH, 5).tolist() == [1.0, 0.0]


def test_the_first_iteration_counts_as_a_usual_one(ladder):
    assert ladder.clock(PLAIN).tolist() == list(range(1, 11))
    assert ladder.clock(RICH)[-1] == 20.0


def test_a_row_has_the_return_the_difference_and_the_return_in_the_time_of_the_fastest(ladder):
    """The rich arm earns 3 and 4, 2 and 1 more. Ten seconds are five of its iterations: it earned 1 and 0 then."""
    lines = ladder.table([PLAIN, RICH], PLAIN, ["flee"]).splitlines()
    plain, rich = ([cell.strip().split(" ")[0] for cell in line.strip("|").split("|")] for line in lines[2:])
    assert plain == ["plain", "2.00", "", "", "2.00", "0.60", "500"]
    assert rich == ["full", "3.50", "1.50", "0.500", "0.50", "", "1000"]


def test_returns_are_the_mean_over_seats_and_not_over_pairs(ladder):
    lines = [
        {"kind": "train", "iteration": i, "seed": seed, "return/a": i + seed, "return/b": i + seed + 2.0,
         "return/a vs past": 99.0, "a/mind/skill": 0.5, "b/mind/skill": 0.25 * i}
        for i in range(6) for seed in (0, 1)
    ]  # fmt: skip
    assert ladder.returns([*lines, {"kind": "eval"}]) == [[i + 1.0 for i in range(6)], [i + 2.0 for i in range(6)]]
    assert ladder.late_means(lines) == {"skill": pytest.approx(np.mean([0.5, 1.0, 0.5, 1.25]))}


def test_every_rung_is_data_beside_what_all_have(ladder):
    assert ladder.RUNGS["plain"] == {} and ladder.RUNGS["full"] == ARMS["imagine"]
    assert len({str(sorted(arm.items())) for arm in ladder.RUNGS.values()}) == len(ladder.RUNGS)
