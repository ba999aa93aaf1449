"""The 23 battles of SMAC: who fights whom, from where, for how long, on what ground. Loads no JAX."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from sparring.core.errors import GameError
from sparring.games.skirmish.terrain import CLIMB, SIZE, levels
from sparring.games.skirmish.units import KINDS

Point = tuple[float, float]
MIDDLE = SIZE / 2
"""Of the map, on both axes. Points of this file are map coordinates, from 0 to SIZE; `spawn` counts from the middle."""
GAP = 0.0625
"""Between units that stand side by side at the start, in cells."""
FILES = 8
"""How many cells a formation may reach to each side of its point."""
GRAIN = 64
"""Starting places are whole multiples of 1 / GRAIN, so a mirror image is exact."""

MIXTURES: dict[str, tuple[tuple[str, float], ...]] = {
    "terran": (("marauder", 0.45), ("marine", 0.45), ("medivac", 0.1)),
    "protoss": (("colossus", 0.1), ("stalker", 0.45), ("zealot", 0.45)),
    "zerg": (("baneling", 0.1), ("hydralisk", 0.45), ("zergling", 0.45)),
}
"""Chance of each kind where a battle draws its units, as in SMACv2's configurations."""
NEVER_ALONE = ("medivac", "baneling")
"""Kinds that do not make up a whole drawn army in SMACv2."""


@dataclass(frozen=True)
class Group:
    """Units of one kind that appear together round a point."""

    kind: str
    count: int
    at: Point


@dataclass(frozen=True, kw_only=True)
class BattleMap:
    """One battle. Units are numbered in the order of the groups, kinds in the order of SMAC's agents, enemies too."""

    name: str
    allies: tuple[Group, ...]
    enemies: tuple[Group, ...]
    limit: int
    """Steps until time is up."""
    ground: str
    """Name of a grid in `terrain`."""
    goal: Point | tuple[Point, Point] | Literal["allies"] | None
    """Where scripted enemies march and attack: a point, a random one between two, wherever the allies are, or they have
    no order."""

    @property
    def mirror(self) -> Literal["x", "y"]:
        """The axis on which the second side sees the map mirrored: that along which the armies are farther apart."""
        east, north = self.facing
        return "x" if abs(east) > abs(north) else "y"

    def frame(self, side: int) -> np.ndarray:
        """float32 [2]: signs that turn places and directions of the map into those that a side sees, and back."""
        return np.array([-1.0 if side == 1 and self.mirror == axis else 1.0 for axis in "xy"], np.float32)

    @property
    def facing(self) -> Point:
        """Unit vector from the allies to the enemies."""
        line = _centre(self.enemies) - _centre(self.allies)
        east, north = line / np.hypot(*line)
        return float(east), float(north)

    @property
    def even(self) -> bool:
        """Whether both armies are alike."""
        count = [[(group.kind, group.count) for group in side] for side in (self.allies, self.enemies)]
        return count[0] == count[1]

    @property
    def description(self) -> str:
        return f"{_in_words(self.allies)} against {_in_words(self.enemies)}"

    def kinds(self, side: int) -> tuple[str, ...]:
        """The kind of every unit of a side."""
        return tuple(group.kind for group in self.groups(side) for _ in range(group.count))

    def groups(self, side: int) -> tuple[Group, ...]:
        return (self.allies, self.enemies)[side]


def spawn(battle_map: BattleMap, side: int, *, room: float = 0.0) -> np.ndarray:
    """float32 [units, 2]: where the units of a side begin, counted from the middle of the map, in the order of `kinds`.

    The engine's packing is not in SMAC's map files; this one is ours. Groups that share a point stand in one formation
    of files along the line between the armies, cells nearest the point first, each kind symmetric about that line, on
    level ground. Flyers have a layer of their own. Units of a kind are in the order of x, then y, as SMAC's agents; of
    the second side, as it sees the mirrored map: so even armies are exact mirror images, unit by unit. `room` is a
    radius that must fit where units are drawn again.
    """
    place_of: dict[Group, np.ndarray] = {}
    for flies in (False, True):
        # Where kinds are drawn anybody may walk, so all share the ground.
        layer = [group for group in battle_map.groups(side) if (KINDS[group.kind].flies and not room) == flies]
        if not layer:
            continue
        apart = 2 * max([room, *(KINDS[group.kind].room for group in layer)]) + GAP
        standing: list[np.ndarray] = []
        for at in dict.fromkeys(group.at for group in layer):
            groups = [group for group in layer if group.at == at]
            paired = all(group.count % 2 == 0 for group in groups)
            free = [
                places
                for places in _lattice(battle_map, side, at, apart, paired)
                if all(math.dist(place, other) >= apart for place in places for other in standing)
            ]
            for group in groups:
                place_of[group] = _taken(free, group.count)
                if len(place_of[group]) < group.count:
                    raise GameError(
                        f"{battle_map.name} has no room for {group.count} units {apart:g} apart round {at}, only for "
                        f"{len(place_of[group])}. Give a smaller room."
                    )
                standing += list(place_of[group])
    in_order = [_in_order(place_of[group], battle_map, side) for group in battle_map.groups(side)]
    return np.concatenate(in_order).astype(np.float32)


def _lattice(battle_map: BattleMap, side: int, at: Point, apart: float, paired: bool) -> list[list[np.ndarray]]:
    """Cells round a point, nearest first, each with its mirror image if it has one; at equal distance the broader
    formation, then the one farther back. Where all come in pairs, no cell is on the line."""
    forward_2 = np.array(battle_map.facing) * (1 - 2 * side)
    lateral_2 = np.array([-forward_2[1], forward_2[0]])
    at_2 = np.round((np.array(at) - MIDDLE) * GRAIN) / GRAIN
    cells = [(ahead, abreast + paired / 2) for ahead in range(-FILES, FILES + 1) for abreast in range(FILES)]
    lattice = []
    for ahead, abreast in sorted(cells, key=lambda cell: (math.hypot(*cell), -cell[1], cell[0])):
        offsets = [ahead * forward_2 + beside * lateral_2 for beside in dict.fromkeys((-abreast, abreast))]
        places = [at_2 + np.round(apart * offset * GRAIN) / GRAIN for offset in offsets]
        if all(_level(battle_map.ground, place, at_2, apart / 2) for place in places):
            lattice.append(places)
    return lattice


def _taken(free: list[list[np.ndarray]], count: int) -> np.ndarray:
    """Takes the nearest free places out of the list; pairs only whole."""
    taken: list[np.ndarray] = []
    left = []
    for places in free:
        if len(taken) + len(places) <= count:
            taken += places
        else:
            left.append(places)
    free[:] = left
    return np.array(taken)


def _level(ground: str, place_2: np.ndarray, at_2: np.ndarray, room: float) -> bool:
    """Whether the square round the place is on the map and as high as the ground at the group's point."""
    corners = np.floor(place_2 + MIDDLE + np.array(list(product((-room, room), repeat=2)))).astype(int)
    if corners.min() < 0 or corners.max() >= SIZE:
        return False
    level_YX = levels(ground)
    east, north = np.floor(at_2 + MIDDLE).astype(int)
    return bool((np.abs(level_YX[corners[:, 1], corners[:, 0]] - level_YX[north, east]) <= CLIMB).all())


def _in_order(place_U2: np.ndarray, battle_map: BattleMap, side: int) -> np.ndarray:
    east_U, north_U = (place_U2 * battle_map.frame(side)).T
    return place_U2[np.lexsort((north_U, east_U))]


def _centre(groups: Iterable[Group]) -> np.ndarray:
    groups = tuple(groups)
    return np.average([group.at for group in groups], axis=0, weights=[group.count for group in groups])


def _in_words(groups: Iterable[Group]) -> str:
    """Like "2 stalkers and 3 zealots"."""
    counts: dict[str, int] = {}
    for group in groups:
        name = group.kind.removesuffix("_rl").replace("_", " ")
        counts[name] = counts.get(name, 0) + group.count
    words = [f"{count} {name if count == 1 else _plural(name)}" for name, count in counts.items()]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _plural(name: str) -> str:
    return "colossi" if name == "colossus" else f"{name}s"


def _facing(
    name: str, limit: int, allies: dict[str, int], enemies: dict[str, int] | None = None, ground: str = "band"
) -> BattleMap:
    """Armies west and east of the middle; those without other enemies meet their equals."""
    west, east = (9.0, 16.0), (23.0, 16.0)
    return BattleMap(
        name=name,
        allies=tuple(Group(kind, count, west) for kind, count in allies.items()),
        enemies=tuple(Group(kind, count, east) for kind, count in (enemies or allies).items()),
        limit=limit,
        ground=ground,
        goal=west,
    )


_ALL = (
    _facing("3m", 60, {"marine": 3}),
    _facing("8m", 120, {"marine": 8}),
    _facing("25m", 150, {"marine": 25}),
    _facing("5m_vs_6m", 70, {"marine": 5}, {"marine": 6}),
    _facing("8m_vs_9m", 120, {"marine": 8}, {"marine": 9}),
    _facing("10m_vs_11m", 150, {"marine": 10}, {"marine": 11}),
    _facing("27m_vs_30m", 180, {"marine": 27}, {"marine": 30}),
    _facing("MMM", 150, {"marauder": 2, "marine": 7, "medivac": 1}),
    _facing("MMM2", 180, {"marauder": 2, "marine": 7, "medivac": 1}, {"marauder": 3, "marine": 8, "medivac": 1}),
    _facing("2s3z", 120, {"stalker": 2, "zealot": 3}),
    _facing("3s5z", 150, {"stalker": 3, "zealot": 5}),
    _facing("3s5z_vs_3s6z", 170, {"stalker": 3, "zealot": 5}, {"stalker": 3, "zealot": 6}),
    _facing("3s_vs_3z", 150, {"stalker": 3}, {"zealot": 3}, "open"),
    _facing("3s_vs_4z", 200, {"stalker": 3}, {"zealot": 4}, "open"),
    _facing("3s_vs_5z", 250, {"stalker": 3}, {"zealot": 5}, "open"),
    _facing("1c3s5z", 180, {"colossus": 1, "stalker": 3, "zealot": 5}),
    BattleMap(
        name="2m_vs_1z",
        allies=(Group("marine", 1, (13.0, 12.0)), Group("marine", 1, (19.0, 12.0))),
        enemies=(Group("zealot", 1, (16.0, 19.0)),),
        limit=150,
        ground="octagon",
        goal=((13.0, 12.0), (19.0, 12.0)),
    ),
    BattleMap(
        name="corridor",
        allies=(Group("zealot", 6, (19.04, 19.12)),),
        enemies=(Group("zergling", 24, (27.91, 28.24)),),
        limit=400,
        ground="corridor",
        goal=(4.47, 4.33),
    ),
    BattleMap(
        name="6h_vs_8z",
        allies=(Group("hydralisk_rl", 6, (14.60, 9.49)),),
        enemies=(Group("zealot", 8, (14.41, 16.76)),),
        limit=150,
        ground="small_octagon",
        goal=(14.60, 9.49),
    ),
    BattleMap(
        name="2s_vs_1sc",
        allies=(Group("stalker", 1, (11.12, 10.34)), Group("stalker", 1, (16.98, 10.37))),
        enemies=(Group("spine_crawler", 1, (13.92, 20.04)),),
        limit=300,
        ground="pen",
        goal=None,
    ),
    BattleMap(
        name="so_many_baneling",
        allies=(Group("zealot", 7, (11.47, 12.02)),),
        enemies=(Group("baneling", 32, (27.91, 28.24)),),
        limit=100,
        ground="so_many_baneling",
        goal=(4.47, 4.33),
    ),
    BattleMap(
        name="bane_vs_bane",
        allies=(Group("baneling", 4, (16.0, 8.0)), Group("zergling", 20, (16.0, 11.0))),
        enemies=(Group("baneling", 4, (16.0, 24.0)), Group("zergling", 20, (16.0, 21.0))),
        limit=200,
        ground="octagon",
        goal=(16.0, 8.0),
    ),
    BattleMap(
        name="2c_vs_64zg",
        allies=(Group("colossus", 2, (16.0, 16.0)),),
        enemies=(Group("zergling", 64, (16.0, 9.0)),),
        limit=400,
        ground="plateau",
        goal="allies",
    ),
)

MAPS: dict[str, BattleMap] = {battle_map.name: battle_map for battle_map in _ALL}
"""By name."""
