"""What is printed, written and drawn of a cross-play table that is known."""

import csv
import json

import numpy as np
import pytest
from rich.console import Console

from sparring.ratings.conventions import Conventions, conventions
from sparring.ratings.cross_play import CrossPlay
from sparring.reports.cross_play import (
    WIDEST_WITH_INTERVALS,
    conventions_table,
    cross_play_csv,
    cross_play_json,
    cross_play_picture,
    earnings_table,
    explanation,
    returns_table,
)

NAMES = ("hare", "[b]stag", "$tag", "hare 2")
MEAN = [[2, 3, 3, 2], [0, 4, 4, 0], [0, 4, 4, 0], [2, 3, 3, 2]]


def hunt(variance: float = 0.0, **options) -> Conventions:
    cross = CrossPlay(NAMES, MEAN, np.full((4, 4), variance), np.full((4, 4), 8))
    return conventions(cross, **options)


def printed(table) -> list[str]:
    console = Console(width=100)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_players_stand_by_convention_with_what_they_and_their_partners_earn():
    lines = printed(earnings_table(hunt()))
    assert "Cross-play of 4: 160 games" in lines[0]
    rows = [line.replace("±0.00", "").split() for line in lines[2:]]
    # $tag with others: (0 + 4 + 0) / 3; others with it: (3 + 4 + 3) / 3; names of equals in order
    assert rows[0] == ["1", "$tag", "4.00", "1.33", "3.33", "0.00", "hare", "1"]
    assert rows[1][:2] == ["2", "[b]stag"], "a name is not markup"
    # hare with others: (3 + 3 + 2) / 3; others with it: (0 + 0 + 2) / 3
    assert rows[2] == ["3", "hare", "2.00", "2.67", "0.67", "2.00", "hare", "2", "2"]
    assert rows[3][:3] == ["4", "hare", "2"] and rows[3][-1] == "2"


def test_the_matrix_has_the_order_of_the_players_and_intervals_while_there_is_room():
    assert [line.split() for line in printed(returns_table(hunt(8.0)))[2:3]] == [
        ["1", "4.00", "±2.36", "4.00", "±2.36", "0.00", "±2.36", "0.00", "±2.36"]  # an error of 1, 7 degrees of freedom
    ]
    many = WIDEST_WITH_INTERVALS + 1
    ones = np.ones((many, many))
    lines = printed(returns_table(conventions(CrossPlay(tuple("abcdefgh"[:many]), ones, ones, ones + 1))))
    assert lines[2].split() == ["1", *["1.00"] * many]


def test_conventions_are_listed_with_what_they_earn_inside_and_across():
    rows = [line.split() for line in printed(conventions_table(hunt()))[2:]]
    assert rows == [["1", "[b]stag,", "$tag", "4.00", "0.00"], ["2", "hare,", "hare", "2", "2.00", "3.00"]]
    (row,) = [line.split() for line in printed(conventions_table(hunt(near=9.0)))[2:]]
    assert row[-1] == "2.25", "nobody is outside"


def test_every_figure_is_explained():
    text = "\n".join(explanation(hunt()))
    # D = 3, O = 2: stag 0 4 0 and hare 3 3 2
    for told in (
        "self-play   3.00", "cross-play  2.00", "gap         1.00 ±0.00", "33% of self-play is lost",
        "most with [b]stag (3.33), least with hare (0.67)", "neither surely earns 0.2 less", "games       16 a pair",
    ):  # fmt: skip
        assert told in text, told
    assert max(map(len, text.splitlines())) <= 105
    assert "mixed" not in text
    assert "nearly the same with everybody, 2.00" in "\n".join(explanation(hunt(near=2.7)))
    mixed = CrossPlay(tuple("abc"), [[1, 0, 1], [0, 1, 1], [1, 1, 1]], np.zeros((3, 3)), np.full((3, 3), 4))
    assert "in convention 1, 1 of 3 pairs are linked only by others" in "\n".join(explanation(conventions(mixed)))


def test_what_could_not_be_measured_is_told():
    zero = np.zeros((2, 2))
    rising = CrossPlay(("a", "b"), [[-1, 0], [0, -1]], zero, [[4, 8], [8, 4]])
    text = "\n".join(explanation(conventions(rising)))
    assert "two players say nothing about others" in text and "must be above 0 for that" in text
    assert "gap         -1.00 ±0.00" in text and "8 to 16 a pair" in text
    poker = explanation(conventions(rising, zero_sum=True))
    assert poker[0].startswith("zero-sum") and len(poker) == 2


def test_scripts_get_the_same_numbers():
    told = json.loads(json.dumps(cross_play_json(hunt()), allow_nan=False))
    assert [player["name"] for player in told["players"]] == ["$tag", "[b]stag", "hare", "hare 2"]
    assert told["players"][2]["others_with_it"]["mean"] == pytest.approx(2 / 3)
    assert (told["self_play"], told["cross_play"], told["loss"]) == (3.0, 2.0, pytest.approx(1 / 3))
    assert told["gap"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert [(group["players"], group["across"]) for group in told["conventions"]] == [
        (["[b]stag", "$tag"], 0.0),
        (["hare", "hare 2"], 3.0),
    ]
    assert CrossPlay.from_dict(told["returns"]).mean_MM.tolist() == MEAN
    rows = list(csv.DictReader(cross_play_csv(hunt()).splitlines()))
    assert len(rows) == 16
    (row,) = [row for row in rows if (row["player"], row["partner"]) == ("hare", "$tag")]
    assert list(row.values())[2:] == ["16", "3.0000", "3.0000", "3.0000"]


def test_a_single_start_leaves_blanks():
    unknown = np.full((2, 2), np.nan)
    once = conventions(CrossPlay(("a", "b"), np.eye(2), unknown, np.ones((2, 2))))
    told = json.loads(json.dumps(cross_play_json(once), allow_nan=False))
    assert told["gap"] == {"mean": 1.0, "low": None, "high": None} and told["returns"]["variance"][0] == [None, None]
    assert cross_play_csv(once).splitlines()[1] == "a,a,2,1.0000,,"
    assert cross_play_picture(once).startswith(b"\x89PNG")


def test_a_picture_is_drawn_also_without_conventions():
    assert cross_play_picture(hunt(zero_sum=True)).startswith(b"\x89PNG")
