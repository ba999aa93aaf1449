"""Does protection help a beginner? A learner meets a strong bot from its first game, plainly or with help.

    python benchmarks/beginner.py --steps 2e5 --worlds 32 --rows plain     # small
    python benchmarks/beginner.py --steps 4e6 --json benchmarks/results/beginner.json

The opponent is the dogfight bot `pure`, in all blocks. Rows add one thing each: a curriculum over weaker bots; a
curriculum over weakened selves (by random actions, or by flatter choices) before that bot; defeats tried again. The
score is the rate against `pure` in games after training, a draw counting half, with intervals over seeds. All rows have
the same steps; those of a curriculum spend some of them below `pure`, which is the price of it.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sparring.core.settings import from_dict
from sparring.statistics.intervals import mean_interval
from sparring.store.manifest import manifest_facts
from sparring.training.config import RunConfig

STRONG = "pure"
LADDER = ("straight", "gentle_turn", "weave", "lag", STRONG)
BASE: dict[str, Any] = {
    "game": "dogfight",
    "play": {"worlds": 64, "steps": 64},
    "opponents": {"current": 0.0, "bots": 1.0, "ladder": [STRONG]},
    "ppo": {"learning_rate": "1e-3 -> 1e-4", "entropy": "0.02 -> 0.005", "shadow_half_life": 20.0},
}
WEAKENED = {"curriculum": True, "weaken_levels": 4}
ROWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ladder": {
        "opponents": {"ladder": list(LADDER), "bot_sampler": "latest"},
        "curriculum": {"curriculum": True, "weaken_levels": 0},
    },
    "epsilon": {"curriculum": {**WEAKENED, "weaken": "epsilon"}},
    "temperature": {"curriculum": {**WEAKENED, "weaken": "temperature"}},
    "defeats": {"defeats": {"defeat_share": 0.1}},
}
"""What each row changes. Past the last level the normal mixture plays: `latest` of the ladder is its strongest bot.

A curriculum of weakened selves begins, as every curriculum, with the bots of the ladder: here with `pure` itself, which
is climbed first. Its rows therefore say what weakened selves add after that, and little where `pure` is never beaten.
"""


def config_of(row: str, *, steps: int, worlds: int, seeds: int) -> RunConfig:
    settings = {table: dict(value) if isinstance(value, dict) else value for table, value in BASE.items()}
    for table, changes in ROWS[row].items():
        settings[table] = {**settings.get(table, {}), **changes}
    settings["play"]["worlds"] = worlds
    return from_dict(RunConfig, {**settings, "total_steps": steps, "seeds": seeds}, where=row)


def measure(config: RunConfig, games: int) -> dict[str, Any]:
    """The learner's rate against the strong bot, seed by seed, and the levels reached."""
    from sparring.evaluation.tournament import play_pairs
    from sparring.store.run_dir import RunDir
    from sparring.training.build import build
    from sparring.training.entrants import entrant
    from sparring.training.runs import start

    built = build(config)
    config = replace(config, evaluation=replace(config.evaluation, eval_games=2))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        start(config, path)
        lines = [line for line in RunDir.open(path).metrics() if line.get("event") in ("climbed", "retreated")]
        found = []
        for seed in map(int, built.seeds_R):
            players = {"learner": entrant(f"{path}:learner#{seed}", built.game), STRONG: entrant(STRONG, built.game)}
            policies = {name: player.policy for name, player in players.items()}
            payoff = play_pairs(built.game, policies, [("learner", STRONG)], games=games, seed=seed)
            found.append(payoff.interval("learner", STRONG).mean)
    last = {line["seed"]: line["level"] for line in lines}
    return {"rates": found, "levels": [last.get(int(seed), "") for seed in built.seeds_R]}


def table(cells: dict[str, dict[str, Any]]) -> str:
    lines = [f"| help | rate against {STRONG} [95 % over seeds] | each seed | last level |", "|---|---|---|---|"]
    for name in ROWS:
        if name in cells:
            interval = mean_interval(cells[name]["rates"])
            each = " ".join(f"{rate:.3f}" for rate in cells[name]["rates"])
            levels = ", ".join(level or "none" for level in dict.fromkeys(cells[name]["levels"]))
            shown = f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
            lines.append(f"| {name} | {shown} | {each} | {levels} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--steps", type=lambda word: int(float(word)), default=200_000)
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--eval-games", type=int, default=256)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep cells here; others in it stay")
    arguments = parser.parse_args()
    path = arguments.json
    content = json.loads(path.read_text()) if path and path.exists() else {"cells": {}}
    for name in arguments.rows:
        config = config_of(name, steps=arguments.steps, worlds=arguments.worlds, seeds=arguments.seeds)
        content["cells"][name] = measure(config, arguments.eval_games)
        content["setup"], content["commit"] = {"steps": arguments.steps}, manifest_facts()["commit"]
        print(name, content["cells"][name], flush=True)
        if path:
            path.write_text(json.dumps(content))
    print(table(content["cells"]))


if __name__ == "__main__":
    main()
