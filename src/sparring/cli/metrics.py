"""sparring metrics RUN [NAME ...]: a look at what a run recorded, in a terminal. Loads no JAX."""

import json as json_text
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro
from rich.console import Console

from sparring.cli.flags import RunFolder, parse
from sparring.cli.notes import note
from sparring.core.errors import RunError

EXAMPLES = (
    "sparring metrics runs/first",
    "sparring metrics runs/first entropy 'return/*'",
    "sparring metrics runs/first --kind eval",
    "sparring metrics runs/hyper --beside runs/mappo",
)


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Show what a run recorded: where each metric began, where it is, and its course; of one its values."""

    run: RunFolder
    """Folder of the run."""
    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[NAME ...]")] = ()
    """Metrics by name, by a part of it, or by a pattern such as 'learner/*'; without any, all are shown."""
    kind: Annotated[Literal["train", "eval"] | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Of training, or of evaluations. Default: of both where names are given, else of training."""
    beside: Annotated[RunFolder | None, tyro.conf.arg(metavar="RUN", help_behavior_hint="")] = None
    """Another run with the same seeds: say in which iteration the two first differ, and in what."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Metrics, words, command="metrics", examples=EXAMPLES)
    from sparring.reports.series import changing, chosen, series_table, unmet, value_table
    from sparring.store.fingerprint import parting, unlike_settings
    from sparring.store.lines import series
    from sparring.store.run_dir import RunDir

    run = RunDir.open(arguments.run)
    kinds = (arguments.kind,) if arguments.kind else ("train", "eval") if arguments.names else ("train",)
    lines = [line for line in run.metrics() if line["kind"] in kinds]
    if not lines:
        raise RunError(f"{run.path} has recorded nothing of the kind {' or '.join(kinds)} yet. Look again later.")
    names = chosen(lines, arguments.names)
    if arguments.beside is not None:
        other = [line for line in RunDir.open(arguments.beside).metrics() if line["kind"] in kinds]
        told = parting(lines, other, names)
        settings = unlike_settings(run.path, arguments.beside)
        print(json_text.dumps({**told._asdict(), "settings": settings}) if arguments.json else told.text(settings))
        return
    if arguments.json:
        found = {name: dict(zip(("steps", "values"), series(lines, name), strict=True)) for name in names}
        print(json_text.dumps({"run": str(run.path), "metrics": found}))
        return
    for sentence in unmet(lines, arguments.names):
        note(sentence)
    shown = names if arguments.names else changing(lines, names)
    Console().print(value_table(lines, names[0]) if len(names) == 1 else series_table(lines, shown))
    if len(shown) < len(names):
        print(f"{len(names) - len(shown)} that never changed are left out; name them to see them.")
    if len({line["seed"] for line in lines}) > 1:
        print("Values are means over seeds.")
