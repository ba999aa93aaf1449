"""Phantom tic-tac-toe and Hex in the dark: rules by hand, what is seen, bots."""

from itertools import product

import numpy as np
import pytest
from by_hand import bot_choices, feature, mover, place, play, seen

from sparring.core.errors import ConfigError, GameError
from sparring.games.boards import unseen
from sparring.games.boards.unseen import Unseen, dark_hex, phantom_tic_tac_toe
from sparring.games.boards.winning import connections, lines, won_table

PHANTOM = {variant: phantom_tic_tac_toe(variant, "fixed") for variant in ("classical", "abrupt")}
HEX = {variant: dark_hex(variant, "fixed") for variant in ("classical", "abrupt")}


def known(game: Unseen, state: unseen.UnseenState, seat: int) -> str:
    """What a seat knows of the board: o own, x found, . unknown."""
    row_F = seen(game, state).features_SF[seat]
    own_A, found_A, unknown_A = (feature(game, row_F, name) for name in ("own", "found", "unknown"))
    assert (own_A + found_A + unknown_A == 1.0).all()
    return "".join("o" if own else "x" if found else "." for own, found in zip(own_A, found_A, strict=True))


@pytest.mark.parametrize("games", [PHANTOM, HEX])
def test_a_refused_move_shows_the_stone_and_is_tried_again_or_ends_the_turn(games) -> None:
    for variant, next_mover in (("classical", 1), ("abrupt", 0)):
        game = games[variant]
        state, step = play(game, 4, 4)
        assert not step.over and mover(game, state) == next_mover
        assert known(game, state, 1) == "....x...." and known(game, state, 0) == "....o...."
        assert state.own_S.tolist() == [1 << 4, 0]
        shown = seen(game, state)
        assert shown.legal_SA[next_mover].tolist() == [cell != 4 for cell in range(9)]
        assert shown.legal_SA[1 - next_mover].tolist() == [cell == 0 for cell in range(9)]


def test_nobody_learns_what_the_other_tried_or_placed() -> None:
    """The first sees the same whether the second was refused twice, once or not at all."""
    game = PHANTOM["classical"]
    (one, _), (two, _), (three, _) = (play(game, 4, 0, 8, *tries) for tries in ((1,), (4, 1), (4, 8, 1)))
    rows = [seen(game, state).features_SF[0] for state in (one, two, three)]
    assert (rows[0] == rows[1]).all() and (rows[0] == rows[2]).all()
    assert known(game, three, 1) == "oo..x...x"


def test_tries_are_counted_refused_ones_too() -> None:
    game = PHANTOM["classical"]
    state, _ = play(game, 4, 4, 0)
    assert [feature(game, row_F, "tried").argmax() for row_F in seen(game, state).features_SF] == [1, 2]


@pytest.mark.parametrize("variant", ["classical", "abrupt"])
def test_three_in_a_row_win_and_a_full_board_is_drawn(variant: str) -> None:
    game = PHANTOM[variant]
    _, step = play(game, 0, 3, 1, 4, 2)
    assert step.over and step.reward_S.tolist() == [1.0, -1.0] and step.outcome_K.tolist() == [1.0, -1.0]
    state, step = play(game, 8, 2, 7, 4, 0, 6)
    assert step.over and step.reward_S.tolist() == [-1.0, 1.0]
    assert not seen(game, state).acting_S.any()
    # X O X / X O O / O X X
    _, step = play(game, 0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert step.over and step.reward_S.tolist() == [0.0, 0.0]


def test_the_longest_game_tries_every_cell_but_the_last_twice() -> None:
    """X O X / X O O / O X X again, each player refused wherever the other stands."""
    game = PHANTOM["classical"]
    state, step = play(game, 0, 0, 1, 1, 2, 2, 4, 4, 3, 3, 5, 5, 7, 7, 6, 6, 8)
    assert step.over and game.spec.longest == 17
    assert state.found_S.tolist() == [0b001110010, 0b010001101]


def test_lines_are_the_eight_of_tic_tac_toe() -> None:
    rows, columns = [[0, 1, 2], [3, 4, 5], [6, 7, 8]], [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    expected = {sum(1 << cell for cell in line) for line in (*rows, *columns, [0, 4, 8], [2, 4, 6])}
    assert set(lines(3, 3, 3)) == expected and len(lines(3, 3, 3)) == 8
    assert len(lines(6, 7, 4)) == 69


@pytest.mark.parametrize("variant", ["classical", "abrupt"])
def test_in_hex_the_first_joins_top_and_bottom_and_the_second_left_and_right(variant: str) -> None:
    """Cells 2, 4, 6 join both pairs of edges, each by two steps down and to the left."""
    game = HEX[variant]
    _, step = play(game, 2, 0, 4, 1, 6)
    assert step.over and step.reward_S.tolist() == [1.0, -1.0]
    _, step = play(game, 0, 2, 1, 4, 3, 6)
    assert step.over and step.reward_S.tolist() == [-1.0, 1.0]
    state, step = play(game, 0, 6, 1, 7, 2)  # a whole row is nothing to the first
    assert not step.over and mover(game, state) == 1
    assert place(game, state, 8)[1].reward_S.tolist() == [-1.0, 1.0]  # and wins for the second
    assert not play(game, 1, 0, 2, 3, 5, 6)[1].over  # to whom a whole column is nothing


def test_the_other_diagonal_joins_nothing_in_hex() -> None:
    first_X, second_X = (won_table(sets, 9) for sets in connections(3, 3))
    down_right = 1 << 0 | 1 << 4 | 1 << 8
    assert not first_X[down_right] and not second_X[down_right]
    assert first_X[down_right | 1 << 1 | 1 << 5]  # 0 and 1 are beside each other, 1 is above 4, 4 beside 5, 5 above 8


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 3), (3, 3)])
def test_on_a_full_board_of_hex_exactly_one_has_won(rows: int, columns: int) -> None:
    first_X, second_X = (won_table(sets, rows * columns) for sets in connections(rows, columns))
    assert (first_X != second_X[::-1]).all()  # the second has the cells that the first has not


def test_positions_decide_who_joins_what_where_they_are_random() -> None:
    game = dark_hex()
    begun = {}
    for seed in range(8):
        state, step = play(game, 2, 0, 4, 1, 6, seed=seed)
        begun[int(np.argmax(state.position_S == 0))] = step.reward_S.tolist()
    assert begun == {0: [1.0, -1.0], 1: [-1.0, 1.0]}


def test_options_that_make_no_game_are_refused() -> None:
    with pytest.raises(ConfigError, match="variant is 'classical' or 'abrupt', found 'gentle'"):
        phantom_tic_tac_toe("gentle")
    with pytest.raises(ConfigError, match="at most 9 cells, found 3 x 4"):
        dark_hex(rows=3, columns=4)
    with pytest.raises(ConfigError, match="positions is 'random' or 'fixed'"):
        dark_hex(positions="first")


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(GameError, match=r"expected \[R, 108\] as of phantom_ttt, found \(2, 162\)"):
        unseen.from_open_spiel(phantom_tic_tac_toe(), np.zeros((2, 162)), np.zeros(2))


def test_bots_sweep_keep_to_the_middle_and_build_where_they_know_of_nobody() -> None:
    game = PHANTOM["classical"]
    assert bot_choices(game, "centre", play(game)[0]) == [4] and bot_choices(game, "sweep", play(game)[0]) == [0]
    state, _ = play(game, 4, 8, 0)
    assert bot_choices(game, "builder", state) == [4]  # the second has 8 and knows nothing of 4
    state, _ = place(game, state, 4)
    assert bot_choices(game, "builder", state) == [5, 7]  # now it does: corners are farther from the middle
    assert bot_choices(game, "sweep", state) == [0]


def test_a_blocker_stands_between_stones_it_has_found_unless_it_can_win() -> None:
    game = PHANTOM["classical"]
    state, _ = play(game, 0, 3, 1, 0, 1)  # the second has 3 and has found 0 and 1
    assert bot_choices(game, "blocker", state) == [2] and bot_choices(game, "builder", state) == [4]
    state, _ = play(game, 0, 4, 1, 0, 1, 3, 8)  # and here 3 and 4: both would fill the row at 5
    assert bot_choices(game, "blocker", state) == [5] == bot_choices(game, "builder", state)


def test_in_hex_a_second_builds_from_left_to_right() -> None:
    """It has 3 and has found 4: of the smallest sets only 3, 1, 2 holds its stone and no other's; 1 is nearer the
    middle."""
    game = HEX["classical"]
    state, _ = play(game, 4, 4, 3, 0)
    assert bot_choices(game, "builder", state) == [1]


@pytest.mark.parametrize("game", [phantom_tic_tac_toe(), dark_hex(rows=2, columns=3)])
def test_a_scene_shows_all_stones_and_marks_those_that_were_found(game: Unseen) -> None:
    state, _ = play(game, 4, 4)
    scene = game.scene(state)
    stone, mark = (body for body in scene.bodies if body.side >= 0)
    assert stone.label == "X" and mark.shape == "mark" and stone.side != mark.side
    assert np.hypot(*np.subtract(stone.at, mark.at)) < 0.6 and scene.caption == "O to move"
    assert len({body.at for body in scene.bodies}) == game.cells + 1  # every cell has a place of its own
    for body, axis in product(scene.bodies, range(2)):
        assert scene.low[axis] < body.at[axis] < scene.high[axis]
