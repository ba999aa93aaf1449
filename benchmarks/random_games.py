"""Do the defaults settle where nobody tuned them? Zero-sum matrix games drawn at random, exact exploitability.

    python benchmarks/random_games.py                       # 20 games, a million steps each
    python benchmarks/random_games.py --first 100 --games 5 --steps 4000000
    python benchmarks/random_games.py --set 'shadow_half_life="5 -> 60"'

Six kinds in turn: payoffs at random with sides alike and unlike, cycles with unequal prizes, points on a disc, weighted
battlefields, and dominated moves; 3 to 30 moves, scales from 0.1 to 10. Figures are percent of the game's range, of the
newest policy and of its average.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from exact import exact
from sparring.games.matrix import MatrixGame, matrix_game
from sparring.recipes.defaults import default_config

Generator = np.random.Generator
STAND_IN = "matrix:rock_paper_scissors"
"""The settings are those of any zero-sum matrix game for two; the game itself is given beside them."""
MARK = 1.0


def alike(rng: Generator, moves: int) -> np.ndarray:
    payoff = rng.normal(size=(moves, moves))
    return payoff - payoff.T


def unlike(rng: Generator, moves: int) -> np.ndarray:
    return rng.normal(size=(moves, int(rng.integers(3, 31))))


def cycle(rng: Generator, moves: int) -> np.ndarray:
    moves |= 1
    distance = (np.arange(moves)[None] - np.arange(moves)[:, None]) % moves
    prize = rng.uniform(0.5, 2.0, size=(moves, moves))
    return np.where(distance == 0, 0.0, np.where(distance <= moves // 2, -1.0, 1.0)) * (prize + prize.T)


def disc(rng: Generator, moves: int) -> np.ndarray:
    x, y = rng.normal(size=(2, moves))
    return np.outer(x, y) - np.outer(y, x)


def battlefields(rng: Generator, _: int) -> np.ndarray:
    soldiers = np.array([(a, b, 5 - a - b) for a in range(6) for b in range(6 - a)])
    lead = np.sign(soldiers[:, None] - soldiers[None]) @ rng.uniform(0.5, 2.0, size=3)
    return np.sign(np.round(lead, 9))


def dominated(rng: Generator, moves: int) -> np.ndarray:
    """A third of the moves, and copies of them that cost something."""
    good = max(3, moves // 3)
    copied = np.concatenate([np.arange(good), rng.integers(0, good, size=moves - good)])
    cost = np.concatenate([np.zeros(good), rng.uniform(0.1, 1.0, size=moves - good)])
    return alike(rng, good)[np.ix_(copied, copied)] - cost[:, None] + cost


KINDS: tuple[Callable[[Generator, int], np.ndarray], ...] = (alike, unlike, cycle, disc, battlefields, dominated)


def drawn(number: int) -> tuple[str, MatrixGame, float]:
    """Kind, game and range of the game of that number."""
    rng, kind = np.random.default_rng(number), KINDS[number % len(KINDS)]
    payoff = kind(rng, int(rng.integers(3, 31)))
    size = 10 ** rng.uniform(-1, 1)
    payoff *= size / np.abs(payoff).max()
    return kind.__name__, matrix_game(np.stack([payoff, -payoff])), float(np.ptp(payoff))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="number of the first game")
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where figures are kept")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="other settings than the defaults")
    arguments = parser.parse_args()
    settings = {name: json.loads(value) for name, value in (word.split("=", 1) for word in arguments.set)}
    rows = []
    print("game  kind          moves    range   newest  average   seconds")
    for number in range(arguments.first, arguments.first + arguments.games):
        kind, game, size = drawn(number)
        found = exact(default_config(STAND_IN, total_steps=arguments.steps, seed=arguments.seed, **settings), game)
        newest, average = 100 * found.newest[0] / size, 100 * found.average[0] / size
        moves = "x".join(map(str, game.choices))
        rows.append({"game": number, "kind": kind, "moves": moves, "range": size, "newest": newest, "average": average})
        print(
            f"{number:4}  {kind:12}  {moves:>6}  {size:6.2f}  {newest:6.2f}%  {average:6.2f}%   {found.seconds:6.0f}",
            flush=True,
        )
        if arguments.json:
            arguments.json.write_text(json.dumps(rows))
    newest_N = np.array([row["newest"] for row in rows])
    print(f"newest below {MARK:g} %: {(newest_N < MARK).sum()} of {len(rows)}; median {np.median(newest_N):.2f} %")


if __name__ == "__main__":
    main()
