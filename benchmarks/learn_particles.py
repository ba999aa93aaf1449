"""What is learned on the particle games within three million steps, over seeds, beside the scripted players.

    python benchmarks/learn_particles.py --seeds 5

Each row is one run of stacked seeds. A row is won when the lower bound of the learners' mean return, over seeds, lies
above the upper bound of the bot's, over games.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sparring.evaluation.scoring import SideScore
from sparring.recipes.catalogue import hunt, spread
from sparring.setup.config import RunConfig
from sparring.training.runs import start


def independent() -> RunConfig:
    config = spread()
    return replace(config, seats=replace(config.seats, share="seat"))


def mappo() -> RunConfig:
    config = spread()
    return replace(config, net=replace(config.net, critic="central"))


CASES = {
    "spread, IPPO, shared": (spread, "nearest"),
    "spread, IPPO, independent": (independent, "nearest"),
    "spread, MAPPO, shared": (mappo, "nearest"),
    "tag, predators against flee": (hunt, "random"),
}
"""What trains, and the bot in its place that it is measured against."""


def score_of(scores: list[SideScore], team: str, opponents: str) -> SideScore:
    return next(s for s in scores if s.side == 0 and s.team == team and s.opponents == opponents)


def measure(recipe, yardstick: str, seeds: int, games: int) -> dict:
    config = recipe()
    config = replace(config, seeds=seeds, evaluation=replace(config.evaluation, eval_every=0, eval_games=games))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        summary = start(config, Path(folder) / "run")
    opponent = config.seats.opponent
    learned = score_of(summary.scores, "learned", opponent).mean_return
    bots = {
        s.team: s.mean_return for s in summary.scores if s.side == 0 and s.opponents == opponent and s.team != "learned"
    }
    return {
        "learned": [learned.mean, learned.low, learned.high],
        "bots": {name: [b.mean, b.low, b.high] for name, b in bots.items()},
        "won": learned.low > bots[yardstick].high,
        "seconds": time.monotonic() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--games", type=int, default=512)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = {}
    for name, (recipe, yardstick) in CASES.items():
        if arguments.only in (None, name):
            results[name] = row = measure(recipe, yardstick, arguments.seeds, arguments.games)
            if not arguments.json:
                bots = ", ".join(f"{bot} {b[0]:.2f} [{b[1]:.2f}, {b[2]:.2f}]" for bot, b in row["bots"].items())
                mean, low, high = row["learned"]
                print(
                    f"{name:30} {mean:.2f} [{low:.2f}, {high:.2f}]   {bots}   won {row['won']}   {row['seconds']:.0f} s"
                )
    if arguments.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
