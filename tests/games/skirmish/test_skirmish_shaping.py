"""Potentials of battles, worked out by hand on the three marines a side of 3m."""

import jax
import numpy as np
import pytest

from sparring.games.registry import make
from sparring.games.skirmish.battle import Battle


@pytest.fixture(scope="module")
def duel():
    return make("skirmish:3m", opponent="policy")


def scene(duel, **changed: list) -> Battle:
    """Marines of 45 health each: red at (0, 0), (0, 3), (0, -8), blue at (4, 0), (16, 0), (20, 0)."""
    begun = duel.start(jax.random.key(0))
    place_XU = np.array([[0, 0, 0, 4, 16, 20], [0, 3, -8, 0, 0, 0]], float)
    arrays = {name: np.asarray(value, float) for name, value in changed.items()}
    return begun._replace(**{"place_XU": place_XU, **arrays})


def test_each_unit_is_as_near_as_the_enemy_nearest_to_it(duel):
    near_S = np.asarray(duel.potential(scene(duel)))[:, 1]
    # red to (4, 0): 4, 5 and sqrt(80); blue to (0, 0): 4, 16, 20; the map is 32 cells wide
    assert near_S == pytest.approx(1 - np.array([4, 5, 80**0.5, 4, 16, 20]) / 32)


def test_the_fallen_are_near_nobody_and_nobody_is_near_them(duel):
    near_S = np.asarray(duel.potential(scene(duel, health_U=[0, 45, 45, 0, 45, 45])))[:, 1]
    # without (0, 0) and (4, 0): red (0, 3) and (0, -8) to (16, 0); blue (16, 0) and (20, 0) to (0, 3)
    away = np.array([265**0.5, 320**0.5, 265**0.5, 409**0.5])
    assert near_S == pytest.approx([0, *(1 - away[:2] / 32), 0, *(1 - away[2:] / 32)])


def test_an_army_endures_by_the_health_it_has_left_each_unit_alike(duel):
    endured_S = np.asarray(duel.potential(scene(duel, health_U=[45, 30, 15, 45, 45, 0])))[:, 0]
    assert endured_S == pytest.approx([90 / 135] * 3 + [90 / 135] * 3)
    assert np.asarray(duel.potential(scene(duel, health_U=[45, 0, 0, 9, 0, 0])))[:, 0] == pytest.approx(
        [1 / 3] * 3 + [9 / 135] * 3
    )
