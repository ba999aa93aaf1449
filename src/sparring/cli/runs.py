"""sparring runs [FOLDER|RUN]: every run of a folder with what it learned, or the verdict on one. Loads no JAX."""

import json as json_text
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from sparring.cli.flags import parse
from sparring.core.errors import RunError, SparringError
from sparring.reports.tables import NAMES

EXAMPLES = ("sparring runs", "sparring runs runs/first")
WIDEST = 100


@dataclass(frozen=True, kw_only=True)
class Runs:
    """List the runs of a folder with what they learned, newest first; or tell what one learned."""

    where: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="[FOLDER|RUN]")] = Path("runs")
    """A folder of runs, or a run."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Runs, words, command="runs", examples=EXAMPLES)
    from sparring.evaluation.stored import verdict_of
    from sparring.store.run_dir import RunDir

    where: Path = arguments.where
    if (where / "manifest.json").is_file():
        verdict = verdict_of(RunDir.open(where))
        told = json_text.dumps({"run": str(where), "verdict": verdict.plain()})
        print(told if arguments.json else verdict.text(min(Console().width, WIDEST)))
        return
    if not where.is_dir() and where != Path("runs"):
        RunDir.open(where)  # which says what is there instead
    if not where.is_dir():
        raise RunError(f"There is no folder {where}. Train a first run (sparring train kuhn), or name another folder.")
    found = [row(path.parent) for path in sorted(where.glob("*/manifest.json"), key=age, reverse=True)]
    if arguments.json:
        print(json_text.dumps({"folder": str(where), "runs": found}))
    elif not found:
        print(f"No runs in {where} yet. Train one: sparring train kuhn")
    else:
        Console().print(table(found))
        print(f"More of one: sparring runs {where}/NAME   sparring metrics {where}/NAME")


def age(manifest: Path) -> float:
    """When something was last written to a run."""
    metrics = manifest.parent / "metrics.jsonl"
    return (metrics if metrics.exists() else manifest).stat().st_mtime


def row(path: Path) -> dict[str, Any]:
    """What a list tells of a run; of one that cannot be read, why."""
    from sparring.evaluation.stored import verdict_of
    from sparring.store.run_dir import RunDir

    try:
        run = RunDir.open(path)
        facts, lines = run.read_manifest(), run.metrics()
        done = max((line["iteration"] + 1 for line in lines if line["kind"] == "train"), default=0)
        known = {"game": facts["game"], "steps": done * facts["steps_per_iteration"], "seeds": facts["seeds"]}
        return {"name": path.name, **known, "done": done / facts["iterations"], "verdict": verdict_of(run).short}
    except SparringError as error:
        return {
            "name": path.name,
            "game": "",
            "steps": 0,
            "seeds": 0,
            "done": 0.0,
            "verdict": f"cannot be read: {error}",
        }


def table(found: list[dict[str, Any]]) -> Table:
    made = Table(Column("run", overflow=NAMES), Column("game", overflow=NAMES), box=None)
    for name in ("steps", "done", "seeds"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("what it learned", overflow="fold")
    for one in found:
        cells = (one["name"], one["game"], f"{one['steps']:,}", f"{one['done']:.0%}", f"{one['seeds']}", one["verdict"])
        made.add_row(*map(Text, cells))
    return made
