"""Commands to a run: small files that its trainer picks up between two iterations.

commands/000007.json               waits
commands/000007.safetensors        a player that comes with it; it stays
commands/done/000120-000007.json   was obeyed before iteration 120, and is again when the run goes back before that
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparring.store.durable import TEMPORARY, cannot_write, sync_folder, write_synced
from sparring.store.lock import HeldError, take
from sparring.store.packages import SUFFIX
from sparring.store.run_dir import RunDir

_WAITING = re.compile(r"(\d{6,})\.json", re.ASCII)
_DONE = re.compile(r"(\d{6,})-(\d{6,})\.json", re.ASCII)
_LARGEST = 2**16


@dataclass(frozen=True)
class Command:
    number: int
    wish: Mapping[str, Any] = field(default_factory=dict)
    damage: str = ""
    """Why the file could not be read; empty: it could."""


def folder(run: RunDir) -> Path:
    return run.path / "commands"


def package_path(run: RunDir, number: int) -> Path:
    """The player that comes with a command."""
    return folder(run) / f"{number:06d}{SUFFIX}"


def drop(run: RunDir, wish: Mapping[str, Any], package: Callable[[Path], Any] | None = None) -> int:
    """Leave a command, whole or not at all; its number. `package` writes the player that comes with it to a path."""
    text = json.dumps(dict(wish)).encode()
    place = folder(run)
    try:
        (place / "done").mkdir(parents=True, exist_ok=True)
        number, reserved = _reserved(place)
        try:
            if package is not None:
                package(package_path(run, number))
            write_synced(reserved, text)
            reserved.replace(place / f"{number:06d}.json")
        finally:
            reserved.unlink(missing_ok=True)
        sync_folder(place)
    except OSError as error:
        raise cannot_write(place, error, run=run.path, needed=len(text)) from error
    return number


def waiting(run: RunDir) -> list[int]:
    """Numbers of the commands that nobody has obeyed yet, in order. One look into a folder."""
    try:
        names = [path.name for path in folder(run).iterdir()]
    except OSError:
        return []
    return sorted(int(match[1]) for match in map(_WAITING.fullmatch, names) if match)


def taken(run: RunDir, number: int, iteration: int) -> Command:
    """A command that waited. It counts as obeyed before it is: after a crash in between it is obeyed again."""
    source, done = folder(run) / f"{number:06d}.json", folder(run) / "done"
    target = done / f"{iteration:06d}-{number:06d}.json"
    try:
        done.mkdir(exist_ok=True)
        source.replace(target)
        sync_folder(done)
    except OSError as error:
        raise cannot_write(target, error, run=run.path) from error
    return _read(target, number)


def obeyed_from(run: RunDir, iteration: int) -> dict[int, list[Command]]:
    """What was obeyed at this iteration or later, by iteration: what a run that goes back has to repeat."""
    done = folder(run) / "done"
    names = sorted(path.name for path in done.iterdir()) if done.is_dir() else []
    found: dict[int, list[Command]] = defaultdict(list)
    for match in filter(None, map(_DONE.fullmatch, names)):
        if int(match[1]) >= iteration:
            found[int(match[1])].append(_read(done / match[0], int(match[2])))
    return dict(found)


def is_training(run: RunDir) -> bool:
    """Whether a process is writing the run, so that a command is obeyed soon."""
    path = run.path / "writer.lock"
    if not path.exists():
        return False
    try:
        os.close(take(path))
    except HeldError:
        return True
    except OSError:
        return False
    return False


def _reserved(place: Path) -> tuple[int, Path]:
    """The next free number, and an unfinished file that keeps others from taking it too."""
    names = [path.name for part in (place, place / "done") for path in part.iterdir()]
    known = [int(numbers[-1]) for numbers in (re.findall(r"\d{6,}", name) for name in names) if numbers]
    number = max(known, default=0) + 1
    while True:
        path = place / f"{TEMPORARY}{number:06d}"
        try:
            path.open("xb").close()
        except FileExistsError:
            number += 1
        else:
            return number, path


def _read(path: Path, number: int) -> Command:
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError("too long")
        wish = json.loads(path.read_bytes())
        if not isinstance(wish, dict):
            raise TypeError("no object")
    except OSError as error:
        return Command(number, damage=f"it cannot be read ({error.strerror or error})")
    except (ValueError, TypeError, RecursionError):
        return Command(number, damage="it is not a JSON object")
    return Command(number, wish)
