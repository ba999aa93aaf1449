"""Metrics of a run in the forms of other tools, beside metrics.jsonl, which holds all of them in any case.

csv            tracking/train.csv and tracking/eval.csv, one line per seed and iteration
tensorboard    tracking/tensorboard/seed_0/, event files: tensorboard --logdir RUN/tracking/tensorboard
wandb          tracking/wandb/, a run of Weights & Biases that stays here until somebody syncs it (extra wandb)

Trackers only listen: a run is bit for bit the same with and without them.
"""

import csv
import os
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from io import StringIO
from typing import Any, Literal, Protocol, get_args

from sparring.core.errors import ConfigError, unknown
from sparring.store.durable import replace_file
from sparring.store.event_file import EventFile
from sparring.store.run_dir import RunDir, json_ready

Tracker = Literal["csv", "tensorboard", "wandb"]
Lines = Sequence[Mapping[str, Any]]
KINDS = ("train", "eval")
"""Lines that hold numbers; the others are texts."""
PLACE = ("kind", "iteration", "seed", "steps")
"""What says where a line belongs."""
FOLDER = "tracking"


class Listener(Protocol):
    def write(self, lines: Lines) -> None:
        """Lines that are in metrics.jsonl by now."""
        ...

    def close(self) -> None: ...


def check_trackers(trackers: Collection[str]) -> None:
    """Refuse what there is not, before a run begins."""
    for name in trackers:
        if name not in get_args(Tracker):
            raise ConfigError(unknown("tracker", name, get_args(Tracker)))
    if "wandb" in trackers:
        _wandb()


@contextmanager
def tracking(run: RunDir, trackers: Collection[Tracker]) -> Iterator[Callable[[Lines], None]]:
    """A function that hands lines to all of them; they begin with what the run has written so far."""
    kinds: dict[Tracker, Callable[[RunDir], Listener]] = {"csv": Table, "tensorboard": Events, "wandb": Wandb}
    with ExitStack() as stack:
        found = [kinds[name](run) for name in dict.fromkeys(trackers)]
        for one in found:
            stack.callback(one.close)

        def told(lines: Lines) -> None:
            plain = [json_ready(line) for line in lines if line["kind"] in KINDS]
            for one in found if plain else ():
                one.write(plain)

        yield told


class Table:
    """CSV with a column for each metric; a metric that is new to a file makes it be written again."""

    def __init__(self, run: RunDir) -> None:
        self.run, self.folder = run, run.path / FOLDER
        self.columns: dict[str, list[str]] = {}
        self.folder.mkdir(exist_ok=True)
        for kind in KINDS:
            self.rewrite(kind)

    def write(self, lines: Lines) -> None:
        for kind in KINDS:
            own = [line for line in lines if line["kind"] == kind]
            if any(set(line) - set(self.columns[kind]) - {"kind"} for line in own):
                self.rewrite(kind)
            elif own:
                with (self.folder / f"{kind}.csv").open("a", newline="", encoding="utf-8") as file:
                    file.write(self.rows(kind, own))

    def rewrite(self, kind: str) -> None:
        lines = [line for line in self.run.metrics() if line["kind"] == kind]
        keys = dict.fromkeys(key for line in lines for key in line)
        self.columns[kind] = [key for key in keys if key != "kind"]
        if lines:
            named = {key: key for key in self.columns[kind]}
            replace_file(self.folder / f"{kind}.csv", self.rows(kind, [named, *lines]).encode())

    def rows(self, kind: str, lines: Lines) -> str:
        text = StringIO()
        csv.writer(text).writerows([line.get(key) for key in self.columns[kind]] for line in lines)
        return text.getvalue()

    def close(self) -> None:
        pass


class Events:
    """A folder for each seed, which TensorBoard shows as a run."""

    def __init__(self, run: RunDir) -> None:
        self.folder, self.files = run.path / FOLDER / "tensorboard", dict[int, EventFile]()
        known = [line["steps"] for line in run.metrics() if line["kind"] in KINDS]
        self.begin = max(known, default=-1) + 1

    def write(self, lines: Lines) -> None:
        for line in lines:
            seed = int(line["seed"])
            if seed not in self.files:
                self.files[seed] = EventFile(self.folder / f"seed_{seed}", self.begin)
            self.files[seed].add(numbers(line), int(line["steps"]))

    def close(self) -> None:
        pass


class Wandb:
    """One run, seeds as prefixes; offline unless WANDB_MODE says otherwise."""

    def __init__(self, run: RunDir) -> None:
        wandb, folder = _wandb(), run.path / FOLDER
        folder.mkdir(exist_ok=True)
        config = tomllib.loads(run.config_path.read_text(encoding="utf-8"))
        name, mode = run.path.resolve().name, os.environ.get("WANDB_MODE", "offline")
        self.seeds = int(config.get("seeds", 1))
        self.run = wandb.init(project="sparring", name=name, group=name, dir=str(folder), config=config, mode=mode)
        self.run.define_metric("*", step_metric="steps")

    def write(self, lines: Lines) -> None:
        for line in lines:
            before = f"seed_{line['seed']}/" if self.seeds > 1 else ""
            self.run.log({"steps": int(line["steps"]), **{f"{before}{k}": v for k, v in numbers(line).items()}})

    def close(self) -> None:
        self.run.finish()


def numbers(line: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of a line, those of evaluations marked as such; null, what is not finite, is left out."""
    before = "eval/" if line["kind"] == "eval" else ""
    return {f"{before}{key}": float(line[key]) for key in line if key not in PLACE and line[key] is not None}


def _wandb() -> Any:
    try:
        return import_module("wandb")
    except ImportError:
        raise ConfigError(
            "Tracking with Weights & Biases needs the package wandb, which is not here: pip install 'sparring[wandb]'. "
            "Without it: --track tensorboard csv"
        ) from None
