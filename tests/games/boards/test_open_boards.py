"""Tic-tac-toe and connect four: rules by hand, best play, bots."""

import numpy as np
import pytest
from by_hand import bot_choices, feature, mover, play, seen

from sparring.games import answers
from sparring.games.boards.connect_four import connect_four
from sparring.games.boards.tic_tac_toe import CELLS, best_moves, policy_exploitability, tic_tac_toe

TTT, FOUR = tic_tac_toe("fixed"), connect_four("fixed")


def test_both_see_all_marks_and_may_take_what_is_free() -> None:
    state, _ = play(TTT, 4, 0)
    shown = seen(TTT, state)
    assert mover(TTT, state) == 0 and np.flatnonzero(~shown.legal_SA[0]).tolist() == [0, 4]
    for seat, (own, other) in enumerate([(4, 0), (0, 4)]):
        assert np.flatnonzero(feature(TTT, shown.features_SF[seat], "own")).tolist() == [own]
        assert np.flatnonzero(feature(TTT, shown.features_SF[seat], "other")).tolist() == [other]
        assert feature(TTT, shown.features_SF[seat], "position").tolist() == np.eye(2)[seat].tolist()


def test_tic_tac_toe_is_won_lost_and_drawn() -> None:
    for choices, reward in (((0, 3, 1, 4, 2), 1.0), ((0, 2, 1, 4, 8, 6), -1.0), ((0, 1, 2, 4, 3, 5, 7, 6, 8), 0.0)):
        assert not play(TTT, *choices[:-1])[1].over
        state, step = play(TTT, *choices)
        assert step.over and step.reward_S.tolist() == [reward, -reward] == step.outcome_K.tolist()
        assert not seen(TTT, state).acting_S.any()


def uniform(_: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
    del features_RF
    return legal_RA / legal_RA.sum(axis=1, keepdims=True)


def perfect(_: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
    own_R, other_R = (features_RF[:, a : a + CELLS].astype(int) @ (1 << np.arange(CELLS)) for a in (0, CELLS))
    best_RA = np.where(best_moves()[own_R, other_R].any(axis=1)[:, None], best_moves()[own_R, other_R], legal_RA)
    return best_RA / best_RA.sum(axis=1, keepdims=True)


def test_best_play_draws_and_cannot_be_exploited() -> None:
    assert policy_exploitability(tic_tac_toe(), perfect) == pytest.approx(0.0, abs=1e-12)
    assert best_moves()[0, 0].tolist() == [1] * 9  # every opening draws
    assert np.flatnonzero(best_moves()[0, 1 << 0]).tolist() == [4]  # a corner is answered in the middle alone
    assert np.flatnonzero(best_moves()[0, 1 << 4]).tolist() == [0, 2, 6, 8]


def test_whoever_may_be_beaten_in_one_position_is_exploited_by_half() -> None:
    """Perfect as first, and as second the lowest cell that is free: the first takes 4, 2 and 6 or better, and wins."""

    def sweeps_second(seat: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
        lowest_RA = np.eye(CELLS)[legal_RA.argmax(axis=1)]
        return np.where(features_RF[:, -2:-1] > 0.5, perfect(seat, features_RF, legal_RA), lowest_RA)

    assert policy_exploitability(tic_tac_toe(), sweeps_second) == pytest.approx(0.5)


def test_the_best_answer_to_random_play_in_tic_tac_toe() -> None:
    """As OpenSpiel's nash_conv of its uniform policy, 1.9196593915, says."""
    game = tic_tac_toe()
    found = answers.exploitability_of(game)(game, uniform)
    assert found == pytest.approx(1.9196593915 / 2, abs=1e-9)


def test_bots_of_tic_tac_toe() -> None:
    assert bot_choices(TTT, "centre", play(TTT)[0]) == [4]
    assert bot_choices(TTT, "perfect", play(TTT, 0)[0]) == [4]
    state, _ = play(TTT, 0, 3, 1, 4)  # both could finish a row
    assert bot_choices(TTT, "careful", state) == [2]
    state, _ = play(TTT, 0, 3, 8, 4)  # only the second could
    assert bot_choices(TTT, "careful", state) == [5]


@pytest.mark.parametrize(
    "choices",
    [
        (0, 0, 1, 1, 2, 2, 3),  # side by side
        (0, 1, 0, 1, 0, 1, 0),  # one above another
        (0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3),  # rising to the right
        (6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3),  # rising to the left
    ],
)
def test_four_in_a_row_win_and_three_do_not(choices: tuple[int, ...]) -> None:
    state, step = play(FOUR, *choices[:-1])
    assert not step.over and mover(FOUR, state) == 0
    _, step = play(FOUR, *choices)
    assert step.over and step.reward_S.tolist() == [1.0, -1.0]


def test_four_in_a_row_do_not_go_round_the_edge() -> None:
    """Columns 5 and 6 of a row and 0 and 1 of the next are not beside each other: 5, 6 below, 0, 1 on other stones."""
    _, step = play(FOUR, 5, 0, 6, 1, 0, 3, 1)
    assert not step.over


def test_a_full_column_is_closed_and_a_full_board_drawn() -> None:
    state, _ = play(FOUR, *[2] * 6)
    assert np.flatnonzero(~seen(FOUR, state).legal_SA[0]).tolist() == [2]
    order = [0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 2, 3, 2, 3, 3, 2, 3, 2, 2, 3, 2, 3]
    order += [4, 5, 4, 5, 5, 4, 5, 4, 4, 5, 4, 5, 6, 6, 6, 6, 6, 6]
    _, step = play(FOUR, *order)
    assert len(order) == 42 and step.over and step.reward_S.tolist() == [0.0, 0.0]


def test_bots_of_connect_four() -> None:
    assert bot_choices(FOUR, "solid", play(FOUR)[0]) == [3] == bot_choices(FOUR, "centre", play(FOUR)[0])
    state, _ = play(FOUR, 0, 6, 0, 6, 0, 6)
    assert bot_choices(FOUR, "careful", state) == [0]  # winning comes before blocking
    state, _ = play(FOUR, 0, 6, 1, 6, 3, 6)
    assert bot_choices(FOUR, "solid", state) == [2]
    state, _ = play(FOUR, 0, 6, 1, 6, 4, 6)
    assert bot_choices(FOUR, "careful", state) == [6]


def test_stones_are_drawn_from_the_bottom_up() -> None:
    state, _ = play(FOUR, 3, 3)
    scene = FOUR.scene(state)
    assert {body.label: body.at for body in scene.bodies if body.side >= 0} == {"X": (3.0, 0.0), "O": (3.0, 1.0)}
