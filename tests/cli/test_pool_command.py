"""Control by hand from the command line: what is there, what is asked for, what is refused before it is asked for."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save

from sparring.cli.main import main
from sparring.cli.pool import judged_by
from sparring.core.settings import load_toml, to_toml
from sparring.games.registry import make
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.league.score import Score, faded, rates
from sparring.setup.config import RunConfig
from sparring.store.checkpoints import load
from sparring.store.checkpoints import save as save_checkpoint
from sparring.store.commands import waiting
from sparring.store.packages import read_package
from sparring.store.results import read_results
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
    last = members[past[2]]  # of its games nothing was read yet
    assert (last["games"], last["rate"]) == (0, None) and "shadow" not in members
    said = sparring("pool", pooled)
    assert said.code == 0 and f"before iteration {ITERATIONS}" in said.out and "past-720" in said.out


def test_the_pool_shows_what_was_won_of_its_members(mine, sparring, listed):
    assert "exploited" not in sparring("pool", mine).out
    line = {
        "player": "past-0",
        "seed": 0,
        "iteration": ITERATIONS,
        "steps": 0,
        "by": "response",
        "exploitability": 0.25,
    }
    RunDir.open(mine).append_exploits([line])
    members = listed(mine)
    assert members["past-0"]["exploited"]["exploitability"] == 0.25
    assert [name for name, one in members.items() if one["exploited"]] == ["past-0"]


def test_the_numbers_of_the_pool_are_those_that_the_results_give(pooled, listed):
    rows = read_results(pooled / "results.db", "train")
    told = {name: one for name, one in listed(pooled).items() if one["games"]}
    assert len(told) >= 2
    for name, one in told.items():
        total, fading_3 = Score(), np.zeros(3)
        for iteration in range(ITERATIONS - 2):  # the reports of the last two are not read yet
            met = [row for row in rows if (row.iteration, row.opponent) == (iteration, name)]
            score = Score(*(sum(column) for column in zip(*(row[7:10] for row in met), strict=True)))
            total = total.plus(score)
            fading_3 = faded(fading_3, np.asarray(score), OpponentsConfig().forget)
        interval = total.interval()
        assert (one["games"], one["low"], one["high"]) == (total.games, interval.low, interval.high)
        assert one["rate"] == pytest.approx(float(rates(fading_3)), abs=1e-9)


def doctor_a_row(path: Path) -> tuple[int, int, int]:
    """One game against the first past self more won than was; what was true of all its games that were read."""
    with closing(sqlite3.connect(path / "results.db")) as connection, connection:
        where = "kind = 'train' AND opponent = 'past-0'"
        true = f"SELECT sum(wins), sum(draws), sum(losses) FROM results WHERE {where} AND iteration < {ITERATIONS - 2}"
        counts = connection.execute(true).fetchone()
        chosen = f"SELECT min(rowid) FROM results WHERE {where}"
        connection.execute(f"UPDATE results SET wins = wins + 1, games = games + 1 WHERE rowid = ({chosen})")
    connection.close()
    return counts


def test_a_run_whose_results_were_changed_is_not_resumed_and_stays_as_it_was(mine, sparring):
    agreed = json.loads(sparring("doctor", mine, "--json").out)["facts"][str(mine)]
    rows = len(read_results(mine / "results.db", "train"))
    assert agreed == f"whole: 1 checkpoint and 3 packages; ledgers agree with {rows} rows of results"
    won, drawn, lost = doctor_a_row(mine)
    metrics = (mine / "metrics.jsonl").read_bytes()
    resumed = sparring("resume", mine, "--total-steps", 10 * PER_ITERATION, "--quiet")
    wanted = (
        f"seed 0, learner against past-0: the checkpoint has {won} won, {drawn} drawn, {lost} lost; "
        f"the results give {won + 1} won, {drawn} drawn, {lost} lost."
    )
    assert wanted in resumed.sentence() and "Restore both from one copy" in resumed.sentence()
    assert sparring("doctor", mine).sentence() == resumed.sentence()
    assert (mine / "metrics.jsonl").read_bytes() == metrics and len(read_results(mine / "results.db", "train")) == rows


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_the_doctor_names_every_damaged_file_and_what_to_do(mine, sparring):
    damaged = [*sorted((mine / "players").iterdir())[:2], mine / "checkpoints" / "000008"]
    for path in damaged:
        flip_a_bit(path / "arrays.safetensors" if path.is_dir() else path)
    said = sparring("doctor", mine).sentence()
    assert all(f"{path} is damaged: " in said for path in damaged)
    assert f"`sparring resume {mine}` writes those that are in the pool again" in said
    assert f"`sparring resume {mine}` goes on from the newest whole one" in said


def test_a_run_that_lost_its_results_and_a_player_goes_on_with_what_its_checkpoint_knows(mine, sparring, listed):
    before, player = listed(mine), mine / "players" / "past-0.safetensors"
    whole = read_package(player)[0]
    (mine / "results.db").unlink()
    told = sparring("doctor", mine).sentence()
    assert "results.db is gone" in told and f"sparring resume {mine}" in told
    flip_a_bit(player)
    said = sparring("resume", mine, "--total-steps", 10 * PER_ITERATION, "--quiet")
    assert said.code == 0 and "results begin at iteration 8" in said.err
    assert {row.iteration for row in read_results(mine / "results.db", "train")} == {8, 9}
    assert all(listed(mine)[name]["games"] >= one["games"] for name, one in before.items())
    assert all((whole[name] == array).all() for name, array in read_package(player)[0].items())
    checked = json.loads(sparring("doctor", mine, "--json").out)["facts"][str(mine)]
    assert "results before iteration 8 are lost, so ledgers cannot be checked" in checked


def test_packages_without_a_checksum_are_played_with_a_note(mine, sparring):
    path = mine / "players" / "past-0.safetensors"
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    early = {"format": header["format"], "version": "1", "player": header["player"]}
    path.write_bytes(save(load_arrays(content), early))
    said = sparring("eval", mine, "--against", path, "--games", 8)
    assert said.code == 0 and f"note: {path} is of an early format without a checksum" in said.err
    checked = json.loads(sparring("doctor", mine, "--json").out)["facts"][str(mine)]
    assert "(1 package of an early format without a checksum)" in checked


@pytest.mark.parametrize("name", ["../../X", "../X"])
@pytest.mark.parametrize("where", ["book", "pool", "row"])
def test_a_checkpoint_whose_members_have_names_of_paths_writes_nothing(mine, sparring, name, where):
    found = load(mine / "checkpoints")
    state = found.meta["opposition"]["leagues"][0]["state"]
    book, pool = state["book"]["roll"]["players"], state["pool"]
    {"book": book[-1], "pool": pool["players"][0], "row": pool["rows"][0][0]}[where]["name"] = name
    save_checkpoint(mine / "checkpoints", found.iteration, found.arrays, found.meta, keep=1)
    before = sorted(mine.parent.rglob("*"))
    for words in (["resume", mine, "--total-steps", 10 * PER_ITERATION], ["pool", mine]):
        assert "is not a name of a player" in sparring(*words).sentence()
    assert sorted(mine.parent.rglob("*")) == before


def test_a_forgetfulness_that_was_changed_by_hand_is_named(mine, sparring):
    config = RunDir.open(mine).config_path
    text = config.read_text()
    assert text.count(f"\nforget = {OpponentsConfig().forget}\n") == 1
    config.write_text(text.replace(f"\nforget = {OpponentsConfig().forget}\n", "\nforget = 0.9\n"))
    said = sparring("doctor", mine).sentence()
    assert "fading counts" in said and f"If forget (now 0.9) was changed in {config}, put it back." in said


@pytest.mark.usefixtures("pictures")
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
    path = RunDir.open(mine).config_path
    path.write_text(to_toml(replace(load_toml(RunConfig, path), opponents=OpponentsConfig(), pool=PoolConfig())))
    for words in (("pool", mine), ("shares", mine, "--history", "0.5")):
        assert "meet nobody but each other" in sparring(*words).sentence()


def test_more_guests_than_there_is_room_for_are_refused(pooled, trained, sparring):
    said = sparring("pool", pooled, "--add", trained, trained)
    assert "room for 1 more, found 2 guests" in said.sentence()


def test_where_a_game_is_judged_by_return_the_table_says_what_rates_count():
    poker, told = judged_by(make("kuhn").spec, mixed=False)
    assert poker == ["return", "rate", "over all games", "Elo"]
    assert "judged by return" in told and "one half plus the return divided by 2.92, and Elo follows" in told
    unknown, told = judged_by(replace(make("kuhn").spec, stake=0.0), mixed=False)
    assert unknown == ["return", "games won", "over all games", "Elo"] and "the game names no stake" in told
    duel, told = judged_by(make("dogfight").spec, mixed=True)
    assert duel == ["rate", "over all games", "weight"] and "return" not in told
