"""The commands that let players meet: what they print, write and refuse."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from sparring.evaluation.scoring import LEARNED, SideScore
from sparring.ratings.payoff import Payoff
from sparring.ratings.summary import summarise
from sparring.reports.standings import (
    against_table,
    explanation,
    matrix_table,
    ranking,
    standings_csv,
    standings_json,
    standings_picture,
    standings_table,
)
from sparring.statistics.intervals import Moments

GAME = "matrix:rock_paper_scissors"
FEW = ("--games", 4)
BOTS = ("always_0", "always_1", "always_2")


def pool() -> Payoff:
    """Three players: ace wins 18 of 20 against both others, which are equal."""
    payoff = Payoff.empty(("low", "ace", "[red]mid"))
    payoff = payoff.with_games("ace", "low", 18, 0, 2).with_games("ace", "[red]mid", 17, 2, 1)
    return payoff.with_games("low", "[red]mid", 5, 10, 5)


def printed(table) -> list[str]:
    console = Console(width=100)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_the_ranking_begins_with_the_best_and_the_anchor_is_at_zero():
    payoff = pool()
    summary = summarise(payoff, "low")
    assert [payoff.names[i] for i in ranking(summary)] == ["ace", "[red]mid", "low"]
    lines = printed(standings_table(payoff, summary))
    assert "Tournament of 3: 60 games" in lines[0]
    first, second, third = (line.split() for line in lines[2:])
    assert first[:2] == ["1", "ace"] and first[-1] == "low" and "0.90" in first
    assert second[:2] == ["2", "[red]mid"], "a name is not markup"
    assert third[:3] == ["3", "low", "0"] and third[-1] == "ace" and "0.10" in third


def test_the_matrix_shows_the_rate_of_row_against_column_in_the_order_of_the_ranking():
    payoff = pool()
    lines = printed(matrix_table(payoff, summarise(payoff, "low")))
    assert [line.split() for line in lines[1:]] == [
        ["1", "2", "3"],
        ["1", "0.90", "0.90"],
        ["2", "0.10", "0.50"],
        ["3", "0.10", "0.50"],
    ]
    unmet = Payoff.empty("ab")
    assert printed(matrix_table(unmet, summarise(unmet, "a")))[2].split() == ["1", "-"]


def test_every_figure_is_explained_and_what_is_missing_is_told():
    payoff = pool()
    summary = summarise(payoff, "low")
    text = "\n".join(explanation(payoff, summary))
    for word in ("rating", "Nash", "worst", "cyclic", "cycles", "games"):
        assert f"{word}  " in text
    assert "low is 0" in text and "20 a pair" in text
    assert f"{summary.cyclic_share:.1%}" in text and f"noise shows up to {summary.noise.floor:.1%}" in text
    assert f"(p = {summary.noise.p_value:.3f}): no sign of cycles." in text
    mixed = payoff.with_games("ace", "low", 2, 0, 0)
    assert "20 to 22 a pair" in "\n".join(explanation(mixed, summarise(mixed, None)))
    broken = replace(summary, cyclic_share=None, problems=("cyclic share: too few",))
    assert "missing  cyclic share: too few" in explanation(payoff, broken)
    assert not any(line.startswith("cyclic") for line in explanation(payoff, broken))


def test_scripts_get_the_same_numbers():
    payoff = pool()
    summary = summarise(payoff, "low")
    told = json.loads(json.dumps(standings_json(payoff, summary), allow_nan=False))
    assert [player["name"] for player in told["players"]] == ["ace", "[red]mid", "low"]
    assert told["players"][2]["rating"] == 0.0 and told["players"][0]["worst_points"] == 0.9
    assert told["players"][0]["rating_low"] < told["players"][0]["rating"] < told["players"][0]["rating_high"]
    assert Payoff.from_dict(told["payoff"]).won_MM.tolist() == payoff.won_MM.tolist()
    rows = list(csv.DictReader(standings_csv(payoff).splitlines()))
    assert len(rows) == 6
    (row,) = [row for row in rows if (row["player"], row["opponent"]) == ("[red]mid", "ace")]
    assert [row[key] for key in ("games", "won", "drawn", "lost", "points")] == ["20", "1", "2", "17", "0.1000"]
    assert float(row["low"]) < 0.1 < float(row["high"])


def test_players_without_games_or_ratings_leave_blanks():
    payoff = Payoff.empty("abc").with_games("a", "b", 3, 0, 1)
    summary = summarise(payoff, "a")
    told = json.loads(json.dumps(standings_json(payoff, summary), allow_nan=False))
    assert told["players"][-1]["name"] == "c" and told["players"][-1]["rating"] is None
    assert printed(standings_table(payoff, summary))[-1].split()[:2] == ["3", "c"]
    assert standings_picture(payoff, summary).startswith(b"\x89PNG")


def test_a_table_against_named_players_shows_counts_only_where_games_are_won():
    # Ten returns of variance 0.1758804 have a half-width of 2.262157 x sqrt(0.1758804 / 10) = 0.30.
    won = SideScore(0, LEARNED, "[b]x", 10, 6, 2, 2, 1.0, (Moments(0.4, 0.1758804, 10),), (Moments(0.7, 0.2, 10),))
    lines = printed(against_table([won], "title"))
    row = next(line for line in lines if "[b]x" in line).replace("│", " ").split()
    assert row[:6] == ["[b]x", "10", "6", "2", "2", "0.70"] and row[-2:] == ["0.40", "±0.30"]
    sides = [replace(won, scores=()), replace(won, scores=(), side=1)]
    rows = [line.replace("│", " ").split() for line in printed(against_table(sides, "title")) if "[b]x" in line]
    assert rows == [["[b]x", "0", "10", "0.40", "±0.30"], ["[b]x", "1", "10", "0.40", "±0.30"]]


def test_bots_meet_and_the_cycle_is_found(sparring, tmp_path):
    words = ("tournament", *BOTS, "--game", GAME, *FEW, "--out", tmp_path / "pairs.csv")
    said = sparring(*words)
    assert (said.code, said.err) == (0, "")
    assert "Tournament of 3: 12 games" in said.out and "70 % or more: 1." in said.out and "always_0 is 0" in said.out
    assert max(map(len, said.out.splitlines())) <= 105
    rows = list(csv.DictReader((tmp_path / "pairs.csv").read_text().splitlines()))
    assert {(row["player"], row["opponent"]) for row in rows if row["won"] == "4"} == {
        ("always_1", "always_0"), ("always_2", "always_1"), ("always_0", "always_2")
    }  # fmt: skip


def test_a_run_its_past_and_a_package_meet(sparring, own_run, tmp_path):
    from sparring.games.registry import make
    from sparring.players.named import entrant, save_entrant

    old = save_entrant(entrant(f"{own_run}@4", make(GAME)), own_run / "players" / "old.safetensors")
    said = sparring("tournament", f"{own_run}@all", "always_1", *FEW, "--json")
    told = json.loads(said.out)
    assert said.code == 0 and told["game"] == GAME and told["anchor"] == "always_1"
    assert set(told["payoff"]["names"]) == {"own@4", "own@8", "own@10", "own:old", "always_1"}
    names, won = told["payoff"]["names"], np.asarray(told["payoff"]["won"])
    a, b = names.index("own@4"), names.index("own:old")
    assert won[a, b] == won[b, a], "the package is a copy of the checkpoint"
    picture = tmp_path / "x.png"
    said = sparring("tournament", old, own_run, *FEW, "--out", picture)
    assert said.code == 0 and "note: random joins" in said.err and picture.read_bytes().startswith(b"\x89PNG")


def test_in_a_game_of_returns_everyone_meets_everyone_and_itself(sparring, tmp_path):
    words = ("tournament", "always_0", "always_1", "--game", "matrix:stag_hunt", *FEW)
    said = sparring(*words, "--out", tmp_path / "pairs.csv")
    assert (said.code, said.err) == (0, "") and "Cross-play of 2: 12 games" in said.out
    assert "gap         1.50 ±0.00" in said.out and "50% of self-play is lost" in said.out
    rows = list(csv.DictReader((tmp_path / "pairs.csv").read_text().splitlines()))
    assert {(row["player"], row["partner"]): row["return"] for row in rows} == {
        ("always_0", "always_0"): "4.0000", ("always_0", "always_1"): "0.0000",
        ("always_1", "always_0"): "3.0000", ("always_1", "always_1"): "2.0000",
    }  # fmt: skip
    told = json.loads(sparring(*words, "--json", "--near", 5).out)
    assert told["game"] == "matrix:stag_hunt" and told["near"] == 5
    assert [one["players"] for one in told["conventions"]] == [["always_0", "always_1"]]


def test_another_anchor_joins_and_a_precision_asks_for_more_games(sparring, trained):
    words = ("tournament", trained, "always_0", *FEW, "--anchor", "random", "--within", 0.2, "--most-games", 20)
    told = json.loads(sparring(*words, "--json").out)
    assert told["anchor"] == "random" and set(told["payoff"]["names"]) == {"trained", "always_0", "random"}
    drawn, won = np.asarray(told["payoff"]["drawn"]), np.asarray(told["payoff"]["won"])
    assert (won + won.T + drawn)[0].max() == 20
    assert json.loads(sparring(*words, "--json").out) == told, "the same command tells the same"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("random", "always_0"), "Name the game of the bots: --game GAME"),
        (("random", "--game", GAME), "two players or more, found 1"),
        (("trained#all", "random"), "No player 'trained#all': expected the folder of a run"),
        (("random", "alwys_0", "--game", GAME), "Did you mean 'always_0'?"),
        (("random", "{run}e"), "Did you mean {run}?"),
        (("random", "{run}@5"), "It has: 4, 8, 10."),
        (("{run}", "--game", "matrix:biased_rock_paper_scissors"), "plays matrix:rock_paper_scissors, not"),
        (("{run}", "random", "--anchor", "nobody"), "anchor must be one of the players or a bot, found 'nobody'"),
        (("{run}", "random", "--games", "5"), "games must be even"),
        (("{run}", "random", "--within", "0.7"), "precision must lie between 0 and 0.5"),
        (("{run}", "random", "--out", "x.pdf"), "out must end in .png or .csv"),
        (("{run}", "random", "--seed", "-1"), "seed must be from 0"),
        (("{run}", "random", "--near", "0.1"), "near is a difference of returns"),
        (("random", "always_0", "--game", "matrix:stag_hunt", "--anchor", "random"), "anchor is the zero of ratings"),
        (("random", "always_0", "--game", "matrix:stag_hunt", "--near", "-1"), "not negative, found -1"),
        (("random", "--game", "matrix:stag_hunt"), "two players or more, found 1"),
        (("{run}#al", "random"), "every seed RUN#all"),
        (("random", "always_0", "--game", "particles:spread"), "found one side"),
    ],
)
def test_what_cannot_be_played_is_told_in_one_sentence(sparring, trained, words, told, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where there are runs, they would be named
    said = sparring("tournament", *(word.format(run=trained) for word in words))
    assert told.format(run=trained) in said.err.splitlines()[-1] and said.out == "" and said.code in (2, 3)


def test_a_file_that_cannot_be_written_is_told(sparring, tmp_path):
    out = tmp_path / "none" / "x.csv"
    said = sparring("tournament", *BOTS[:2], "--game", GAME, *FEW, "--out", out)
    assert said.code == 3 and f"Cannot write {out}" in said.sentence()


def test_eval_plays_against_named_players(sparring, trained):
    said = sparring("eval", trained, "--games", 8, "--against", "always_1", f"{trained}@4")
    assert (said.code, said.err) == (0, "")
    rows = [line.replace("│", " ").split() for line in said.out.splitlines() if "always_1" in line or "@4" in line]
    assert [row[:2] for row in rows] == [["always_1", "16"], ["trained@4", "16"]]
    told = json.loads(sparring("eval", trained, "--games", 8, "--against", "always_1", f"{trained}@4", "--json").out)
    first = told["against"][0]
    assert first["wins"] + first["draws"] + first["losses"] == first["games"] == 16
    assert [str(first[key]) for key in ("wins", "draws", "losses")] == rows[0][2:5]


def test_eval_says_when_a_named_player_is_of_an_older_checkpoint(sparring, own_run, trained):
    file = own_run / "checkpoints" / "000010" / "arrays.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    said = sparring("eval", trained, "--games", 2, "--against", own_run)
    assert said.code == 0 and "000010 is damaged" in said.err
    assert "Did you mean 'always_0'?" in sparring("eval", trained, "--against", "alwys_0").sentence()


def test_the_folder_of_another_kind_is_named(sparring, trained):
    file = Path(trained) / "config.toml"
    assert "is not a player package" in sparring("tournament", file, "random", "--game", GAME).sentence()
