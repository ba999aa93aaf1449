"""The comparisons with JaxMARL: who is asked when, and what is made of the answers. JaxMARL is not installed here."""

import io
import json
import sys
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jax.numpy as jnp
import pytest

from sparring.games.registry import make
from sparring.setup.config import PlayConfig
from sparring.studies.bench import RandomPlay

FOLDER = Path(__file__).parents[2] / "benchmarks"
PLAYER = """
import sys
from turns import serve
def go():
    with open(sys.argv[2], "a") as file:
        file.write(sys.argv[1])
    return {"seconds_per_iteration": float(sys.argv[3])}
print("a library greets")
serve(go)
"""


@pytest.fixture
def load(monkeypatch):
    """load(name) imports a module of the benchmarks as their scripts do, from their own folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("PYTHONPATH", str(FOLDER), prepend=":")
    return import_module


def rounds(seconds: list[float], games: list[float], seats: int = 3) -> list[dict]:
    pairs = zip(seconds, games, strict=True)
    return [{"seconds_per_iteration": s, "games_per_iteration": g, "seats": seats} for s, g in pairs]


def test_sides_compile_first_and_are_then_asked_in_turns(load, tmp_path):
    commands = {side: [sys.executable, "-c", PLAYER, side, str(tmp_path / side), "0.5"] for side in "ab"}
    commands["b"][-2:] = [str(tmp_path / "a"), "2"]
    answers = load("turns").take_turns(commands, "cpu", rounds=3)
    assert answers == {"a": [{"seconds_per_iteration": 0.5}] * 3, "b": [{"seconds_per_iteration": 2.0}] * 3}
    order = (tmp_path / "a").read_text()
    assert sorted(order[:2]) == ["a", "b"] and order[2:] == "ababab"


def test_a_side_that_fails_is_quoted(load):
    command = [sys.executable, "-c", "raise ValueError('no such map')"]
    with pytest.raises(SystemExit, match=r"ended without an answer[\s\S]*no such map"):
        load("turns").take_turns({"ours": command}, "cpu", rounds=1)


def test_a_worker_answers_until_it_is_told_something_else(load, monkeypatch, capsys):
    calls = []
    monkeypatch.setattr("sys.stdin", io.StringIO("go\ngo\nenough\ngo\n"))
    load("turns").serve(lambda: calls.append(1) or {"seconds_per_iteration": len(calls)})
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told == [{"ready": True}, {"seconds_per_iteration": 2}, {"seconds_per_iteration": 3}]


def test_speeds_use_the_median_second_and_all_battles(load):
    """100 steps of 8 worlds in 2 seconds, of which the third round took 50; 40 battles on average."""
    made = load("vs_smax").figures(rounds([2.0, 1.0, 50.0], [10, 30, 80]), world_steps=800)
    assert made == {"agent_steps_per_second": 1200.0, "battles_per_second": 20.0, "steps_per_battle": 20.0}
    with pytest.raises(SystemExit, match="No battle ended in 1 rounds: raise --steps"):
        load("vs_smax").figures(rounds([2.0], [0]), world_steps=800)


def test_both_sides_play_the_same_battle_with_the_same_sizes(load, monkeypatch):
    vs_smax, asked = load("vs_smax"), {}
    answers = {"theirs": rounds([4.0], [10]), "ours": rounds([1.0], [5])}
    monkeypatch.setattr(vs_smax, "both_sides", lambda _, **words: asked.update(words) or answers)
    row = vs_smax.compare(Namespace(steps=50, iterations=8), "3m", 256)
    assert " ".join(asked["theirs"]) == "smax_worker.py --game 3m --worlds 256 --steps 50 --iterations 4"
    assert " ".join(asked["ours"]) == (
        "sparring_worker.py --alone --game skirmish:3m --worlds 256 --steps 50 --iterations 4"
    )
    assert (row["battles_ratio"], row["agent_steps_ratio"]) == (2.0, 4.0)
    assert row["line"].split() == ["5", "2", "2.00", "38,400", "9,600", "4.00", "2560.0", ":", "1280.0"]
    del answers["ours"]
    alone = vs_smax.compare(Namespace(steps=50, iterations=8), "3m", 256)
    assert alone["battles_ratio"] is None and alone["line"].split() == ["-", "2", "nan", "-", "9,600", "nan", "1280.0"]


def test_only_the_side_that_is_asked_for_is_started(load, monkeypatch):
    turns, started = load("turns"), []
    monkeypatch.setattr(turns, "take_turns", lambda commands, *_: started.append(commands))
    monkeypatch.setattr(turns, "jaxmarl_python", lambda _: Path("their-python"))
    for only in (None, "ours", "theirs"):
        turns.both_sides(Namespace(only=only, device="cpu", rounds=1), theirs=["t.py", "1"], ours=["o.py", "2"])
    assert [list(commands) for commands in started] == [["theirs", "ours"], ["ours"], ["theirs"]]
    assert started[0]["theirs"] == ["their-python", str(FOLDER / "t.py"), "1"]
    assert started[0]["ours"] == [sys.executable, str(FOLDER / "o.py"), "2"]


def test_the_table_and_the_object_tell_the_same(load, capsys):
    args = Namespace(games=["3m", "8m"], worlds=[4], json=True, device="cpu")
    load("turns").compare_all(args, lambda game, worlds: {"line": f"{worlds + 1:>6}", "speed": game}, header="  five")
    told = capsys.readouterr()
    assert [line.split() for line in told.err.splitlines()] == [
        ["game", "worlds", "five"],
        ["3m", "4", "5"],
        ["8m", "4", "5"],
    ]
    assert json.loads(told.out)["results"] == [{"game": game, "worlds": 4, "speed": game} for game in ("3m", "8m")]


def test_our_rounds_count_the_games_that_ended(load):
    """Ten rounds make a game: 4 worlds of 15 steps end 4 games in the first call and 8 in the second."""
    play = RandomPlay(make("matrix:rock_paper_scissors", rounds=10), PlayConfig(worlds=4, steps=15))
    made = load("sparring_worker").random_round(play, iterations=2)
    assert (made["games_per_iteration"], made["seats"], play.calls) == (6.0, 2, 2) and made["seconds_per_iteration"] > 0


def test_their_seats_draw_every_legal_action_alike_and_no_other(load, monkeypatch):
    for name in ("jaxmarl", "jaxmarl.environments", "jaxmarl.environments.smax"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    known = sys.modules["jaxmarl.environments.smax"].__dict__
    known |= vars(SimpleNamespace(HeuristicEnemySMAX=None, map_name_to_scenario=None))
    pick = load("smax_worker").pick
    legal_A = jnp.asarray([0, 1, 0, 1, 1, 0], jnp.uint8)
    numbers = [0.0, 0.33, 0.34, 0.66, 0.67, 1 - 2**-23]
    assert [int(pick(legal_A, jnp.asarray(u))) for u in numbers] == [1, 1, 3, 3, 4, 4]
