"""What the audits find, how often they are wrong, and what it takes to see something: one table.

    python benchmarks/audits.py                         # all that is not kept yet, then the table
    python benchmarks/audits.py --seconds 270           # for so long; call it again, it goes on
    python benchmarks/audits.py --only seats power      # tables whose names begin so
    python benchmarks/audits.py --part 2/4              # every fourth case, beside other processes
    python benchmarks/audits.py --only "health, whole"  # whole recipes: hours on two cores, minutes on a GPU
    python benchmarks/audits.py --only table            # runs nothing: the table of what is kept

Every case is kept as a line in KEEP/PART.jsonl with what came out, so that a table is never pieced together by hand.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparring.statistics.intervals import wilson

TABLES = {
    "seats, games": "found by L1",
    "seats, games of strangers": "found by the level that must find them",
    "seats, updates": "found by L4",
    "seats, experience": "found by L5",
    "seats, booking": "found by L8",
    "seats, loops": "found by L0, L3, L5, L8",
    "seats, random play alone": "for comparison: found by L2 with the probe random",
    "clean, L1": "games of ours that are accused: none",
    "clean, strangers": "games that look suspicious and are accused: none",
    "alarms, loops": "accused at any level: each of L3, L5, L6 may at 1 %",
    "alarms, trainings": "accused by L4, L5 or L8: none",
    "alarms, games L1": "none",
    "alarms, games L2": "1 % are allowed",
    "alarms, runs L6": "1 % are allowed",
    "power, L2": "5 % more for one seat, seen after the games that the page names: 80 %",
    "power, L3": "what the page calls detectable for one seat, learners change seats: 80 %",
    "power, L6": "each seat 5 % more than the next",
    "power, L6 alike": "nothing differs, and that is shown within 5 %",
    "power, E7": "the difference that the page calls detectable, 8 seeds: 80 %",
    "effects, static": "called what they are, nothing trained",
    "effects, trained": "called what they are after a few updates",
    "effects, strangers": "called dead, disconnected or without effect",
    "effects, sound": "sound ones called sound",
    "effects, torch": "called what they are",
    "alarms, E7": "5 % are allowed",
    "health, well": "runs of 64 iterations without a symptom",
    "health, whole": "runs as long as their recipes say without a symptom",
}
"""What a row counts, and what it should come to."""
LONG = ("health, whole",)
"""Hours on two cores: run where they are named."""


class Outcome(NamedTuple):
    counts: dict[str, tuple[int, int]]
    """By table: hits, and of how many."""
    detail: Any = None


class Case(NamedTuple):
    name: str
    """Which begins with that of its table."""
    run: Callable[[], Outcome]


def counted(table: str, *hits: bool, detail: Any = None) -> Outcome:
    return Outcome({table: (sum(map(bool, hits)), len(hits))}, detail)


def cases(keep: Path) -> Iterator[Case]:
    import audits_effects
    import audits_power
    import audits_seats

    for module in (audits_seats, audits_effects, audits_power):
        yield from module.cases(keep)


def kept(folder: Path) -> dict[str, dict[str, Any]]:
    """All that was measured, by case; what was measured last counts."""
    found = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            one = json.loads(line)
            found[one["case"]] = one
    return found


def left_out(case: Case, named: tuple[str, ...]) -> bool:
    """Whether it takes long and nobody named it: a name of it alone, and not of its room."""
    return any(case.name.startswith(table) and not any(one.startswith(table) for one in named) for table in LONG)


def run(arguments: argparse.Namespace) -> None:
    number, parts = map(int, arguments.part.split("/"))
    began, done = time.monotonic(), {} if arguments.again else kept(arguments.keep)
    named = tuple(arguments.only)
    mine = [one for one in cases(arguments.keep) if one.name.startswith(named or "") and not left_out(one, named)]
    arguments.keep.mkdir(parents=True, exist_ok=True)
    for case in (one for one in mine[number - 1 :: parts] if one.name not in done):
        if arguments.seconds and time.monotonic() - began > arguments.seconds:
            return
        clock = time.process_time()
        try:
            found = case.run()
        except Exception as error:  # the others are measured all the same
            print(f"left out: {case.name}: {type(error).__name__}: {error}", flush=True)
            continue
        line = {"case": case.name, **found._asdict(), "core seconds": round(time.process_time() - clock, 1)}
        with (arguments.keep / f"{number}-of-{parts}.jsonl").open("a") as file:
            file.write(json.dumps(line, default=lambda x: np.asarray(x).tolist()) + "\n")
        told = ", ".join(f"{hits} of {count}" for hits, count in found.counts.values())
        print(f"{case.name}: {told} ({line['core seconds']} core s) {str(found.detail)[:200]}", flush=True)


def table(folder: Path) -> None:
    sums: dict[str, list[int]] = {}
    for one in kept(folder).values():
        for name, (hits, count) in one["counts"].items():
            own = sums.setdefault(name, [0, 0])
            own[0], own[1] = own[0] + hits, own[1] + count
    print("\n| what | result | 95 % | should be |\n|---|---|---|---|")
    for name in (name for name in TABLES if name in sums):
        hits, count = sums[name]
        rate = wilson(hits, count)
        print(f"| {name} | {hits} of {count} | {rate.low:.1%} to {rate.high:.1%} | {TABLES[name]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="beginnings of names of cases")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--seconds", type=float, default=0.0, help="begin no case after so long; 0: all")
    parser.add_argument("--again", action="store_true", help="measure what is kept, too")
    parser.add_argument("--keep", type=Path, default=Path("runs") / "audits")
    arguments = parser.parse_args()
    if arguments.only != ["table"]:
        run(arguments)
    table(arguments.keep)


if __name__ == "__main__":
    main()
