"""Three players on one board: turns, lines, who earns what, what each sees, and what its bots do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from by_hand import SCORE, SEE, START, STEP

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Step
from sparring.games.boards.trio import TrioState, trio
from sparring.games.contract import check_game

GAME = trio(positions="fixed")


def play(*cells: int, state: TrioState | None = None) -> tuple[TrioState, Step]:
    """Stones in turn; who waits asks for the last cell, which must not count."""
    state, step = START(GAME, jax.random.key(0)) if state is None else state, None
    for cell in cells:
        acting_S = np.asarray(SEE(GAME, state).acting_S)
        choice_SD = jnp.where(acting_S, cell, 15)[:, None].astype(jnp.int32)
        state, step = STEP(GAME, state, Action(choice_SD, jnp.zeros((3, 0))))
    assert step is not None
    return state, step


def test_players_move_in_turn_to_cells_that_are_free() -> None:
    state, step = play(0, 5)
    seen = SEE(GAME, state)
    assert seen.acting_S.tolist() == [False, False, True] and not step.over
    assert np.flatnonzero(~seen.legal_SA[2]).tolist() == [0, 5]
    assert np.flatnonzero(seen.legal_SA[0]).tolist() == [0]
    assert SEE(GAME, play(10, state=state)[0]).acting_S.tolist() == [True, False, False]


@pytest.mark.parametrize("line", [(0, 1, 2), (4, 8, 12), (1, 6, 11), (3, 6, 9)])
def test_three_in_a_row_win_one_and_the_others_lose_half_each(line) -> None:
    """Along a row, a column and both diagonals of 4x4 cells; the first player has them with the seventh stone."""
    others = iter(cell for cell in (13, 14, 7, 10, 15, 5) if cell not in line)
    cells = [line[0], next(others), next(others), line[1], next(others), next(others)]
    assert not play(*cells)[1].over
    _, step = play(*cells, line[2])
    assert step.over and step.outcome_K.tolist() == [1.0, -1.0, -1.0] and step.reward_S.tolist() == [1.0, -0.5, -0.5]


def test_a_row_does_not_go_round_the_edge() -> None:
    """Cells 2, 3 and 4 follow each other in number, in two rows."""
    assert not play(2, 9, 14, 3, 0, 6, 4)[1].over


def test_a_full_board_without_a_row_is_a_draw() -> None:
    """X O X Y / O X X O / O Y Y X / Y Y O X has no three in a row of one letter."""
    board = "XOXYOXXOOYYXYYOX"
    cells = {letter: [cell for cell, one in enumerate(board) if one == letter] for letter in "XOY"}
    order = [cells[letter][turn] for turn in range(6) for letter in "XOY" if turn < len(cells[letter])]
    assert not play(*order[:-1])[1].over
    _, step = play(*order)
    assert step.over and step.outcome_K.tolist() == step.reward_S.tolist() == [0.0, 0.0, 0.0]


def test_everyone_sees_its_own_stones_then_the_next_players_then_the_third() -> None:
    """The seat that moved second has a stone on 5; next comes the third with 10, after it the first with 0."""
    state = play(0, 5, 10)[0]
    planes = np.asarray(SEE(GAME, state).features_SF[1, :48]).reshape(3, 16)
    assert [np.flatnonzero(plane).tolist() for plane in planes] == [[5], [10], [0]]
    assert np.asarray(SEE(GAME, state).features_SF[:, 48:]).tolist() == np.eye(3).tolist()


def test_each_seat_has_each_position_a_third_of_the_time() -> None:
    game = trio()
    position_GS = np.asarray(
        jax.vmap(lambda key: game.start(key).position_S)(jax.random.split(jax.random.key(1), 3000))
    )
    rate_SP = (position_GS[:, :, None] == np.arange(3)).mean(axis=0)
    np.testing.assert_allclose(rate_SP, np.full((3, 3), 1 / 3), atol=0.04)  # 4.6 standard deviations


@pytest.mark.parametrize(
    ("bot", "stones", "cells"),
    [
        ("careful", ([0, 1], [4, 5], [8, 9]), [2]),  # its own row first
        ("careful", ([0], [4, 5], [8, 9]), [6]),  # then that of the next to move
        ("careful", ([0], [4], [8, 9]), [10]),  # then that of the one after
        ("shirker", ([0], [4, 5], [8, 9]), [6]),
        ("shirker", ([0], [4], [8, 9]), [1, 2, 3, 5, 6, 7, 10, 11, 12, 13, 14, 15]),  # which the next must block
        ("solid", ([0], [4], [8]), [5, 6, 9, 10]),
        ("centre", ([0], [5, 6], [8]), [9, 10]),
    ],
)
def test_what_bots_do(bot, stones, cells) -> None:
    masks = jnp.array([sum(1 << cell for cell in own) for own in stones], jnp.int32)
    seen = SEE(GAME, TrioState(masks, jnp.arange(3, dtype=jnp.int32), jnp.int32(0)))
    bots = GAME.bots()
    row = bots.table_PJ[bots.names.index(bot)]
    logits_A = np.where(seen.legal_SA[0], SCORE(GAME, row, seen.features_SF[:1], seen.legal_SA[:1])[0][0], -np.inf)
    assert np.flatnonzero(logits_A == logits_A.max()).tolist() == cells


def test_four_in_a_row_of_five_by_five_keep_the_contract_and_other_sizes_are_refused() -> None:
    check_game(trio(size=5, length=4), worlds=4, games=1, eager=False)
    with pytest.raises(ConfigError, match="3x3 to 5x5"):
        trio(size=6)
    with pytest.raises(ConfigError, match="up to a whole row"):
        trio(size=3, length=4)


def test_a_scene_shows_whose_stone_lies_where_and_who_is_to_move() -> None:
    scene = GAME.scene(jax.tree.map(np.asarray, play(0, 5, 10, 1)[0]))
    stones = {body.name: body.side for body in scene.bodies if body.label}
    assert stones == {"X 0": 0, "X 1": 0, "O 5": 1, "Y 10": 2} and scene.caption == "O to move"
    assert GAME.scene(jax.tree.map(np.asarray, play(0, 5, 10, 1, 6, 15, 2)[0])).caption == "the end"
