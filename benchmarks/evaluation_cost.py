"""What one evaluation of a run costs: python benchmarks/evaluation_cost.py kuhn particles:tag demo

Seconds for the games of all line-ups, compiled and then again, and for exact exploitability, of untrained learners with
the defaults of each game or recipe; `--games` plays another number.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sparring.recipes.catalogue import RECIPES
from sparring.recipes.defaults import default_config
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.training.own_evaluation import examination, exploitability


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.monotonic()
    found = work()
    return time.monotonic() - began, found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("names", nargs="+", help="games or recipes")
    asked.add_argument("--games", type=int, default=None, help="games of each line-up; default: as a run has them")
    arguments = asked.parse_args()
    print(f"{'game':<24}{'longest':>8}{'line-ups':>10}{'games':>7}{'first, s':>10}{'again, s':>10}{'exact, s':>10}")
    for name in arguments.names:
        config = RECIPES[name]() if name in RECIPES and ":" not in name else default_config(name)
        built = build(config)
        tests = built.config.evaluation
        tests = replace(tests, eval_games=arguments.games or tests.eval_games)
        state = first_state(built)
        examine = examination(built, games=tests.eval_games, deterministic=False, with_bots_alone=True)
        (first, _), (again, _) = (timed(lambda: examine.play(state, seed=0)) for _ in range(2))  # noqa: B023
        _, (exact, known) = exploitability(built, state), timed(lambda: exploitability(built, state))  # noqa: B023
        shown = f"{exact:10.2f}" if known is not None else f"{'':>10}"
        row = f"{name:<24}{built.game.spec.longest:>8}{len(examine.teams):>10}{tests.eval_games:>7}"
        print(f"{row}{first:>10.1f}{again:>10.2f}{shown}", flush=True)


if __name__ == "__main__":
    main()
