"""Grids of what is blocked as walls."""

import numpy as np

from sparring.core.scene import Wall, walls_of

ROOM = (
    (1, 1, 1, 1),
    (1, 0, 0, 1),
    (1, 0, 1, 1),
    (1, 0, 1, 1),
    (1, 1, 1, 1),
)
"""Row 0 is the lowest."""


def covered(walls: tuple[Wall, ...], rows: int, columns: int) -> np.ndarray:
    """How many walls cover each cell of a grid of unit cells."""
    count = np.zeros((rows, columns), int)
    for wall in walls:
        (left, bottom), (right, top) = wall.low, wall.high
        count[int(bottom) : int(top), int(left) : int(right)] += 1
    return count


def test_runs_are_merged_in_rows_and_equal_runs_over_rows() -> None:
    # The floor; beside the free cells the left wall of three rows, one cell to the right, then two of two; the roof.
    assert walls_of(ROOM) == (
        Wall((0.0, 0.0), (4.0, 1.0)),
        Wall((3.0, 1.0), (4.0, 2.0)),
        Wall((0.0, 1.0), (1.0, 4.0)),
        Wall((2.0, 2.0), (4.0, 4.0)),
        Wall((0.0, 4.0), (4.0, 5.0)),
    )


def test_every_blocked_cell_is_covered_once_and_no_other() -> None:
    for seed in range(20):
        blocked = np.random.default_rng(seed).random((7, 9)) < 0.6
        assert np.array_equal(covered(walls_of(blocked), 7, 9), blocked)


def test_cells_have_a_size_and_begin_at_a_corner() -> None:
    assert walls_of([[False, True]], cell=0.5, corner=(-1.0, 2.0)) == (Wall((-0.5, 2.0), (0.0, 2.5)),)


def test_nothing_blocked_is_no_wall() -> None:
    assert walls_of([[0, 0], [0, 0]]) == walls_of([]) == ()
