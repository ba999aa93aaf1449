"""Rows of results as a league reads them. That runs are refused where they differ is tested with the pool command."""

from dataclasses import replace
from types import SimpleNamespace

from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.league.player import FIRST, Player
from sparring.league.pool import Pool
from sparring.league.recount import Row
from sparring.store.results import ResultRow
from sparring.store.run_dir import RunDir
from sparring.training.audit import played
from sparring.training.keeping import lost_players, player_path

NAMES = ("main", "main_exploiter")
WON = GameSpec(
    seats=2, side_of_seat=(0, 1), action=ActionSpec(heads=(2,)), layout=(Feature("now", (1,)),),
    central=Central("world", 1), longest=1, score="outcome",
)  # fmt: skip
GUEST, PAST, MAIN = FIRST["guest"], FIRST["past"], FIRST["learner"]


def row(iteration: int, player: str, opponent: str, opponent_id: int, *, seed: int = 0, weakened: int = 0) -> ResultRow:
    return ResultRow(iteration, seed, "train", 1, player, opponent, 6, 3, 2, 1, 0.5, 1.0, 60, opponent_id, weakened)


def test_two_guests_of_one_name_are_two_players():
    rows = [row(0, "main", "champion", GUEST), row(9, "main", "champion", GUEST + 1)]
    assert played(rows, 0, NAMES, WON) == [Row(0, 0, GUEST, 3, 2, 1), Row(9, 0, GUEST + 1, 3, 2, 1)]


def test_games_of_another_seed_and_against_weakened_players_are_left_out():
    rows = [
        row(4, "main_exploiter", "main", MAIN, seed=1),
        row(4, "main_exploiter", "main", MAIN),
        row(4, "main", "past-0-main", PAST, weakened=1),
    ]
    assert played(rows, 0, NAMES, WON) == [Row(4, 1, MAIN, 3, 2, 1)]


def test_the_name_of_a_learner_that_is_not_in_the_line_up_is_passed_over_and_so_its_games_are_missed():
    assert played([row(4, "nobody", "main", MAIN)], 0, NAMES, WON) == []


def test_where_nobody_wins_all_games_are_draws_to_the_league():
    unjudged = row(4, "main", "past-0-main", PAST)._replace(wins=0, draws=0, losses=0)
    assert played([unjudged], 0, NAMES, replace(WON, score="return")) == [Row(4, 0, PAST, 0, 6, 0)]


def test_where_a_contest_is_judged_by_return_so_are_its_games():
    """Six games with two draws that earned 0.5 of twice 2: half of four, and an eighth of a game more."""
    stakes = replace(WON, score="return", zero_sum=True, stake=2.0)
    assert played([row(4, "main", "past-0-main", PAST)], 0, NAMES, stakes) == [Row(4, 0, PAST, 2.125, 2, 1.875)]


def test_a_past_player_is_lost_where_neither_memory_nor_a_file_has_it(tmp_path):
    in_memory, on_disk, lost = (Player("past", n, f"past-{n}") for n in range(3))
    built = SimpleNamespace(config=SimpleNamespace(seeds=1), seeds_R=[0])
    league = SimpleNamespace(state=SimpleNamespace(pool=Pool((in_memory, on_disk, lost), {in_memory: 0})))
    run = RunDir.create(tmp_path / "run")
    path = player_path(run, built, 0, on_disk)
    path.parent.mkdir()
    path.touch()
    (sentence,) = lost_players(run, SimpleNamespace(built=built, leagues=[league]))
    assert "past-2.safetensors is gone" in sentence
