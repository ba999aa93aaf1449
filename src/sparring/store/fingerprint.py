"""Whether two runs were one training: their first numbers as a hash, and the first update at which they part.

Runs with one seed that differ in any setting that acts differ in their numbers, mostly at once.
"""

import hashlib
import json
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparring.core.errors import RunError
from sparring.store.run_dir import RunDir

UPDATES = 3
"""From how many updates a fingerprint is made: the games of the second are the first that learning changed."""
UNLIKE = ("grad_norm", "own/")
"""Parts of names of metrics that count what a module of one's own adds: they differ though nothing else does."""
PLACES = ("kind", "iteration", "seed", "steps")
MOST_NAMED = 8
"""Names of metrics in one sentence."""
LATER = ("total_steps", "schedule_steps", "seeds")
"""Settings that make a run longer or wider, and leave what both have as it is."""
APART = ("evaluation", "checkpoint", "workers")
"""Tables of settings that no training depends on."""
Line = Mapping[str, Any]
Spelling = Callable[[str, Sequence[str]], Any]


def comparable(line: Line) -> dict[str, Any]:
    """The numbers of a line of training that any run of the same game has."""
    return {
        name: value for name, value in line.items() if name not in PLACES and not any(part in name for part in UNLIKE)
    }


def fingerprint(lines: Iterable[Line]) -> str:
    """Of the first updates of a run's first seed; empty where there are too few."""
    train = [line for line in lines if line["kind"] == "train" and line["iteration"] < UPDATES]
    first = [line for line in train if line["seed"] == train[0]["seed"]]
    if len(first) < UPDATES:
        return ""
    text = json.dumps([sorted(comparable(line).items()) for line in first])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Parting(NamedTuple):
    """Where two runs stop being the same."""

    compared: int
    """Lines that both have."""
    iteration: int | None
    """The first whose metrics differ, counted from 0 as in the files; None where all are equal."""
    names: tuple[str, ...]
    """The metrics of both that differ there."""

    def text(self, settings: Sequence[str]) -> str:
        """For people, who count iterations from 1; `settings` are those that differ between the runs."""
        if not self.compared:
            return "The runs have no iteration of a common seed, so nothing can be compared."
        if self.iteration is not None:
            equal = f"equal up to iteration {self.iteration}" if self.iteration else "different from the start"
            return f"The runs are {equal}. In iteration {self.iteration + 1} these differ: {shortened(self.names)}"
        same = "and so are their settings."
        idle = f"though these differ, which changed nothing: {shortened(settings)}"
        return f"All {self.compared} lines that both runs have are equal, {idle if settings else same}"


def shortened(names: Sequence[str]) -> str:
    """So many names as one sentence holds."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "") + "."


def parting(lines: Iterable[Line], others: Iterable[Line], names: Collection[str]) -> Parting:
    """The first iteration in which metrics that both runs have differ, over the seeds that both have."""
    known = {(line["kind"], line["iteration"], line["seed"]): line for line in others}
    pairs = [(line, known.get((line["kind"], line["iteration"], line["seed"]))) for line in lines]
    both = sorted(((a, b) for a, b in pairs if b is not None), key=lambda pair: pair[0]["iteration"])
    for line, other in both:
        differing = tuple(name for name in names if name in line and name in other and line[name] != other[name])
        if differing:
            return Parting(len(both), line["iteration"], differing)
    return Parting(len(both), None, ())


def as_written(game: str, options: Sequence[str]) -> Any:
    del game
    return options


def unlike_settings(mine: Path, other: Path, spelled: Spelling = as_written) -> list[str]:
    """Names of the settings in which two runs differ, as far as training may depend on them. `spelled` says what the
    options of a game mean; it is asked only where both play the same one, and so never loads code for another."""
    a, b = settings_of(mine), settings_of(other)
    if a.get("game") == b.get("game"):
        a, b = (
            own | {"options": spelled(own["game"], own.get("options", ()))} if "game" in own else own for own in (a, b)
        )
    return sorted(name for name in {*a, *b} if a.get(name) != b.get(name))


def first_unlike(
    mine: Iterable[Line], other: Iterable[Line], wanted: Callable[[str], bool] = lambda _: True
) -> int | None:
    """The first update, counted from 1, at which numbers that any run has differ, among those wanted; None: none."""
    mine = [line for line in mine if line["kind"] == "train"]
    found = parting(mine, other, {name for line in mine for name in comparable(line) if wanted(name)})
    return None if found.iteration is None else found.iteration + 1


def settings_of(path: Path) -> dict[str, Any]:
    """A run's settings that training may depend on, by their bare names."""
    tables = tomllib.loads((path / "config.toml").read_text())
    flat = {name: value for name, value in tables.items() if not isinstance(value, dict) and name not in LATER}
    for name, table in tables.items():
        flat |= table if isinstance(table, dict) and name not in APART else {}
    return flat


def coincidences(mine: Path, others: Iterable[Path], spelled: Spelling = as_written) -> list[str]:
    """A sentence for every other run whose settings differ from this one's and whose numbers never do."""
    mark, found = stored(mine), []
    for other in others:
        if not mark or other == mine or stored(other) != mark:
            continue
        differ = unlike_settings(mine, other, spelled)
        if differ and first_unlike(RunDir.open(mine).metrics(), RunDir.open(other).metrics()) is None:
            found.append(
                f"{mine} and {other} are one training, number by number, though {', '.join(differ)} differ: what these "
                f"should do, they do not. Why: sparring audit effects {other} {mine}"
            )
    return found


def stored(path: Path) -> str:
    """The fingerprint in a run's manifest; empty where it has none, or is no run."""
    try:
        return str(RunDir.open(path).read_manifest().get("fingerprint", ""))
    except (RunError, OSError):
        return ""
