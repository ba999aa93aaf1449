"""The parts of the options benchmark that decide what is measured and what is called: no training here."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from sparring.core.errors import SparringError
from sparring.setup.build import build
from sparring.statistics.intervals import Interval

PATH = Path(__file__).parents[2] / "benchmarks" / "ppo_options.py"
SETUP = {"steps": 1000, "seeds": 3, "eval_games": 8, "device": "any", "shared": False}


@pytest.fixture(scope="module")
def options() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ppo_options", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cell(*scores: float, seconds: float = 2.0, **more) -> dict:
    return {"scores": list(scores), "bots": {}, "seconds_per_million": seconds, "compile_seconds": 7.0, **more}


def test_every_option_can_be_built_on_its_game_and_changes_something(options):
    for course in options.COURSES.values():
        names = [options.name_of(change) for change in course.options]
        assert len(set(names)) == len(names)
        for change in course.options:
            config = options.changed(course.base, change)
            assert (config.net, config.ppo) != (course.base.net, course.base.ppo), change
            assert build(config).iterations > 1


def test_a_row_changes_what_its_name_says_alone(options):
    base = options.COURSES["spread"].base
    config = options.changed(base, {"critic": "central", "entropy": "0.05 -> 0.001"})
    assert (config.net.critic, str(config.ppo.entropy)) == ("central", "0.05 -> 0.001")
    assert options.changed(config, {"critic": "local", "entropy": 0.01}) == base
    with pytest.raises(SparringError, match=r"Did you mean 'ppo\.entropy'"):
        options.changed(base, {"entropi": 0.0})


def test_rows_are_chosen_by_name_or_by_how_it_begins_and_the_base_comes_along(options):
    rows = ({"loss": "kl"}, {"loss": "spo"}, {"entropy": 0.0}, {"entropy": "0.0 -> 1"})

    def names(*wanted: str) -> list[str]:
        return [options.name_of(change) for change in options.chosen(rows, list(wanted))]

    assert names() == ["base", "loss=kl", "loss=spo", "entropy=0.0", "entropy=0.0 -> 1"]
    assert names("loss") == ["base", "loss=kl", "loss=spo"]
    assert names("entropy=0.0", "loss=s") == ["base", "loss=spo", "entropy=0.0"]
    assert names("base") == ["base"] and names("std") == []
    with pytest.raises(SparringError, match="Did you mean 'loss=spo'"):
        options.check_names(["loss=spoo"])


def test_a_row_is_called_by_whether_its_interval_leaves_0_out(options):
    assert options.verdict(Interval(1.0, 0.1, 2.0, 5)) == "helped"
    assert options.verdict(Interval(-1.0, -2.0, -0.1, 5)) == "hurt"
    assert options.verdict(Interval(1.0, -0.1, 2.0, 5)) == "no difference seen"
    assert options.verdict(Interval(-1.0, -2.0, 0.1, 5)) == "no difference seen"
    assert options.verdict(Interval(1.0, float("nan"), float("nan"), 1)) == "no difference seen"


def test_the_table_compares_seed_by_seed(options):
    """Differences 1, 2, 3: 2 -+ 4.302653 / sqrt(3), though the scores themselves overlap widely."""
    cells = {
        "base": cell(0.0, 10.0, 20.0, bots={"random": -4.0}),
        "loss=kl": cell(1.0, 12.0, 23.0, seconds=3.0),
        "loss=spo": cell(1.0, 11.0, 21.0),
        "loss=clip_kl": {"error": "ConfigError: a | b\nc"},
    }
    lines = options.tables({"setup": SETUP, "cells": {"spread": cells}}).splitlines()
    assert "1,000 steps a seed, 3 seeds" in lines[0]
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines[4:8]]
    assert rows[0][0] == "base" and rows[0][2:] == ["", "", "2.00 s/million", "7.0"]
    assert rows[1][0] == "loss=kl" and rows[1][2:] == ["2.00 [-0.48, 4.48]", "no difference seen", "1.50", "7.0"]
    assert rows[2][2:4] == ["1.00 [1.00, 1.00]", "helped"]
    assert rows[1][1].startswith("12.00 [")  # (0.25 * 1 + 12 + 0.25 * 23) / 1.5
    assert rows[3][:3] == ["loss=clip_kl", "failed", "ConfigError: a / b"]
    crowded = options.tables({"setup": {**SETUP, "shared": True}, "cells": {"spread": cells}}).splitlines()
    assert all(line.count("|") == 5 for line in crowded[2:8])  # no clock
    assert lines[-1] == "For scale: random -4.00. Of 2 comparisons about 0.1 would be called by chance."


def test_an_interrupted_benchmark_keeps_its_cells_and_tries_failed_ones_again(options, tmp_path):
    path = tmp_path / "cells.json"
    first = options.Results(path, SETUP, fresh=False)
    first.put("spread", "base", cell(1.0))
    first.put("spread", "loss=kl", {"error": "no"})
    again = options.Results(path, SETUP, fresh=False)
    assert again.has("spread", "base") and not again.has("spread", "loss=kl") and not again.has("hunt", "base")
    assert not options.Results(path, SETUP, fresh=True).has("spread", "base")
    assert json.loads(path.read_text())["cells"]["spread"]["base"]["scores"] == [1.0]
    assert [file.name for file in tmp_path.iterdir()] == ["cells.json"]


def test_cells_of_another_budget_are_not_mixed_in(options, tmp_path):
    path = tmp_path / "cells.json"
    options.Results(path, SETUP, fresh=False).put("spread", "base", cell(1.0))
    with pytest.raises(SparringError, match="Name another file"):
        options.Results(path, {**SETUP, "seeds": 4}, fresh=False)
