"""Two logs of anybody's training, a baseline and a treatment: CSV files, TensorBoard's, or runs of ours. No JAX.

A log is a file, or a folder of files; a folder of such folders, one for each seed, is compared pair by pair.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sparring.audit.effects.stages import E0, E1, E2, E3, E4, E7, RNG_ONLY, RUNS, listed
from sparring.audit.findings import FAULT, OPEN, SOUND, Audit, Finding, Picture, Verdict, concluded
from sparring.audit.pictures import boxes
from sparring.core.errors import ConfigError
from sparring.statistics.paired import paired
from sparring.store.event_file import read_values
from sparring.store.run_dir import RunDir

Series = dict[str, dict[float, float]]
"""By name and step, a value."""
STEPS = ("step", "steps", "global_step", "total_timesteps", "timesteps", "iteration", "update", "epoch", "_step")
"""Columns that say when."""
CLOCKS = ("time", "fps", "sps", "second", "speed", "wall", "date", "elapsed", "duration", "memory")
"""Parts of names of what differs whenever anything is run again."""
FIGURES = ("win", "return", "reward", "score", "points", "exploitability")
"""Parts of names by which a figure for the effect is chosen, the first that is there."""
ALPHA = 0.05


def read_log(path: Path) -> Series:
    """All numbers of a log but for clocks."""
    found: Series = {}
    if (path / "manifest.json").is_file():
        for line in RunDir.open(path).metrics():
            if line["kind"] in ("train", "eval"):
                when = line["iteration"] + line["seed"] / 1e6  # seeds of one run stay apart
                numbers = ((name, value) for name, value in line.items() if isinstance(value, int | float))
                for name, value in numbers:
                    found.setdefault(f"{line['kind']}/{name}", {})[when] = value
    elif path.is_dir():
        for file in sorted(file for file in path.iterdir() if is_log(file)):
            for name, own in read_log(file).items():
                found.setdefault(name, {}).update(own)
    elif path.suffix == ".csv":
        found = read_csv(path)
    else:
        for name, step, value in read_values(path):
            found.setdefault(name, {})[step] = value
    return {name: own for name, own in found.items() if not any(part in name.lower() for part in CLOCKS)}


def read_csv(path: Path) -> Series:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    columns = list(rows[0]) if rows else []
    when = next((name for known in STEPS for name in columns if name and name.lower().endswith(known)), None)
    found: Series = {}
    for place, row in enumerate(rows):
        step = number(row.get(when) if when else None)
        for name, text in row.items():
            value = number(text) if name and name != when else None
            if value is not None:
                found.setdefault(name, {})[float(place) if step is None else step] = value
    return found


def number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except (ValueError, TypeError):
        return None


def is_log(file: Path) -> bool:
    return file.is_file() and (file.suffix == ".csv" or "tfevents" in file.name)


def logs_in(path: Path) -> dict[str, Series]:
    """The log that a path is, or those of its subfolders by name."""
    if not path.exists():
        raise ConfigError(f"There is no log at {path}. Name a CSV file, a TensorBoard folder or file, or a run.")
    if path.is_file() or (path / "manifest.json").is_file() or any(map(is_log, path.iterdir())):
        return {path.name: read_log(path)}
    found = {folder.name: read_log(folder) for folder in sorted(path.iterdir()) if folder.is_dir()}
    return {name: own for name, own in found.items() if own}


class Parting(NamedTuple):
    """How two logs compare."""

    shared: int
    """Values that both have."""
    unlike: int
    first: float | None
    """The first step at which one differs."""
    names: tuple[str, ...]
    """What differs at it."""
    begins: float
    """The first step of all."""


def parting(mine: Series, other: Series) -> Parting:
    both = [(step, name) for name, own in mine.items() if name in other for step in own if step in other[name]]
    unlike = sorted((step, name) for step, name in both if differs(mine[name][step], other[name][step]))
    first = unlike[0][0] if unlike else None
    names = tuple(name for step, name in unlike if step == first)
    return Parting(len(both), len(unlike), first, names, min((step for step, _ in both), default=0.0))


def differs(a: float, b: float) -> bool:
    return a != b and not (a != a and b != b)  # two that are not numbers are alike


def audit_logs(off: Path, on: Path, *, muted: Path | None = None, figure: str = "", command: str = "") -> Audit:
    """`muted`: a third log, of the treatment with its output replaced by what the baseline has there, its random
    numbers drawn all the same."""
    logs = [logs_in(path) for path in (off, on, *((muted,) if muted else ()))]
    if len({len(own) for own in logs}) > 1 or not all(logs):
        counts = " and ".join(str(len(own)) for own in logs)
        raise ConfigError(f"Logs are compared in pairs, and there are {counts}. Name folders with as many logs each.")
    pairs = list(zip(*(own.values() for own in logs), strict=True))
    partings = [parting(pair[0], pair[1]) for pair in pairs]
    if not all(one.shared for one in partings):
        names = " against ".join(listed(sorted(own)) for own in pairs[0][:2])
        raise ConfigError(f"The logs have no step and name in common: {names}. Log the same names.")
    quiet = [(parting(p[0], p[2]), parting(p[1], p[2])) for p in pairs] if muted else []
    told = [one.skipped("logs show no code, settings or gradients") for one in (E0, E1, E2, E3, E4)]
    runs, verdict = judged(partings, quiet)
    told.append(runs)
    pictures: tuple[Picture, ...] = ()
    if len(pairs) > 1 and verdict.code != FAULT:
        weighed, effect, pictures = weigh([(p[0], p[1]) for p in pairs], figure)
        told.append(weighed)
        if effect is not None:
            word, code = ("EFFECT", SOUND) if effect else ("CONNECTED-NO-EFFECT", OPEN)
            verdict = Verdict(word, code, weighed.evidence)
    else:
        told.append(E7.skipped("one pair of logs says nothing about other seeds: name folders with one for each"))
    return concluded(
        "effects", f"logs {off} and {on}", verdict, told, facts={"pairs": str(len(pairs))}, command=command,
        pictures=pictures,
    )  # fmt: skip


def judged(partings: Sequence[Parting], quiet: Sequence[tuple[Parting, Parting]]) -> tuple[Finding, Verdict]:
    """E5, and what it means."""
    shared, unlike = sum(one.shared for one in partings), sum(one.unlike for one in partings)
    numbers = {"shared": shared, "unlike": unlike, "first": [one.first for one in partings]}
    if not unlike:
        text = f"All {shared} values that both logs have are equal to the last digit."
        return RUNS.found(
            False, text, "Two runs with one seed are equal only where the edited code was not run: in a framework with "
            "one stream of random numbers, even making the module would have moved them.",
            "Find out which file is imported, whether the flag arrives, and which method training calls: sparring "
            "audit effects --source FOLDER, and the hooks of sparring.bridges.effect_log.", **numbers,
        ), Verdict("DEAD (observed)", FAULT, text)  # fmt: skip
    where = listed([f"step {one.first:g} ({listed(one.names)})" for one in partings if one.first is not None])
    evidence = f"{unlike} of {shared} values differ, the first at {where}"
    if quiet and all(a.unlike and not b.unlike for a, b in quiet):
        remedy = "Draw its random numbers from a stream of its own."
        return RUNS.found(False, f"{evidence}; the muted log equals the treatment", "", remedy, **numbers), RNG_ONLY
    text = ""
    if quiet and not any(a.unlike for a, _ in quiet):
        text = "With its output muted the run is the baseline: what differs is the output's doing."
        evidence += "; the muted log equals the baseline"
    elif all(one.first is not None and one.first > one.begins for one in partings):
        text = f"They are equal at first and part at {where}."
    if text:
        return RUNS.found(True, evidence, **numbers), Verdict("CONNECTED", SOUND, text)
    text = "They differ from the first step on: that may be an effect, another seed, or random numbers that were moved."
    remedy = "Log a third run with the output replaced by zeros (--muted LOG), or several seeds (folders of logs)."
    return RUNS.found(None, evidence, text, remedy, **numbers), Verdict("UNDECIDED", OPEN, text)


def weigh(pairs: Sequence[tuple[Series, Series]], figure: str) -> tuple[Finding, bool | None, tuple[Picture, ...]]:
    """E7 by the mean of the last fifth of a figure's curve."""
    names = [name for name in pairs[0][0] if all(name in one for pair in pairs for one in pair)]
    chosen = figure or next((name for part in FIGURES for name in names if part in name.lower()), "")
    if chosen not in names:
        return E7.found(None, f"no figure to weigh among {listed(names)}", "", "Name one: --figure NAME."), None, ()
    first, second = ([last_fifth(pair[i][chosen]) for pair in pairs] for i in (0, 1))
    found = paired(first, second)
    gap, effect = found.difference, found.p_value <= ALPHA
    evidence = (
        f"{chosen}, last fifth, {len(pairs)} pairs: {gap.mean:+.3g} [{gap.low:+.3g}, {gap.high:+.3g}], p "
        f"{found.p_value:.3f}, detectable {found.detectable:.3g}"
    )
    picture = boxes(f"{chosen}, last fifth", {"baseline": first, "treatment": second}, chosen)
    meaning = f"If it changes {chosen}, then by less than about {found.detectable:.3g}."
    remedy = "More seeds see smaller effects; with five pairs or fewer none can be shown at 0.05."
    return E7.found(True if effect else None, evidence, meaning, remedy, p=found.p_value), effect, (picture,)


def last_fifth(curve: Mapping[float, float]) -> float:
    kept = [curve[step] for step in sorted(curve)][-max(1, len(curve) // 5) :]
    return sum(kept) / len(kept)
