"""Walls, cliffs and closed gaps."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from field import advanced, begun, changed
from jax import Array, lax
from numpy.testing import assert_allclose

from sparring.games.registry import make
from sparring.games.skirmish import movement, terrain
from sparring.games.skirmish.army import Army
from sparring.games.skirmish.maps import BattleMap, Group
from sparring.games.trial import quick_jit

STOP = 1


@cache
def corridor() -> Any:
    return make("skirmish:corridor")


def levels_at(name: str, place_XU: np.ndarray) -> np.ndarray:
    column, row = np.floor(np.asarray(place_XU) + 16).astype(int)
    return terrain.levels(name)[row, column]


@cache
def marching(ground: str, standing: int, walking: int, kinds: tuple[str, str], loops: int) -> Callable[..., Array]:
    """march(place_XU, point_X): path [T, 2, U] of units that walk to a point where others stand; nobody fights."""
    sides = ((Group(kinds[0], standing, (16.0, 16.0)),), (Group(kinds[1], walking, (16.0, 16.0)),))
    battle_map = BattleMap(name="march", allies=sides[0], enemies=sides[1], limit=1, ground=ground, goal=(16.0, 16.0))
    army = Army(battle_map, smaclite=False, drawn=False)
    stats = army.stats(jnp.asarray(army.kind_U)[:, None])
    land = jax.tree.map(lambda x: x[..., None], movement.land_of(terrain.ground(ground)))
    walks_U = (jnp.arange(standing + walking) >= standing)[:, None]
    alive_U = jnp.ones_like(walks_U)

    def march(place_XU: Array, point_X: Array) -> Array:
        point_XU = jnp.broadcast_to(point_X[:, None, None], place_XU[..., None].shape)

        def loop(place_XU: Array, _: None) -> tuple[Array, Array]:
            offset_XU = movement.way(land, stats, place_XU, point_XU)
            place_XU = movement.walked(land, stats, place_XU, offset_XU, walks_U)
            place_XU = movement.parted(land, stats, place_XU, alive_U, walks_U, flyers=False)
            return place_XU, place_XU[..., 0]

        return lax.scan(loop, place_XU[..., None], None, length=loops)[1]

    return quick_jit(march)


@pytest.mark.parametrize(("zealots", "apart", "passing"), [(3, 0.75, False), (2, 1.8, True), (1, 0.0, True)])
def test_three_zealots_abreast_close_the_neck_to_zerglings(zealots: int, apart: float, passing: bool) -> None:
    # The neck is the line y = 13 from x = 12 to x = 14, and the middle of a body may touch a wall; a zergling is 0.75
    # wide, and so is a zealot.
    wall = np.stack([13 + apart * (np.arange(zealots) - (zealots - 1) / 2), np.full(zealots, 13.0)])
    crowd = np.stack([13.5 + 0.8 * (np.arange(18) % 6), 15.0 + 0.8 * (np.arange(18) // 6)])
    place_XU = np.concatenate([wall, crowd], axis=1) - 16
    march = marching("corridor", zealots, 18, ("zealot", "zergling"), 320)
    path = np.asarray(march(jnp.asarray(place_XU, jnp.float32), jnp.array([4.47, 4.33]) - 16.0)) + 16
    assert (path[-1, 1, zealots:] < 12.5).any() == passing
    assert_allclose(path[-1, :, :zealots], wall, atol=1e-5)


def test_a_zergling_climbs_by_a_ramp_and_a_colossus_straight_up() -> None:
    goal = jnp.array([0.0, 1.0])
    path = np.asarray(marching("plateau", 0, 1, ("marine", "zergling"), 240)(jnp.array([[0.5], [-5.0]]), goal))
    assert_allclose(path[-1, :, 0], goal, atol=1e-3)
    level = np.stack([levels_at("plateau", place_XU) for place_XU in path])
    assert np.abs(np.diff(level, axis=0)).max() <= 24  # a cliff is 40 or 64 high
    assert 104 in level
    assert np.abs(path[:, 0, 0]).max() > 9  # round the end of the plateau, x = 7 or x = 25
    path = np.asarray(marching("plateau", 0, 1, ("marine", "colossus"), 100)(jnp.array([[0.0], [-6.0]]), goal))
    assert_allclose(path[:49, 1, 0], -6 + 0.140625 * np.arange(1, 50), atol=1e-4)
    assert sorted({float(levels_at("plateau", place_XU)[0]) for place_XU in path}) == [64, 128]


def test_a_colossus_does_not_climb_off_the_edge_of_the_ground() -> None:
    march = marching("plateau", 0, 1, ("marine", "colossus"), 100)
    path = np.asarray(march(jnp.array([[0.0], [-8.0]]), jnp.array([0.0, -15.5])))
    assert -10 <= path[:, 1].min() < -9.8  # the last row is y = 6


def in_the_choke(worlds: int) -> np.ndarray:
    """place_WXU of corridor: zealots spread over the choke and its corners, zerglings close behind."""
    rng = np.random.default_rng(1)
    open_G = np.argwhere(terrain.levels("corridor")[9:19, 9:21] > 0)[:, ::-1] + 9
    cells = np.stack([rng.permutation(open_G)[:30] for _ in range(worlds)])
    return np.swapaxes(cells + rng.uniform(0.05, 0.95, cells.shape) - 16, 1, 2)


def test_nobody_ever_stands_in_a_wall_of_the_corridor() -> None:
    game, worlds = corridor(), 4
    state = begun(game, worlds)
    place_WXU = np.array(state.place_XU)
    place_WXU[1:] = in_the_choke(worlds)[1:]
    state = state._replace(place_XU=jnp.asarray(place_WXU, jnp.float32))
    places = []
    for step in range(60):
        state, _, _ = advanced(game, state, seed=step)
        places.append(np.moveaxis(np.asarray(state.place_XU), 1, 0))
    assert np.stack([levels_at("corridor", place) for place in places]).min() == 64
    assert np.ptp(places, axis=0).max() > 5


def test_scripted_zerglings_come_through_the_choke_to_their_goal() -> None:
    game = corridor()
    state = changed(begun(game, 4), health_U=dict.fromkeys(range(6), 0.0))
    path = [np.asarray(state.place_XU)[0, :, 6:] + 16]
    for step in range(60):
        state, _, _ = advanced(game, state, STOP, seed=step)
        path.append(np.asarray(state.place_XU)[0, :, 6:] + 16)
    path = np.stack(path)
    assert np.hypot(*(path[-1] - [[4.47], [4.33]])).max() < 3.5
    crosses = (path[:-1, 1] >= 13) & (path[1:, 1] < 13)
    assert (crosses.sum(axis=0) == 1).all()
    before, after = path[:-1, 0][crosses], path[1:, 0][crosses]
    assert (np.maximum(before, after) > 11).all()
    assert (np.minimum(before, after) < 15).all()
    # Nobody has wandered: the straight legs are about 25 long, 17 steps of 1.4765; the last arrives by the 40th.
    assert np.hypot(*(path[40] - [[4.47], [4.33]])).max() < 6


def biters(zealots: list[tuple[float, float]], steps: int) -> np.ndarray:
    """[steps, zealots]: how many of 24 zerglings reach each of the zealots that stand there and never fall."""
    game, count = corridor(), len(zealots)
    state = begun(game, 4)
    place_WXU = np.array(state.place_XU)
    place_WXU[:, :, :count] = np.transpose(zealots) - 16.0
    state, found = state._replace(place_XU=jnp.asarray(place_WXU)), []
    whole = {unit: 100.0 if unit < count else 0.0 for unit in range(6)}
    for step in range(steps):
        state, _, _ = advanced(game, changed(state, health_U=whole), STOP, seed=step)
        place_XU = np.asarray(state.place_XU)[0]
        away = np.hypot(*(place_XU[:, :count, None] - place_XU[:, None, 6:]))
        found.append((away <= 0.976).sum(axis=1))
    return np.stack(found)


def test_zerglings_surround_a_zealot_within_three_seconds() -> None:
    # The first arrives in step 6, and six steps are three seconds; seven fit round it: pi / asin(0.375 / 0.975) = 7.96.
    found = biters([(19.0, 19.0)], 14)[:, 0]
    assert found[:5].max() == 0
    assert found[11] >= 6
    assert found.max() <= 7


def test_zerglings_that_find_no_place_go_on_to_another_zealot() -> None:
    found = biters([(19.0, 19.0), (14.5, 15.5)], 22)
    assert found.max() <= 7
    assert found[-1].min() >= 5


def test_zealots_in_the_choke_hold_zerglings_that_fight_them() -> None:
    game = corridor()
    state = begun(game, 4)
    place_WXU = np.array(state.place_XU)
    # Three abreast, the others behind them.
    place_WXU[:, :, :6] = np.array([[12.25, 13.0, 13.75, 10.0, 11.0, 12.0], [13.0, 13.0, 13.0, 10.0, 10.0, 10.0]]) - 16
    state, hurt = state._replace(place_XU=jnp.asarray(place_WXU)), 50.0
    for step in range(40):
        state, _, _ = advanced(game, state, STOP, seed=step)
        hurt = np.asarray(state.shield_U)[:, :3].min()
        state = changed(state, health_U=dict.fromkeys(range(6), 100.0), shield_U=dict.fromkeys(range(6), 50.0))
    assert hurt < 50
    assert (np.asarray(state.place_XU)[:, 1, 6:] + 16).min() > 13
