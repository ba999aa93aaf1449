"""Commands of the README end in what it says of them. Those that train for a minute are slow tests."""

import json
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = [shlex.split(line)[1:] for line in re.findall(r"^sparring .+$", (ROOT / "README.md").read_text(), re.M)]
POKER = ["train", "kuhn", "--seeds", "3", "--name", "poker"]
EXPLOIT = ["exploit", "runs/poker"]
METRICS = ["metrics", "runs/poker", "entropy", "exploitability"]
COMPARE = shlex.split("compare matrix:biased_rock_paper_scissors --regimes averaged magnet pool --total-steps 200k")


def test_the_commands_below_are_those_of_the_readme():
    assert [["games"], POKER, ["runs"], METRICS, EXPLOIT, COMPARE] == WORDS


def test_the_readme_is_short_and_has_one_picture():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 64 and sum(line.startswith("![") for line in lines) == 1


def test_the_list_of_games_says_how_to_see_one(sparring):
    said = sparring("games")
    assert said.code == 0 and said.out.strip().endswith("One in detail: sparring games GAME")


def test_the_block_in_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    exec(block.replace("100_000", "4_000"), {})
    assert "A perfect opponent would win" in capsys.readouterr().out


@pytest.mark.slow
def test_poker_settles_and_its_policy_to_deploy_is_named(sparring, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = sparring(*POKER, "--quiet")
    assert said.code == 0 and "learned  Better than before training." in said.out
    assert "poker" in sparring("runs").out and "entropy" in sparring(*METRICS).out
    told = json.loads(sparring(*EXPLOIT, "--json").out)
    newest, average = (
        [line["exploitability"] for line in told["exploits"] if line["player"] == player]
        for player in ("learner", "learner.shadow")
    )
    assert len(newest) == len(average) == 3 and max(newest) < 0.03, newest
    assert told["deploy"]["team"] == ("shadow" if sum(average) < sum(newest) else "learned"), told


@pytest.mark.slow
def test_the_comparison_tells_a_magnet_from_none(sparring, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = json.loads(sparring(*COMPARE, "--quiet", "--json").out)
    exact = {one["name"]: one["figures"]["exploitability"]["mean"] for one in told["candidates"]}
    assert exact["magnet"] < 0.1 < exact["averaged"], exact
