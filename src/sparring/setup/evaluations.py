"""How many games an evaluation plays and how often a run is evaluated, where nobody says: as much as is nearly free.

A step of an evaluation costs a tenth of a step of training or less, since nothing is learned from it and nothing kept.
"""

from dataclasses import replace
from math import prod

from sparring.games import answers
from sparring.games.game import Game
from sparring.games.outside import leases_in
from sparring.setup.config import AUTO, RunConfig
from sparring.setup.line_up import MOST_LINEUPS

FEWEST, MOST = 32, 1024
"""Games of a line-up."""
SEAT_STEPS = 8192
"""Of one line-up, where that is enough for more than the fewest games."""
TIMES = 10
PER_STEP = 4
"""Steps of all evaluations along the way for one of training, at most."""
FREE = 2_000_000
"""Steps of all evaluations along the way that any run can afford: about a second."""
PER_STEP_OUTSIDE = 0.1
"""The same where environments of other people play, whose steps cost as much in an evaluation as in training."""
TIMES_OUTSIDE = 4
"""Evaluations for which that must suffice: rather more games in each than more of them."""
SLOW_TIMES = 2
"""Where an exact answer takes seconds."""


def with_evaluations(game: Game, config: RunConfig) -> RunConfig:
    """The config with numbers in place of what it leaves open about evaluations."""
    tests, games = config.evaluation, games_of(game, config)
    times = times_of(game, config, games) if tests.eval_times == AUTO else tests.eval_times
    return replace(config, evaluation=replace(tests, eval_games=games, eval_times=times))


def games_of(game: Game, config: RunConfig) -> int:
    if config.evaluation.eval_games != AUTO:
        return config.evaluation.eval_games
    steps, enough = game.spec.longest * game.spec.seats, SEAT_STEPS
    if leases_in(game) is not None:
        enough = int(PER_STEP_OUTSIDE * config.total_steps / (TIMES_OUTSIDE * most_lineups(game, config)))
    return min(max(enough // steps, FEWEST), MOST)


def times_of(game: Game, config: RunConfig, games: int) -> int:
    """Ten, or fewer where games are so long, or the run so short, that they would take a good part of it."""
    if config.evaluation.eval_every or not games:
        return 0
    steps = most_lineups(game, config) * games * game.spec.longest * game.spec.seats
    most = SLOW_TIMES if answers.exact_is_slow(game) and config.net.by_rows else TIMES
    if leases_in(game) is not None:
        return min(most, int(PER_STEP_OUTSIDE * config.total_steps / steps))
    return min(most, max(PER_STEP * config.total_steps, FREE) // steps)


def most_lineups(game: Game, config: RunConfig) -> int:
    choices = [2 + len(game.bots().fitting(side)) for side in range(game.spec.sides)]
    return min(prod(choices), MOST_LINEUPS) * (2 if config.ppo.has_shadow else 1)
