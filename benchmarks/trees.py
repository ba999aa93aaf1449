"""What exact answers cost: the size of each game's tree, seconds to grow it and seconds to measure a policy by it.

python benchmarks/trees.py
python benchmarks/trees.py liars_dice faces=3 dice=2
"""

import argparse
import resource
import time

import numpy as np

from sparring.games import registry, tree

GAMES = ("kuhn", "leduc", "liars_dice", "goofspiel", "goofspiel cards=5", "goofspiel cards=6 points_order=descending")


def uniform(_: int, __: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
    return legal_IA / legal_IA.sum(axis=1, keepdims=True)


def timed(function, *given):
    begun = time.perf_counter()
    return function(*given), time.perf_counter() - begun


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("game", nargs="*", help="a game and its options; without one, all of them")
    game = asked.parse_args().game
    print(f"{'game':42} {'nodes':>9} {'sets of a seat':>14} {'to grow':>9} {'to measure':>11} {'uniform play':>13}")
    for line in [" ".join(game)] if game else GAMES:
        name, *options = line.split()
        made = registry.make(name, **registry.parse_options(name, options))
        known, growing = timed(tree.tree_of, made)
        found, measuring = timed(tree.policy_exploitability, made, uniform)
        sets = len(known.sets[0].legal_IA)
        print(f"{line:42} {known.nodes:>9,} {sets:>14,} {growing:>7.1f} s {measuring:>9.3f} s {found:>13.4f}")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB of memory at most")


if __name__ == "__main__":
    main()
