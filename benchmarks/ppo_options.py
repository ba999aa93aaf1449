"""What each option of learning does on the particle games: on against off, over seeds, beside what it costs.

    python benchmarks/ppo_options.py --json options.json              # every option on every game; resumes
    python benchmarks/ppo_options.py --options loss preset=mappo      # those whose names begin so, and the base
    python benchmarks/ppo_options.py --table options.json             # print the tables again

The base is what `sparring train` does without flags, but for the shape of a rollout; a row changes what its name says.
A score is the mean return of the learners' seats in games played after training, with chance of their own; all rows
play the same games. A row is called by the difference to the base, seed by seed: it helped or hurt where Student's
95 % interval of the mean difference leaves 0 out. The interval of the IQM of one row knows nothing of common seeds
and is not used to decide. Seconds are medians of an iteration; compiling has a column of its own.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from sparring.core.errors import SparringError, unknown
from sparring.core.settings import from_dict
from sparring.nets.config import NetConfig
from sparring.recipes.presets import PRESETS, apply
from sparring.setup.config import PlayConfig, RunConfig, SeatsConfig
from sparring.statistics.intervals import Interval, mean_interval
from sparring.statistics.iqm import iqm_interval
from sparring.store.manifest import manifest_facts

Change = dict[str, Any]
"""Settings of NetConfig and PPOConfig, and a preset to start from."""

BASE = "base"
OPTIONS: tuple[Change, ...] = (
    # trust region
    {"loss": "kl"}, {"loss": "clip_kl"}, {"loss": "spo"}, {"target_kl": 0.02}, {"recompute_old": True},
    # returns and advantages
    {"normalise_advantage": "minibatch"}, {"normalise_advantage": "none"}, {"normalise_advantage": "side"},
    {"time_limit": "end"}, {"discount": 0.95},
    {"recompute": "epoch"}, {"advantage": "vtrace"}, {"critic_target": "monte_carlo"},
    {"advantage_noise": 0.05}, {"value_noise": 1.0}, {"reward_scale": True}, {"reward_clip": 1.0},
    # critic
    {"value_loss": "huber"}, {"value_clip": 0.2}, {"value_norm": "running"}, {"value_norm": "popart"},
    {"value_norm": "popart", "value_clip": 0.2}, {"value_norm": "popart", "time_limit": "end"},
    {"value_norm": "popart", "discount": 0.95}, {"reward_scale": True, "time_limit": "end"},
    {"critic_epochs": 2}, {"critic": "central"}, {"critic_hidden": (256, 256)},
    # exploration
    {"entropy": "0.05 -> 0.001"}, {"entropy": 0.0}, {"temperature": "1.5 -> 1"}, {"epsilon": "0.1 -> 0"},
    # networks
    {"normalise": True}, {"layer_norm": True}, {"activation": "relu"}, {"body": "simba", "normalise": True},
    {"trunk": "shared"}, {"policy_gain": 1.0},
    {"memory": "gru", "sequence": 10}, {"memory": "gru", "sequence": 10, "burn_in": 5},
    {"memory": "lstm", "sequence": 10},
    # optimiser
    {"learning_rate": 7e-4}, {"optimiser": "adam_rel"}, {"optimiser": "muon"}, {"max_grad_norm": 0.5},
    {"clip_groups": True}, {"calm_critic": True},
    # some in company
    {"trunk": "shared", "value_norm": "popart"}, {"activation": "relu", "layer_norm": True},
    {"layer_norm": True, "learning_rate": 7e-4}, {"optimiser": "muon", "learning_rate": "3e-3 -> 0"},
    {"body": "simba", "normalise": True, "learning_rate": 7e-4},
    *({"preset": name} for name in PRESETS),
)  # fmt: skip
CONTINUOUS: tuple[Change, ...] = ({"std": "fixed"}, {"std": "fixed", "fixed_std": "0.6 -> 0.1"}, {"std": "state"})

# 64 x 50 is the 3,200 steps a rollout of MAPPO's reference, and leaves whole sequences of 10.
PLAY = PlayConfig(worlds=64, steps=50)


@dataclass(frozen=True)
class Course:
    """A game with a fixed opponent, if any, and the options tried on it."""

    base: RunConfig
    options: tuple[Change, ...]


COURSES = {
    "spread": Course(RunConfig(game="particles:spread", play=PLAY), OPTIONS),
    "hunt": Course(RunConfig(game="particles:tag", play=PLAY, seats=SeatsConfig(opponent="flee", side=0)), OPTIONS),
    "spread-continuous": Course(
        RunConfig(game="particles:spread", options=("continuous=true",), play=PLAY), CONTINUOUS
    ),
}


def name_of(change: Change) -> str:
    return ", ".join(f"{setting}={value}" for setting, value in change.items()) or BASE


def changed(base: RunConfig, change: Change) -> RunConfig:
    settings = dict(change)
    preset = settings.pop("preset", None)
    config = apply(base, preset) if preset else base
    of_net = {field.name for field in fields(NetConfig)} & settings.keys()
    tables = {
        "net": {name: settings[name] for name in of_net},
        "ppo": {name: value for name, value in settings.items() if name not in of_net},
    }
    return from_dict(RunConfig, tables, where=name_of(change), base=config)


def measure(config: RunConfig, *, with_bots: bool) -> dict[str, Any]:
    """One cell: the scores of all seeds, and the clock."""
    import jax
    import jax.numpy as jnp

    from sparring.setup.beginning import first_state
    from sparring.setup.build import build
    from sparring.setup.program import compile_program

    built = build(config)
    if built.iterations < 2:
        raise SparringError(f"A cell needs two iterations of {built.steps_per_iteration} steps. Raise --steps.")
    program, state, seeds_R = compile_program(built.plan), first_state(built), jnp.asarray(built.seeds_R)
    clock = [time.perf_counter()]
    for iteration in range(built.iterations):
        knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
        state, _ = program(built.game, state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(iteration))
        jax.block_until_ready(state)
        clock.append(time.perf_counter())
    first, *later = (end - begin for begin, end in pairwise(clock))
    seconds = median(later)
    scores = returns_of_teams(built, state, with_bots=with_bots)
    return {
        "scores": scores.pop("learned"),
        "bots": {team: sum(values) / len(values) for team, values in scores.items()},
        "seconds_per_million": seconds / (built.steps_per_iteration * config.seeds) * 1e6,
        "compile_seconds": first - seconds,
        "commit": manifest_facts()["commit"],
    }


def returns_of_teams(built: Any, state: Any, *, with_bots: bool) -> dict[str, list[float]]:
    """The mean return of a seat of side 0, seed by seed: of the learners and, if wanted, of the bots in their place."""
    from sparring.training.own_evaluation import examination

    config, spec = built.config, built.game.spec
    examine = examination(built, games=config.evaluation.eval_games, deterministic=False, with_bots_alone=with_bots)
    games = examine.play(state, seed=config.seed)
    others, seats = (config.seats.opponent,) * (spec.sides - 1), list(spec.seats_of_side[0])
    return {
        team[0]: [float(of_seed[lineup].return_GS[:, seats].mean()) for of_seed in games]
        for lineup, team in enumerate(examine.teams)
        if team[1:] == others
    }


def chosen(options: tuple[Change, ...], wanted: list[str]) -> list[Change]:
    """What was asked for, by its name or by how that begins, after the base; nothing where nothing fits."""
    names = [name_of(change) for change in options]
    picked = {
        name for want in wanted for name in names if name == want or (want not in names and name.startswith(want))
    }
    changes = [change for change, name in zip(options, names, strict=True) if not wanted or name in picked]
    return [{}, *changes] if changes or BASE in wanted else []


def check_names(wanted: list[str]) -> None:
    names = [BASE, *(name_of(change) for course in COURSES.values() for change in course.options)]
    for want in wanted:
        if not any(name.startswith(want) for name in names):
            raise SparringError(unknown("option", want, names))


class Results:
    """The cells by game and name, on disk after each of them so that an interrupted benchmark keeps what it has."""

    def __init__(self, path: Path | None, setup: dict[str, Any], *, fresh: bool) -> None:
        self.path, self.fresh = path, fresh
        self.content: dict[str, Any] = {"setup": setup, "cells": {}}
        if path is not None and path.exists():
            self.content = json.loads(path.read_text())
            if self.content["setup"] != setup:
                raise SparringError(f"{path} was made with {self.content['setup']}, not {setup}. Name another file.")

    def has(self, course: str, name: str) -> bool:
        cell = self.content["cells"].get(course, {}).get(name)
        return cell is not None and "error" not in cell and not self.fresh

    def put(self, course: str, name: str, cell: dict[str, Any]) -> None:
        self.content["cells"].setdefault(course, {})[name] = cell
        if self.path is not None:
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.content, indent=1))
            new.replace(self.path)


def run(results: Results, courses: list[str], wanted: list[str]) -> None:
    import jax

    setup = results.content["setup"]
    for course in courses:
        for change in chosen(COURSES[course].options, wanted):
            name = name_of(change)
            if results.has(course, name):
                continue
            try:
                config = changed(COURSES[course].base, change)
                evaluation = replace(config.evaluation, eval_games=setup["eval_games"])
                config = replace(config, total_steps=setup["steps"], seeds=setup["seeds"], evaluation=evaluation)
                cell = measure(config, with_bots=name == BASE)
                told = f"{shown(iqm_interval(cell['scores']))}  {cell['seconds_per_million']:.2f} s/million"
            except Exception as error:  # one option that fails must not end the others
                cell = {"error": f"{type(error).__name__}: {error}"}
                told = cell["error"]
            results.put(course, name, cell)
            print(f"{course:18} {name:45} {told}", flush=True)
            jax.clear_caches()


def shown(interval: Interval) -> str:
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def verdict(difference: Interval) -> str:
    if difference.low > 0:
        return "helped"
    return "hurt" if difference.high < 0 else "no difference seen"


def tables(content: dict[str, Any]) -> str:
    """A Markdown table for each game."""
    setup = content["setup"]
    shape = f"{setup['steps']:,} steps a seed, {setup['seeds']} seeds, {setup['device']}"
    clock = not setup["shared"]
    return "\n\n".join(table(course, cells, shape, clock=clock) for course, cells in content["cells"].items())


def table(course: str, cells: dict[str, Any], shape: str, *, clock: bool) -> str:
    base = cells.get(BASE, {"error": ""})
    header = ["option", "IQM [95 %]", "difference to base [95 %]", "", *(["seconds / base", "compile, s"] * clock)]
    rows = [header, ["---"] * len(header), *(row(name, cell, base)[: len(header)] for name, cell in cells.items())]
    lines = [f"**{course}**: {shape}", "", *("| " + " | ".join(cells) + " |" for cells in rows)]
    if "error" in base:
        return "\n".join(lines)
    bots = ", ".join(f"{bot} {score:.2f}" for bot, score in base["bots"].items())
    compared = sum("error" not in cell for cell in cells.values()) - 1
    lines += ["", f"For scale: {bots}. Of {compared} comparisons about {compared / 20:.1f} would be called by chance."]
    return "\n".join(lines)


def row(name: str, cell: dict[str, Any], base: dict[str, Any]) -> list[str]:
    if "error" in cell:
        return [name, "failed", cell["error"].replace("|", "/").splitlines()[0][:80], "", "", ""]
    score, compiled = shown(iqm_interval(cell["scores"])), f"{cell['compile_seconds']:.1f}"
    if name == BASE or "error" in base:
        return [name, score, "", "", f"{cell['seconds_per_million']:.2f} s/million", compiled]
    difference = mean_interval([on - off for on, off in zip(cell["scores"], base["scores"], strict=True)])
    ratio = cell["seconds_per_million"] / base["seconds_per_million"]
    return [name, score, shown(difference), verdict(difference), f"{ratio:.2f}", compiled]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--steps", type=lambda word: int(float(word)), default=500_000, help="steps of a seed, all seats"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--eval-games", type=int, default=512)
    parser.add_argument("--games", nargs="+", choices=COURSES, default=list(COURSES))
    parser.add_argument("--options", nargs="+", default=[], help="names of rows, or how they begin; without: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep cells here, and go on with those it has")
    parser.add_argument("--shared", action="store_true", help="other work shares the machine: leave the clock out")
    parser.add_argument("--fresh", action="store_true", help="measure again what the file has")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the tables of a file, and train nothing")
    arguments = parser.parse_args()
    if arguments.table:
        print(tables(json.loads(arguments.table.read_text())))
        return
    import jax

    setup = {name: getattr(arguments, name) for name in ("steps", "seeds", "eval_games", "shared")}
    try:
        check_names(arguments.options)
        results = Results(arguments.json, {**setup, "device": jax.devices()[0].device_kind}, fresh=arguments.fresh)
    except SparringError as error:
        sys.exit(str(error))
    run(results, arguments.games, arguments.options)
    print(f"\n{tables(results.content)}")


if __name__ == "__main__":
    main()
