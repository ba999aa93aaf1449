"""A replay: the scenes of one game with who played and how it ended; as a file of JSON lines, a header and the scenes.

Data for viewers of any kind: nothing in it is code, and a file that is not whole is refused.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from sparring.core.errors import ConfigError, GameError, RunError
from sparring.core.scene import Body, Scene
from sparring.core.settings import from_dict, to_dict
from sparring.evaluation.ending import Ending
from sparring.store.durable import replace_file

FORMAT, FORMAT_VERSION = "sparring-replay", 1
DIGITS = 6
"""Significant digits of a number in a file: more than a screen can show."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    game: str
    sides: tuple[str, ...]
    """What the sides are called."""
    players: tuple[str, ...]
    """Who drove each side."""
    ending: Ending
    fps: float
    """Scenes in a second."""
    scenes: tuple[Scene, ...] = ()

    @property
    def names_K(self) -> tuple[str, ...]:
        return tuple(f"{side} ({player})" for side, player in zip(self.sides, self.players, strict=True))


def write_replay(replay: Replay, path: Path) -> None:
    """The folder is made if need be; a file that is there is replaced, whole."""
    header = {"format": FORMAT, "format_version": FORMAT_VERSION, "frames": len(replay.scenes)}
    rest = to_dict(replace(replay, scenes=()))
    del rest["scenes"]
    lines = [{**header, **rest}, *(to_dict(scene) for scene in replay.scenes)]
    try:
        text = "".join(json.dumps(_short(line), allow_nan=False) + "\n" for line in lines)
    except ValueError:
        raise GameError(
            f"A scene of {replay.game} has a number that is not finite. Correct its scene(state)."
        ) from None
    write_file(path, text.encode())


def read_replay(path: Path) -> Replay:
    """A whole replay, or a RunError that says what is wrong with the file."""
    try:
        header, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    except OSError as error:
        raise RunError(f"Cannot read the replay {path}: {error.strerror}. Check the path.") from error
    except UnicodeDecodeError:
        raise RunError(f"{path} is not a replay: it is not text. Give a file that sparring replay wrote.") from None
    facts = _object(header)
    if facts is None or facts.pop("format", None) != FORMAT:
        raise RunError(
            f"{path} is not a replay: its first line is not a header. Give a file that sparring replay wrote."
        )
    version, frames = facts.pop("format_version", None), facts.pop("frames", None)
    if version != FORMAT_VERSION:
        raise RunError(
            f"The replay {path} has format {version}, expected {FORMAT_VERSION}. Update sparring to read it."
        )
    if frames != len(lines) or not lines:
        raise RunError(
            f"The replay {path} is not whole: expected {frames} scenes, found {len(lines)}. Record it again."
        )
    try:
        replay = replace(from_dict(Replay, facts, where="line 1"), scenes=tuple(_scenes(lines)))
        _check(replay)
    except ConfigError as error:
        raise RunError(f"The replay {path} is damaged: {error} Record it again.") from None
    return replay


def write_file(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
    except OSError as error:
        raise RunError(f"Cannot write {path}: {error.strerror or error}. Choose another place with --out.") from error


def _scenes(lines: list[str]) -> Iterator[Scene]:
    for number, line in enumerate(lines, start=2):
        data = _object(line)
        if data is None:
            raise ConfigError(f"line {number} is not a JSON object.")
        yield from_dict(Scene, data, where=f"line {number}")


def _check(replay: Replay) -> None:
    """What types do not say: numbers of sides and of coordinates, and that all numbers are finite."""
    if len(replay.sides) != len(replay.players) or not 0 < replay.fps < 1000:
        raise ConfigError(f"line 1: expected a player for each side and a positive fps, found {replay.fps} fps.")
    axes = {len(point) for scene in replay.scenes for body in scene.bodies for point in _points(body)}
    axes |= {len(point) for scene in replay.scenes for line in scene.lines for point in (line.start, line.end)}
    if axes - {2, 3} or len(axes) > 1:
        raise ConfigError(f"expected points with two coordinates, or all with three, found {sorted(axes)}.")
    corners = {len(point) for scene in replay.scenes for wall in scene.walls for point in (wall.low, wall.high)}
    if corners - {2}:
        raise ConfigError(f"expected walls with corners of two coordinates, found {sorted(corners)}.")


def _points(body: Body) -> list[tuple[float, ...]]:
    return [point for point in (body.at, body.towards, body.up) if point is not None]


def _object(line: str) -> dict[str, Any] | None:
    """A line of JSON whose numbers are all finite; None where it is something else."""

    def number(text: str) -> float:
        value = float(text)
        if not isfinite(value):
            raise ValueError(text)
        return value

    try:
        data = json.loads(line, parse_float=number, parse_constant=number)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _short(value: Any) -> Any:
    """Plain data with every number cut to its significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, list) else value
