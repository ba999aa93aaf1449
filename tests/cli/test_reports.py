"""Tables, curves and pages: the numbers they show, worked out by hand."""

from dataclasses import replace
from io import StringIO
from math import nan

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sparring.evaluation.scoring import SideScore
from sparring.evaluation.stored import last_scores
from sparring.reports.curves import (
    MOST_LINES,
    MOST_POINTS,
    add_clock,
    curve,
    draw_curves,
    draw_evaluation,
    draw_ladder,
    draw_met,
    draw_seats,
    draw_training,
    hardest_place,
    levels,
    shows_seats,
    smooth,
)
from sparring.reports.curves import legend as curve_legend
from sparring.reports.html import command, document, table
from sparring.reports.page import write_report
from sparring.reports.tables import LEARNED, full_rows, interval_text, legend, scores_json, spread_text, summary_rows
from sparring.statistics.intervals import Interval, Moments, mean_interval
from sparring.statistics.rates import of_starts
from sparring.store.results import ResultRow
from sparring.store.run_dir import RunDir
from sparring.training.notices import noticed

MANIFEST = {
    "game": "tag",
    "sides": ["predator", "prey"],
    "seats": ["predator_0", "predator_1", "prey_0"],
    "seeds": 1,
    "score": "return",
    "learners": ["predator", "prey"],
}


def score(side: int, team: str, opponents: str, mean: float) -> SideScore:
    variance = 10 * (0.5 / 2.262157) ** 2  # a half-width of 0.5, with Student's quantile of nine degrees
    return SideScore(side, team, opponents, 10, 0, 10, 0, 25.0, (Moments(mean, variance, 10),))


SCORES = [
    score(0, "learned", "flee", 3.0), score(1, "flee", "learned", -3.0),
    score(0, "chase", "flee", 5.0), score(1, "flee", "chase", -5.0),
    score(0, "random", "flee", 1.0), score(1, "flee", "random", -1.0),
    score(1, "learned", "chase", -7.0), score(0, "chase", "learned", 7.0),
]  # fmt: skip


def test_the_name_of_what_learned_is_that_of_evaluations():
    from sparring.training import own_evaluation as examine

    assert LEARNED == examine.LEARNED


def test_what_was_done_in_a_game_has_a_column_with_shares():
    coins = replace(SCORES[0], counts=(("own_coins", 9.0), ("other_coins", 3.0)))
    header, rows = summary_rows([coins], MANIFEST)
    assert (
        dict(zip(header, rows[0], strict=True))["in a game (share)"] == "own_coins 9.00 (75%), other_coins 3.00 (25%)"
    )
    assert summary_rows([replace(coins, counts=(("removed", 1.5),))], MANIFEST)[1][0][3] == "removed 1.50"


def test_the_summary_has_a_row_for_what_learned_beside_the_best_bot_in_its_place():
    assert summary_rows(SCORES, MANIFEST) == (
        ["side", "against", "return", "best bot, return"],
        [["predator", "flee", "3.00 ±0.50", "chase 5.00 ±0.50"], ["prey", "chase", "-7.00 ±0.50", "flee -5.00 ±0.50"]],
    )


def test_the_full_table_has_every_side_of_every_line_up_and_bots_alone_last():
    header, rows = full_rows(SCORES, MANIFEST)
    assert header == ["side", "driven by", "against", "games", "return"]
    assert len(rows) == len(SCORES)
    assert rows[0] == ["predator", "learned", "flee", "10", "3.00 ±0.50"]
    assert all("learned" in row for row in rows[:4]) and not any("learned" in row for row in rows[4:])


def test_where_games_are_won_bots_are_compared_by_points():
    def won(team: str, points: float, mean: float) -> SideScore:
        return SideScore(0, team, "", 8, 4, 0, 4, 1.0, (Moments(mean, 0.0, 1),), (Moments(points, 0.0, 800),))

    scores = [won("learned", 0.5, 0.0), won("rich", 0.4, 9.0), won("winner", 0.6, 1.0)]
    header, rows = summary_rows(scores, MANIFEST)
    assert header == ["side", "return", "points", "best bot, points"]
    assert rows == [["predator", "0.00", "0.50 [0.50, 0.50]", "winner 0.60 [0.60, 0.60]"]]
    assert "a draw one half" in legend(scores, MANIFEST) and "8 games each" in legend(scores, MANIFEST)


def test_a_ladder_joins_both_sides_and_shows_what_training_changed():
    def games(side: int, team: str, opponents: str, wins: int, draws: int, *causes: tuple[str, int]) -> SideScore:
        points = Moments.of([1.0] * wins + [0.5] * draws + [0.0] * (8 - wins - draws))
        counts = (8, wins, draws, 8 - wins - draws, 30.0)
        return SideScore(side, team, opponents, *counts, (Moments(0.0, 0.0, 1),), (points,), causes)

    alike = {**MANIFEST, "alike": True}
    scores = [
        games(0, "learned", "ace", 8, 0, ("gun", 8)), games(1, "learned", "ace", 2, 4, ("timeout", 4), ("gun", 4)),
        games(0, "shadow", "ace", 8, 0), games(1, "shadow", "ace", 8, 0),
        games(0, "learned", "learned", 4, 0), games(0, "learned", "shadow", 4, 0), games(0, "ace", "learned", 0, 0),
    ]  # fmt: skip
    before = [games(0, "learned", "ace", 0, 0), games(1, "learned", "ace", 0, 8)]
    header, rows = summary_rows(scores, alike, before)
    assert header == ["against", "untrained", "won / drawn / lost", "points", "shadow", "ended by"]
    # 10 wins and 4 draws of 16 games are 12 points; before, 4 of 16. A game from each side is one of 8 values; side 1
    # alone varies, by 1/7, so they vary by 1/28: (8/28 + 1/4) / (8 x 3/16 + 1/4) = 0.306 of the most, or 26.1 games.
    # Wilson with 2.3646^2 = 5.591: (26.1 x 0.75 + 2.796) / 31.7 -+ 0.187.
    assert rows == [["ace", "0.25", "10/4/2", "0.75 [0.52, 0.89]", "1.00", "gun 75%, timeout 25%"]]
    assert "16 games each" in legend(scores, alike)


def test_unknown_bounds_are_left_out_of_texts_and_null_for_scripts():
    unknown = Interval(1.0, nan, nan, 1)
    assert spread_text(unknown) == interval_text(unknown) == "1.00"
    told = scores_json([SideScore(0, "learned", "", 1, 0, 1, 0, 25.0, (Moments(1.0, 0.0, 1),))])
    assert told[0]["mean_return"] == {"mean": 1.0, "low": None, "high": None, "count": 1}


def test_a_curve_is_the_mean_over_keys_and_then_over_seeds():
    lines = [
        {"steps": 10, "seed": 0, "a": 1.0, "b": 3.0},
        {"steps": 10, "seed": 1, "a": 5.0, "b": 7.0},
        {"steps": 20, "seed": 0, "a": None, "b": 4.0},
    ]
    found = curve(lines, ["a", "b"])
    assert found is not None
    np.testing.assert_array_equal(found.steps, [10, 20])
    np.testing.assert_array_equal(found.mean, [4.0, 4.0])
    assert found.high[0] == pytest.approx(mean_interval([2.0, 6.0]).high) and np.isnan(found.high[1])
    assert curve(lines, ["c"]) is None


def test_a_long_curve_is_thinned_by_averaging():
    lines = [{"steps": step, "seed": 0, "a": float(step)} for step in range(2 * MOST_POINTS)]
    found = curve(lines, ["a"])
    assert found is not None and len(found.steps) == MOST_POINTS
    assert (found.steps[0], found.mean[0]) == (1, 0.5)


def test_the_hardest_opponents_are_bots_where_there_are_any():
    lines = [
        {
            "return/prey/learned vs chase": -7.0,
            "return/prey/learned vs random": -1.0,
            "return/prey/flee vs chase": -5.0,
        },
        {"return/prey/learned vs chase": -9.0, "return/prey/learned vs learned": -20.0, "return/predator/learned": 0.0},
    ]
    found = levels(lines, "return/prey/")
    assert found["learned", "chase"] == -8.0 and ("flee", "chase") in found
    assert hardest_place(found) == "chase"
    assert hardest_place({("learned", "learned"): 1.0}) == "learned"
    assert hardest_place({("learned", ""): 1.0}) == ""
    assert hardest_place({("flee", "chase"): 1.0}) is None


def labels(draw, lines: list[dict], manifest: dict) -> list[str]:
    figure, axis = plt.subplots()
    draw(axis, lines, manifest)
    plt.close(figure)
    return axis.get_legend_handles_labels()[1]


def test_the_hardest_opponents_are_those_of_both_sides_and_all_seeds():
    """Ten easy bots, and three that are hard on one side, in one seed, or no longer."""

    def line(seed: int, step: int, one: dict, other: dict) -> dict:
        sides = {"a": one, "b": other}
        keys = {f"points/{side}/learned vs {bot}": x for side, own in sides.items() for bot, x in own.items()}
        return {"kind": "eval", "seed": seed, "steps": step, **keys}

    easy = {f"easy{n}": 0.8 for n in range(9)}
    old = line(0, 1, {**easy, "past": 0.0}, {**easy, "past": 0.0})
    first = line(
        0, 2, {**easy, "past": 1.0, "second": 0.9, "seed": 0.1}, {**easy, "past": 1.0, "second": 0.1, "seed": 0.1}
    )
    last = line(
        1, 2, {**easy, "past": 1.0, "second": 0.9, "seed": 0.9}, {**easy, "past": 1.0, "second": 0.1, "seed": 0.9}
    )
    manifest = {"sides": ["a", "b"], "alike": True, "zero_sum": True, "score": "outcome", "seats": ["a", "b"]}
    shown = labels(lambda *given: draw_ladder(*given, "points"), [old, first, last], manifest)
    assert len(shown) == MOST_LINES
    assert {"against second", "against seed"} <= {*shown} and "against past" not in shown


def test_where_opponents_change_training_is_shown_by_points_against_each_kind():
    line = {"kind": "train", "seed": 0, "steps": 1, "return/a": 0.0, "points/past": 0.5, "points/bot/main": None}
    found = labels(
        draw_training,
        [line, {**line, "steps": 2, "points/bot/main": 1.0}],
        {"seats": ["a"], "sides": ["a"], "score": "return"},
    )
    assert found == ["main against bots", "against the past"]


def test_where_nobody_wins_the_picture_shows_what_the_learner_earned_with_each_kind():
    line = {"kind": "train", "seed": 0, "steps": 1, "return/a": 0.0, "earned/past": 3.0, "earned/self": 2.0}
    found = labels(draw_training, [line, {**line, "steps": 2}], {"seats": ["a"], "sides": ["a"], "score": "return"})
    assert found == ["with the past", "with itself"]


def test_a_contest_judged_by_return_is_shown_by_what_was_earned_and_not_by_games_won():
    line = {"kind": "train", "seed": 0, "steps": 1, "earned/past": -0.1, "points/past": 0.6}
    figure, axis = plt.subplots()
    draw_training(axis, [line], {"seats": ["a"], "sides": ["a"], "score": "return"})
    plt.close(figure)
    assert axis.get_legend_handles_labels()[1] == ["against the past"] and "return" in axis.get_ylabel()
    assert axis.lines[-1].get_ydata().tolist() == [-0.1]


def test_whom_the_learner_played_is_a_share_of_games_that_adds_up_to_one():
    met = {"games/self": 3, "games/past": 1}
    lines = [{"kind": "train", "seed": 0, "steps": 1, **met}, {"kind": "train", "seed": 0, "steps": 2, "games/self": 2}]
    figure, axis = plt.subplots()
    draw_met(axis, lines)
    plt.close(figure)
    below, above = (area.get_paths()[0].vertices for area in axis.collections)
    assert axis.get_legend_handles_labels()[1] == ["itself", "the past"]
    assert {y for x, y in below if x == 1} == {0.0, 0.75} and {y for x, y in above if x == 1} == {0.75, 1.0}
    assert {y for x, y in above if x == 2} == {1.0}, "who is absent was not played"


def test_a_smooth_curve_keeps_a_straight_one_and_halves_no_gap():
    straight = np.arange(100.0)
    np.testing.assert_allclose(smooth(straight), straight)
    falling = np.where(np.arange(100) < 4, [[0.68]], 0.0)[0]
    assert smooth(falling)[0] == 0.68 and smooth(falling)[-1] == 0.0, "it begins and ends as it is"
    assert smooth(np.array([1.0, 9.0])).tolist() == [1.0, 9.0], "few points stay as they are"
    holes = np.where(np.arange(100) % 2, np.nan, 4.0)
    np.testing.assert_allclose(smooth(holes)[:-1], 4.0)
    assert np.isnan(smooth(holes)[-1]), "what is missing at the end stays so"


def test_a_smooth_curve_ends_by_many_points_and_not_by_the_games_of_the_last_iteration():
    values = np.full(400, 0.5)
    values[-1] = 0.0
    assert smooth(values)[-1] > 0.35
    assert np.isnan(smooth(values * np.nan)).all(), "of nothing there is no curve"


def test_time_above_a_picture_leaves_compiling_out():
    """Ten steps an iteration: 100 s for the first, 2 s for each of the others. At 30 steps, 6 s were spent."""
    timing = [{"iteration": i, "seconds": 100.0 if i == 0 else 2.0} for i in range(4)]
    figure, axis = plt.subplots()
    add_clock(axis, timing, 10)
    (clock,) = axis.child_axes
    plt.close(figure)
    assert clock.get_xlabel() == "seconds of training"
    assert clock._functions[0](np.array([0.0, 30.0, 40.0, 80.0])).tolist() == [0.0, 6.0, 8.0, 16.0]
    assert clock._functions[1](np.array([6.0])).tolist() == [30.0]


def test_replays_are_linked_and_machine_facts_come_last_and_folded(own_run):
    manifest = own_run / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"watchable": false', '"watchable": true'))
    run = RunDir.open(own_run)
    assert f"sparring replay {own_run}" in write_report(run).page.read_text()
    (own_run / "replays").mkdir()
    (own_run / "replays" / "a b-1.gif").write_bytes(b"GIF89a")
    page = write_report(run).page.read_text()
    assert 'href="replays/a%20b-1.gif"' in page
    folded = page[page.rindex("<details>") :]
    assert "jaxlib" in folded and "jaxlib" not in page[: page.rindex("<details>")]
    assert "best bot is" not in page.replace("\n", " "), "a table without that column needs no footnote on it"


def test_returns_of_seats_keep_a_place_where_opponents_change_unless_sides_are_alike():
    line = {"kind": "train", "seed": 0, "steps": 1, "return/a": 0.0, "return/b": 1.0}
    manifest = {"seats": ["a", "b"], "sides": ["a", "b"]}
    assert not shows_seats([line], manifest)  # they are the picture of training already
    changing = {**line, "earned/past/a": 3.0}
    assert shows_seats([changing], manifest)
    assert not shows_seats([changing], {**manifest, "alike": True})
    assert labels(draw_seats, [changing], manifest) == ["a", "b"]


def test_where_sides_are_alike_bots_are_met_on_both_and_the_shadow_is_none_of_them():
    points = {"straight": 1.0, "ace": 0.2, "shadow": 0.5, "learned": 0.5}
    line = {f"points/{side}/learned vs {bot}": value for side in "ab" for bot, value in points.items()}
    line |= {"points/a/shadow vs ace": 0.9, "kind": "eval", "seed": 0, "steps": 1}
    manifest = {"seats": ["a", "b"], "sides": ["a", "b"], "score": "outcome", "alike": True}
    assert labels(draw_evaluation, [line], manifest) == ["against straight", "against ace"]


def test_where_many_sides_are_alike_one_stands_for_all_among_companies_of_one_kind():
    places = {"learned, learned": 1.0, "stag, stag": 3.0, "learned, stag": 9.0, "shadow, shadow": 2.0}
    line = {f"return/{side}/learned vs {place}": value for side in "abc" for place, value in places.items()}
    line |= {"return/a/stag vs stag, stag": 5.0, "kind": "eval", "seed": 0, "steps": 1}
    manifest = {"seats": [*"abc"], "sides": [*"abc"], "score": "return", "many_alike": True}
    assert labels(draw_evaluation, [line], manifest) == [
        "against 2 x learned",
        "against 2 x stag",
        "bot stag in its place\nagainst 2 x stag",
    ]


@pytest.mark.parametrize("lines", [[], [{"kind": "train", "iteration": 0, "seed": 0, "steps": 5, "games": 0}]])
def test_a_picture_can_be_drawn_before_anything_ended(lines):
    assert draw_curves(lines, MANIFEST).startswith(b"\x89PNG")


def row(iteration: int, seed: int, player: str, games: int, total: float, squares: float) -> ResultRow:
    return ResultRow(iteration, seed, "eval", 0, player, "flee", games, 0, games, 0, total, squares, 25 * games)


def test_scores_of_a_report_are_those_of_the_newest_evaluation():
    rows = [row(3, 0, "learned", 2, 9.0, 45.0), row(7, 0, "learned", 2, 4.0, 10.0), row(7, 1, "learned", 2, 8.0, 32.0)]
    (found,) = last_scores(rows, MANIFEST)
    assert (found.team, found.opponents, found.games, found.length) == ("learned", "flee", 4, 25.0)
    assert found.mean_return == mean_interval([2.0, 4.0]), "over seeds"


def test_an_interval_from_sums_is_that_of_the_values():
    values = [1.0, 2.0, 6.0]
    (found,) = last_scores([row(0, 0, "learned", 3, sum(values), sum(v * v for v in values))], MANIFEST)
    expected = mean_interval(values)
    assert (found.mean_return.low, found.mean_return.high) == pytest.approx((expected.low, expected.high))


def test_points_of_a_report_are_those_of_the_stored_counts():
    rows = [ResultRow(3, 0, "eval", 0, "learned", "ace", 10, 6, 2, 2, 0.0, 0.0, 10)]
    (found,) = last_scores(rows, {**MANIFEST, "score": "outcome"})
    assert found.points is not None and found.points.low == pytest.approx(of_starts([2, 0, 2, 0, 6]).low)


def test_a_page_needs_nothing_else_and_escapes_what_people_name(own_run):
    hostile = own_run.rename(own_run.with_name("<b>&run"))
    text = write_report(RunDir.open(hostile)).page.read_text()
    assert "<b>" not in text and "&lt;b&gt;&amp;run" in text
    assert "src=" in text and "http" not in text and "<script" not in text
    assert text.count("<table>") == 4 and "data:image/png;base64," in text


def test_notices_of_a_stretch_and_of_the_last_evaluation_are_printed_and_reported(
    sparring, train_words, tmp_path, monkeypatch
):
    def no_gain(_, iteration, *__):
        return [noticed(iteration, 0, "all", "no_gain", "Nothing was gained.")]

    monkeypatch.setattr("sparring.training.trends.LEAST", 1)
    monkeypatch.setattr("sparring.training.trends.COLLAPSED", 10.0)
    monkeypatch.setattr("sparring.training.recorder.gain_notices", no_gain)
    said = sparring(*train_words)
    assert said.err.count("learner: the policy hardly explores any more") == 1  # at the first quarter, and no more
    assert said.out.count("notice   Nothing was gained.") == 1
    page = (tmp_path / "runs" / "new" / "report.html").read_text()
    assert "hardly explores" in page and "Nothing was gained." in page


def test_no_name_is_parted_where_a_table_has_room_for_whole_words():
    from rich.console import Console

    from sparring.reports.tables import fitted, score_table

    scores = [score(0, "learned", "nearest_stag", 3.0), score(0, "nearest_hare", "nearest_stag", 1.0)]
    for width in (60, 80):
        console = Console(width=width, file=StringIO())
        console.print(fitted(score_table(scores, MANIFEST), width))
        lines = console.file.getvalue().splitlines()
        assert max(map(len, lines)) <= width and any("nearest_hare 1.00" in line for line in lines), lines
    console = Console(width=30, file=StringIO())
    console.print(fitted(score_table(scores, MANIFEST), 30))
    assert max(map(len, console.file.getvalue().splitlines())) <= 30


def test_a_long_table_is_not_folded_by_what_seats_did_and_says_where_that_is_to_be_seen():
    from rich.console import Console

    from sparring.reports.tables import LONG, fitted, score_table

    coins = (("own_coins", 9.0), ("other_coins", 3.0))
    scores = [replace(score(0, "learned", f"a_bot_{i}", 3.0), counts=coins) for i in range(LONG)]
    for found, width, shown in ((scores, 60, False), (scores, 200, True), (scores[1:], 60, True)):
        console = Console(width=width, file=StringIO())
        console.print(fitted(score_table(found, MANIFEST, width=width), width))
        said = " ".join(console.file.getvalue().split())
        assert ("own_coins" in said, "What seats did in a game: on a terminal" in said) == (shown, not shown)


def test_an_interval_is_never_cut_where_a_table_has_little_room():
    """The texts about it are folded instead."""
    from rich.console import Console

    from sparring.reports.tables import fitted, score_table

    def games(opponent: str) -> SideScore:
        points = Moments.of([1.0] * 40 + [0.0] * 8)
        causes = (("outflown", 30), ("collision", 18))
        return SideScore(0, "learned", opponent, 48, 40, 0, 8, 30.0, (Moments(0.0, 0.0, 1),), (points,), causes)

    alike, scores = {**MANIFEST, "alike": True}, [games("straight"), games("a_bot_with_a_name")]
    console = Console(width=80, file=StringIO())
    console.print(fitted(score_table(scores, alike, [games("straight")]), 80))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80 and sum("0.83 [0.70, 0.91]" in line for line in lines) == 2, lines


def test_a_page_is_readable_in_a_narrow_window_and_its_commands_can_be_copied():
    page = document("a & b", table(["x"], [["--learning-rate is too long to stay in one line"], ["0.1 [0.0, 0.2]"]]))
    assert "<title>a &amp; b</title>" in page and 'name="viewport"' in page and "color-scheme: light" in page
    assert '<div class="wide"><table>' in page and '<span class="flag">--learning-rate</span>' in page
    assert page.count("<td class=short>") == 1, "a figure with its interval is never parted"
    assert command("sparring train --seeds 3") == '<code class="command">sparring train --seeds 3</code>'


def test_many_curves_have_their_names_beside_them_and_one_alone_needs_none():
    def shown(names: str, **fewest: int):
        axis = plt.figure().add_subplot()
        for name in names:
            axis.plot([0, 1], [0, 1], label=name)
        curve_legend(axis, **fewest)
        found = axis.get_legend()
        return found and found.get_bbox_to_anchor().transformed(axis.transAxes.inverted()).x0

    assert shown("a", fewest=2) is None and shown("ab") == pytest.approx(0.0) and shown("abc") == pytest.approx(1.0)


def test_names_are_folded_and_never_cut_where_a_table_has_little_room(own_run):
    """Cut at the end, two players that differ there would look alike."""
    from rich.console import Console

    from sparring.cli.runs import row as listed
    from sparring.cli.runs import table
    from sparring.reports.standings import against_table
    from sparring.reports.tables import score_table

    names = [f"a_rather_long_name_of_a_player_{letter}" for letter in "xy"]
    scores = [score(0, "learned", name, 3.0) for name in names] + [score(0, names[0], names[1], 1.0)]
    long = own_run.rename(own_run.with_name(names[0]))
    for made in (score_table(scores, MANIFEST), against_table(scores, "runs/a"), table([listed(long)])):
        console = Console(width=50, record=True, file=StringIO())
        console.print(made)
        text = console.export_text()
        assert "…" not in text, text
