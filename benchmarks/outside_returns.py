"""mpe2's own Python environments through workers against our games of the same rules: do learners earn the same?

    python benchmarks/outside_returns.py --steps 300000 --seeds 3

Both train with the same settings. Returns of a seat at the end, mean over games and seeds, with the range over seeds:
learned against learned for the team game, each side against random play for tag.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import mean

from sparring.recipes.defaults import default_config
from sparring.setup.config import EvalConfig, RunConfig, WorkersConfig
from sparring.store.run_dir import RunDir
from sparring.training.runs import start

PAIRS = {"spread": ("particles:spread", "mpe2.simple_spread_v3"), "tag": ("particles:tag", "mpe2.simple_tag_v3")}


def trained(config: RunConfig, folder: Path) -> dict[str, list[float]]:
    """Returns by line-up, one for each seed."""
    start(config, folder)
    found: dict[str, list[float]] = {}
    for line in RunDir.open(folder).last_evaluation():
        for key, value in line.items():
            name = key.removeprefix("return/")
            learned = "learned" in name and ("random" in name or ("/learned" in name and " vs " not in name))
            if key.startswith("return/") and learned and "/random" not in name:
                side, _, who = name.partition("/")
                label = {"predator": "adversary", "prey": "agent"}.get(side, side)
                found.setdefault(f"{label.rstrip('s')} {who}", []).append(value)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=list(PAIRS), choices=PAIRS)
    for name, value in (("steps", 300_000), ("seeds", 3), ("worlds", 32), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    evaluation = EvalConfig(eval_games=200)
    for game in args.games:
        ours, theirs = PAIRS[game]
        own = default_config(ours, total_steps=args.steps, worlds=args.worlds, seeds=args.seeds)
        own = replace(own, evaluation=evaluation)
        other = replace(own, game=f"pettingzoo:{theirs}", options=(), workers=WorkersConfig(num_workers=args.workers))
        with tempfile.TemporaryDirectory() as folder:
            for config in (own, other):
                for who, values in trained(config, Path(folder) / config.game.replace(":", "-")).items():
                    low, high = min(values), max(values)
                    print(f"{config.game:32} {who:28} {mean(values):8.2f}  [{low:.2f}, {high:.2f}]", flush=True)


if __name__ == "__main__":
    main()
