"""How long does a tournament take? Every pair of many players meets, in one sweep of a compiled program.

    python benchmarks/tournament_speed.py                     # 64 players of dogfight, 32 games a pair: 64,512 games
    python benchmarks/tournament_speed.py --players 256       # 1,044,480 games: for a GPU

Players are untrained networks of the default size, each with weights of its own and a last layer that is large enough
to make them play differently. A game lasts as long as its rules let it.
"""

import argparse
import time

import equinox as eqx
import jax

from sparring.core.seeding import Seed
from sparring.evaluation.tournament import tournament
from sparring.games import registry
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.ratings.summary import summarise

GAIN = 30.0
"""Untrained policies are almost uniform; this makes them have an opinion."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="dogfight")
    parser.add_argument("--players", type=int, default=64)
    parser.add_argument("--games", type=int, default=32, help="of each pair")
    arguments = parser.parse_args()
    game = registry.make(arguments.game)
    actors = [Actor.make(Seed.of(player), game.spec, NetConfig()) for player in range(arguments.players)]
    players = {
        f"player_{p}": eqx.tree_at(lambda a: a.head.weight_IO, actor, actor.head.weight_IO * GAIN)
        for p, actor in enumerate(actors)
    }
    began = time.perf_counter()
    payoff = tournament(game, players, games=arguments.games)
    seconds, count = time.perf_counter() - began, int(payoff.games_MM.sum()) // 2
    pairs = arguments.players * (arguments.players - 1) // 2
    print(
        f"{arguments.game}, {arguments.players} players, {pairs:,} pairs, {count:,} games on "
        f"{jax.devices()[0].platform}, with compilation: {seconds:.1f} s, {count / seconds:,.0f} games/s",
        flush=True,
    )
    began = time.perf_counter()
    summary = summarise(payoff, None)
    print(f"ratings, Nash, alpha-rank and cycles of it: {time.perf_counter() - began:.1f} s, {summary.cycles:,} cycles")


if __name__ == "__main__":
    main()
