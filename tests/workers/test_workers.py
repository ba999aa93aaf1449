"""Environments in worker processes, seen as rows of numbers. All expected numbers follow from the toys by hand."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the toys of these tests have spaces of Gymnasium")

from sparring.core.errors import ConfigError, GameError
from sparring.workers.leases import Leases
from sparring.workers.pool import Pool
from sparring.workers.probe import sides_of
from sparring.workers.source import Source
from sparring.workers.world import number

DUEL, CREW = "toy_environments:Duel", "toy_environments:Crew"


@pytest.fixture
def opened() -> Iterator:
    """opened(name, workers=1, **settings) gives the games of an environment; its workers end with the test."""
    pools = []

    def make(name: str, workers: int = 1, timeout: float = 20.0, kind: str = "pettingzoo", **settings) -> Leases:
        own = {key: settings.pop(key) for key in ("sides", "positions", "longest", "infos") if key in settings}
        pool = Pool(Source(kind, name, tuple(sorted(settings.items())), **own))
        pools.append(pool)
        leases = Leases(pool)
        leases.staff(workers, timeout)
        return leases

    yield make
    for pool in pools:
        pool.close()


def tokens(*words: int) -> np.ndarray:
    return np.asarray([[0, word] for word in words], np.uint32)


def begin(leases: Leases, *words: int) -> dict:
    return leases.look(tokens(*words), np.ones(len(words), bool))


def choices(leases: Leases, *rows) -> tuple[np.ndarray, np.ndarray]:
    found = leases.pool.found
    discrete = np.zeros((len(rows), found.seats, len(found.heads)), np.int32)
    for world, row in enumerate(rows):
        for seat, own in enumerate(row):
            discrete[world, seat, : len(np.atleast_1d(own))] = own
    return discrete, np.zeros((len(rows), found.seats, found.dimensions), np.float32)


def test_agents_of_unlike_spaces_become_rows_with_masks(opened):
    crew = opened(CREW)
    found = crew.pool.found
    assert (found.agents, found.side_of_agent) == (("early_0", "late_0", "steady_0"), (0, 1, 2))
    assert (found.heads, found.features, found.alike, found.infos) == ((3, 4), 4, "none", ("energy",))
    seen = begin(crew, 7)
    assert seen["present"].tolist() == [[True, False, True]] == seen["acting"].tolist()
    marks = np.eye(3)
    assert np.array_equal(seen["features"][0], np.hstack([[[0, 7, 0, 0], [0] * 4, [0] * 4], marks]))
    assert seen["legal"][0].astype(int).tolist() == [
        [1, 1, 0, 1, 0, 0, 0],  # two choices, and nothing to choose in the second head
        [1, 0, 0, 1, 0, 0, 0],  # not there yet
        [1, 0, 1, 1, 0, 0, 0],  # as its mask says
    ]


def test_agents_come_leave_and_are_cut(opened):
    crew = opened(CREW)
    begin(crew, 1)
    rows = [crew.step(tokens(1), *choices(crew, (1, (1, 3), 2))) for _ in range(6)]
    # early_0 plays 5 + 1, late_0 1 + 3 from step 3 on, steady_0 2.
    assert [row["reward"][0].tolist() for row in rows] == [[6, 0, 2]] * 2 + [[6, 4, 2]] + [[0, 4, 2]] * 3
    assert [row["present"][0].tolist() for row in rows[:3]] == [[True, False, True], [True] * 3, [False, True, True]]
    assert [row["left"][0].tolist() for row in rows] == [[False] * 3] * 2 + [[True, False, False]] + [[False] * 3] * 3
    assert [bool(row["cut"][0]) for row in rows] == [False] * 5 + [True] and not any(row["over"][0] for row in rows)
    assert rows[2]["features"][0, 1].tolist() == [0, 0, 0, 1, 0, 1, 0], "step 3 of four values, and who it is"
    assert rows[2]["features"][0, 2, 0] == pytest.approx(153 / 255)
    assert rows[5]["count"][0].tolist() == [[7.0], [4.0], [4.0]], "the last that each was told"


def test_an_info_that_is_asked_for_is_one_number(opened):
    with pytest.raises(GameError, match="infos=word: this field of the infos held 'calm', expected one number"):
        opened(CREW, infos="energy, word")
    with pytest.raises(GameError, match="infos names 17 numbers, at most 16 are recorded"):
        opened(CREW, infos=",".join("abcdefghijklmnopq"))
    found = [
        number(value) for value in (True, np.int8(3), np.asarray([[2.5]]), 1e13, np.nan, 1j, "7", np.ones(2), None)
    ]
    assert found == [1.0, 3.0, 2.5, None, None, None, None, None, None]


def test_a_game_without_an_end_is_cut(opened):
    crew = opened(CREW, longest=2)
    begin(crew, 1)
    flags = [crew.step(tokens(1), *choices(crew, (0, 0, 0))) for _ in range(2)]
    assert [(bool(row["over"][0]), bool(row["cut"][0])) for row in flags] == [(False, False), (False, True)]


def test_a_run_is_the_same_with_any_number_of_workers(opened):
    def played(workers: int) -> list[bytes]:
        duel = opened(DUEL, workers)
        words, rows = (5, 6, 7), [begin(duel, 5, 6, 7)]
        rows += [duel.step(tokens(*words), *choices(duel, *[(2, 1)] * 3)) for _ in range(4)]
        return [array.tobytes() for row in rows for array in row.values()]

    assert played(1) == played(3)


def test_alike_sides_change_places_by_the_seed_and_win_as_they_earn(opened):
    duel = opened(DUEL)
    assert (duel.pool.found.alike, duel.pool.found.zero_sum, duel.pool.found.score) == ("seats", True, "outcome")
    words = tuple(range(1, 21))
    first = begin(duel, *words)["features"][:, 0, 2]
    assert 4 < first.sum() < 16, "seat 0 is player_0 in about half of the games"
    for _ in range(4):
        row = duel.step(tokens(*words), *choices(duel, *[(2, 1)] * 20))
    assert row["over"].all() and row["reward"].tolist() == [[1, -1]] * 20, "whichever agent it is, the larger wins"
    assert row["outcome"].tolist() == [[1, -1]] * 20
    fixed = opened(f"{Path(__file__).with_name('toy_environments.py')}:Duel", positions="fixed")  # by its file
    assert fixed.pool.found.alike == "none" and begin(fixed, *words)["features"][:, 0, 2].all()


def test_looking_twice_shows_the_same_and_a_finished_game_is_played_no_more(opened):
    duel = opened(DUEL)
    once, twice = begin(duel, 3, 4), begin(duel, 3, 4)
    assert np.array_equal(once["features"], twice["features"])
    with duel.once():
        for _ in range(4):
            row = duel.step(tokens(3, 4), *choices(duel, (0, 0), (0, 0)))
        assert row["over"].all() and not duel.slot_of
        assert not begin(duel, 3, 4)["present"].any()
        assert not np.isnan(duel.step(tokens(3, 4), *choices(duel, (0, 0), (0, 0)))["reward"]).any()
    assert np.array_equal(begin(duel, 3, 4)["features"], once["features"]), "another evaluation plays it again"


def test_games_of_one_start_are_two_games(opened):
    duel = opened(DUEL)
    seen = begin(duel, 9, 9)
    assert np.array_equal(seen["features"][0], seen["features"][1]) and len(duel.slot_of) == 2
    for _ in range(4):
        row = duel.step(tokens(9, 9), *choices(duel, (2, 0), (0, 2)))
    assert row["reward"].tolist() == [[1, -1], [-1, 1]]


def test_nothing_grows_with_the_number_of_games(opened):
    duel = opened(DUEL)
    for game in range(300):
        words = (2 * game, 2 * game + 1)
        begin(duel, *words)
        for _ in range(4):
            duel.step(tokens(*words), *choices(duel, (0, 0), (0, 0)))
    assert (duel.made, len(duel.free), len(duel.slot_of), len(duel.stepped), duel.over) == (2, 2, 0, 0, None)
    duel.clocks(1.0)
    assert len(duel.calls) == 1


def test_a_killed_worker_is_replaced_and_its_games_alone_are_lost(opened):
    """Every game that ends is counted once, those in the killed worker never."""
    duel = opened(DUEL, workers=2)
    begin(duel, 1, 2, 3, 4)
    duel.step(tokens(1, 2, 3, 4), *choices(duel, *[(2, 1)] * 4))
    lost = [i for i, word in enumerate((1, 2, 3, 4)) if duel.slot_of[word] % 2 == 1]
    kept = [i for i in range(4) if i not in lost]
    os.kill(duel.pool.workers[1].process.pid, signal.SIGKILL)
    rows = [duel.step(tokens(1, 2, 3, 4), *choices(duel, *[(2, 1)] * 4)) for _ in range(3)]
    assert len(lost) == 2 and all(np.isnan(row["reward"][lost]).all() for row in rows)
    assert sum(row["over"] for row in rows).tolist() == [int(i in kept) for i in range(4)]
    assert duel.pool.trouble is None
    (event,) = duel.news()
    assert event == "Worker 1 ended by itself (signal 9). It was started again; the games in it were left out."
    duel.look(tokens(11, 12, 13, 14), np.ones(4, bool))
    rows = [duel.step(tokens(11, 12, 13, 14), *choices(duel, *[(2, 1)] * 4)) for _ in range(4)]
    assert rows[-1]["over"].all() and np.abs(rows[-1]["reward"]).sum() == 8


def test_a_worker_that_hangs_is_replaced(opened, tmp_path):
    flag = tmp_path / "hung"
    flag.touch()  # not in the first look
    duel = opened(DUEL, timeout=1.0, fault="hang", flag=str(flag), at=2)
    flag.unlink()
    begin(duel, 1)
    duel.step(tokens(1), *choices(duel, (0, 0)))
    row = duel.step(tokens(1), *choices(duel, (0, 0)))
    assert np.isnan(row["reward"]).all() and duel.pool.trouble is None
    assert "Worker 0 did not answer within 1 s" in duel.news()[0]
    begin(duel, 2)
    assert [bool(duel.step(tokens(2), *choices(duel, (0, 0)))["over"][0]) for _ in range(4)] == [False] * 3 + [True]


def test_a_worker_that_always_ends_stops_the_pool(opened, tmp_path):
    flag = tmp_path / "ended"
    flag.touch()
    duel = opened(DUEL, fault="exit", flag=str(flag), at=1)
    for word in range(1, 5):
        flag.unlink(missing_ok=True)
        begin(duel, word)
        duel.step(tokens(word), *choices(duel, (0, 0)))
    with pytest.raises(GameError, match=r"Worker 0 ended by itself \(exit code 9\), for the 3rd time before a game"):
        raise duel.pool.trouble


FAULTS = {
    "raise": r"In step 3 of a game step\(\) raised ValueError: the ball left the field \(after .*toy_env.*\)",
    "nan": "In step 3 of a game agent player_1 sees a NaN, an infinity or a number beyond",
    "shape": r"agent player_1 sees something of shape \(3,\), and its space says \(2,\). Correct observation_space",
    "stranger": r"agent referee is not one of possible_agents. Those are \['player_0', 'player_1'\]",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_an_environment_does_wrong_is_said_with_the_step_and_the_agent(opened, tmp_path, fault):
    flag = tmp_path / "first look"
    flag.touch()
    duel = opened(DUEL, fault=fault, flag=str(flag) if fault == "raise" else "")
    flag.unlink()
    begin(duel, 1)
    for _ in range(3):
        row = duel.step(tokens(1), *choices(duel, (0, 0)))
    assert np.isnan(row["reward"]).all()
    with pytest.raises(GameError, match=FAULTS[fault]):
        raise duel.pool.trouble


def test_an_environment_that_cannot_be_made_is_refused():
    for name, words in {
        "gymnasium.vectr": "needs the module 'gymnasium.vectr', and gymnasium has none of that name. Did you mean "
        "gymnasium.vector?",
        "no_such_package.env": "needs the module 'no_such_package', which is not here. pip install no_such_package",
        "toy_environments:Nothing": "The module 'toy_environments' has no Nothing",
        "toy_environments": "has no parallel_env nor env nor raw_env",
        "no_such_file.py:Duel": "There is no file no_such_file.py",
        "toy_environments:NoAgents": "has no agents",
    }.items():
        with pytest.raises(GameError, match=words):
            _ = Pool(Source("pettingzoo", name)).found
    with pytest.raises(
        GameError, match=r"In step 1 of a first look by random choices step\(\) raised ValueError: the ball"
    ):
        _ = Pool(Source("pettingzoo", DUEL, (("at", 1), ("fault", "raise")))).found
    with pytest.raises(GameError, match=r"could not be made: TypeError.*Check its settings"):
        _ = Pool(Source("pettingzoo", DUEL, (("colour", "red"),))).found


def test_dictionaries_of_rllib_are_played_by_who_was_shown_something(opened):
    relay = opened("toy_environments:Handover", kind="rllib", goal=3)
    found = relay.pool.found
    assert found.agents == ("judge", "left", "right") and found.in_turn and found.side_of_agent == (0, 1, 2)
    seen = begin(relay, 1)
    assert seen["acting"].tolist() == [[False, True, False]] == seen["present"].tolist()
    rows = [relay.step(tokens(1), *choices(relay, (2, 2, 2))) for _ in range(3)]
    assert [row["reward"][0].tolist() for row in rows] == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert [row["acting"][0].tolist() for row in rows[:2]] == [[False, False, True], [True, False, False]]
    assert rows[1]["present"][0].all() and rows[1]["features"][0, :, 0].tolist() == [4.0, 0.0, 2.0], (
        "what each saw last"
    )
    assert [bool(row["over"][0]) for row in rows] == [False, False, True] and not rows[2]["cut"][0]


def test_a_team_of_smac_has_masks_falls_and_is_cut_by_its_limit(opened):
    team = opened("toy_environments:FakeSmac", kind="smac", sides="all", health=6)
    found = team.pool.found
    assert (found.agents, found.side_of_agent, found.longest) == (("agent_0", "agent_1"), (0, 0), 6)
    assert set(found.infos) >= {"battle_won", "dead_allies"}
    seen = begin(team, 1)
    assert seen["legal"].tolist() == [[[False, True, True]] * 2]
    rows = [team.step(tokens(1), *choices(team, (2, 2))) for _ in range(4)]
    assert [row["reward"][0].tolist() for row in rows] == [[2, 2], [2, 2], [1, 1], [1, 1]], "the fallen shoot no more"
    assert rows[1]["legal"][0, 1].tolist() == [True, False, False] and rows[1]["acting"][0].tolist() == [True, False]
    assert rows[1]["present"][0].all(), "and share what the team earns"
    assert rows[3]["over"][0] and rows[3]["count"][0, 0, found.infos.index("battle_won")] == 1
    begin(team, 2)
    rows = [team.step(tokens(2), *choices(team, (1, 1))) for _ in range(6)]
    assert rows[5]["cut"][0] and not rows[5]["over"][0] and not any(row["cut"][0] for row in rows[:5])


def test_sides_are_found_by_names_and_rewards_or_as_said():
    mpe, board = ("adversary_0", "agent_0", "agent_1"), ("player_1", "player_2")
    team = ("walker_0", "walker_1")
    for word, agents, equal, zero_sum, sides in (
        ("auto", mpe, False, False, (0, 1, 1)),
        ("auto", board, False, True, (0, 1)),
        ("auto", board, False, False, (0, 1)),
        ("auto", team, True, False, (0, 0)),
        ("auto", team, False, False, (0, 0)),
        ("auto", team, False, True, (0, 1)),
        ("each", mpe, False, False, (0, 1, 2)),
        ("all", mpe, False, False, (0, 0, 0)),
        ("adversary_0+agent_1|agent_0", mpe, False, False, (0, 1, 0)),
    ):
        assert sides_of(word, agents, equal=equal, zero_sum=zero_sum) == sides
    with pytest.raises(ConfigError, match="must name each of adversary_0, agent_0, agent_1 once"):
        sides_of("adversary_0|agent_0", mpe, equal=False, zero_sum=False)


def test_workers_load_no_jax_and_end_with_their_trainer():
    script = (
        "import os, sys, time\n"
        "from sparring.workers.pool import Pool\nfrom sparring.workers.source import Source\n"
        f"pool = Pool(Source('pettingzoo', '{DUEL}')); pool.staff(2)\n"
        "assert 'jax' not in sys.modules\n"
        "print(pool._path, *(w.process.pid for w in pool.workers), flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=here)
    assert done.returncode == -9, done.stderr
    path, *pids = done.stdout.split()
    until = time.monotonic() + 10
    while time.monotonic() < until and any(map(alive, pids)):
        time.sleep(0.05)
    assert not any(map(alive, pids)) and not Path(path).exists()


def alive(pid: str) -> bool:
    """Whether a process runs; one that ended and that nobody has asked about yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
