"""Training speed on connect four: Pgx's rules through the adapter against ours, in turns within one process.

    python benchmarks/vs_pgx.py --rounds 9

The same settings on both sides; speeds are medians over the rounds, in decisions per second of training.
"""

import argparse
from statistics import median

from sparring.recipes.defaults import default_config
from sparring.setup.build import build
from sparring.studies.bench import TrainingLoop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("rounds", 9), ("iterations", 3), ("worlds", 128), ("steps", 40)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    own = default_config("connect_four", self_play="sparring", worlds=args.worlds, steps=args.steps)
    other = default_config("pgx:connect_four", self_play="sparring", worlds=args.worlds, steps=args.steps)
    built = {name: build(config) for name, config in (("ours", own), ("pgx", other))}
    loops = {name: TrainingLoop(one) for name, one in built.items()}
    for loop in loops.values():
        loop.run(1)
    seconds = {name: [] for name in loops}
    for _ in range(args.rounds):
        for name, loop in loops.items():
            seconds[name].append(loop.run(args.iterations))
    speed = {name: built[name].steps_per_iteration / median(taken) for name, taken in seconds.items()}
    shares = sorted(a / b for a, b in zip(seconds["ours"], seconds["pgx"], strict=True))
    print(
        f"ours {speed['ours']:,.0f}, pgx {speed['pgx']:,.0f} decisions/s; pgx at {speed['pgx'] / speed['ours']:.0%} of "
        f"ours (rounds {shares[0]:.0%} to {shares[-1]:.0%})"
    )


if __name__ == "__main__":
    main()
