"""From where a replay is looked at: what is promised of the path of the camera."""

import numpy as np
import pytest

from sparring.core.errors import GameError
from sparring.core.scene import Body, Scene
from sparring.reports.camera import (
    CLOSEST,
    HELD,
    MARGIN,
    SMOOTH,
    filled,
    fixed_camera,
    following_camera,
    largest_near,
    smooth,
    tracks,
)


def flights(at_BTX: np.ndarray, gone_BT: np.ndarray | None = None) -> tuple[Scene, ...]:
    bodies, scenes, _ = at_BTX.shape
    gone_BT = np.zeros((bodies, scenes), bool) if gone_BT is None else gone_BT
    return tuple(
        Scene(
            bodies=tuple(
                Body(name=f"b{b}", at=tuple(map(float, at_BTX[b, t])), side=b, gone=bool(gone_BT[b, t]))
                for b in range(bodies)
            )
        )
        for t in range(scenes)
    )


def wandering(scenes: int, seed: int) -> np.ndarray:
    """Two bodies that fly at random, with turns as sharp as a game could have."""
    generator = np.random.default_rng(seed)
    return np.cumsum(generator.normal(0, 300, (2, scenes, 3)), axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_a_living_body_never_leaves_the_picture(seed):
    at_BTX = wandering(150, seed)
    camera = following_camera(tracks(flights(at_BTX)), (1.5, 1.0, 1.0))
    assert (np.abs(at_BTX - camera.centre_TX) * MARGIN <= camera.half_TX + 1e-9).all()


def test_the_map_keeps_its_shape_and_never_comes_too_close():
    at_BTX = wandering(50, 0)
    camera = following_camera(tracks(flights(at_BTX)), (1.5, 1.0, 1.0))
    np.testing.assert_allclose(camera.half_TX[:, 0], 1.5 * camera.half_TX[:, 1])
    still = following_camera(tracks(flights(np.zeros((2, 5, 3)))), (1.5, 1.0, 1.0))
    np.testing.assert_allclose(still.half_TX, np.tile([1.5 * CLOSEST, CLOSEST, CLOSEST], (5, 1)))


def test_the_camera_neither_lags_behind_steady_flight_nor_jumps():
    steady_T = np.arange(120.0)
    np.testing.assert_allclose(smooth(steady_T[:, None])[SMOOTH:-SMOOTH, 0], steady_T[SMOOTH:-SMOOTH])
    jump_T = np.where(np.arange(120) < 60, 0.0, 1.0)
    moved_T = np.diff(smooth(jump_T[:, None])[:, 0])
    assert moved_T.sum() == pytest.approx(1.0) and moved_T.max() < 1.5 / SMOOTH
    np.testing.assert_allclose(smooth(jump_T[:, None])[[0, -1], 0], [0.0, 1.0])


def test_the_largest_near_value_by_hand():
    path_T = np.zeros(3 * SMOOTH)
    path_T[SMOOTH + 2] = 7.0
    expected_T = np.where(np.abs(np.arange(3 * SMOOTH) - (SMOOTH + 2)) <= SMOOTH, 7.0, 0.0)
    np.testing.assert_array_equal(largest_near(path_T[:, None])[:, 0], expected_T)


def test_a_body_that_has_gone_is_looked_at_a_little_longer_and_then_let_go():
    # The second body goes at scene 60 and is left 100 km behind.
    at_BTX = np.zeros((2, 200, 3))
    at_BTX[1, :, 0] = 100_000.0
    gone_BT = np.zeros((2, 200), bool)
    gone_BT[1, 60:] = True
    camera = following_camera(tracks(flights(at_BTX, gone_BT)), (1.0, 1.0, 1.0))
    shows_T = camera.centre_TX[:, 0] + camera.half_TX[:, 0] > 100_000.0
    assert shows_T[: 60 + HELD].all()
    assert not shows_T[60 + HELD + 2 * SMOOTH + 1 :].any()
    assert camera.centre_TX[-1, 0] == pytest.approx(0.0)


def test_where_nobody_is_the_camera_looks_at_the_nearest_scene_with_somebody():
    nobody = np.nan
    path_TX = np.array([[nobody], [1.0], [nobody], [nobody], [nobody], [5.0]])
    np.testing.assert_array_equal(filled(path_TX)[:, 0], [1, 1, 1, 1, 5, 5])
    np.testing.assert_array_equal(filled(np.full((2, 1), nobody)), [[0], [0]])


def test_bodies_are_followed_by_name_as_they_come_and_go():
    here, there = Body(name="a", at=(1.0, 2.0)), Body(name="m", at=(3.0, 4.0), gone=True)
    found = tracks([Scene(bodies=(here,)), Scene(bodies=(there, here))])
    np.testing.assert_array_equal(found["a"].at_TX, [[1, 2], [1, 2]])
    np.testing.assert_array_equal(found["m"].at_TX, [[np.nan, np.nan], [3, 4]])
    assert found["a"].gone_T.tolist() == [False, False] and found["m"].gone_T.tolist() == [True, True]
    with pytest.raises(GameError, match="Scene 0 has two bodies called 'a'"):
        tracks([Scene(bodies=(here, here))])


def test_a_fixed_camera_shows_the_bounds_and_whoever_runs_away_in_one_square():
    runaway = Body(name="a", at=(5.0, 0.0), size=1.0)
    camera = fixed_camera([Scene(bodies=()), Scene(bodies=(runaway,), low=(-2.0, -1.0, 9.0))])
    # From -2 to 6, and from -1 to 1: the wider one decides.
    np.testing.assert_allclose(camera.centre_TX, [[2.0, 0.0]] * 2)
    np.testing.assert_allclose(camera.half_TX, np.full((2, 2), 4.0 * 1.03))
