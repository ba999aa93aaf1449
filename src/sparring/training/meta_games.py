"""PSRO in training: games between past players apart from it, and what their mixture is worth.

What follows from the games stands in league/meta_game.py. Chance of a pair's games follows the seed and the two names.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparring.core.seeding import Seed
from sparring.core.spec import GameSpec
from sparring.evaluation.best_response import of_side
from sparring.evaluation.match import Match, MatchGames, prepare_match
from sparring.games import answers
from sparring.league.player import Player
from sparring.setup.build import Built
from sparring.store.results import ResultRow
from sparring.store.run_dir import RunDir
from sparring.training.keeping import read_past
from sparring.training.opposition import Opposition
from sparring.training.own_evaluation import probabilities_of
from sparring.training.record import match_rows

META = "meta"
"""The kind of results of these games."""
OLDER, YOUNGER = "older", "younger"


@dataclass
class MetaGames:
    """Plays what is missing. All pairs meet in one program, which is compiled for the first."""

    match: Match | None = None

    def play(self, run: RunDir, opposition: Opposition, iteration: int) -> list[ResultRow]:
        """Tell each league what its past players earn against each other; what was played, from the older's view."""
        built, rows = opposition.built, []
        for r, league in enumerate(opposition.leagues):
            if not league.unsolved:
                continue
            seed, payoffs = int(built.seeds_R[r]), {}
            policies = {player: read_past(run, built, r, player) for player in league.state.pool.players}
            for older, younger in league.missing():
                played = self.meet(built, (policies[older], policies[younger]), pair_seed(seed, older, younger))
                payoffs[older, younger] = payoff(built.game.spec, played)
                teams = [(older.name, younger.name), (younger.name, older.name)]
                both = match_rows(built.game.spec, (iteration, seed, META), teams, played)
                rows += [row for row in both if row.player == older.name]
            league.learn_payoffs(payoffs)
        return rows

    def meet(self, built: Built, pair: tuple[Any, Any], seed: int) -> list[MatchGames]:
        """Games with the older on side 0, and as many on side 1."""
        players: dict[str, Any] = {OLDER: pair[0], YOUNGER: pair[1]}
        if self.match is None:
            lineups = [(OLDER, YOUNGER), (YOUNGER, OLDER)]
            self.match = prepare_match(built.game, lineups, players, games=built.config.roles.meta_games // 2)
        return self.match(players, seed=seed)


def pair_seed(seed: int, older: Player, younger: Player) -> int:
    return (Seed.of(seed) / META / older.name / younger.name).word()


def payoff(spec: GameSpec, played: list[MatchGames]) -> float:
    """What the older earned in a game: the mean return of a seat, which is what learners are paid; where that is not
    zero-sum, wins less defeats. Over both sides, so the younger earned as much less."""
    returns, points = of_side(spec, played)
    return returns.mean if spec.zero_sum else 2 * points.mean - 1


def mixture_exploitability(run: RunDir, opposition: Opposition) -> list[float] | None:
    """Exact exploitability of each seed's meta-strategy over its past players, where the game allows it, policies have
    no memory and every seed has one."""
    built, leagues = opposition.built, opposition.leagues
    measure = answers.mixture_exploitability_of(built.game)
    if measure is None or not built.by_rows or not leagues or not all(league.mixture() for league in leagues):
        return None
    found = []
    for r, league in enumerate(leagues):
        weighed = [(player, weight) for player, weight in league.mixture() if weight > 0.0]
        members = [probabilities_of(read_past(run, built, r, player)) for player, _ in weighed]
        found.append(measure(built.game, members, np.array([weight for _, weight in weighed])))
    return None if None in found else found
