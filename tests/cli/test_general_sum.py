"""A game that is not won or lost, from training to cross-play, with no word about opponents."""

import json
import sqlite3
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from sparring.cli.main import main
from sparring.reports.page import write_report
from sparring.store.run_dir import RunDir

WORDS = (
    "train matrix:stag_hunt --self-play sparring --seeds 2 --worlds 8 --steps 10 --minibatches 2 --hidden 8 "
    "--eval-games 2 --total-steps 1000 --name hunt"
)


@pytest.fixture(scope="module")
def hunters(tmp_path_factory):
    """A run of two seeds, and what its end told."""
    runs = tmp_path_factory.mktemp("runs")
    with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as complaints:
        code = main([*WORDS.split(), "--runs", str(runs)])
    assert code == 0, complaints.getvalue()
    return runs / "hunt", said.getvalue()


def test_a_run_tells_what_the_learner_earned_and_counts_no_wins(hunters):
    run, said = hunters
    keys = {key for line in (run / "metrics.jsonl").read_text().splitlines() for key in json.loads(line)}
    assert {"earned/self", "earned/past", "games/past"} <= keys
    assert not [key for key in keys if key.startswith(("points/", "won/", "drawn/"))]
    with closing(sqlite3.connect(run / "results.db")) as results:
        assert results.execute("select sum(games) > 0, sum(wins + draws + losses) from results").fetchone() == (1, 0)
    assert f"sparring tournament {run}#all" in said


@pytest.mark.usefixtures("pictures")
def test_its_report_is_drawn(hunters):
    assert write_report(RunDir.open(hunters[0])).curves.read_bytes().startswith(b"\x89PNG")


def test_its_pool_has_no_rates(sparring, hunters):
    said = sparring("pool", hunters[0])
    assert "past-0" in said.out and "rate" not in said.out and "Elo" not in said.out and "return" in said.out
    members = json.loads(sparring("pool", hunters[0], "--json").out)["members"]
    assert any(member["games"] for member in members)
    assert {member[key] for member in members for key in ("rate", "low", "high", "elo")} == {None}
    with closing(sqlite3.connect(hunters[0] / "results.db")) as results:
        query = "select sum(return_sum) / sum(games) from results where kind = 'train' and opponent = ? and seed = ?"
        for member in (member for member in members if member["games"]):
            assert member["return"] == pytest.approx(
                results.execute(query, (member["name"], member["seed"])).fetchone()[0]
            )


def test_its_seeds_meet_each_other(sparring, hunters):
    told = json.loads(sparring("tournament", f"{hunters[0]}#all", "--games", 4, "--json").out)
    assert {player["name"] for player in told["players"]} == {"hunt#0", "hunt#1"}
    assert told["returns"]["starts"] == [[2, 2], [2, 2]] and told["gap_of_others"] is None
