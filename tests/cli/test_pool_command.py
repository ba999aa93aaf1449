"""Control by hand from the command line: what is there, what is asked for, what is refused before it is asked for."""

import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from sparring.cli.main import main
from sparring.store.commands import waiting
from sparring.store.run_dir import RunDir

GAME = "matrix:rock_paper_scissors"
PER_ITERATION = 3 * 4 * 10  # of two blocks one meets the learner itself, where both sides learn: 3 lanes of 4 worlds
SHAPE = ("--worlds", "8", "--steps", "10", "--minibatches", "2", "--hidden", "8", "--eval-games", "8")
OPPONENTS = ("--current", "0.5", "--history", "0.5", "--pool-size", "4", "--snapshot-every", str(3 * PER_ITERATION))
ITERATIONS = 8


@pytest.fixture(scope="session")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a pool. Look, but do not write."""
    runs = tmp_path_factory.mktemp("pooled")
    length = ("--total-steps", str(ITERATIONS * PER_ITERATION))
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as complaints:
        code = main(["train", GAME, *SHAPE, *OPPONENTS, *length, "--runs", str(runs), "--name", "pooled"])
    assert code == 0, complaints.getvalue()
    return runs / "pooled"


@pytest.fixture
def mine(pooled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pooled, tmp_path / "mine"))


@pytest.fixture
def listed(sparring) -> Callable[[Path], dict[str, dict]]:
    """The members of a run's pool by name."""

    def members(path: Path) -> dict[str, dict]:
        return {one["name"]: one for one in json.loads(sparring("pool", path, "--json").out)["members"]}

    return members


def test_the_pool_is_listed_from_the_newest_checkpoint(pooled, sparring, listed):
    members = listed(pooled)
    past = [name for name, one in members.items() if one["kind"] == "past"]
    assert past == [f"past-{k * 3 * PER_ITERATION}" for k in range(3)]
    assert [members[name]["row"] for name in past] == [0, 1, 2]
    first = members[past[0]]
    assert first["games"] > 0 and 0 <= first["low"] <= first["rate"] <= first["high"] <= 1
    assert members["shadow"]["row"] is None and members["shadow"]["rate"] is None
    said = sparring("pool", pooled)
    assert said.code == 0 and f"before iteration {ITERATIONS}" in said.out and "past-720" in said.out


def test_shares_wait_for_the_run_and_are_kept_when_it_is_resumed(mine, sparring):
    assert "current 0.5, shadow 0, history 0.5, bots 0" in sparring("shares", mine).out
    said = sparring("shares", mine, "--history", "0.9")
    assert said.code == 0 and "not training, and obeys when it is resumed" in said.out
    assert waiting(RunDir.open(mine)) == [1]
    assert sparring("resume", mine, "--total-steps", 10 * PER_ITERATION, "--quiet").code == 0
    told = [line for line in RunDir.open(mine).metrics() if line.get("event") in ("sharesset", "reseated")]
    assert [(line["event"], line["iteration"]) for line in told] == [("sharesset", 8), ("reseated", 8)]
    assert "by hand: current 0.1, shadow 0, history 0.9" in sparring("shares", mine).out
    assert sparring("eval", mine, "--games", 4).code == 0  # in the seating it was saved in


def test_a_guest_joins_and_a_member_leaves(mine, trained, sparring, listed):
    with RunDir.open(mine).writing():
        said = sparring("pool", mine, "--add", trained, "--remove", "past-0", "--json")
    assert json.loads(said.out) == {"commands": [1, 2], "training": True}
    assert sparring("resume", mine, "--total-steps", 12 * PER_ITERATION, "--quiet").code == 0
    members = listed(mine)
    assert "past-0" not in members and not (mine / "players" / "past-0.safetensors").exists()
    assert (members["trained"]["kind"], members["trained"]["born"]) == ("guest", 8 * PER_ITERATION)
    assert (mine / "players" / "trained.safetensors").exists()
    ranked = json.loads(sparring("tournament", f"{mine}@all", "--games", 2, "--json").out)
    kept = {f"mine:{name}" for name, one in members.items() if one["kind"] in ("past", "guest")}
    assert "mine:trained" in kept and kept <= {one["name"] for one in ranked["players"]}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("shares", "--shadow", "0.5"), "no shadow to give a share to"),
        (("shares", "--bots", "0.5"), "no bots to give a share to"),
        (("shares", "--history", "1.5"), "must be a number in [0, 1], found 1.5"),
        (("shares", "--history", "0.7", "--current", "0.7"), "sum to 1"),
        (("pool", "--remove", "past-1"), "Unknown member of the pool 'past-1'"),
        (("pool", "--add", "nowhere"), "Unknown player 'nowhere'"),
        (("pool", "--add", "always_0"), "Bots have a share of their own"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_left_for_the_run(pooled, sparring, words, reason):
    command, *rest = words
    assert reason in sparring(command, pooled, *rest).sentence()
    assert waiting(RunDir.open(pooled)) == []


def test_a_run_that_only_meets_itself_has_neither_pool_nor_shares(mine, sparring):
    config = RunDir.open(mine).config_path
    config.write_text(config.read_text().replace("\nhistory = 0.5\n", "\nhistory = 0.0\n"))
    for words in (("pool", mine), ("shares", mine, "--history", "0.5")):
        assert "meet nobody but each other" in sparring(*words).sentence()


def test_more_guests_than_there_is_room_for_are_refused(pooled, trained, sparring):
    said = sparring("pool", pooled, "--add", trained, trained)
    assert "room for 1 more, found 2 guests" in said.sentence()
