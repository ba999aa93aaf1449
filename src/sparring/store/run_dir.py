"""The run directory: everything a run leaves behind, at fixed names, readable by eye.

manifest.json    what the directory is, and what the run was made with
config.toml      every setting
metrics.jsonl    one line per learner and iteration; the same bytes when a run is repeated
timing.jsonl     one line per iteration; never the same twice, and therefore apart
results.db       games and how they ended
exploits.jsonl   what can be won from the run's players, one line for each time somebody asked
checkpoints/     states to resume from
players/         past selves and guests, one package each
commands/        what people asked of the run while it went on
replays/         games as GIFs, and their scenes
not_finite/      minibatches that could not be learned from and worlds that went wrong, where there were any
tracking/        metrics in the forms of other tools, where they were asked for
report.html      the page that tells what happened
writer.lock      held by the process that writes
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from sparring.core.errors import RunError
from sparring.core.names import near_names
from sparring.store.durable import TEMPORARY, append_whole, cannot_write, replace_file
from sparring.store.lines import problem_of_exploits, problem_of_metrics, problem_of_timing, read_lines
from sparring.store.lock import HeldError, take
from sparring.store.manifest import Manifest, checked_facts
from sparring.store.results import Results

FORMAT = "sparring-run"
FORMAT_VERSION = 1

SHOWN = 5
"""Runs that are named where one is not there."""

_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class RunDir:
    """Paths of a run and the writes that belong to no other file of the store. Make one with `create` or `open`."""

    path: Path

    @classmethod
    def create(cls, path: str | Path, *, force: bool = False) -> RunDir:
        """A new directory with a manifest. `force` replaces a run that is there; nothing else is ever deleted."""
        run = cls(Path(path))
        if run.path.is_symlink() or (run.path.exists() and not run.path.is_dir()):
            raise RunError(f"Expected a new directory at {path}, found a file or a link. Choose another --name.")
        with run._writes(run.path):
            if run.path.is_dir() and any(not child.name.startswith(TEMPORARY) for child in run.path.iterdir()):
                run._make_room(force)
            run.path.mkdir(parents=True, exist_ok=True)
        run.write_manifest({})
        return run

    @classmethod
    def open(cls, path: str | Path) -> RunDir:
        """An existing run."""
        run = cls(Path(path))
        if not run.path.is_dir():
            raise RunError(f"No run at {path}. {_nearest_run(run.path)}")
        manifest = _manifest(run.path)
        if manifest is None:
            raise RunError(f"{path} is not a run: it has no {_MANIFEST} of a sparring run. Give the folder of a run.")
        version = manifest.get("format_version")
        if not isinstance(version, int) or version > FORMAT_VERSION:
            raise RunError(
                f"The run {path} has format {version}, expected {FORMAT_VERSION} or less. Update sparring to read it."
            )
        return run

    @property
    def manifest_path(self) -> Path:
        return self.path / _MANIFEST

    @property
    def config_path(self) -> Path:
        return self.path / "config.toml"

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def timing_path(self) -> Path:
        return self.path / "timing.jsonl"

    @property
    def results_path(self) -> Path:
        return self.path / "results.db"

    @property
    def exploits_path(self) -> Path:
        return self.path / "exploits.jsonl"

    @property
    def checkpoints_path(self) -> Path:
        return self.path / "checkpoints"

    @property
    def players_path(self) -> Path:
        return self.path / "players"

    @property
    def not_finite_path(self) -> Path:
        """Minibatches that could not be learned from."""
        return self.path / "not_finite"

    @property
    def report_path(self) -> Path:
        return self.path / "report.html"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only process that writes this run; the system lets go of the lock even if the process is killed."""
        path = self.path / "writer.lock"
        try:
            descriptor = take(path)
        except HeldError as holder:
            raise RunError(
                f"Process {holder} is writing the run {self.path}. Wait for its end, stop it, or choose another --name."
            ) from None
        except OSError as error:
            raise cannot_write(path, error, run=self.path) from error
        try:
            yield
        finally:
            os.close(descriptor)

    def settings(self) -> dict[str, Any]:
        """The settings as the file has them, unchecked: for those who read a few of them."""
        try:
            return tomllib.loads(self.config_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def write_manifest(self, facts: Mapping[str, Any]) -> None:
        """Replace the manifest, whole; the format is added."""
        header = {"format": FORMAT, "format_version": FORMAT_VERSION}
        manifest = {**header, **json_ready(facts), **header}
        self.write_text(self.manifest_path, json.dumps(manifest, indent=2) + "\n")

    def read_manifest(self) -> Manifest:
        manifest = _manifest(self.path)
        if manifest is None:
            raise RunError(f"{self.manifest_path} cannot be read as the manifest of a run. Restore it from a copy.")
        return checked_facts(self.manifest_path, manifest)

    def write_text(self, path: Path, text: str) -> None:
        """Put a text in place of a file of this run, whole: config, report."""
        with self._writes(path, needed=len(data := text.encode())):
            replace_file(path, data)

    def write_arrays(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        """A safetensors file of named arrays, whole, for somebody to look at."""
        data = safetensors.numpy.save(dict(arrays))
        with self._writes(path, needed=len(data)):
            path.parent.mkdir(exist_ok=True)
            replace_file(path, data)

    def append_metrics(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self._append(self.metrics_path, lines)

    def append_timing(self, line: Mapping[str, Any]) -> None:
        self._append(self.timing_path, [line])

    def metrics(self) -> list[dict[str, Any]]:
        """The lines written so far; null is None. A last line that was cut short by a kill is left out."""
        return [line for line, _ in read_lines(self.metrics_path, problem_of_metrics)]

    def timing(self) -> list[dict[str, Any]]:
        return [line for line, _ in read_lines(self.timing_path, problem_of_timing)]

    def append_exploits(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self._append(self.exploits_path, lines)

    def exploits(self) -> list[dict[str, Any]]:
        """What could be won from players of this run, the newest last."""
        return [line for line, _ in read_lines(self.exploits_path, problem_of_exploits)]

    def forget_from(self, iteration: int) -> None:
        """Drop what a resumed run will write again: lines and results of this iteration and later ones."""
        for path, problem in ((self.metrics_path, problem_of_metrics), (self.timing_path, problem_of_timing)):
            if path.exists():
                kept = b"".join(raw for line, raw in read_lines(path, problem) if line["iteration"] < iteration)
                with self._writes(path, needed=len(kept)):
                    replace_file(path, kept)
        if self.results_path.exists():
            with Results(self.results_path) as results:
                results.forget_from(iteration)

    def last_evaluation(self) -> list[dict[str, Any]]:
        """Lines of the evaluation after the last iteration, one for each seed; empty where none followed it."""
        lines = self.metrics()
        trained = max((place for place, line in enumerate(lines) if line.get("kind") != "eval"), default=-1)
        return lines[trained + 1 :]

    def forget_last_evaluation(self, iteration: int) -> None:
        """Drop what there is of the evaluation after the last iteration, which is to be played again."""
        lines = [raw for _, raw in read_lines(self.metrics_path, problem_of_metrics)]
        kept = b"".join(lines[: len(lines) - len(self.last_evaluation())])
        with self._writes(self.metrics_path, needed=len(kept)):
            replace_file(self.metrics_path, kept)
        with Results(self.results_path) as results:
            results.forget_last_evaluation(iteration)

    def _append(self, path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
        text = "".join(json.dumps(json_ready(line), allow_nan=False) + "\n" for line in lines)
        with self._writes(path, needed=len(text)):
            append_whole(path, text.encode())

    def _make_room(self, force: bool) -> None:
        if _manifest(self.path) is None:
            raise RunError(
                f"Expected a new directory at {self.path}, found one that is not a sparring run. "
                "It is left as it is: choose another --name."
            )
        if not force:
            raise RunError(
                f"There is a run at {self.path} already. Choose another --name, pass --force (in Python force=True) to "
                f"replace it, or continue it with `sparring resume {self.path}`."
            )
        with self.writing():  # nobody else is writing it
            pass
        shutil.rmtree(self.path)

    @contextmanager
    def _writes(self, path: Path, needed: int | None = None) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(path, error, run=self.path, needed=needed) from error


def _manifest(path: Path) -> dict[str, Any] | None:
    """The manifest if the directory is a run of ours, of whatever version."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def _nearest_run(path: Path) -> str:
    parent = path.parent
    usual = Path("runs", path.name)
    if parent == Path() and _manifest(usual) is not None:
        return f"Did you mean {usual}?"
    try:
        runs = [child.name for child in parent.iterdir() if _manifest(child) is not None]
    except OSError:
        runs = []
    near = near_names(path.name, runs, cutoff=0.4)
    if near:
        return f"Did you mean {parent / near[0]}?"
    if not runs:
        return f"The folder {parent.resolve()} has no runs."
    return f"Runs in {parent}: {', '.join(sorted(runs)[:SHOWN])}{' ...' * (len(runs) > SHOWN)}"


def json_ready(value: Any) -> Any:
    """Plain data for JSON. Floats keep all their digits; those that are not finite, which JSON lacks, become null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    return value
