"""Which sets of cells win, as bits of whole numbers: lines of a board, and connections in Hex. NumPy: constants."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np


@lru_cache
def lines(rows: int, columns: int, length: int) -> tuple[int, ...]:
    """All straight lines of so many cells, along rows, columns and diagonals; cell = row x columns + column."""
    found = []
    for row, column, (down, right) in product(range(rows), range(columns), ((0, 1), (1, 0), (1, 1), (1, -1))):
        end_row, end_column = row + down * (length - 1), column + right * (length - 1)
        if end_row < rows and 0 <= end_column < columns:
            found.append(sum(1 << (row + down * i) * columns + column + right * i for i in range(length)))
    return tuple(found)


@lru_cache
def connections(rows: int, columns: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of a Hex board the smallest sets that win for the first, who joins the top and the bottom row, and for the
    second, who joins the left and the right column. A cell touches those beside it, above it, above and to the right,
    below, and below and to the left."""
    grid = np.arange(rows * columns).reshape(rows, columns)
    edges = ((grid[0], grid[-1]), (grid[:, 0], grid[:, -1]))
    return tuple(_smallest(_joined(rows, columns, *map(_bits, pair)), rows * columns) for pair in edges)  # pyright: ignore


def won_table(sets: Sequence[int], cells: int) -> np.ndarray:
    """Whether a set wins, for every set of cells: [2 ** cells]."""
    mask_X, set_Z = np.arange(1 << cells)[:, None], np.array(sets)
    return (mask_X & set_Z == set_Z).any(axis=1)


def _joined(rows: int, columns: int, begin: int, end: int) -> np.ndarray:
    """Whether stones on a set of cells join two edges, for every set of cells."""
    mask_X = np.arange(1 << rows * columns)
    reached_X = mask_X & begin
    for _ in range(rows * columns):
        touched_X = np.zeros_like(mask_X)
        for cell, neighbours in enumerate(_neighbours(rows, columns)):
            touched_X |= np.where(reached_X >> cell & 1, neighbours, 0)
        reached_X |= touched_X & mask_X
    return reached_X & end > 0


def _neighbours(rows: int, columns: int) -> list[int]:
    ways = ((0, 1), (0, -1), (-1, 0), (-1, 1), (1, 0), (1, -1))
    return [
        _bits(
            np.array(
                [
                    (row + down) * columns + column + right
                    for down, right in ways
                    if 0 <= row + down < rows and 0 <= column + right < columns
                ]
            )
        )
        for row, column in product(range(rows), range(columns))
    ]


def _smallest(won_X: np.ndarray, cells: int) -> tuple[int, ...]:
    """The sets that win and would not without any one of their cells."""
    mask_X = np.arange(1 << cells)
    needs_all_X = won_X.copy()
    for cell in range(cells):
        bit = 1 << cell
        needs_all_X &= ~((mask_X & bit > 0) & won_X[mask_X & ~bit])
    return tuple(int(mask) for mask in np.flatnonzero(needs_all_X))


def _bits(cells: np.ndarray) -> int:
    return int(np.bitwise_or.reduce(np.left_shift(1, cells)))
