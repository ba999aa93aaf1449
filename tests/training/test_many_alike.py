"""Games of many sides that are alike: one side stands for all in evaluations and tables, if one policy drives all."""

import numpy as np
import pytest

from sparring.evaluation.scoring import LEARNED, MatchGames, SideScore
from sparring.reports.tables import folded, summary_rows
from sparring.setup.build import build
from sparring.setup.config import RunConfig, SeatsConfig
from sparring.statistics.intervals import Moments
from sparring.training.own_evaluation import teams_of_alike
from sparring.training.record import evaluation_lines, evaluation_rows
from sparring.training.runs import labels

L = LEARNED


def test_a_learner_is_tried_among_bots_of_a_kind_and_bots_among_learners():
    assert teams_of_alike([L, "a", "b"], 3, with_bots_alone=True) == [
        (L, L, L), (L, "a", "a"), ("a", L, L), (L, "b", "b"), ("b", L, L), ("a", "a", "a"), ("b", "b", "b"),
    ]  # fmt: skip
    assert ("a", "a", "a") not in teams_of_alike([L, "a", "b"], 3, with_bots_alone=False)


def score(side: int, team: str, opponents: str, mean: float) -> SideScore:
    return SideScore(side, team, opponents, 8, 0, 0, 0, 5.0, (Moments(mean, 0.0, 8),))


def test_one_row_stands_for_all_sides_in_the_same_company():
    scores = [
        score(0, L, f"{L}, {L}", 1.0), score(1, L, f"{L}, {L}", 1.0), score(2, L, f"{L}, {L}", 1.0),
        score(0, "a", f"{L}, {L}", 3.0), score(1, L, f"a, {L}", 2.0), score(2, L, f"{L}, a", 2.0),
    ]  # fmt: skip
    assert [(s.team, s.opponents) for s in folded(scores)] == [
        (L, f"2 x {L}"), ("a", f"2 x {L}"), (L, f"a, {L}"),
    ]  # fmt: skip
    facts = {"sides": ["one", "two", "three"], "many_alike": True}
    _, rows = summary_rows(scores, facts)
    assert [row[0] for row in rows] == [f"2 x {L}"], "mixed company is for the full table"
    assert rows[0][-1].startswith("a 3.00")  # the bot in the learner's place among learners
    _, plain = summary_rows(scores, {**facts, "many_alike": False})
    assert [row[:2] for row in plain] == [[side, f"2 x {L}"] for side in ("one", "two", "three")]


@pytest.mark.parametrize(
    ("game", "share", "sides", "alike"),
    [
        ("snowdrift", "auto", [f"agent_{s}" for s in range(4)], ("many_alike",)),
        ("snowdrift", "seat", [f"agent_{s}" for s in range(4)], ()),
        ("kuhn", "auto", ["seat_0", "seat_1"], ("alike",)),
        ("kuhn", "side", ["seat_0", "seat_1"], ()),
        ("particles:tag", "auto", ["predator", "prey"], ()),
        ("particles:tag", "seat", ["predator_0", "predator_1", "predator_2", "prey"], ()),
    ],
)
def test_one_side_stands_for_all_only_where_one_policy_drives_them(game, share, sides, alike):
    facts = labels(build(RunConfig(game=game, seats=SeatsConfig(share=share))))
    assert facts["sides"] == sides
    assert tuple(name for name in ("alike", "many_alike") if facts[name]) == alike


def test_learners_of_one_team_have_figures_of_their_own():
    built = build(RunConfig(game="particles:tag", seats=SeatsConfig(share="seat")))
    return_GS = np.array([[1.0, 2.0, 3.0, -6.0], [3.0, 4.0, 5.0, -12.0]])
    games = [[MatchGames(return_GS, np.array([25, 25]), np.zeros((2, 2)))]]
    (line,) = evaluation_lines(built, 0, [(L, "flee")], games, {})
    found = {key: value for key, value in line.items() if key.startswith("return/")}
    assert found == {
        f"return/predator_0/{L} vs flee": 2.0, f"return/predator_1/{L} vs flee": 3.0,
        f"return/predator_2/{L} vs flee": 4.0, f"return/prey/flee vs {L}": -9.0,
    }  # fmt: skip
    rows = evaluation_rows(built, 0, [(L, "flee")], games)
    assert [(row.side, row.player, row.return_sum) for row in rows] == [
        (0, L, 4.0), (1, L, 6.0), (2, L, 8.0), (3, "flee", -18.0),
    ]  # fmt: skip
