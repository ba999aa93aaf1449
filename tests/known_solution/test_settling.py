"""Small games: naive self-play circles, and with the defaults the newest policy and its average come to rest."""

from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from sparring.recipes.defaults import default_config

SEEDS = 3


@cache
def exploitability(game: str, regime: str = "") -> tuple[np.ndarray, np.ndarray]:
    """newest_R and average_R after a quarter of a million steps with the defaults."""
    spec = spec_from_file_location("exact", Path(__file__).parents[2] / "benchmarks/exact.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    named = {"self_play": regime} if regime else {}
    found = module.exact(default_config(game, total_steps=250_000, seeds=SEEDS, **named))
    return np.asarray(found.newest), np.asarray(found.average)


@pytest.mark.slow
def test_naive_self_play_circles():
    """The counter-example: without it, the others could settle for a reason that has nothing to do with a magnet."""
    assert (exploitability("matrix:rock_paper_scissors", "naive")[0] > 0.25).all()


@pytest.mark.slow
@pytest.mark.parametrize(("game", "mark"), [("matrix:rock_paper_scissors", 0.05), ("matrix:five_moves", 0.1)])
def test_with_the_defaults_newest_and_average_settle(game, mark):
    newest_R, average_R = exploitability(game)
    assert (newest_R < mark).all() and (average_R < mark).all()
