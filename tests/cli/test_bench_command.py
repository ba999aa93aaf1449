"""sparring bench: which games it measures, and what it says of them."""

import json

import pytest

from sparring.cli import bench
from sparring.games.registry import GAMES

GAME = "matrix:rock_paper_scissors"
SIZE = ("--worlds", 8, "--steps", 10, "--repeats", 1, "--compile-cache")


def test_a_bench_of_the_game_alone_tells_steps_and_games_and_trains_nothing(sparring):
    told = json.loads(sparring("bench", GAME, "--alone", *SIZE, "--json").out)
    assert list(told["speeds"]) == ["game"]
    speed = told["speeds"]["game"]
    assert speed["steps_per_second"] == pytest.approx(8 * 10 * 2 / speed["seconds"])
    assert speed["games_per_second"] == pytest.approx(8 * 10 / speed["seconds"])  # of one step each
    said = sparring("bench", GAME, "--alone", *SIZE).out
    assert "game alone" in said and "games/s" in said and "training" not in said and "JaxMARL" not in said


def test_a_family_stands_for_a_sample_of_its_games_each_alone(sparring, monkeypatch):
    names = (GAME, "matrix:stag_hunt")
    monkeypatch.setitem(bench.SAMPLES, "matrix", names)
    monkeypatch.setitem(bench.BESIDE, "matrix", "python elsewhere.py")
    told = json.loads(sparring("bench", "matrix", *SIZE, "--json").out)
    assert told["game"] == "matrix" and "speeds" not in told
    assert [(name, list(speeds)) for name, speeds in told["games"].items()] == [(name, ["game"]) for name in names]
    said = sparring("bench", "matrix", *SIZE).out
    shown = ("matrix:rock_paper", "matrix:stag", "games/s", "matrix, 8 worlds x 10 steps")
    assert all(word in said for word in shown) and "training" not in said
    assert said.splitlines()[-1] == "beside JaxMARL's: python elsewhere.py"


def test_a_family_without_a_sample_is_asked_about(sparring):
    assert "Which matrix?" in sparring("bench", "matrix", *SIZE).sentence()


def test_the_games_of_a_sample_exist_where_their_family_does():
    for family, names in bench.SAMPLES.items():
        assert family not in GAMES and all(name.startswith(f"{family}:") for name in names)
        if any(game.startswith(f"{family}:") for game in GAMES):
            assert set(names) <= set(GAMES)
