"""Rows of results as a league reads them. That runs are refused where they differ is tested with the pool command."""

from sparring.league.derived import Played
from sparring.league.player import GUEST, PAST, RIVAL
from sparring.store.results import ResultRow
from sparring.training.audit import played

NAMES = ("main", "main_exploiter")


def row(iteration: int, player: str, opponent: str, opponent_id: int, *, seed: int = 0, weakened: int = 0) -> ResultRow:
    return ResultRow(iteration, seed, "train", 1, player, opponent, 6, 3, 2, 1, 0.5, 1.0, 60, opponent_id, weakened)


def test_two_guests_of_one_name_are_two_players():
    rows = [row(0, "main", "champion", GUEST), row(9, "main", "champion", GUEST + 1)]
    assert played(rows, 0, NAMES) == [Played(0, 0, GUEST, 3, 2, 1), Played(9, 0, GUEST + 1, 3, 2, 1)]


def test_games_of_another_seed_and_against_weakened_players_are_left_out():
    rows = [
        row(4, "main_exploiter", "main", RIVAL, seed=1),
        row(4, "main_exploiter", "main", RIVAL),
        row(4, "main", "past-0-main", PAST, weakened=1),
    ]
    assert played(rows, 0, NAMES) == [Played(4, 1, RIVAL, 3, 2, 1)]


def test_the_name_of_a_learner_that_is_not_in_the_line_up_is_passed_over_and_so_its_games_are_missed():
    assert played([row(4, "nobody", "main", RIVAL)], 0, NAMES) == []
