"""The condition of a run's files: which are as they were written, which are gone, and what to do about each."""

from pathlib import Path
from typing import NamedTuple

from sparring.core.errors import RunError
from sparring.players.checkpointed import PLAYERS
from sparring.setup.config import RunConfig
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


def lost_checkpoints(run: RunDir, config: RunConfig) -> str:
    """A sentence where there were checkpoints and none is left; empty also where a run ended before its first."""
    if newest_first(run.checkpoints_path):
        return ""
    done, every = (
        max((len(found) for found in iterations_in(run).values()), default=0),
        config.checkpoint.checkpoint_every,
    )
    ended = done >= run.read_manifest().get("iterations", 1) and run.last_evaluation()
    if not (0 < every < done or ended or run.report_path.exists()):
        return ""
    return (
        f"The checkpoints are gone: {run.checkpoints_path} has none, though the run did {done or 'some'} iterations. "
        f"Restore the folder from a copy; or train again: sparring train --config {run.config_path} --name NEW"
    )


def lost_lines(run: RunDir, done: int) -> list[str]:
    """A sentence for each file that lacks lines of iterations before the checkpoint after `done` of them. Those that a
    resumed run has already reported lost are known."""
    wanted = set(range(run.read_manifest().get("lines_from", 0), done))
    meaning = {run.metrics_path: "their curves, evaluations and notices", run.timing_path: "how long they took"}
    lacking = {path: len(wanted - found) for path, found in iterations_in(run).items()}
    return [
        f"{path} lacks {count} of the {done} iterations of the checkpoint: {meaning[path]} are lost to reports and "
        f"comparisons. Restore the file from a copy."
        for path, count in lacking.items()
        if count
    ]


def iterations_in(run: RunDir) -> dict[Path, set[int]]:
    """Those that were written down, file by file."""
    return {
        run.metrics_path: {line["iteration"] for line in run.metrics() if line["kind"] == "train"},
        run.timing_path: {line["iteration"] for line in run.timing()},
    }
