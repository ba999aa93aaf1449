"""Boards as a viewer draws them. States are NumPy's here, typed as in play."""

from collections.abc import Iterable
from typing import Any

from jax import Array

from sparring.core.scene import Body, Point, Scene

LETTERS = "XOY"
"""Of the first, the second and the third to move."""


def board_scene(
    own_S: Iterable[Any], position_S: Array, turn: Array, rows: int, columns: int, *, slant: float = 0.0,
    found_S: Iterable[Any] = (), upwards: bool = False,
) -> Scene:  # fmt: skip
    """Stones with the letter of their player, given as bits, and free cells as small discs; a stone that the other of
    two has found has a mark beside it. Row 0 is on top, or upwards the lowest; on a slanted board each row begins
    further to the right than the one before."""

    def at(cell: int) -> Point:
        row, column = divmod(cell, columns)
        return column + slant * row, float(row if upwards else rows - 1 - row)

    own, found = [int(mask) for mask in own_S], [int(mask) for mask in found_S]
    bodies = []
    for cell in range(rows * columns):
        holder = next((seat for seat in range(len(own)) if own[seat] >> cell & 1), None)
        if holder is None:
            bodies.append(Body(name=f"cell {cell}", at=at(cell), size=0.08))
            continue
        letter, (x, y) = LETTERS[int(position_S[holder])], at(cell)
        bodies.append(Body(name=f"{letter} {cell}", at=(x, y), side=holder, size=0.36, label=letter))
        if found and found[1 - holder] >> cell & 1:
            mark = (x + 0.36, y - 0.36)
            bodies.append(Body(name=f"{letter} {cell} found", at=mark, side=1 - holder, size=0.1, shape="mark"))
    caption = "the end" if int(turn) >= len(own) else f"{LETTERS[int(turn)]} to move"
    high = (columns - 0.5 + slant * (rows - 1), rows - 0.5)
    return Scene(bodies=tuple(bodies), low=(-0.5, -0.5), high=high, caption=caption)
