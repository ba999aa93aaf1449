"""L3: trained learners change seats from game to game. What stays with the seat is in the game or in the books; what
goes with the learner is in the training."""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparring.audit.findings import Finding, skipped
from sparring.audit.seats.starts import seats_alike
from sparring.core.spec import GameSpec
from sparring.evaluation.match import prepare_match
from sparring.games.game import Game
from sparring.players.loaded import load
from sparring.statistics.permutation import two_way

QUESTION = "does an order follow the seat or the learner?"
ALPHA = 0.01
MOST_LINEUPS = 24


class Crossed(NamedTuple):
    return_GS: np.ndarray
    learner_GS: np.ndarray
    """Who sat there, numbered."""


def line_ups(spec: GameSpec, group: Sequence[int]) -> list[tuple[int, ...]]:
    """Who sits where: learners of the group in all orders, or in turn where these are too many; others stay."""
    orders = list(permutations(group)) if len(group) <= 4 else [tuple(np.roll(group, by)) for by in range(len(group))]
    found = []
    for order in orders[:MOST_LINEUPS]:
        seated = list(range(spec.seats))
        for seat, learner in zip(group, order, strict=True):
            seated[seat] = int(learner)
        found.append(tuple(seated))
    return found


def crossed_games(game: Game, run: Path, *, games: int, seed: int) -> tuple[Crossed, tuple[str, ...]] | str:
    """Games of a run's learners on each other's seats, with their names; or why there are none."""
    policy = load(run, game=game).newest
    if any(len(seats) > 1 for seats in policy.seats) or len(set(policy.names)) < 2:
        return "one policy drives several seats: there is nobody to exchange. Train with --share seat."
    group = max(seats_alike(game), key=len)
    players = {str(seats[0]): driver for driver, seats in zip(policy.drivers, policy.seats, strict=True)}
    seated = line_ups(game.spec, group)
    sides = tuple((seat,) for seat in range(game.spec.seats))
    names = [tuple(map(str, row)) for row in seated]
    each = max(8, games // len(seated))
    found = prepare_match(game, names, players, games=each, seats_of_side=sides)(players, seed=seed)
    return_GS = np.concatenate([np.asarray(one.return_GS, float)[:, list(group)] for one in found])
    counts = [len(one.return_GS) for one in found]
    place = {learner: number for number, learner in enumerate(group)}
    rows = np.asarray([[place[row[seat]] for seat in group] for row in seated])
    by_seat = {seats[0]: name for name, seats in zip(policy.names, policy.seats, strict=True)}
    return Crossed(return_GS, np.repeat(rows, counts, axis=0)), tuple(by_seat[seat] for seat in group)


def crossed(game: Game, run: Path, *, games: int = 768, seed: int = 0) -> Finding:
    found = crossed_games(game, run, games=games, seed=seed)
    if isinstance(found, str):
        return skipped("L3", QUESTION, found)
    group = max(seats_alike(game), key=len)
    return crossed_finding(*found, tuple(game.spec.seat_names[seat] for seat in group))


def crossed_finding(found: Crossed, learners: Sequence[str], seats: Sequence[str]) -> Finding:
    """The two effects, each with the other taken out."""
    both = two_way(found.return_GS, found.learner_GS)
    by_seat = {name: float(x) for name, x in zip(seats, both.column_N, strict=True)}
    by_learner = {name: float(x) for name, x in zip(learners, both.label_L, strict=True)}
    text = (
        f"{len(found.return_GS):,} games. By seat: {spelled(by_seat)}, p = {both.column_p:.2g}. "
        f"By learner: {spelled(by_learner)}, p = {both.label_p:.2g}."
    )
    numbers = {"seat_p": both.column_p, "learner_p": both.label_p, "by_seat": by_seat, "by_learner": by_learner}
    if both.column_p < ALPHA:
        return Finding(
            level="L3", question=QUESTION, outcome="FAIL", evidence=text, numbers=numbers,
            meaning="The order follows the seat, whoever sits there: it is in the game or in the books.",
            remedy="See L1 and L2 for the game, L8 for the books.",
        )  # fmt: skip
    learned = (
        "The learners differ, wherever they sit: that came from training. One run always shows some order; whether "
    )
    learned += "it is the same in every seed is for L6 to say."
    return Finding(
        level="L3", question=QUESTION, outcome="PASS", evidence=text, numbers=numbers,
        meaning=learned if both.label_p < ALPHA else "",
    )  # fmt: skip


def spelled(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:+.3g}" for name, value in values.items())
