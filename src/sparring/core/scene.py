"""What a viewer draws of one moment of a game: plain data, without arrays, so that a replay is a file of JSON."""

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, kw_only=True)
class Line:
    """A segment between two points, such as a shot."""

    start: Point
    end: Point
    side: int = -1


@dataclass(frozen=True, kw_only=True)
class Scene:
    bodies: tuple[Body, ...]
    lines: tuple[Line, ...] = ()
    low: Point = (-1.0, -1.0)
    """A corner of what is worth showing; a viewer may follow the bodies instead."""
    high: Point = (1.0, 1.0)
    caption: str = ""
