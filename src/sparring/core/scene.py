"""What a viewer draws of one moment of a game: plain data, without arrays, so that a replay is a file of JSON."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

Point = tuple[float, ...]
"""Two or three coordinates, in the game's own units; the third is height."""


@dataclass(frozen=True, kw_only=True)
class Body:
    name: str
    at: Point
    side: int = -1
    """Whose it is; -1: nobody's, such as a landmark."""
    shape: Literal["disc", "aircraft", "missile", "mark"] = "disc"
    towards: Point | None = None
    """Unit vector of where it points."""
    up: Point | None = None
    """Unit vector of what it holds up, such as the lift of a banked aircraft."""
    size: float = 1.0
    """Radius, in the game's units."""
    level: float = 1.0
    """What is left of it, from 0 to 1: health, fuel."""
    gone: bool = False
    """It has left the game; a viewer draws it faintly."""
    zone: Point = ()
    """How far its weapon reaches along where it points, and how wide the zone is there to either side; empty: none."""
    remark: str = ""
    """A few words for its card, such as speed and load."""
    label: str = ""
    """One to three letters in the middle of a disc, such as a kind of unit."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A segment between two points, such as a shot."""

    start: Point
    end: Point
    side: int = -1


@dataclass(frozen=True)
class Wall:
    """A rectangle in the plane that nobody enters, between two opposite corners."""

    low: Point
    high: Point


@dataclass(frozen=True, kw_only=True)
class Scene:
    bodies: tuple[Body, ...]
    lines: tuple[Line, ...] = ()
    walls: tuple[Wall, ...] = ()
    low: Point = (-1.0, -1.0)
    """A corner of what is worth showing; a viewer may follow the bodies instead."""
    high: Point = (1.0, 1.0)
    caption: str = ""


def walls_of(blocked: Iterable[Iterable[Any]], *, cell: float = 1.0, corner: Point = (0.0, 0.0)) -> tuple[Wall, ...]:
    """A grid of what is blocked (rows of flags, lists or arrays) as few rectangles.

    Row 0 is the lowest, and column 0 is to the left: the cell in both begins at `corner`. A game that counts rows
    downwards gives them reversed.
    """

    def at(column: int, row: int) -> Point:
        return corner[0] + column * cell, corner[1] + row * cell

    walls: list[Wall] = []
    growing: dict[tuple[int, int], int] = {}
    for number, row in enumerate((*blocked, ())):
        runs = set(_runs(row))
        ended = sorted(run for run in growing if run not in runs)
        walls += [Wall(at(first, growing[first, end]), at(end, number)) for first, end in ended]
        growing = {run: growing.get(run, number) for run in runs}
    return tuple(walls)


def _runs(row: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """First blocked cell and first free one after it, of each run in a row."""
    begin = 0
    for filled, cells in groupby(map(bool, row)):
        end = begin + len(list(cells))
        if filled:
            yield begin, end
        begin = end
