"""Rock, paper, scissors: naive self-play circles, and the same learning against its shadow or its past settles."""

from dataclasses import replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from sparring.recipes.small_games import SETTLING

SEEDS = 3


@cache
def curves(regime: str) -> dict:
    path = Path(__file__).parents[2] / "benchmarks/settle.py"
    spec = spec_from_file_location("settle", path)
    assert spec and spec.loader
    settle = module_from_spec(spec)
    spec.loader.exec_module(settle)
    config = replace(SETTLING["rock_paper_scissors"](), seeds=SEEDS)
    return settle.measure(settle.regime(config, regime), points=20)


def second_half(regime: str, which: str) -> np.ndarray:
    """value_RE"""
    value_RE = np.asarray(curves(regime)[which])
    assert value_RE.shape[0] == SEEDS
    return value_RE[:, value_RE.shape[1] // 2 :]


@pytest.mark.slow
def test_naive_self_play_circles():
    """The counter-example: without it, the others could settle for a reason that has nothing to do with opponents."""
    assert (second_half("naive", "latest").mean(axis=1) > 0.25).all()


@pytest.mark.slow
@pytest.mark.parametrize("regime", ["shadow", "pool"])
def test_the_policy_to_deploy_settles_against_shadow_or_past(regime):
    assert (second_half(regime, "shadow")[:, -1] < 0.1).all()
