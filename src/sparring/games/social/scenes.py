"""A grid as a viewer draws it, up upwards. States are NumPy's here, typed as in play."""

from collections.abc import Sequence

from jax import Array

from sparring.core.scene import Body, Point, Scene, Wall
from sparring.core.spec import GameSpec


def grid_scene(
    spec: GameSpec, cell_S: Array, present_S: Array, fixed: Sequence[Body], size: int, caption: str,
    walls: Sequence[Wall] = (),
) -> Scene:  # fmt: skip
    """Every seat as a disc of its side, over what stands still; seats that share a cell stand a little apart."""
    seats = []
    for s, (name, side) in enumerate(zip(spec.seat_names, spec.side_of_seat, strict=True)):
        x, y = place(int(cell_S[s]), size)
        aside = 0.2 * ((s + 0.5) / spec.seats - 0.5)
        seats.append(Body(name=name, at=(x + aside, y + aside), side=side, size=0.3, gone=not bool(present_S[s])))
    edge = size - 0.5
    return Scene(bodies=(*fixed, *seats), walls=tuple(walls), low=(-0.5, -0.5), high=(edge, edge), caption=caption)


def pieces(name: str, cells: Array, size: int, radius: float, *, label: str = "") -> list[Body]:
    """Objects that are still there."""
    return [
        Body(name=f"{name}_{e}", at=place(int(cell), size), size=radius, label=label)
        for e, cell in enumerate(cells)
        if cell >= 0
    ]


def walls(cells: Array, size: int) -> list[Wall]:
    """Blocked cells, each of its own."""
    corners = [place(int(cell), size) for cell in cells if cell >= 0]
    return [Wall((x - 0.5, y - 0.5), (x + 0.5, y + 0.5)) for x, y in corners]


def place(cell: int, size: int) -> Point:
    return (float(cell % size), float(size - 1 - cell // size))
