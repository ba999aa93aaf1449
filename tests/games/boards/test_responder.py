"""The best answer to a player of a board that nobody sees: numbers by hand, known players, a board at full size."""

import numpy as np
import pytest

from sparring.games.boards import unseen
from sparring.games.boards.unseen import dark_hex, phantom_tic_tac_toe, policy_exploitability


def uniform(_: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
    del features_RF
    return legal_RA / legal_RA.sum(axis=1, keepdims=True)


def lowest(_: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
    """The lowest cell of which it knows nothing."""
    del features_RF
    return np.eye(legal_RA.shape[1])[legal_RA.argmax(axis=1)]


def earned(game: unseen.Unseen, policy, *, begins: bool) -> float:
    """What the best response earns in one position."""
    table = unseen._chosen(game, policy, 0, 1 if begins else 0)
    return unseen._response(game, table, begins=begins)


def test_the_best_answer_to_a_random_player_on_four_cells() -> None:
    """Cells 0 1 above 2 3, where 1 and 2 touch. The first wins by 0 2, 1 2 or 1 3, the second by 0 1, 1 2 or 2 3.

    Classical, first: 1, then 2 or, where that is refused, 3. Second: tries 1. Refused (1/4), it takes 2: the first goes
    on at 3 or, half of the time, at 0, and then 3 wins: worth 0. Free: where the first has 3, both 0 and 2 win and it
    can have one of them: 1. Where it has 0, it finds 2 half of the time, else 2 is ours: 0; the same with 2 and 0. In
    all 1/4.

    Abrupt, first: 1, then 2 wins unless the second has it (1/4); it then finds 3 in one case of three, else 3 wins:
    a loss in 1/12, so 10/12."""
    game = dark_hex(rows=2, columns=2)
    assert earned(game, uniform, begins=True) == pytest.approx(1.0)
    assert earned(game, uniform, begins=False) == pytest.approx(1 / 4)
    assert earned(dark_hex("abrupt", rows=2, columns=2), uniform, begins=True) == pytest.approx(10 / 12)


@pytest.mark.parametrize("variant", ["classical", "abrupt"])
def test_a_player_that_always_takes_the_same_cells_is_beaten_for_sure(variant: str) -> None:
    """Its stones are known without being seen."""
    game = dark_hex(variant, rows=2, columns=3)
    assert earned(game, lowest, begins=True) == pytest.approx(1.0)


def test_phantom_tic_tac_toe_at_full_size() -> None:
    """One that fills cells in their order loses in both positions."""
    assert policy_exploitability(phantom_tic_tac_toe(), lowest) == pytest.approx(1.0)


def test_seats_with_other_policies_are_judged_in_both_ways_to_sit() -> None:
    """With fixed positions only the first's answers as first and the second's as second count."""

    def unlike(seat: int, *seen: np.ndarray) -> np.ndarray:
        return (lowest if seat else uniform)(seat, *seen)

    def gap(first, second) -> float:
        game = dark_hex(rows=2, columns=2)
        return (earned(game, second, begins=True) + earned(game, first, begins=False)) / 2

    expected = [gap(uniform, lowest), gap(lowest, uniform)]
    fixed = dark_hex(rows=2, columns=2, positions="fixed")
    assert policy_exploitability(fixed, unlike) == pytest.approx(expected[0])
    assert policy_exploitability(dark_hex(rows=2, columns=2), unlike) == pytest.approx(np.mean(expected))
