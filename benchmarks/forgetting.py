"""Does a learner lose what it once could do? Checkpoints of a run meet each other and the game's bots, by regime.

    python benchmarks/forgetting.py --games rps --steps 2e5            # a minute or two
    python benchmarks/forgetting.py --games dogfight --steps 15e6 --json benchmarks/results/forgetting.json

Each regime trains some seeds; checkpoints over the run are the past. All pairs of them meet in mirrored games. The
worst rate of the newest against its past shows little: past selves run up to the present, and against one of a
moment ago nobody does better than one half. So each past self is asked how well it was ever beaten: its drop is the
best points that any later checkpoint had against it, less those of the newest. What is best by the luck of its games
would look as if it had dropped later, so games are played twice: the first half chooses who was best, the second
measures. The same is asked of the bots, whom no learner meets here: an outside set that does not change.
"""

import argparse
import json
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sparring.league.config import OpponentsConfig
from sparring.recipes.catalogue import demo, guns_until
from sparring.recipes.defaults import default_config
from sparring.recipes.self_play import apply
from sparring.setup.config import CheckpointConfig, EvalConfig, RunConfig
from sparring.statistics.intervals import Interval, mean_interval
from sparring.store.manifest import manifest_facts

COURSES = {
    "rps": default_config("matrix:biased_rock_paper_scissors", self_play="naive"),
    "dogfight": replace(demo(), opponents=OpponentsConfig(), evaluation=EvalConfig(eval_games=2)),
}
"""The dogfight is that of the recipe `demo`, but without bots: only whom the learner meets differs."""
REGIMES = ("averaged", "magnet", "pool", "sparring")
SHADOW = "shadow"


def measure(config: RunConfig, *, past: int, games: int) -> list[dict[str, Any]]:
    """For each seed, of the games that choose and of those that measure: points of checkpoints, oldest first, against
    each other (`matrix`) and against each bot (`bots`), and of the shadow at the end against the checkpoints."""
    from sparring.play.scripted import bot_names
    from sparring.players.named import entrant
    from sparring.setup.build import build
    from sparring.training.runs import start

    built = build(config)
    every = max(1, built.iterations // (past + 1))
    config = replace(config, checkpoint=CheckpointConfig(checkpoint_every=every, keep=built.iterations))
    numbers = [*range(every, built.iterations, every), built.iterations]
    seeds = []
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        start(config, run)
        for seed in map(int, built.seeds_R):
            texts = {f"after {number}": f"{run}:learner@{number}#{seed}" for number in numbers}
            if config.ppo.has_shadow:
                texts[SHADOW] = f"{run}:learner.shadow#{seed}"
            own = {name: entrant(text, built.game).policy for name, text in texts.items()}
            bots = {name: entrant(name, built.game).policy for name in bot_names(built.game)}
            seeds.append([points(built.game, own, bots, games=games, seed=2 * seed + half) for half in (0, 1)])
    return seeds


def points(game: Any, own: dict[str, Any], bots: dict[str, Any], *, games: int, seed: int) -> dict[str, Any]:
    from sparring.evaluation.tournament import play_pairs

    pairs = [*combinations(own, 2), *product(own, bots)]
    payoff = play_pairs(game, {**own, **bots}, pairs, games=games, seed=seed, most_games=max(games, 1024))
    rows = [payoff.place(name) for name in own if name != SHADOW]
    outside = [payoff.place(name) for name in bots]
    found = {
        "matrix": payoff.rate_MM[np.ix_(rows, rows)].tolist(),
        "bots": payoff.rate_MM[np.ix_(rows, outside)].tolist(),
    }
    return {**found, **({SHADOW: payoff.rate_MM[payoff.place(SHADOW), rows].tolist()} if SHADOW in own else {})}


def drops(choose_MM: np.ndarray, measure_MM: np.ndarray) -> np.ndarray:
    """drop_M of each past self but the newest: what the best of those after it had against it, less what the newest
    has. One table chooses who was best, the other measures."""
    past = len(choose_MM) - 1
    best = [j + 1 + int(np.argmax(choose_MM[j + 1 :, j])) for j in range(past)]
    return np.array([measure_MM[best[j], j] - measure_MM[past, j] for j in range(past)])


def outside_drops(choose_MB: np.ndarray, measure_MB: np.ndarray) -> np.ndarray:
    """drop_B against each bot: of the best checkpoint, less that of the newest."""
    best_B = choose_MB.argmax(axis=0)
    return measure_MB[best_B, np.arange(measure_MB.shape[1])] - measure_MB[-1]


def summary(seeds: list[list[dict[str, Any]]]) -> dict[str, Interval]:
    """Means over seeds with their intervals."""
    inside = [drops(*(np.asarray(half["matrix"]) for half in seed)) for seed in seeds]
    outside = [outside_drops(*(np.asarray(half["bots"]) for half in seed)) for seed in seeds]
    newest = [np.asarray(seed[1]["matrix"])[-1, :-1] for seed in seeds]
    return {
        "points of the newest": mean_interval([own.mean() for own in newest]),
        "mean drop": mean_interval([own.mean() for own in inside]),
        # The past self that was chosen by one half of the games is measured by the other: the largest of many that were
        # measured is no measure of it.
        "largest drop": mean_interval([largest(*(np.asarray(half["matrix"]) for half in seed)) for seed in seeds]),
        "drop against bots": mean_interval([own.mean() for own in outside]),
    }


def largest(choose_MM: np.ndarray, measure_MM: np.ndarray) -> float:
    """The drop of the past self that seems to have the largest by the games that choose."""
    return float(drops(choose_MM, measure_MM)[int(drops(choose_MM, choose_MM).argmax())])


def table(cells: dict[str, dict[str, Any]]) -> str:
    lines: list[str] = []
    for game, regimes in cells.items():
        for name, seeds in regimes.items():
            found = summary(seeds)
            if not lines:
                head = ("game", "regime", *found)
                lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
            shown = [f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in found.values()]
            lines.append(f"| {game} | {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", choices=COURSES, default=["rps"])
    parser.add_argument("--regimes", nargs="+", default=list(REGIMES))
    parser.add_argument("--steps", type=lambda word: int(float(word)), default=200_000)
    parser.add_argument("--worlds", type=int, default=0, help="0: as the course has it")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--past", type=int, default=20, help="checkpoints before the last")
    parser.add_argument("--each", type=int, default=256, help="games of each pair, twice, an even number")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep cells here; others in it stay")
    parser.add_argument("--table", action="store_true", help="only print the cells of --json again")
    arguments = parser.parse_args()
    path = arguments.json
    content = json.loads(path.read_text()) if path and path.exists() else {"cells": {}}
    for game in () if arguments.table else arguments.games:
        base = replace(COURSES[game], total_steps=arguments.steps, seeds=arguments.seeds)
        if base.stages:  # a shorter run has shorter stages
            shares = (0.1, 0.2, 0.325, 0.45, 0.575)
            base = replace(base, stages=guns_until("steps", *(share * arguments.steps for share in shares)))
        if arguments.worlds:
            base = replace(base, play=replace(base.play, worlds=arguments.worlds))
        for name in arguments.regimes:
            found = measure(apply(base, name), past=arguments.past, games=arguments.each)
            content["cells"].setdefault(game, {})[name] = found
            content["setup"], content["commit"] = {"steps": arguments.steps}, manifest_facts()["commit"]
            print(f"{game} {name}: mean drop {summary(found)['mean drop'].mean:.3f}", flush=True)
            if path:
                path.write_text(json.dumps(content))
    print(table(content["cells"]))


if __name__ == "__main__":
    main()
