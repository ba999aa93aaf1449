"""Two board games of PettingZoo, learned by self-play with a pool through worker processes, against random play.

    python benchmarks/outside_boards.py                      # tic-tac-toe and connect four, some minutes each
    python benchmarks/outside_boards.py --games tictactoe_v3 --steps 200000

The sides of these games are alike and change places from game to game, so that the points of one side hold for who
begins and who answers alike.
"""

import argparse
import tempfile
from pathlib import Path

from sparring.cli.main import main as sparring
from sparring.evaluation.stored import deployed
from sparring.store.run_dir import RunDir

STEPS = {"tictactoe_v3": 1_000_000, "connect_four_v3": 800_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=list(STEPS), choices=STEPS)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for game in args.games:
            steps = args.steps or STEPS[game]
            words = f"train pettingzoo:pettingzoo.classic.{game} --self-play pool --total-steps {steps} --worlds 128"
            learning = "--steps 32 --discount 1 --hidden 128 128 --learning-rate 2e-3->1e-4 --entropy 0.2->0"
            where = f"--eval-games 500 --seed {args.seed} --runs {folder} --name {game}"
            sparring([*f"{words} {learning} {where}".split()])
            run = RunDir.open(Path(folder) / game)
            (last,) = run.last_evaluation()
            points = {key: value for key, value in last.items() if key.startswith("points/") and "random" in key}
            speeds = sorted(line["steps_per_second"] for line in run.timing())
            print(f"{game}: {points}, {speeds[len(speeds) // 2]:,.0f} steps/s; {deployed(run).sentence()}", flush=True)


if __name__ == "__main__":
    main()
