"""The ground of the maps, and the ways over it."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from sparring.core.errors import ConfigError
from sparring.games.skirmish.maps import MAPS, spawn
from sparring.games.skirmish.terrain import (
    BLOCKED,
    CLIMB,
    CLIMB_COLOSSUS,
    GROUNDS,
    SIZE,
    Ground,
    cliffs,
    ground,
    levels,
)

STRIDE = 2.953 / 16
"""Of a zergling in a loop."""
CORNERED = ("plateau", "corridor", "so_many_baneling")
STRAIGHT = ("open", "band", "small_octagon", "octagon", "pen")


def cell_of(place_U2: np.ndarray) -> np.ndarray:
    east_U, north_U = np.floor(place_U2).astype(int).T
    return north_U * SIZE + east_U


def walkable(name: str) -> np.ndarray:
    return np.flatnonzero(ground(name).level_G > BLOCKED)


def middles(cell_U: np.ndarray) -> np.ndarray:
    return np.stack([cell_U % SIZE, cell_U // SIZE], -1) + 0.5


def aims(land: Ground, place_U2: np.ndarray, goal_U2: np.ndarray) -> np.ndarray:
    if land.spot_G is None or land.waypoint_QQ is None:
        return goal_U2
    goal_U = cell_of(goal_U2)
    next_U = land.waypoint_QQ[land.spot_G[cell_of(place_U2)], land.spot_G[goal_U]]
    return np.where((next_U == goal_U)[:, None], goal_U2, middles(next_U.astype(int)))


def crosses(land: Ground, from_U2: np.ndarray, to_U2: np.ndarray) -> np.ndarray:
    """Whether the step is one that may be made on foot."""
    inside_U = ((to_U2 >= 0) & (to_U2 < SIZE)).all(-1)
    step_U = land.level_G[cell_of(np.clip(to_U2, 0, SIZE - 1))] - land.level_G[cell_of(from_U2)]
    return inside_U & (np.abs(step_U) <= CLIMB)


def walk(name: str, place_U2: np.ndarray, goal_U2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walks until all arrive; the way of each [T, U, 2], and how often each met a wall and slid along it."""
    land = ground(name)
    way, slid_U = [place_U2], np.zeros(len(place_U2), int)
    for _ in range(400):
        line_U2 = aims(land, place_U2, goal_U2) - place_U2
        far_U1 = np.linalg.norm(line_U2, axis=-1, keepdims=True)
        step_U2 = line_U2 * np.minimum(1, STRIDE / np.maximum(far_U1, 1e-9))
        free_U = crosses(land, place_U2, place_U2 + step_U2)
        slid_U += ~free_U
        moved_U2 = place_U2 + step_U2
        for axis in (0, 1):
            aside_U2 = place_U2 + step_U2 * (np.arange(2) == axis)
            step = crosses(land, place_U2, aside_U2)[:, None]
            place_U2 = np.where(step, aside_U2, place_U2)
        place_U2 = np.where(free_U[:, None], moved_U2, place_U2)
        way.append(place_U2)
        if np.abs(place_U2 - goal_U2).max() < 1e-6:
            return np.array(way), slid_U
    raise AssertionError(f"{np.sum(np.abs(place_U2 - goal_U2).max(-1) > 1e-6)} never arrived")


def lengths(way_TU2: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.diff(way_TU2, axis=0), axis=-1).sum(0)


def anywhere(name: str, count: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return middles(draw.choice(walkable(name), count)) + draw.uniform(-0.499, 0.499, (count, 2))


@pytest.mark.parametrize(
    ("name", "row", "first", "last"),
    [
        ("band", 7, 0, 31),
        ("band", 24, 0, 31),
        ("open", 0, 0, 31),
        ("open", 31, 0, 31),
        ("corridor", 30, 19, 30),
        ("corridor", 13, 10, 26),
        ("corridor", 12, 1, 15),
        ("corridor", 1, 1, 14),
        ("so_many_baneling", 30, 21, 30),
        ("so_many_baneling", 16, 7, 21),
        ("so_many_baneling", 1, 1, 8),
        ("small_octagon", 7, 9, 20),
        ("small_octagon", 19, 8, 21),
        ("small_octagon", 12, 7, 22),
        ("pen", 7, 7, 20),
        ("pen", 22, 9, 18),
        ("pen", 24, 11, 16),
        ("octagon", 5, 9, 22),
        ("octagon", 24, 7, 24),
        ("octagon", 16, 5, 26),
        ("plateau", 5, 3, 28),
        ("plateau", 18, 1, 30),
        ("plateau", 20, 3, 28),
    ],
)
def test_a_row_of_the_archive_runs_from_its_first_to_its_last_cell(name, row, first, last):
    assert np.flatnonzero(cliffs(name)[row] > BLOCKED).tolist() == list(range(first, last + 1))


@pytest.mark.parametrize(
    ("name", "row", "first", "last"),
    [
        ("open", 0, 0, 31),
        ("band", 8, 0, 31),
        ("band", 23, 0, 31),
        ("small_octagon", 8, 10, 19),
        ("small_octagon", 10, 8, 21),
        ("small_octagon", 17, 8, 21),
        ("octagon", 6, 10, 21),
        ("octagon", 23, 8, 23),
        ("octagon", 16, 6, 25),
        ("pen", 8, 8, 19),
        ("pen", 21, 10, 17),
        ("pen", 23, 12, 15),
        ("corridor", 13, 12, 14),
        ("corridor", 12, 11, 13),
    ],
)
def test_nobody_walks_on_the_rim_that_the_archives_mark(name, row, first, last):
    assert np.flatnonzero(levels(name)[row] > BLOCKED).tolist() == list(range(first, last + 1))


def test_the_edge_of_the_map_has_no_rim_but_the_foot_of_a_cliff_has():
    assert (levels("open") > BLOCKED).all()
    blocked = np.argwhere((cliffs("plateau") > BLOCKED) & (levels("plateau") == BLOCKED))
    assert {5, 20} <= set(blocked[:, 0]) <= {5, 6, 7, 8, 17, 18, 19, 20}


@pytest.mark.parametrize(
    ("name", "cells", "rows"),
    [
        ("open", 1024, (0, 31)),
        ("band", 32 * 18, (7, 24)),
        ("small_octagon", 16 * 14 - 4 * 3, (7, 20)),
        ("octagon", 22 * 22 - 4 * 10, (5, 26)),
        ("pen", 14 * 14 + 12 + 10 + 8 + 6, (7, 24)),
        ("plateau", 32 * 16 - 4 * 6, (5, 20)),
        ("corridor", 468, (1, 30)),
        ("so_many_baneling", 428, (1, 30)),
    ],
)
def test_ground_has_as_many_cells_as_in_smacs_archive(name, cells, rows):
    open_G = np.flatnonzero(cliffs(name).ravel() > BLOCKED)
    assert len(open_G) == cells
    assert (open_G[0] // SIZE, open_G[-1] // SIZE) == rows


def test_only_the_plateau_has_levels_and_its_ramps_rise_by_8_16_16_and_24():
    assert [name for name in GROUNDS if len(np.unique(levels(name))) > 2] == ["plateau"]
    level_YX = cliffs("plateau")
    assert level_YX[13, 3:8].tolist() == level_YX[18, 28:23:-1].tolist() == [64, 72, 88, 104, 128]
    assert level_YX[19, 3:8].tolist() == level_YX[20, 28:23:-1].tolist() == [64, 64, 64, 64, 128]
    assert (level_YX[13:21, 7:25] == 128).all()
    np.testing.assert_array_equal(level_YX, level_YX[:, ::-1])


def test_people_on_foot_climb_ramps_and_colossi_climb_cliffs_but_not_out_of_the_ground():
    assert 24 <= CLIMB < 40
    assert 64 <= CLIMB_COLOSSUS < 64 - BLOCKED


@pytest.mark.parametrize("name", GROUNDS)
def test_ground_is_numbered_row_by_row_in_small_numbers(name):
    land = ground(name)
    np.testing.assert_array_equal(land.level_G, levels(name).reshape(-1))
    assert land.level_G.dtype == np.float32
    if land.spot_G is not None and land.waypoint_QQ is not None:
        assert land.spot_G.dtype == land.waypoint_QQ.dtype == np.int16
        np.testing.assert_array_equal(land.spot_G[walkable(name)], np.arange(len(walkable(name))))
        assert land.waypoint_QQ.shape == (len(walkable(name)),) * 2
        assert set(land.waypoint_QQ.flat) <= set(walkable(name).tolist())


def test_a_blocked_cell_is_looked_up_as_one_of_the_nearest_that_are_not():
    spot_G = ground("corridor").spot_G
    assert spot_G is not None
    assert walkable("corridor")[spot_G[13 * SIZE + 20]] == 14 * SIZE + 20
    assert walkable("corridor")[spot_G[0]] == 2 * SIZE + 2


def test_only_ground_with_corners_has_waypoints():
    assert tuple(name for name in GROUNDS if ground(name).waypoint_QQ is not None) == CORNERED
    assert tuple(name for name in GROUNDS if ground(name).spot_G is None) == STRAIGHT


@pytest.mark.parametrize("name", STRAIGHT)
def test_where_there_are_no_waypoints_walking_straight_arrives_with_a_little_sliding_at_most(name):
    start_U2, goal_U2 = anywhere(name, 3000, seed=1), anywhere(name, 3000, seed=2)
    way_TU2, slid_U = walk(name, start_U2, goal_U2)
    assert slid_U.max() <= 20
    straight_U = np.linalg.norm(goal_U2 - start_U2, axis=-1)
    assert (lengths(way_TU2) <= 1.2 * straight_U + 0.5).all()


@pytest.mark.parametrize("name", CORNERED)
def test_waypoints_lead_from_anywhere_to_anywhere_and_never_into_a_wall(name):
    _, slid_U = walk(name, anywhere(name, 3000, seed=3), anywhere(name, 3000, seed=4))
    assert slid_U.max() == 0


@pytest.mark.parametrize("name", CORNERED)
def test_a_cell_next_door_is_its_own_waypoint_unless_a_cliff_is_between(name):
    land = ground(name)
    assert land.spot_G is not None
    assert land.waypoint_QQ is not None
    level_YX = levels(name)
    for y, x in np.argwhere(level_YX[:, :-1] > BLOCKED):
        here, there = y * SIZE + x, y * SIZE + x + 1
        if level_YX[y, x + 1] > BLOCKED:
            straight = land.waypoint_QQ[land.spot_G[here], land.spot_G[there]] == there
            assert straight == (abs(level_YX[y, x] - level_YX[y, x + 1]) <= CLIMB)


@pytest.mark.parametrize("name", CORNERED)
def test_a_cell_is_its_own_waypoint_wherever_all_between_is_open_and_level(name):
    land = ground(name)
    assert land.spot_G is not None
    assert land.waypoint_QQ is not None
    seen = 0
    for here, there in np.random.default_rng(5).choice(walkable(name), (4000, 2)):
        bottom, top = sorted((here // SIZE, there // SIZE))
        left, right = sorted((here % SIZE, there % SIZE))
        if np.ptp(levels(name)[bottom : top + 1, left : right + 1]) == 0:
            assert land.waypoint_QQ[land.spot_G[here], land.spot_G[there]] == there
            seen += 1
    assert seen > 500


def turning_points(open_YX: np.ndarray) -> np.ndarray:
    """Corners of walls that stick out into the ground: shortest ways bend nowhere else."""
    padded = np.pad(open_YX, 1).astype(int)
    around = padded[:-1, :-1] + padded[1:, :-1] + padded[:-1, 1:] + padded[1:, 1:]
    return np.argwhere(around == 3)[:, ::-1].astype(float)


def free_lines(open_YX: np.ndarray, from_2: np.ndarray, to_U2: np.ndarray) -> np.ndarray:
    """Whether lines can be walked; touching walls is allowed. By sampling: a thin corner may be missed, which makes a
    shortest way too short by a hair."""
    place_US2 = from_2 + (to_U2[:, None] - from_2) * np.linspace(0, 1, 401)[:, None]
    free_US: np.ndarray = np.zeros(place_US2.shape[:2], bool)
    for nudge in ([-1e-6, -1e-6], [-1e-6, 1e-6], [1e-6, -1e-6], [1e-6, 1e-6]):
        east_US, north_US = np.moveaxis(np.clip(np.floor(place_US2 + nudge).astype(int), 0, SIZE - 1), -1, 0)
        free_US |= open_YX[north_US, east_US]
    return np.all(free_US, axis=1)


@pytest.mark.parametrize(("name", "longest"), [("corridor", 1.045), ("so_many_baneling", 1.015)])
def test_ways_to_the_goal_are_a_few_percent_longer_than_the_shortest_at_most(name, longest):
    open_YX = levels(name) > BLOCKED
    goal_2 = np.array(MAPS[name].goal)
    start_U2 = middles(walkable(name)[::5])
    bend_B2 = np.concatenate([goal_2[None], turning_points(open_YX)])
    node_N2 = np.concatenate([bend_B2, start_U2])
    length_BN = np.stack(
        [np.where(free_lines(open_YX, b, node_N2), np.linalg.norm(node_N2 - b, axis=-1), 0) for b in bend_B2]
    )
    shortest_U = dijkstra(
        np.concatenate([length_BN, np.zeros((len(start_U2), len(node_N2)))]), directed=False, indices=0
    )[len(bend_B2) :]
    way_TU2, _ = walk(name, start_U2, np.broadcast_to(goal_2, start_U2.shape))
    ratio_U = lengths(way_TU2) / shortest_U
    assert ratio_U.min() > 0.999
    assert ratio_U.max() < longest
    assert ratio_U.mean() < 1.006


def test_the_neck_of_the_corridor_is_two_cells_wide_and_every_enemy_passes_it():
    assert np.flatnonzero((cliffs("corridor")[12:14] > BLOCKED).all(0)).tolist() == [10, 11, 12, 13, 14, 15]
    assert np.flatnonzero((levels("corridor")[12:14] > BLOCKED).all(0)).tolist() == [12, 13]
    start_U2 = spawn(MAPS["corridor"], 1) + 16.0
    way_TU2, slid_U = walk("corridor", start_U2, np.broadcast_to(np.array(MAPS["corridor"].goal), start_U2.shape))
    assert slid_U.max() == 0
    above_TU = way_TU2[..., 1] >= 13
    for u in range(24):
        crossings = np.flatnonzero(above_TU[:-1, u] & ~above_TU[1:, u])
        assert len(crossings) == 1
        before, after = way_TU2[crossings[0], u], way_TU2[crossings[0] + 1, u]
        assert min(before[0], after[0]) >= 11
        assert max(before[0], after[0]) < 15


def test_zerglings_reach_the_plateau_by_the_ramps_alone():
    start_U2 = spawn(MAPS["2c_vs_64zg"], 1) + 16.0
    way_TU2, slid_U = walk("plateau", start_U2, np.broadcast_to([16.0, 16.5], start_U2.shape))
    assert slid_U.max() == 0
    level_TU = ground("plateau").level_G[cell_of(way_TU2.reshape(-1, 2))].reshape(way_TU2.shape[:2])
    assert np.abs(np.diff(level_TU, axis=0)).max() <= CLIMB
    east_TU, north_TU = np.moveaxis(way_TU2, -1, 0)
    on_ramp_TU = ((east_TU > 4) & (east_TU < 7) | (east_TU > 25) & (east_TU < 28)) & (north_TU > 13) & (north_TU < 19)
    assert on_ramp_TU.any(0).all()
    assert ((level_TU == 104) & on_ramp_TU).any(0).all()  # the last step before the plateau


def test_the_way_up_the_plateau_is_nearly_the_shortest():
    # up to the corner (26, 13), where the ramp's side is low enough to step over, and back: twice hypot(9.5, 3.5)
    way_TU2, _ = walk("plateau", np.array([[16.5, 9.5]]), np.array([[16.5, 16.5]]))
    assert 20.249 < lengths(way_TU2)[0] < 1.05 * 20.249


def test_an_unknown_ground_is_refused_by_name():
    with pytest.raises(ConfigError, match="pen"):
        levels("pan")
