"""The ground of the maps, and the way round its corners: tables that are made once, before any game.

Levels are the cliff layer of SMAC's map archives, less its rim: a cliff takes up the cells along its foot, which the
archives mark as such, and slanting edges are cut by the same distance. So the neck of corridor is two cells wide, and
three zealots abreast close it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from sparring.core.errors import ConfigError, unknown

SIZE = 32
"""Cells along each side of every map; cell (x, y) is the square from (x, y) to (x + 1, y + 1)."""
LOW, HIGH = 64.0, 128.0
BLOCKED = -1000.0
CLIMB = 32.0
"""Greatest difference of level between neighbouring cells that a unit on foot crosses: ramps rise by 8, 16, 16 and 24,
cliffs by 40 or 64."""
CLIMB_COLOSSUS = 200.0
"""It walks over every cliff, but not over the edge of the ground."""

_CORRIDOR = """
################################
###################............#
##################.............#
#################..............#
################...............#
###############................#
##############.................#
#############..................#
############...................#
###########....................#
###########....................#
###########....................#
###########....................#
###########....................#
###########....................#
############..................##
############.................###
###########.................####
##########.................#####
#...............################
#..............#################
#.............##################
#............###################
#............###################
#............###################
#............###################
#............###################
#............###################
#.............##################
#..............#################
#..............#################
################################
"""

_SO_MANY_BANELING = """
################################
#####################..........#
####################...........#
###################............#
###################............#
###################............#
##################.............#
###############................#
##############.................#
#############..................#
#############..................#
#############...............####
############...............#####
#########..................#####
########...................#####
#######...............##########
#######..............###########
#######..............###########
######...............###########
###..................###########
###..................###########
###...............##############
##...............###############
#................###############
#................###############
#.............##################
#............###################
#............###################
#............###################
#.........######################
#........#######################
################################
"""
"""Pictures: the top row is y = 31, a dot is not blocked."""

_RUNS = {
    "open": [(0, 31, 0, 31)],
    "band": [(7, 24, 0, 31)],
    "small_octagon": [(7, 20, 9, 20), (8, 19, 8, 21), (9, 18, 7, 22)],
    "octagon": [(5, 26, 9, 22), (6, 25, 8, 23), (7, 24, 7, 24), (8, 23, 6, 25), (9, 22, 5, 26)],
    "pen": [(7, 20, 7, 20), (21, 21, 8, 19), (22, 22, 9, 18), (23, 23, 10, 17), (24, 24, 11, 16)],
    "plateau": [(5, 20, 3, 28), (6, 19, 2, 29), (7, 18, 1, 30), (8, 17, 0, 31)],
}
"""First and last row, first and last column of rectangles that are not blocked; what they overlap counts once."""
_PICTURES = {"corridor": _CORRIDOR, "so_many_baneling": _SO_MANY_BANELING}
GROUNDS = (*_RUNS, *_PICTURES)


@dataclass(frozen=True)
class Ground:
    """Cells are numbered y * SIZE + x (G of them), those that can be walked on from 0 to Q - 1 in the same order."""

    level_G: np.ndarray
    """float32; BLOCKED where nobody walks."""
    spot_G: np.ndarray | None
    """int16: the number of the cell among those that can be walked on. A blocked cell has that of a nearest one, so
    every look-up is good."""
    waypoint_QQ: np.ndarray | None
    """int16: the cell whose middle to head for on the shortest way on foot from the first cell to the second; it is the
    second itself where nothing is between them. Both tables are None where that is so everywhere."""


@cache
def levels(name: str) -> np.ndarray:
    """float32 [SIZE, SIZE], indexed [y, x]: LOW where one walks, up to HIGH on the plateau, else BLOCKED."""
    level_YX = np.where(_inside(cliffs(name) > BLOCKED), cliffs(name), np.float32(BLOCKED))
    level_YX.flags.writeable = False
    return level_YX


def _inside(open_YX: np.ndarray) -> np.ndarray:
    """Cells that touch no cliff. The edge of the map is none."""
    padded_YX = np.pad(open_YX, 1, mode="edge")
    return np.logical_and.reduce(np.lib.stride_tricks.sliding_window_view(padded_YX, (3, 3)), axis=(2, 3))


@cache
def cliffs(name: str) -> np.ndarray:
    """As `levels`, with the rim: the layer as it is in the archives."""
    if name not in GROUNDS:
        raise ConfigError(unknown("ground", name, GROUNDS))
    level_YX = np.full((SIZE, SIZE), BLOCKED, np.float32)
    for bottom, top, left, right in _RUNS.get(name, ()):
        level_YX[bottom : top + 1, left : right + 1] = LOW
    if name in _PICTURES:
        rows = _PICTURES[name].split()
        level_YX[np.array([[mark == "." for mark in row] for row in reversed(rows)])] = LOW
    if name == "plateau":
        level_YX[13:21, 7:25] = HIGH
        ramp = [LOW + 8, LOW + 24, LOW + 40]
        level_YX[13:19, 4:7] = ramp
        level_YX[13:19, 25:28] = ramp[::-1]
    level_YX.flags.writeable = False
    return level_YX


@cache
def ground(name: str) -> Ground:
    """Everything that movement needs. It takes about a second where the ground has corners to go round."""
    level_YX = levels(name)
    cell_Q = np.flatnonzero(level_YX > BLOCKED)
    if _convex(level_YX):
        return Ground(level_YX.ravel(), None, None)
    clear_QQ = _clear(level_YX)[np.ix_(cell_Q, cell_Q)]
    middle_Q2 = np.stack(np.divmod(cell_Q, SIZE), -1)
    apart_QQ = np.linalg.norm(middle_Q2[:, None] - middle_Q2, axis=-1)
    next_QQ = np.where(clear_QQ, np.arange(len(cell_Q)), _first_stops(np.where(clear_QQ, apart_QQ, np.inf)))
    return Ground(level_YX.ravel(), _nearest(cell_Q), cell_Q[next_QQ].astype(np.int16))


def _first_stops(length_QQ: np.ndarray) -> np.ndarray:
    """The first stop on the shortest way from one node to another, where it has any."""
    from scipy.sparse.csgraph import floyd_warshall  # not at the top: listing maps loads this module

    _, before_QQ = floyd_warshall(length_QQ, directed=False, return_predecessors=True)
    return before_QQ.T  # lengths are the same both ways, so the last stop before q, coming from r, is the first from q


def _convex(level_YX: np.ndarray) -> bool:
    """Whether one can walk straight from anywhere to anywhere, sliding along the steps of slanting edges at most: no
    cliffs, and no blocked cell has its middle inside the hull of the middles of the others."""
    from scipy.spatial import ConvexHull

    walkable_YX = level_YX > BLOCKED
    hull = ConvexHull(np.argwhere(walkable_YX))
    outside_GE = np.argwhere(~walkable_YX) @ hull.equations[:, :2].T + hull.equations[:, 2] > 1e-6
    return bool(outside_GE.any(1).all()) and np.ptp(level_YX[walkable_YX]) == 0


def _nearest(cell_Q: np.ndarray) -> np.ndarray:
    """spot_G of `Ground`."""
    row_G, column_G = np.divmod(np.arange(SIZE * SIZE), SIZE)
    row_Q, column_Q = np.divmod(cell_Q, SIZE)
    apart_GQ = (row_G[:, None] - row_Q) ** 2 + (column_G[:, None] - column_Q) ** 2
    return apart_GQ.argmin(1).astype(np.int16)


def _clear(level_YX: np.ndarray) -> np.ndarray:
    """[G, G]: whether every straight line from a point of one cell to a point of the other can be walked.

    The lines fill the convex hull of the two squares. Which cells a hull enters depends only on how far apart the
    squares lie, so each distance is settled for all pairs at once, a bit a cell: no two neighbouring cells of the hull
    may differ by more than CLIMB.
    """
    walkable = _bits(level_YX > BLOCKED)
    up = _bits(np.abs(np.diff(level_YX, axis=0)) <= CLIMB)
    right = _bits(np.abs(np.diff(level_YX, axis=1)) <= CLIMB)
    clear_GG = np.zeros((SIZE * SIZE, SIZE * SIZE), bool)
    for east, north in product(range(1 - SIZE, SIZE), range(SIZE)):
        clear = walkable
        entered = set(_entered(east, north))
        for x, y in entered:
            if (x, y + 1) in entered:
                clear &= _shifted(up, x, y)
            if (x + 1, y) in entered:
                clear &= _shifted(right, x, y)
        here = _cells(clear)
        clear_GG[here, here + north * SIZE + east] = True
    return clear_GG | clear_GG.T


def _bits(flag_YX: np.ndarray) -> int:
    """Flags as the bits of one number, rows twice as wide as the map: what is shifted off the map comes to nothing."""
    padded_YX = np.zeros((SIZE, 2 * SIZE), bool)
    padded_YX[: flag_YX.shape[0], : flag_YX.shape[1]] = flag_YX
    return int.from_bytes(np.packbits(padded_YX, bitorder="little").tobytes(), "little")


def _shifted(bits: int, x: int, y: int) -> int:
    """For every cell the flag of the one that lies x to the east and y to the north of it."""
    by = y * 2 * SIZE + x
    return bits >> by if by >= 0 else bits << -by


def _cells(bits: int) -> np.ndarray:
    """The numbers of the cells that are flagged."""
    packed = np.frombuffer(bits.to_bytes(SIZE * 2 * SIZE // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little").reshape(SIZE, 2 * SIZE)[:, :SIZE])


def _entered(east: int, north: int) -> Iterator[tuple[int, int]]:
    """Cells that the hull of cell (0, 0) and cell (east, north) enters. The hull is the band of all points whose offset
    across the line between the middles is at most that of a square's corners, within the box of both squares."""
    width = max(abs(east) + abs(north), 1)  # of the band and of a cell alike, times the line's length: all is whole
    for x, y in product(range(min(0, east), max(0, east) + 1), range(north + 1)):
        if abs(x * north - y * east) < width:
            yield x, y
