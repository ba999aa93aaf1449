"""Two board games of PettingZoo, learned by self-play with a pool through worker processes, against random play.

    python benchmarks/outside_boards.py                      # tic-tac-toe and connect four, some minutes each
    python benchmarks/outside_boards.py --games tictactoe_v3 --steps 200000

The policy is then played in PettingZoo's own loop, first all games as the player that begins, then as the one that
answers: points of either side apart, a draw one half, with 95 % intervals. Against random play the best that is
possible in tic-tac-toe is 0.997 for who begins and 0.962 for who answers.
"""

import argparse
import importlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import sparring
from sparring.cli.main import main as command
from sparring.statistics.intervals import clopper_pearson

STEPS = {"tictactoe_v3": 1_000_000, "connect_four_v3": 800_000}
LEARNING = "--steps 32 --discount 1 --hidden 128 128 --learning-rate 2e-3->1e-4 --entropy 0.2->0"
ALSO = {"tictactoe_v3": "--epsilon 0.25"}
"""Random choices of both players: answers to bad moves are learned only where bad moves are seen."""


def points(env: Any, choose: Any, learned: str, games: int) -> float:
    """Of the learned agent, while the others choose at random among what is legal."""
    random, total = np.random.default_rng(0), 0.0
    for game in range(games):
        env.reset(seed=game)
        paid = 0.0
        for agent in env.agent_iter():
            seen, reward, over, cut, info = env.last()
            paid += reward if agent == learned else 0.0
            if over or cut:
                env.step(None)
            elif agent == learned:
                env.step(choose(agent, seen, info))
            else:
                env.step(int(random.choice(np.flatnonzero(seen["action_mask"]))))
        total += (np.sign(paid) + 1.0) / 2.0
    return float(total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=list(STEPS), choices=STEPS)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1000, help="games of either side")
    parser.add_argument("--learning", default="", help="flags of sparring train in place of ours")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for game in args.games:
            steps = args.steps or STEPS[game]
            words = f"train pettingzoo:pettingzoo.classic.{game} --self-play pool --total-steps {steps} --worlds 128"
            where = f"--eval-games 100 --eval-times 1 --seed {args.seed} --runs {folder} --name {game}"
            learning = args.learning or f"{LEARNING} {ALSO.get(game, '')}"
            command([*f"{words} {learning} {where}".split()])
            run, env = sparring.load(Path(folder) / game), importlib.import_module(f"pettingzoo.classic.{game}").env()
            for place, name in enumerate(("begins", "answers")):
                won = points(env, run.agents(env), env.possible_agents[place], args.rounds)
                found = clopper_pearson(won, args.rounds)
                print(f"{game}, who {name}: {found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]", flush=True)


if __name__ == "__main__":
    main()
