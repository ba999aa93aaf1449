"""L3, its games: the learners of a run on each other's seats."""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np

from sparring.audit.findings import Finding
from sparring.audit.seats.crossed import Crossed, crossed_finding
from sparring.audit.seats.levels import L3
from sparring.audit.seats.starts import seats_alike
from sparring.core.spec import GameSpec
from sparring.evaluation.match import prepare_match
from sparring.games.game import Game
from sparring.players.loaded import load

MOST_LINEUPS = 24


def line_ups(spec: GameSpec, group: Sequence[int]) -> list[tuple[int, ...]]:
    """Who sits where: learners of the group in all orders, or in turn where these are too many; others stay."""
    orders = list(permutations(group)) if len(group) <= 4 else [tuple(np.roll(group, by)) for by in range(len(group))]
    moves = [dict(zip(group, map(int, order), strict=True)) for order in orders[:MOST_LINEUPS]]
    return [tuple(one.get(seat, seat) for seat in range(spec.seats)) for one in moves]


def change_seats(game: Game, run: Path, *, games: int = 768, seed: int = 0) -> Finding:
    """Games of a run's learners on each other's seats."""
    policy = load(run, game=game).newest
    if any(len(seats) > 1 for seats in policy.seats) or len(set(policy.names)) < 2:
        reason = "one policy drives several seats: there is nobody to exchange. Train with --share seat."
        return L3.skipped(reason)
    spec, group = game.spec, max(seats_alike(game), key=len)
    players = {str(seats[0]): driver for driver, seats in zip(policy.drivers, policy.seats, strict=True)}
    by_seat = {seats[0]: name for name, seats in zip(policy.names, policy.seats, strict=True)}
    seated, sides = line_ups(spec, group), tuple((seat,) for seat in range(spec.seats))
    each, names = max(8, games // len(seated)), [tuple(map(str, row)) for row in seated]
    found = prepare_match(game, names, players, games=each, seats_of_side=sides)(players, seed=seed)
    return_GS = np.concatenate([np.asarray(one.return_GS, float)[:, list(group)] for one in found])
    place = {learner: number for number, learner in enumerate(group)}
    counts, rows = [len(one.return_GS) for one in found], [[place[row[seat]] for seat in group] for row in seated]
    learners, seats = [by_seat[seat] for seat in group], [spec.seat_names[seat] for seat in group]
    return crossed_finding(Crossed(return_GS, np.repeat(rows, counts, axis=0)), learners, seats)
