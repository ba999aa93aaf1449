"""Which coefficients let self-play with a magnet settle? All combinations train as the seeds of one program.

    python benchmarks/magnet_sweep.py kuhn --anchor 0.3 1 3 --memory 0.05 0.1 0.2
    python benchmarks/magnet_sweep.py leduc --entropy "0.2 -> 0.02" "0.1 -> 0.05" --epsilon 0.03 0.1 --repeats 4
    python benchmarks/magnet_sweep.py leduc --rows '[{"support": 0.02, "epsilon": 0}, {}]' --set seed=1000

Everything else is what suits the game. `--memory` is the magnet's half-life at the end, as a share of the run. Prints
the exact exploitability of the newest policy and of its average for each combination, the best first, at each of
`--looks` points of the run.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sparring.core.schedules import Schedule
from sparring.learn.config import PPOConfig, knobs_at
from sparring.recipes.defaults import default_config
from sparring.recipes.self_play import Pace, memory
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.program import compile_program
from sparring.training.own_evaluation import exploitability

COEFFICIENTS = ("anchor", "learning_rate", "entropy", "epsilon", "decay", "support")


def combinations(axes: dict[str, list[Any]]) -> list[dict[str, Any]]:
    given = {name: values for name, values in axes.items() if values}
    return [dict(zip(given, values, strict=True)) for values in product(*given.values())]


def varied(built: Built, usual: PPOConfig, values: dict[str, Any]) -> PPOConfig:
    pace = Pace(built.steps_per_iteration, built.iterations)
    changed = {name: Schedule.parse(value) for name, value in values.items() if name != "memory"}
    if "memory" in values:
        changed["shadow_half_life"] = memory(pace, float(values["memory"]))
    return replace(usual, **changed)


class Look(NamedTuple):
    progress: float
    figures: list[tuple[float, float]]
    """Exploitability of newest and average, in the order of what is tried."""


def sweep(game: str, tried: list[dict[str, Any]], settings: dict[str, Any], looks: int) -> Iterator[Look]:
    base = default_config(game, self_play="magnet", seeds=len(tried), **settings)
    usual = base.ppo
    for name in ("epsilon", "support"):  # a term that any of them uses must be in the program
        if any(name in values for values in tried) and not usual.on(name):
            base = replace(base, ppo=replace(base.ppo, **{name: Schedule.parse(0.01)}))
    built = build(base)
    rules = [varied(built, usual, values) for values in tried]
    program, state, seeds_R = compile_program(built.plan), first_state(built), jnp.asarray(built.seeds_R)
    due = {built.iterations * look // looks - 1 for look in range(1, looks + 1)}
    for iteration in range(built.iterations):
        own_RH = np.stack([knobs_at(rule, built.progress(iteration), iteration) for rule in rules])
        knobs = tuple(jnp.asarray(np.repeat(own_RH[:, None], len(group), axis=1)) for group in built.settings)
        state, _ = program(built.game, state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(iteration))
        if iteration % 50 == 0:
            jax.block_until_ready(state)
        if iteration in due:
            newest, average = exploitability(built, state), exploitability(built, state, shadow=True)
            assert newest is not None and average is not None
            yield Look((iteration + 1) / built.iterations, list(zip(newest, average, strict=True)))


def shown(tried: list[dict[str, Any]], look: Look) -> str:
    rows: dict[str, list[tuple[float, float]]] = {}
    for values, figures in zip(tried, look.figures, strict=True):
        told = "  ".join(f"{name} {value}" for name, value in values.items())
        rows.setdefault(told or "as it is", []).append(figures)
    lines = [f"after {look.progress:.0%}"]
    for name, figures in sorted(rows.items(), key=lambda row: np.mean([newest for newest, _ in row[1]])):
        newest, average = (", ".join(f"{x:.4f}" for x in column) for column in zip(*figures, strict=True))
        lines.append(f"newest {newest}  average {average}  {name}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    for name in (*COEFFICIENTS, "memory"):
        parser.add_argument(f"--{name.replace('_', '-')}", nargs="+", default=[])
    parser.add_argument("--rows", type=json.loads, help="these and no combinations: a list of values by name, as JSON")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="for all, as epochs=4")
    parser.add_argument("--repeats", type=int, default=1, help="seeds of each combination")
    parser.add_argument("--looks", type=int, default=1, help="how often along the run the policies are judged")
    arguments = parser.parse_args()
    axes = {name: getattr(arguments, name) for name in (*COEFFICIENTS, "memory")}
    rows = combinations(axes) if arguments.rows is None else arguments.rows
    tried = [values for values in rows for _ in range(arguments.repeats)]
    settings = {name: json.loads(value) for name, value in (word.split("=", 1) for word in arguments.set)}
    for look in sweep(arguments.game, tried, settings, arguments.looks):
        print(shown(tried, look), flush=True)


if __name__ == "__main__":
    main()
