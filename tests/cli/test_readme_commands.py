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
COMPARE = shlex.split("compare matrix:rock_paper_scissors --regimes averaged magnet pool --total-steps 200000")


def test_the_commands_below_are_those_of_the_readme():
    assert all(words in WORDS for words in (POKER, EXPLOIT, COMPARE, ["games"], ["doctor"]))


@pytest.mark.parametrize(("word", "last"), [("games", "One in detail: sparring games GAME"), ("doctor", "")])
def test_a_command_that_trains_nothing_ends_well(sparring, word, last):
    said = sparring(word)
    assert said.code == 0 and said.out.strip().endswith(last)


@pytest.mark.slow
def test_poker_settles_and_its_policy_to_deploy_is_named(sparring, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sparring(*POKER, "--quiet").code == 0
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
