"""Measures of what was understood, by hand: NumPy alone."""

from typing import Any

import numpy as np
import pytest

from sparring.opponent_models import insight
from sparring.opponent_models.insight import Watched

HEADS = (3,)
SURE = np.log(np.array([1 - 2e-9, 1e-9, 1e-9]))


def line(*values: Any) -> np.ndarray:
    """[T, 1, 1, ...]: one world, one co-player."""
    return np.array(values)[:, None, None]


def watched(**changed: Any) -> Watched:
    """Four steps: what is done is 0, 1, 0, 0; all is legal but in the last step; two goals, the second 2 steps away."""
    steps = 4
    parts: dict[str, Any] = {
        "discrete_D": line([0], [1], [0], [0]),
        "legal_A": line(*[[True] * 3] * 3, [True, False, False]),
        "counts": line(*[True] * steps),
        "expected_A": line(*[np.log([0.5, 0.25, 0.25])] * steps),
        "rule_A": line(SURE, np.roll(SURE, 1), SURE, SURE),
        "open_G": line(*[[True, True]] * steps),
        "steps_G": line(*[[1.0, 2.0]] * steps),
        "about_GZ": line(*[[[0.0, 0.1, 9.0], [0.3, 0.0, 9.0]]] * steps),
        "reached_G": line([False, False], [False, True], [False, False], [False, False]),
        "log_b_G": line(*np.log([[0.2, 0.7, 0.1], [0.02, 0.95, 0.03], [0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])),
        "wanted_G": line([False, True], [False, True], [True, False], [False, False]),
        "start": line(True, False, False, False),
    }
    return Watched(**(parts | changed))


def test_the_label_is_what_is_reached_next_in_the_same_game() -> None:
    reached = line([False, False], [False, True], [False, False], [False, False], [True, False])
    assert insight.hindsight(reached, line(True, False, False, True, False))[:, 0, 0].tolist() == [1, 1, -1, 0, 0]
    assert insight.hindsight(reached, line(True, *[False] * 4))[:, 0, 0].tolist() == [1, 1, 0, 0, 0]


def test_actions_are_judged_where_there_was_a_choice_beside_what_needs_no_model() -> None:
    found = insight.action_measures(watched(), HEADS)
    assert found["choices"] == 0.75
    assert found["nll"] == pytest.approx((2 * np.log(2) + np.log(4)) / 3)
    # Two of three choices were the first entry: the marginal is (2/3, 1/3, 0), and all three are legal.
    marginal = (2 * np.log(3 / 2) + np.log(3)) / 3
    assert found["nll_marginal"] == pytest.approx(marginal) and found["nll_habit"] == pytest.approx(marginal)
    assert found["nll_uniform"] == pytest.approx(np.log(3)) and found["accuracy_uniform"] == pytest.approx(1 / 3)
    assert found["accuracy"] == found["accuracy_marginal"] == pytest.approx(2 / 3)
    assert found["accuracy_again"] == 0.0 and found["accuracy_rule"] == 1.0
    assert found["skill"] == pytest.approx(1 - found["nll"] / marginal) and found["skill_of_rule"] > 0.999
    assert found["accuracy_forced"] == 1.0


def test_one_impossible_step_does_not_hide_all_others() -> None:
    certain = watched(expected_A=line(*[np.array([0.0, -1e9, -1e9])] * 4))
    assert insight.action_measures(certain, HEADS)["nll"] == pytest.approx(np.log(1e6) / 3)


def test_goals_are_judged_where_the_label_is_known() -> None:
    found = insight.goal_measures(watched(), np.array([0, 1]))
    assert found["known"] == 0.5 and found["top1"] == 1.0 and found["top1_nearest"] == 0.0
    assert found["top1_base"] == 1.0  # the second kind was the one each time
    assert found["nll"] == pytest.approx(-(np.log(0.7) + np.log(0.95)) / 2)
    brier = (0.2**2 + 0.3**2 + 0.1**2 + 0.02**2 + 0.05**2 + 0.03**2) / 2
    assert found["brier"] == pytest.approx(brier) and found["nll_open"] == pytest.approx(np.log(2))
    # Belief 2/9 and 2/97 in the other goal, which is 0.4 away.
    assert found["spatial_error"] == pytest.approx(0.4 * (2 / 9 + 2 / 97) / 2)
    assert found["top1_by_its_word"] == 1.0 and found["nearest_by_its_word"] == pytest.approx(1 / 3)
    torn = insight.goal_measures(watched(wanted_G=line(*[[True, True]] * 4)), np.array([0, 1]))
    assert (found["top1_of_its_word"], torn["top1_of_its_word"]) == (1.0, 0.5)
    assert (found["steps_to_90"], found["never_90"], found["stretches"]) == (1.0, 0.0, 1)
    assert found["ece"] == pytest.approx((0.3 + 0.05) / 2)
    assert [row["steps"] for row in found["by_distance"].values()] == [0, 2, 0, 0]


def test_goals_of_one_kind_share_what_their_kind_is_worth() -> None:
    three = watched(
        open_G=line(*[[True, True, True]] * 4), steps_G=line(*[[1.0, 2.0, 2.0]] * 4),
        about_GZ=line(*[[[0.0, 0.1], [0.3, 0.0], [0.2, 0.2]]] * 4),
        reached_G=line(*[[False] * 3], [False, True, False], *[[False] * 3] * 2),
        log_b_G=line(*[np.log([0.25] * 4)] * 4), wanted_G=None,
    )  # fmt: skip
    found = insight.goal_measures(three, np.array([0, 1, 1]))
    assert found["top1_base"] == 0.5 and "top1_by_its_word" not in found


def test_beliefs_count_from_when_they_stay_sure_until_the_label_changes() -> None:
    sure = line(True, False, True, True, True, False)
    label, known = line(1, 1, 1, 1, 0, 0), line(*[True] * 6)
    found = insight.time_to_belief(sure, known, label, line(True, *[False] * 5))
    assert found == (np.inf, 0.5, 2)
    assert insight.time_to_belief(sure[:4], known[:4], label[:4], line(True, False, False, False)) == (2.0, 0.0, 1)
    # A new game begins another stretch, though its goal has the same number.
    again = insight.time_to_belief(sure[:4], known[:4], label[:4], line(True, False, True, False))
    assert again[1:] == (0.5, 2)


def test_beliefs_that_are_as_often_right_as_they_are_sure_have_no_error() -> None:
    sureness, correct = (
        np.repeat([0.25, 0.75], 60),
        np.tile([1, 0, 0, 0], 15).tolist() + np.tile([1, 1, 1, 0], 15).tolist(),
    )
    rows = insight.reliability(sureness, np.array(correct, float))
    assert len(rows) == insight.BINS and {count for _, _, count in rows} == {8}
    assert insight.calibration_error(rows) < 0.02
    assert insight.calibration_error(insight.reliability(np.full(30, 0.9), np.zeros(30))) == pytest.approx(0.9)


def test_returns_are_counted_game_by_game_in_each_world() -> None:
    return_TE = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    ended_TE = np.array([[True, False], [False, True], [True, False]])
    assert insight.by_game(return_TE, ended_TE, 3) == [[1.0, 6.0], [3.0], []]


def test_a_linear_probe_reads_what_is_there_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    label, train = rng.integers(0, 3, 400), np.arange(400) % 2 == 0
    told = np.eye(3)[label] + 0.1 * rng.normal(size=(400, 3))
    assert insight.linear_probe(told, label, train) > 0.99
    assert insight.linear_probe(rng.normal(size=(400, 3)), label, train) < 0.5


def test_a_subgoal_is_hit_where_the_nearest_state_is_one_to_come() -> None:
    decoded, later = np.array([[0.0], [1.0], [5.0]]), np.array([[[0.1], [9.0]], [[3.0], [4.0]], [[5.0], [5.0]]])
    there = np.array([[True, True], [True, True], [False, False]])
    assert insight.hit_ratio(decoded, later, there, np.array([[1.2], [7.0]])) == 0.5


def test_the_plane_shows_what_differs_most() -> None:
    rows = np.stack([np.arange(10.0), np.zeros(10), 0.1 * (np.arange(10) % 2)], axis=1)
    flat = insight.plane(rows)
    assert flat.shape == (10, 2) and np.allclose(np.abs(np.diff(flat[:, 0])), 1.0, atol=0.01)
