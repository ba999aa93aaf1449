"""Does a learner still beat all it once was? The worst rate of the final policy against its past selves, by regime.

    python benchmarks/forgetting.py --games rps --steps 2e5            # a minute or two
    python benchmarks/forgetting.py --games dogfight --steps 3e6 --json benchmarks/results/forgetting.json

Each regime trains some seeds; checkpoints over the run are the past. The final policy, newest and shadow, meets each of
them in mirrored games. The worst of many measured rates is biased low: with 20 past selves at a true 0.5 and 512 games
each the lowest is about 0.46 on average. The column `bias` is what the worst would be if the truth were the mean rate
everywhere, found by simulation with the same counts; the worst says something where it is well below that.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sparring.core.seeding import Seed
from sparring.league.config import OpponentsConfig
from sparring.recipes.catalogue import demo, guns_until
from sparring.recipes.self_play import apply, biased_rock_paper_scissors
from sparring.setup.config import CheckpointConfig, EvalConfig, RunConfig
from sparring.statistics.intervals import mean_interval
from sparring.store.manifest import manifest_facts

COURSES = {
    "rps": biased_rock_paper_scissors(),
    "dogfight": replace(demo(), opponents=OpponentsConfig(), evaluation=EvalConfig(eval_games=2)),
}
"""The dogfight is that of the recipe `demo`, but without bots: only whom the learner meets differs."""
REGIMES = ("naive", "pool", "sparring")
FINAL = ("latest", "shadow")


def measure(config: RunConfig, *, past: int, games: int) -> list[dict[str, Any]]:
    """For each seed: rates of the final policies against every past self, oldest first."""
    from sparring.evaluation.tournament import play_pairs
    from sparring.players.named import entrant
    from sparring.setup.build import build
    from sparring.training.runs import start

    built = build(config)
    every = max(1, built.iterations // (past + 1))
    config = replace(config, checkpoint=CheckpointConfig(checkpoint_every=every, keep=built.iterations))
    seeds = []
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        start(config, run)
        numbers = list(range(every, built.iterations, every))
        for seed in map(int, built.seeds_R):
            texts = {f"past {number}": f"{run}:learner@{number}#{seed}" for number in numbers}
            texts["latest"] = f"{run}:learner#{seed}"
            if config.ppo.has_shadow:
                texts["shadow"] = f"{run}:learner.shadow#{seed}"
            players = {name: entrant(text, built.game).policy for name, text in texts.items()}
            finals = [name for name in FINAL if name in players]
            pairs = [(final, name) for final in finals for name in players if name not in FINAL]
            payoff = play_pairs(built.game, players, pairs, games=games, seed=seed)
            seeds.append({final: rates(payoff, final, list(texts)) for final in finals})
    return seeds


def rates(payoff: Any, final: str, names: list[str]) -> list[float]:
    return [payoff.interval(final, name).mean for name in names if name not in FINAL]


def expected_worst(rate: float, past: int, games: int) -> float:
    """The mean of the lowest of `past` measured rates that are all `rate` in truth, without draws."""
    drawn = (Seed.of(0) / "forgetting").generator().binomial(games, rate, size=(2000, past)) / games
    return float(drawn.min(axis=1).mean())


def table(cells: dict[str, dict[str, Any]], games: int) -> str:
    head = ("game", "regime", "final", "mean rate", "worst rate [95 % over seeds]", "bias")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for game, regimes in cells.items():
        for name, seeds in regimes.items():
            for final in seeds[0]:
                rate_RM = np.asarray([seed[final] for seed in seeds])
                worst = mean_interval(rate_RM.min(axis=1))
                bias = expected_worst(float(rate_RM.mean()), rate_RM.shape[1], games)
                shown = f"{worst.mean:.3f} [{worst.low:.3f}, {worst.high:.3f}]"
                lines.append(f"| {game} | {name} | {final} | {rate_RM.mean():.3f} | {shown} | {bias:.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", choices=COURSES, default=["rps"])
    parser.add_argument("--regimes", nargs="+", choices=REGIMES, default=list(REGIMES))
    parser.add_argument("--steps", type=lambda word: int(float(word)), default=200_000)
    parser.add_argument("--worlds", type=int, default=0, help="0: as the course has it")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--past", type=int, default=20, help="past selves that are met")
    parser.add_argument("--each", type=int, default=512, help="games against each, an even number")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep cells here; others in it stay")
    arguments = parser.parse_args()
    path = arguments.json
    content = json.loads(path.read_text()) if path and path.exists() else {"cells": {}}
    for game in arguments.games:
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
            print(f"{game} {name}: worst {[round(min(seed['latest']), 3) for seed in found]}", flush=True)
            if path:
                path.write_text(json.dumps(content))
    print(table(content["cells"], arguments.each))


if __name__ == "__main__":
    main()
