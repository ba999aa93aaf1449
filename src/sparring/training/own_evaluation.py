"""Evaluation of a run's learners: among themselves, against the bots, and the bots alone as a yardstick."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparring.evaluation.match import Match, prepare_match
from sparring.evaluation.scoring import LEARNED, SHADOW, MatchGames
from sparring.games import answers
from sparring.nets.minds import listens
from sparring.play.scripted import RANDOM, Scripted
from sparring.setup.beginning import first_learners, first_models
from sparring.setup.build import Built, actors, shadow_name
from sparring.setup.line_up import MOST_LINEUPS
from sparring.setup.program import TrainState
from sparring.setup.rows import taken


@dataclass(frozen=True)
class Examination:
    """Line-ups of a run, compiled once and played with the present weights of every seed as often as wanted."""

    built: Built
    match: Match
    teams: tuple[tuple[str, ...], ...]
    """Who drives each side of the game in each line-up: the learners, or a bot."""
    bots: Mapping[str, Scripted]

    def play(self, state: TrainState, *, seed: int) -> list[list[MatchGames]]:
        """The games of every line-up, for every seed that trains, each with games of its own."""
        by_seed = (players_of_seed(self.built, state, r) for r in range(self.built.config.seeds))
        return [self.match({**players, **self.bots}, seed=seed + r) for r, players in enumerate(by_seed)]


def examination(built: Built, *, games: int, deterministic: bool, with_bots_alone: bool) -> Examination:
    spec, seating = built.game.spec, built.plan.seating
    learner_of = built.lineup.player_of_side()
    game_side = [spec.side_of_seat[seats[0]] for seats in seating.seats_of_side]
    learned = {game_side[side] for side in learner_of}
    choices = [[LEARNED] * (side in learned) + [RANDOM, *built.game.bots().fitting(side)] for side in range(spec.sides)]
    if spec.sides > 2 and spec.exchangeable_sides and built.lineup.one_drives_all:
        teams = teams_of_alike(choices[0], spec.sides, with_bots_alone=with_bots_alone)
    else:
        teams = all_teams(choices, with_bots_alone=with_bots_alone)
    if built.shadowed:
        teams += shadow_teams(teams)
    driven = range(len(game_side))

    def driver(side: int, team: str) -> str:
        if team not in (LEARNED, SHADOW):
            return team
        return learner_of[side] if team == LEARNED else shadow_name(learner_of[side])

    lineups = [tuple(driver(k, t[game_side[k]]) for k in driven) for t in teams]
    bots = {name: Scripted.make(built.game, name) for name in (RANDOM, *built.game.bots().names)}
    players = {**skeleton_players(built), **bots}
    match = prepare_match(
        built.game, lineups, players, games=games, seats_of_side=seating.seats_of_side, deterministic=deterministic
    )
    return Examination(built, match, tuple(teams), bots)


def shadow_teams(teams: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The shadow in the learner's place against everybody else, and against the learner itself."""
    alone = [team for team in teams if LEARNED in team and set(team) != {LEARNED}]
    found = [tuple(SHADOW if name == LEARNED else name for name in team) for team in alone]
    if (LEARNED, LEARNED) in teams:
        found += [(SHADOW, LEARNED), (LEARNED, SHADOW)]
    return found


def teams_of_alike(names: list[str], sides: int, *, with_bots_alone: bool) -> list[tuple[str, ...]]:
    """Where many sides are alike and one learner drives them, one stands for all: the learner among bots of a kind, a
    bot among learners, and each among its own."""
    learned, *bots = names
    mixed = [team for bot in bots for team in ((learned, *[bot] * (sides - 1)), (bot, *[learned] * (sides - 1)))]
    return [(learned,) * sides, *mixed, *([(bot,) * sides for bot in bots] if with_bots_alone else [])]


def all_teams(choices: list[list[str]], *, with_bots_alone: bool) -> list[tuple[str, ...]]:
    """Every combination; where those are too many, first without bots among themselves, then those with at most two
    different teams, the odd one in one side."""
    every = list(product(*choices)) if int(np.prod([len(c) for c in choices])) <= MOST_LINEUPS**2 else []
    learned = [team for team in every if LEARNED in team]
    if every and with_bots_alone and len(every) <= MOST_LINEUPS:
        return every
    if learned and len(learned) <= MOST_LINEUPS:
        return learned
    names = list(dict.fromkeys(name for side in choices for name in side))
    teams = []
    for odd, rest, side in product(names, names, range(len(choices))):
        team = tuple(odd if k == side else rest for k in range(len(choices)))
        if all(name in choices[k] for k, name in enumerate(team)) and team not in teams:
            teams.append(team)
    return [team for team in teams if with_bots_alone or LEARNED in team][:MOST_LINEUPS]


def players_of_seed(built: Built, state: TrainState, r: int) -> dict[str, Any]:
    return actors(built, taken(state.learners, r))


def skeleton_players(built: Built) -> dict[str, Any]:
    """Policies of the right shape, to compile for."""
    return jax.eval_shape(lambda models: actors(built, first_learners(built, models)), first_models(built, 0))


def exploitability(built: Built, state: TrainState, *, shadow: bool = False) -> list[float] | None:
    """Exact exploitability of each seed's learners, or of their shadows, where the game allows it and policies have
    no memory."""
    measure = answers.exploitability_of(built.game)
    learner_of_side = built.lineup.player_of_side()
    sides = built.plan.seating.seats_of_side
    if measure is None or not built.by_rows or len(learner_of_side) < len(sides):
        return None
    if any(listens(group.model.actor) for group in state.learners):
        return None
    if shadow and not built.shadowed:
        return None
    name = shadow_name if shadow else str
    driver = {seat: name(learner_of_side[k]) for k, seats in enumerate(sides) for seat in seats}

    def of_seed(r: int) -> float:
        said = {name: probabilities_of(policy) for name, policy in players_of_seed(built, state, r).items()}
        return float(measure(built.game, lambda seat, *seen: said[driver[seat]](seat, *seen)))

    return [of_seed(r) for r in range(built.config.seeds)]


def exploitability_of_bots(built: Built) -> dict[str, float]:
    """The same of random play and of bots that can drive every side, as a yardstick for the learners; of none where
    bots remember or it takes long."""
    game, measure = built.game, answers.exploitability_of(built.game)
    if measure is None or answers.exact_is_slow(game) or jax.tree.leaves(game.bot_memory(1)):
        return {}
    sides = range(game.spec.sides)
    names = [name for name in game.bots().names if all(name in game.bots().fitting(side) for side in sides)]
    return {name: float(measure(game, probabilities_of(Scripted.make(game, name)))) for name in (RANDOM, *names)}


def probabilities_of(policy: Any) -> Callable[[int, np.ndarray, np.ndarray], np.ndarray]:
    """(seat, features_RF, legal_RA) -> probability_RA of a policy without memory, the same in every seat."""

    def probabilities(_: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
        distribution, _ = policy(jnp.asarray(features_RF), jnp.asarray(legal_RA), ())
        return np.exp(np.asarray(distribution.log_p_A))

    return probabilities
