"""Training speed of Sparring and of JaxMARL on the same particle games, measured in turns on this machine.

    python benchmarks/vs_jaxmarl.py                # every game and size, on the CPU
    python benchmarks/vs_jaxmarl.py --baselines ../JaxMARL
    python benchmarks/vs_jaxmarl.py --device cuda --iterations 200 --json

JaxMARL's package has no training script. The other side is therefore an IPPO loop of ours around its games, wrappers
and libraries, with its settings and without its logging; with --baselines it is the script of a checkout, as it stands.

On both sides one network drives all seats (MLP 64x64 tanh, actor and critic apart), 25 steps, 4 epochs of 4
minibatches. Speeds are medians over the rounds, in agent-steps per second of training. turns.py says how it is timed.
"""

import argparse
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from turns import both_sides, columns, common_flags, compare_all, heading, ratio, sizes

SEATS, STEPS = {"spread": 3, "tag": 4}, 25


def compare(args: argparse.Namespace, game: str, worlds: int) -> dict[str, Any]:
    words = sizes(game, worlds, STEPS, args)
    checkout = ["--baselines", str(args.baselines)] if args.baselines else []
    answers = both_sides(args, theirs=["jaxmarl_worker.py", *words, *checkout], ours=["sparring_worker.py", *words])
    seconds = {side: [answer["seconds_per_iteration"] for answer in rounds] for side, rounds in answers.items()}
    speed = {side: worlds * STEPS * SEATS[game] / median(seconds[side]) for side in seconds}
    return {**speed, "ratio": ratio(speed), "seconds_per_iteration": seconds, "line": columns(speed)}


def main() -> None:
    parser = common_flags(__doc__, known=SEATS, games=list(SEATS), worlds=[128, 1024])
    parser.add_argument("--baselines", type=Path, help="a checkout of JaxMARL whose own training script is timed")
    args = parser.parse_args()
    compare_all(args, partial(compare, args), header=heading("agent-steps/s"))


if __name__ == "__main__":
    main()
