"""Grids: walls never part the free cells, everything has a cell of its own, and ways round walls are shortest."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meadow import masked_logits, rows

from sparring.core.errors import ConfigError
from sparring.games.social import grid
from sparring.games.social.stag_hunt import StagHuntState, stag_hunt
from toy_players import quick


def distances(goals: set[int], walls: set[int], size: int) -> dict[int, int]:
    """Moves from every cell that can be reached to the nearest goal, by breadth first search."""
    found, queue = dict.fromkeys(goals, 0), deque(goals)
    while queue:
        cell = queue.popleft()
        r, c = divmod(cell, size)
        for row, column in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
            beside = row * size + column
            if 0 <= row < size and 0 <= column < size and beside not in walls and beside not in found:
                found[beside] = found[cell] + 1
                queue.append(beside)
    return found


@pytest.mark.parametrize(("size", "walls", "usual"), [(4, 9, 4.5), (5, 5, 3.5), (8, 5, 4.3)])
def test_walls_never_part_the_free_cells_and_everything_has_a_cell_of_its_own(
    size: int, walls: int, usual: float
) -> None:
    draw = quick(jax.vmap(lambda number_E: grid.build_walls(number_E, size)))
    wall_WE = np.asarray(draw(jax.random.uniform(jax.random.key(0), (400, walls))))
    count_W = (wall_WE >= 0).sum(axis=1)
    assert count_W.mean() > usual
    put = quick(jax.vmap(lambda number_E, wall_E: grid.scatter(number_E, wall_E, size)))
    cell_WE = np.asarray(put(jax.random.uniform(jax.random.key(1), (400, 7)), jnp.asarray(wall_WE)))
    for wall_E, cell_E in zip(wall_WE, cell_WE, strict=True):
        built = {int(cell) for cell in wall_E if cell >= 0}
        free = set(range(size * size)) - built
        assert len(built) == (wall_E >= 0).sum()
        assert len(distances({min(free)}, built, size)) == len(free)
        assert len(set(cell_E.tolist())) == 7 and set(cell_E.tolist()) <= free


def test_every_free_cell_is_drawn_alike_whatever_is_taken() -> None:
    """The third of three objects on 16 cells with walls on 0 and 5: 14 free cells, 571 draws expected on each of 8,000,
    with a deviation of 23."""
    put = quick(jax.vmap(lambda number_E: grid.scatter(number_E, jnp.array([5, -1, 0]), 4)))
    cell_WE = np.asarray(put(jax.random.uniform(jax.random.key(0), (8000, 3))))
    for e in range(3):
        count_C = np.bincount(cell_WE[:, e], minlength=16)
        assert count_C[[0, 5]].sum() == 0
        assert abs(np.delete(count_C, [0, 5]) - 8000 / 14).max() < 5 * 23


@pytest.mark.parametrize(("size", "view"), [(4, "places"), (5, "planes"), (8, "places"), (8, "planes"), (17, "places")])
def test_bots_begin_every_shortest_way_round_walls_and_no_other(size: int, view) -> None:
    game = stag_hunt(size=size, hunters=2, walls=7, view=view)
    row_SJ = rows(game, ["nearest_hare", "nearest_hare"])
    starts = quick(jax.vmap(game.start))(jax.random.split(jax.random.key(1), 60))
    chosen_WSA = np.asarray(quick(jax.vmap(lambda state: masked_logits(game, row_SJ, state)))(starts)) > 15.0
    round_about = 0
    for state, chosen_SA in zip(unstack(starts, 60), chosen_WSA, strict=True):
        walls, hares = set(state.wall_E.tolist()), set(state.hare_E.tolist())
        away = distances(hares, walls, size)
        for cell, chosen_A in zip(state.cell_S.tolist(), chosen_SA, strict=True):
            moves = [cell + delta for delta in grid.deltas(size)]
            inside = [cell >= size, cell < size * size - size, cell % size > 0, cell % size < size - 1]
            nearer = [ok and away.get(to, 999) == away[cell] - 1 for ok, to in zip(inside, moves, strict=True)]
            assert chosen_A.tolist() == [*nearer, False, False, False]
            straight = min(abs(cell // size - h // size) + abs(cell % size - h % size) for h in hares)
            round_about += away[cell] > straight
    assert round_about > 0 or size == 17  # walls stood in somebody's way


def unstack(starts: StagHuntState, count: int) -> list[StagHuntState]:
    return [jax.tree.map(lambda x, w=w: np.asarray(x)[w], starts) for w in range(count)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 3}, "4x4 to 32x32"),
        ({"hunters": 9}, "2 to 8"),
        ({"stags": 3}, "1 or 2 stags"),
        ({"walls": -1}, "found stags=1, hares=4, walls=-1"),
        ({"size": 4, "hunters": 8}, "8 players and 10 of stags, hares and walls on 16 cells"),
        ({"view": "pixels"}, "'places' or 'planes'"),
    ],
)
def test_a_grid_without_room_is_refused(options: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        stag_hunt(**options)
