"""What minds are worth: arms that differ in their minds alone, many seeds as one program, judged on games that nobody
learns from.

    python benchmarks/minds.py train ARM [--game stag_hunt] [--opponent nearest_hare] [--seeds 10] [--steps 2e6]
    python benchmarks/minds.py table            # of all that was trained in the folder (--out)
    python benchmarks/minds.py goals            # trains an arm of every kind of goals, and prints their table

Arms with --opponent "" are four independent learners. The line of an arm holds its return in the last fifth of training
(one value a seed), core seconds of an iteration, what its minds measured there, and `sparring insight` of it.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from sparring.players.named import entrants
from sparring.recipes.defaults import default_config
from sparring.statistics.intervals import mean_interval
from sparring.store.run_dir import RunDir
from sparring.studies.insight import study
from sparring.training.runs import start, trained_state

ARMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "told_nothing": {"mind": "belief", "mind_tells": "nothing"},
    "actions": {"mind": "belief", "mind_goals": "none", "mind_tells": "actions"},
    "goals": {"mind": "belief", "mind_tells": "goals"},
    "both": {"mind": "belief"},
    "gated": {"mind": "belief", "mind_gate": 4.0, "mind_room": 0.35},
    "short": {"mind": "belief", "mind_discount": 0.0},
    "shuffled": {"mind": "belief", "mind_control": "shuffled"},
    "zero": {"mind": "belief", "mind_control": "zero"},
    "imagining": {"mind": "belief", "imagine": "learned"},
    "oracle": {"mind": "belief", "imagine": "oracle"},
}
GOALS: dict[str, dict[str, Any]] = {
    "none": {"mind": "belief", "mind_goals": "none"},
    "listed": {"mind": "belief"},
    "spatial": {"mind": "spatial"},
    "subgoal": {"mind": "belief", "mind_goals": "subgoal"},
    "ending": {"mind": "belief", "mind_goals": "ending"},
    "segment": {"mind": "belief", "mind_goals": "segment"},
    "combined": {"mind": "belief", "mind_goals": "combined"},
}
"""Kinds of goals: none, those that the game lists by Bayes' rule or by a network, and learned ones."""
STRANGERS = ("nearest_hare", "nearest_stag", "prosocial", "random")
MEASURES = ("skill", "goal_top1", "goal_nearest", "steps_to_90", "never_90", "asked", "fused", "imagined/open")
LAST = 0.2
"""Share of training that is judged."""


def train(arguments: argparse.Namespace) -> None:
    seats = {"opponent": arguments.opponent, "side": 0} if arguments.opponent else {"share": "seat"}
    config = default_config(
        arguments.game, **seats, **(ARMS | GOALS)[arguments.arm], seeds=arguments.seeds, worlds=arguments.worlds,
        total_steps=int(arguments.steps), eval_games=0,
    )  # fmt: skip
    folder = Path(arguments.out) / f"{arguments.arm}{'-' + arguments.opponent if arguments.opponent else '-self'}"
    clock: list[float] = []
    start(config, folder, force=True, on_iteration=lambda _: clock.append(time.process_time()))
    run = RunDir.open(folder)
    found = {"arm": arguments.arm, "opponent": arguments.opponent, "game": arguments.game, **last_of(run)}
    found["seconds"] = float(np.median(np.diff(clock)[5:])) / arguments.seeds
    if config.mind.on and arguments.insight:
        built, state = trained_state(run)
        names = [name for name in STRANGERS if name in ("random", *built.game.bots().names)]
        known = entrants(arguments.against or names, built.game, config.game)
        found["insight"] = study(built, state, known, worlds=arguments.insight, games=5, seed=1)
    with (Path(arguments.out) / "minds.jsonl").open("a") as file:
        file.write(json.dumps(found) + "\n")


def last_of(run: RunDir) -> dict[str, Any]:
    """Of the last fifth of training: for each seat the return of each seed, and what minds measured."""
    lines = [line for line in run.metrics() if line["kind"] == "train"]
    late = [line for line in lines if line["iteration"] >= (1 - LAST) * lines[-1]["iteration"]]
    seeds = sorted({line["seed"] for line in late})
    names = [key for key in late[0] if key.startswith("return/") and " vs " not in key]
    return {
        "return": {name: [mean_over(late, name, seed) for seed in seeds] for name in names},
        "mind": {
            name: [mean_over(late, name, seed) for seed in seeds]
            for name in late[-1] if "/mind/" in name and "/loss/" not in name
        },
    }  # fmt: skip


def mean_over(lines: list[dict[str, Any]], name: str, seed: int) -> float:
    values = [line[name] for line in lines if line["seed"] == seed and line.get(name) is not None]
    return float(np.mean(values)) if values else float("nan")


def rows_in(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(arguments.out) / "minds.jsonl").read_text().splitlines()]


def goals(arguments: argparse.Namespace) -> None:
    """Accuracy, return and cost. `named`: the goal that turned out is the likeliest, beside the nearest one (or the
    commonest code, where goals are learned); `read`: a linear probe finds the listed goal in what the policy is told,
    beside what it finds in what the policy sees: the one measure that is the same for all kinds."""
    for arguments.arm in ("plain", *GOALS):
        train(arguments)
    rows = {row["arm"]: row for row in rows_in(arguments)}
    print(f"{'goals':10}{'named':>8}{'beside':>8}{'read':>8}{'seen':>8}{'skill':>8}{'return':>24}{'core ms':>9}")
    for name, row in rows.items():
        beside = [last_mean(row["mind"], f"goal_{plain}") for plain in ("nearest", "commonest")]
        read = next((one["read"] for one in row.get("insight", {}).get("against", {}).values()), {})
        told = [last_mean(row["mind"], "goal_top1"), max(beside, key=lambda x: (x == x, x)), read.get("told", np.nan),
                read.get("seen", np.nan), last_mean(row["mind"], "skill")]  # fmt: skip
        shown = "".join(f"{value:8.2f}" if value == value else f"{'-':>8}" for value in told)
        print(f"{name:10}{shown}{return_of(row):>24}{1e3 * row['seconds']:9.1f}")


def return_of(row: dict[str, Any]) -> str:
    mine = dict(list(row["return"].items())[: 1 if row["opponent"] else None])  # one learner has the first seat
    one = mean_interval(np.nanmean(list(mine.values()), axis=0))
    return f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]"


def table(arguments: argparse.Namespace) -> None:
    rows = rows_in(arguments)
    print(
        f"{'arm':14}{'against':14}{'return of the learners':>30}{'ms':>8}"
        + "".join(f"{name.removeprefix('goal_').removeprefix('imagined/')[:9]:>10}" for name in MEASURES)
    )
    for row in rows:
        told = [last_mean(row["mind"], name) for name in MEASURES]
        print(
            f"{row['arm']:14}{row['opponent'] or 'themselves':14}{return_of(row):>30}{1e3 * row['seconds']:8.1f}"
            + "".join(f"{value:10.2f}" for value in told)
        )
        print(f"    over seeds: {understood(row['mind'])}")
        for name, found in row.get("insight", {}).get("against", {}).items():
            actions, goals = found["actions"], found.get("goals", {})
            line = f"    among {name:14} skill {actions['skill']:6.2f} of {actions['skill_of_rule']:.2f}"
            if goals:
                line += (f", goal {goals['top1']:.2f} (nearest {goals['top1_nearest']:.2f}, its word "
                         f"{goals.get('top1_by_its_word', float('nan')):.2f}, which comes true in "
                         f"{goals.get('top1_of_its_word', float('nan')):.2f}), 90 % after {goals['steps_to_90']:g}, "
                         f"never {goals['never_90']:.2f}, ECE {goals['ece']:.3f}")  # fmt: skip
            gains = ", ".join(f"{k} {v[0]:+.2f} [{v[1]:+.2f}, {v[2]:+.2f}]" for k, v in found["gained"].items())
            print(f"{line}; return {found['return']['own'][0]:.2f}, more than told by {gains}")
    seats(rows)


def last_mean(measured: dict[str, list[float]], name: str) -> float:
    """Of all learners and seeds."""
    found = [value for key, values in measured.items() if key.endswith(f"/mind/{name}") for value in values]
    return float(np.nanmean(found)) if found else float("nan")


def understood(measured: dict[str, list[float]]) -> str:
    """In training, means of all learners with 95 % intervals over seeds."""
    told = []
    for name in ("skill", "goal_top1", "goal_nearest", "never_90"):
        found = [values for key, values in measured.items() if key.endswith(f"/mind/{name}")]
        if found:
            one = mean_interval(np.nanmean(found, axis=0))
            told.append(f"{name} {one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]")
    return ", ".join(told)


def seats(rows: list[dict[str, Any]]) -> None:
    """Of independent learners: how far each seat is from the mean, seed by seed, and what could have been seen."""
    for row in (row for row in rows if not row["opponent"]):
        return_SR = np.asarray(list(row["return"].values()))
        mean = return_SR.mean()
        apart = return_SR - return_SR.mean(axis=0)
        print(f"\nseats of {row['arm']}: mean {mean:.3f}; 95 % bounds of each seat's difference, as shares of the mean")
        for name, values in zip(row["return"], apart, strict=True):
            one = mean_interval(values / abs(mean))
            print(f"  {name:20}{one.mean:+.3%} [{one.low:+.2%}, {one.high:+.2%}]")
        spread = apart.std(ddof=1) / abs(mean)
        count = return_SR.shape[1]
        print(f"  an effect of {2.8 * spread / np.sqrt(count):.2%} would be found with 80 % power ({count} seeds)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("train", "table", "goals"))
    parser.add_argument("arm", nargs="?", default="both")
    parser.add_argument("--game", default="stag_hunt")
    parser.add_argument("--opponent", default="nearest_hare")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=float, default=2e6)
    parser.add_argument("--worlds", type=int, default=128)
    parser.add_argument("--insight", type=int, default=32, help="worlds of a table where minds are judged; 0: none")
    parser.add_argument("--against", nargs="*", default=(), help="co-players of that table; without it all there are")
    parser.add_argument("--out", default="runs/minds")
    chosen = parser.parse_args()
    {"train": train, "table": table, "goals": goals}[chosen.what](chosen)
