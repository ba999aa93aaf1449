"""Where bodies are from scene to scene, and from where to look at them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparring.core.errors import GameError
from sparring.core.scene import Scene

SMOOTH = 20
"""Scenes to either side over which the camera averages: it knows the future, so it neither lags nor jerks."""
MARGIN = 1.25
"""How much more is shown than the bodies need."""
HELD = 20
"""Scenes for which the camera still looks at a body that has gone."""
CLOSEST = 800.0
"""Least half width of a map, in metres, or else two aircraft side by side would fill it."""


@dataclass(frozen=True)
class Track:
    """Where one body is in each scene; not a number where it is not there."""

    at_TX: np.ndarray
    gone_T: np.ndarray


@dataclass(frozen=True)
class Camera:
    """The middle of the picture and half of what it shows along each axis, for each scene."""

    centre_TX: np.ndarray
    half_TX: np.ndarray


def tracks(scenes: Sequence[Scene]) -> dict[str, Track]:
    """By name: bodies come and go."""
    found: dict[str, Track] = {}
    for t, scene in enumerate(scenes):
        for body in scene.bodies:
            if body.name not in found:
                found[body.name] = Track(np.full((len(scenes), len(body.at)), np.nan), np.ones(len(scenes), bool))
            if np.isfinite(found[body.name].at_TX[t, 0]):
                raise GameError(f"Scene {t} has two bodies called {body.name!r}. Give each a name of its own.")
            found[body.name].at_TX[t] = body.at
            found[body.name].gone_T[t] = body.gone
    return found


def fixed_camera(scenes: Sequence[Scene]) -> Camera:
    """One square that holds the bounds of the game and every body in every scene."""
    corners = [point[:2] for scene in scenes for point in (scene.low, scene.high)]
    bodies = [body for scene in scenes for body in scene.bodies]
    corners += [tuple(x + sign * body.size for x in body.at) for body in bodies for sign in (-1, 1)]
    low_X, high_X = np.min(corners, axis=0), np.max(corners, axis=0)
    half = (high_X - low_X).max() / 2 * 1.03
    return Camera(np.tile((low_X + high_X) / 2, (len(scenes), 1)), np.full((len(scenes), 2), half))


def following_camera(found: dict[str, Track], aspect_X: Sequence[float]) -> Camera:
    """A smooth path that never loses a living body. `aspect_X` is the shape of what shows each axis; axes of equal
    scale share one zoom, the last one, height, has its own."""
    at_BTX = np.stack([np.where(followed(track)[:, None], track.at_TX, np.nan) for track in found.values()])
    low_TX, high_TX = filled(np.fmin.reduce(at_BTX)), filled(np.fmax.reduce(at_BTX))
    centre_TX = smooth((low_TX + high_TX) / 2)
    needed_TX = np.maximum(high_TX - centre_TX, centre_TX - low_TX)
    # The largest need within reach, averaged over the same reach, is never less than the need itself.
    half_TX = smooth(largest_near(needed_TX)) * MARGIN
    aspect = np.asarray(aspect_X, float)
    zoom_T = np.maximum((half_TX[:, :-1] / aspect[:-1]).max(axis=1), CLOSEST)
    half_TX[:, :-1] = zoom_T[:, None] * aspect[:-1]
    half_TX[:, -1] = np.maximum(half_TX[:, -1], CLOSEST)
    return Camera(centre_TX, half_TX)


def followed(track: Track) -> np.ndarray:
    """Scenes in which the camera looks at a body: while it is there, and a little longer."""
    there_T = ~track.gone_T
    return np.isfinite(track.at_TX[:, 0]) & [there_T[max(0, t - HELD) : t + 1].any() for t in range(len(there_T))]


def filled(at_TX: np.ndarray) -> np.ndarray:
    """Scenes without a body take the place of the nearest scene with one."""
    known = np.flatnonzero(np.isfinite(at_TX[:, 0]))
    if not known.size:
        return np.zeros_like(at_TX)
    scene_T = np.arange(len(at_TX))
    return at_TX[known[np.abs(scene_T[:, None] - known).argmin(axis=1)]]


def smooth(path_TX: np.ndarray) -> np.ndarray:
    """The mean over SMOOTH scenes to either side, near ones counting more; beyond the ends the path stands still."""
    weight = np.hanning(2 * SMOOTH + 3)[1:-1]
    weight /= weight.sum()
    padded = np.pad(path_TX, ((SMOOTH, SMOOTH), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, weight, mode="valid") for column in padded.T], axis=1)


def largest_near(path_TX: np.ndarray) -> np.ndarray:
    """The largest value within SMOOTH scenes."""
    padded = np.pad(path_TX, ((SMOOTH, SMOOTH), (0, 0)), mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * SMOOTH + 1, axis=0).max(axis=-1)
