"""Does protection help a beginner? A learner meets a strong bot from its first game, plainly or with help.

    python benchmarks/beginner.py --steps 2e5 --worlds 32 --rows plain     # small
    python benchmarks/beginner.py --steps 5e6 --worlds 256 --seeds 4 --json benchmarks/results/beginner.json

The opponent is the dogfight bot `eager`, in all blocks; rules, shaping and learning are those of the recipe `demo`.
Rows add to that: a curriculum over weaker bots; the same and then weakened selves (by random actions, or by flatter
choices); defeats tried again, and the winner imitated. The score is the rate against `eager` in games after training, a
draw counting half, with intervals over seeds. All rows have the same steps; those of a curriculum spend some of them
below `eager`, which is the price of it.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sparring.core.settings import from_dict, to_dict
from sparring.recipes.catalogue import demo, guns_until
from sparring.setup.config import RunConfig
from sparring.statistics.intervals import mean_interval
from sparring.store.manifest import manifest_facts

STRONG = "eager"
LADDER = ("straight", "novice", "lag", "patient", STRONG)
EVERY_BOT = {"ladder": list(LADDER), "bot_sampler": "latest"}
ROWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ladder": {"opponents": EVERY_BOT, "curriculum": {"curriculum": True, "weaken_levels": 0}},
    "epsilon": {"opponents": EVERY_BOT, "curriculum": {"curriculum": True, "weaken": "epsilon"}},
    "temperature": {"opponents": EVERY_BOT, "curriculum": {"curriculum": True, "weaken": "temperature"}},
    "defeats": {"defeats": {"defeat_share": 0.1}},
    "imitation": {"defeats": {"defeat_share": 0.1}, "ppo": {"imitation": 0.02}},
}
"""What each row changes. Past the last level the normal mixture plays: `latest` of the ladder is its strongest bot."""


def config_of(row: str, *, steps: int, worlds: int, seeds: int) -> RunConfig:
    base = demo()
    ends = [share * steps for share in (0.1, 0.2, 0.325, 0.45, 0.575)]
    base = replace(base, total_steps=steps, seeds=seeds, stages=guns_until("steps", *ends))
    base = replace(base, play=replace(base.play, worlds=worlds, blocks=8))
    settings = to_dict(base)
    settings["opponents"] |= {"current": 0.0, "shadow": 0.0, "history": 0.0, "bots": 1.0, "ladder": [STRONG]}
    for table, changes in ROWS[row].items():
        settings[table] |= changes
    return from_dict(RunConfig, settings, where=row)


def measure(config: RunConfig, games: int) -> dict[str, Any]:
    """The learner's rate against the strong bot, seed by seed, and the levels reached."""
    from sparring.evaluation.tournament import play_pairs
    from sparring.players.named import entrant
    from sparring.setup.build import build
    from sparring.store.run_dir import RunDir
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
