"""Games of many sides that are alike: one side stands for all in evaluations and tables."""

from sparring.evaluation.scoring import LEARNED, SideScore
from sparring.reports.tables import folded, summary_rows
from sparring.statistics.intervals import Moments
from sparring.training.own_evaluation import teams_of_alike

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
    assert [row[1] for row in rows] == [f"2 x {L}", f"a, {L}"]
    assert rows[0][-1].startswith("a 3.00")  # the bot in the learner's place among learners
    _, plain = summary_rows(scores, {**facts, "many_alike": False})
    assert len(plain) == 5
