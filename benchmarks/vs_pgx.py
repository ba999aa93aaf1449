"""Training speed on connect four: Pgx's rules through the adapter against ours, in turns within one process.

    python benchmarks/vs_pgx.py --rounds 15

The same settings on both sides. What is compared is the processor time of the same number of training steps, in turns
and on one core: on a busy machine, clocks on the wall differ threefold from round to round. It prints the median share
of the rounds, and the range of their middle half.
"""

import argparse
import os
import time
from statistics import median, quantiles

if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])

from sparring.recipes.defaults import default_config
from sparring.setup.build import build
from sparring.studies.bench import TrainingLoop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("rounds", 15), ("iterations", 3), ("worlds", 128), ("steps", 40)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    games = {"ours": "connect_four", "pgx": "pgx:connect_four"}
    configs = {
        name: default_config(game, self_play="sparring", worlds=args.worlds, steps=args.steps)
        for name, game in games.items()
    }
    built = {name: build(config) for name, config in configs.items()}
    loops = {name: TrainingLoop(one) for name, one in built.items()}
    for loop in loops.values():
        loop.run(1)
    seconds: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(args.rounds):
        for name, loop in loops.items():
            began = time.process_time()
            loop.run(args.iterations)
            seconds[name].append((time.process_time() - began) / args.iterations)
    speed = {name: built[name].steps_per_iteration / median(taken) for name, taken in seconds.items()}
    low, share, high = quantiles([a / b for a, b in zip(seconds["ours"], seconds["pgx"], strict=True)], n=4)
    print(
        f"ours {speed['ours']:,.0f}, pgx {speed['pgx']:,.0f} decisions a second of one core; pgx at "
        f"{share:.0%} of ours (middle half of the rounds {low:.0%} to {high:.0%})"
    )


if __name__ == "__main__":
    main()
