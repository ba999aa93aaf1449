"""The dogfight judged by its scripted pilots, or by a run's learner: is there a ladder, where does damage come from,
what ends fights, and does it pay to flee?

    python benchmarks/dogfight_ladder.py                       # 240 fights a pair, about five minutes on two cores
    python benchmarks/dogfight_ladder.py --run runs/demo       # the learner against every rung and against itself
    python benchmarks/dogfight_ladder.py --games 60 --front-quarter-guns   # the old gun, quickly
    python benchmarks/dogfight_ladder.py --missiles            # with two missiles each
    python benchmarks/dogfight_ladder.py --two                 # two against two, both of a side flown by one pilot

Points are wins and half of the draws, with a 95 % interval. Half of the fights of a pair are flown on each side. Damage
is that of guns. A double kill is a draw before time is up: both were lost in the same instant.
"""

import argparse
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Step
from sparring.evaluation.match import prepare_match
from sparring.evaluation.scoring import MatchGames
from sparring.games.dogfight.bots import ESCAPES, PILOTS
from sparring.games.dogfight.game import Dogfight, dogfight, dogfight_2v2
from sparring.games.dogfight.geometry import look
from sparring.games.dogfight.rules import CAUSES, Fight
from sparring.games.game import Chance
from sparring.play.scripted import Scripted
from sparring.players.named import entrant
from sparring.statistics.intervals import Moments, student

BEHIND = 0.5
"""Cosine off the target's tail, 60 degrees, up to which damage counts as given from behind."""


class Tallied(Dogfight):
    """The same game, but seat 0 is paid the damage that both gave from behind, and seat 1 all damage."""

    def step(self, state: Fight, action: Action, chance: Chance) -> tuple[Fight, Step]:
        after, step = super().step(state, action, chance)
        lost_S, sight = state.health_S - after.health_S, look(state.flight)
        # Whoever of the enemies has its nose nearest to an aircraft has shot at it.
        nose_SO = jnp.where(self.setting.foe_SO, -sight.tail, -2.0)
        shooter_SO = nose_SO == jnp.max(nose_SO, axis=1, keepdims=True)
        behind_S = jnp.any(shooter_SO & (-sight.nose > BEHIND), axis=1)
        reward_S = jnp.zeros(self.spec.seats).at[0].set(jnp.sum(lost_S * behind_S)).at[1].set(jnp.sum(lost_S))
        return after, step._replace(reward_S=reward_S)


class Result(NamedTuple):
    points: np.ndarray
    """Of the first, game by game."""
    causes: Counter[str]
    seconds: float
    behind: float
    """Share of the damage."""
    double: float
    """Share of fights that were draws before time was up."""

    def line(self, name: str) -> str:
        mean = student(*Moments.of(self.points))
        count = len(self.points)
        ends = ", ".join(f"{cause} {100 * n / count:.0f} %" for cause, n in self.causes.most_common())
        return (
            f"| {name} | {mean.mean:.2f} [{max(mean.low, 0):.2f}, {min(mean.high, 1):.2f}] | {100 * self.behind:.0f} % "
            f"| {self.seconds:.0f} | {100 * self.double:.0f} % | {ends} |"
        )


HEAD = "| {} | points | from behind | seconds | double kills | ended by |\n|---|---|---|---|---|---|"


def play(
    game: Dogfight, pairs: list[tuple[str, str]], players: dict[str, Any], *, games: int, seed: int
) -> list[Result]:
    lineups = [lineup for one, two in pairs for lineup in ((one, two), (two, one))]
    match = prepare_match(game, lineups, players, games=games // 2)
    found = match(players, seed=seed)
    return [merged(game, *found[i : i + 2]) for i in range(0, len(found), 2)]


def merged(game: Dogfight, first: MatchGames, second: MatchGames) -> Result:
    points = np.concatenate([first.outcome_GK[:, 0], second.outcome_GK[:, 1]])
    damage = first.return_GS.sum(0) + second.return_GS.sum(0)
    causes = np.concatenate([ends.cause_GK[:, 0] for ends in (first, second) if ends.cause_GK is not None])
    length_G = np.concatenate([first.length_G, second.length_G])
    return Result(
        (points + 1) / 2,
        Counter(CAUSES[int(cause)] for cause in causes),
        length_G.mean() / game.setting.decisions,
        damage[0] / max(damage[1], 1e-9),
        float(np.mean((points == 0) & (length_G < game.spec.longest))),
    )


def scripted(game: Dogfight, row: Any) -> Scripted:
    parameters_J: Array = jnp.asarray(list(row), float)
    return Scripted(game, parameters_J, jnp.asarray(False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", help="a run whose learner is judged in place of the pilots")
    parser.add_argument("--front-quarter-guns", action="store_true")
    parser.add_argument("--missiles", action="store_true")
    parser.add_argument("--two", action="store_true", help="two against two")
    arguments = parser.parse_args()
    name, made = ("dogfight:2v2", dogfight_2v2) if arguments.two else ("dogfight", dogfight)
    plain = made(front_quarter_guns=arguments.front_quarter_guns, missiles=arguments.missiles)
    game = Tallied(plain.spec, plain.rules, plain.setting)
    players: dict[str, Any] = {pilot: scripted(game, row) for pilot, row in {**PILOTS, **ESCAPES}.items()}
    rungs, top = list(PILOTS), "ace"
    chapters = {
        "Each rung against the one below": [(above, below) for below, above in pairwise(rungs)],
        "The upper rungs against themselves": [(rung, rung) for rung in rungs[-3:]],
        f"Who flees, against {top}": [(escape, top) for escape in ESCAPES],
    }
    if arguments.run:
        players["learner"] = entrant(arguments.run, plain, name).policy
        chapters = {"The learner": [("learner", other) for other in (*rungs, "learner", "flee")]}
    for title, pairs in chapters.items():
        print(f"\n{title}, {arguments.games} fights each\n\n{HEAD.format('pair')}")
        for (one, two), result in zip(
            pairs, play(game, pairs, players, games=arguments.games, seed=arguments.seed), strict=True
        ):
            print(result.line(f"{one} - {two}"), flush=True)


if __name__ == "__main__":
    main()
