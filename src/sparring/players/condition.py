"""The condition of a run's files: which checkpoints and packages are as they were written, and what to do if not."""

from pathlib import Path
from typing import NamedTuple

from sparring.core.errors import RunError
from sparring.players.checkpointed import PLAYERS
from sparring.store.checkpoints import load_one, newest_first
from sparring.store.commands import folder
from sparring.store.packages import SUFFIX, has_checksum, read_package
from sparring.store.run_dir import RunDir


class Condition(NamedTuple):
    checkpoints: int
    packages: int
    unproved: int
    """Packages of an early format, which have no checksum."""
    damage: tuple[str, ...]
    """One sentence for each damaged file, with what to do."""


def condition_of(run: RunDir) -> Condition:
    """Compare every checksum in a run; reads only."""
    checkpoints = newest_first(run.checkpoints_path)
    packages = [path for place in (run.path / PLAYERS, folder(run)) for path in sorted(place.glob(f"*{SUFFIX}"))]
    damage, unproved = [], 0
    for path in (*checkpoints, *packages):
        try:
            if path.parent == run.checkpoints_path:
                load_one(path)
            else:
                read_package(path)
                unproved += not has_checksum(path)
        except RunError as error:
            damage.append(f"{error} {remedy(run, path)}")
    return Condition(len(checkpoints), len(packages), unproved, tuple(damage))


def remedy(run: RunDir, path: Path) -> str:
    """What to do about a damaged file, if nobody has a copy of it."""
    if path.parent == run.checkpoints_path:
        return f"Without a copy, `sparring resume {run.path}` goes on from the newest whole one."
    if path.parent == folder(run):
        return f"The guest it brought may also be in {run.path / PLAYERS}: copy it from there."
    return f"Without a copy, `sparring resume {run.path}` writes those that are in the pool again."
