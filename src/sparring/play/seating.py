"""Who sits where. The worlds of a rollout come in blocks; each side of each block is a lane, driven by one player.

Static: which families can drive a lane, and which learner can learn there. Traced: which of them does, and which row.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec

Lane = tuple[int, int]
"""(block, side)."""


@dataclass(frozen=True)
class Group:
    """The lanes of one family that are evaluated together: row p of its P policies drives lanes[p], X of them."""

    family: str
    lanes: tuple[tuple[Lane, ...], ...]
    learns: bool
    slot: Literal["", "old", "next"] = ""
    """Lanes whose player changes have two groups of each family: each world is driven by the old player until its game
    ends, by the next one from then on. Empty: the player never changes."""

    @property
    def players(self) -> int:
        return len(self.lanes)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Where players change: the block of each row, which is one away lane."""
        return tuple(row[0][0] for row in self.lanes)

    @cached_property
    def block_PX(self) -> np.ndarray:
        return np.asarray(self.lanes)[..., 0]

    @cached_property
    def side_PX(self) -> np.ndarray:
        return np.asarray(self.lanes)[..., 1]


@dataclass(frozen=True)
class Seating:
    """B blocks of W worlds each. A block where every side learns is a mirror block, otherwise a match block.

    Lanes are moved by tables of indices, never by a loop over them: a program is as long with 2 blocks as with 200.
    """

    spec: GameSpec
    seats_of_side: tuple[tuple[int, ...], ...]
    """The sides as they are driven: the game's own, or one for each seat when seats learn independently."""
    blocks: int
    worlds: int
    groups: tuple[Group, ...]
    home_B: tuple[int, ...] = ()
    """Where players change: the side of each block that the learner always drives."""
    families: tuple[str, ...] = ()
    """Where players change: who can drive the other side, besides the learner."""

    @property
    def changing(self) -> tuple[int, ...]:
        """Blocks in which the player of the other sides changes."""
        return tuple(sorted({block for group in self.groups if group.slot for block in group.blocks}))

    @property
    def away(self) -> int:
        """Where players change: how many sides of a block others drive, each a player of its own."""
        return len(self.seats_of_side) - 1

    def chair_PX(self, group: Group) -> np.ndarray:
        """The place of each lane among the away lanes of all blocks, one block after another; of a home lane any."""
        after_home_PX = group.side_PX > np.asarray(self.home_B)[group.block_PX]
        return group.block_PX * self.away + np.minimum(group.side_PX - after_home_PX, self.away - 1)

    @property
    def away_lanes(self) -> np.ndarray:
        """(block, side) of the away lanes of all blocks: [B * away, 2]."""
        sides = range(len(self.seats_of_side))
        return np.asarray([(b, side) for b, home in enumerate(self.home_B) for side in sides if side != home])

    @property
    def learner_B(self) -> np.ndarray:
        """Where players change: the learner of each block, which have as many each."""
        learners = sum(self.groups[i].players for i in self.learning)
        return np.arange(self.blocks) * learners // self.blocks

    def seats_in(self, group: Group) -> int:
        """N: seats of a lane."""
        return len(self.seats_of_side[group.lanes[0][0][1]])

    def seats_PXN(self, group: Group) -> np.ndarray:
        """The seats of each lane."""
        return np.asarray([[self.seats_of_side[side] for _, side in row] for row in group.lanes])

    def at_home_PX(self, group: Group) -> np.ndarray:
        """Lanes that are the home side of their block."""
        return group.side_PX == np.asarray(self.home_B)[group.block_PX]

    def home_seats_BS(self) -> np.ndarray:
        """Seats of the home side of each block."""
        seats = range(self.spec.seats)
        return np.asarray([[seat in self.seats_of_side[side] for seat in seats] for side in self.home_B])

    def sides_of(self, group: Group) -> Array:
        """Which of the driven sides each world of a lane is, one-hot: [P, X*W, K]."""
        side_PX = np.repeat(group.side_PX, self.worlds, axis=1)
        return jnp.asarray(side_PX[..., None] == np.arange(len(self.seats_of_side)))

    @property
    def learning(self) -> tuple[int, ...]:
        """Indices of the groups that learn."""
        return tuple(i for i, group in enumerate(self.groups) if group.learns)

    def at_home(self, array_TBWK: Array) -> Array:
        """What the home side of each block got: [T, B, W]."""
        home_B11 = np.asarray(self.home_B)[:, None, None]
        return jnp.take_along_axis(array_TBWK, home_B11[None], axis=-1)[..., 0]

    def per_world(self, array_BW: Array, group: Group) -> Array:
        """[B, W, ...] as each lane sees it: [P, X*W, ...]."""
        return joined_lanes(rows(array_BW, group.block_PX))

    def per_seat(self, array_BWS: Array, group: Group) -> Array:
        """[B, W, S, ...] as each lane sees it: [P, X*W, N, ...]."""
        return joined_lanes(columns(array_BWS, group.block_PX, self.seats_PXN(group)))

    def views(self, central_BWC: Array, group: Group) -> Array:
        """The critic's views of each lane: [P, X*W, V, G], with V = N where the game has one view for each seat."""
        seats_PXN = self.seats_PXN(group)
        view_PXV = {
            "world": np.zeros_like(seats_PXN[..., :1]),
            "side": np.asarray(self.spec.side_of_seat)[seats_PXN[..., :1]],
            "seat": seats_PXN,
        }[self.spec.central.kind]
        return joined_lanes(columns(central_BWC, group.block_PX, view_PXV))

    def to_seats(self, arrays: Sequence[Array], drives: Sequence[Array | None] | None = None) -> Array:
        """The inverse of `per_seat` over all groups: [P, X*W, N, ...] each, to [B, W, S, ...].

        Where groups share a lane, `drives` ([P, X*W] for each group) says in which worlds each one is heard.
        """
        claimed_BS, found = np.zeros((self.blocks, self.spec.seats), bool), None
        for group, array, drives_PW in zip(self.groups, arrays, drives or [None] * len(arrays), strict=True):
            source_BS = self.sources(group)
            new, own_BS = self.from_lanes(array, source_BS), source_BS >= 0
            heard_BWS = jnp.asarray(own_BS)[:, None]
            if drives_PW is not None and (own_BS & claimed_BS).any():
                asked_PWN = jnp.broadcast_to(drives_PW[..., None], (*drives_PW.shape, self.seats_in(group)))
                heard_BWS &= self.from_lanes(asked_PWN, source_BS) | ~jnp.asarray(claimed_BS)[:, None]
            if found is not None:
                heard_BWS = heard_BWS.reshape(*heard_BWS.shape, *[1] * (new.ndim - 3))
                new = jnp.where(heard_BWS, new, found)
            found, claimed_BS = new, claimed_BS | own_BS
        assert found is not None and claimed_BS.all()
        return found

    def sources(self, group: Group) -> np.ndarray:
        """For each seat of each block its place among the lanes' seats of a group, counted through; -1: in none."""
        seats_PXN = self.seats_PXN(group)
        source_BS = np.full((self.blocks, self.spec.seats), -1)
        source_BS[group.block_PX[..., None], seats_PXN] = np.arange(seats_PXN.size).reshape(seats_PXN.shape)
        return source_BS

    def from_lanes(self, array: Array, source_BS: np.ndarray) -> Array:
        """[P, X*W, N, ...] to [B, W, S, ...]; what is in no lane of the group is any other's."""
        players, worlds, seats, *rest = array.shape
        lanes = players * worlds // self.worlds
        by_lane = array.reshape(lanes, self.worlds, seats, *rest)
        by_seat = jnp.moveaxis(by_lane, 2, 1).reshape(lanes * seats, self.worlds, *rest)
        return jnp.moveaxis(rows(by_seat, np.maximum(source_BS, 0)), 1, 2)


def joined_lanes(array: Array) -> Array:
    """Lanes [P, X, W, ...] with the worlds of one player joined: [P, X*W, ...]."""
    players, lanes, worlds, *rest = array.shape
    return array.reshape(players, lanes * worlds, *rest)


def rows(array: Array, index: np.ndarray) -> Array:
    """array[index] for a known index; where it asks for all rows in their order nothing is moved."""
    if index.size == len(array) and (index.reshape(-1) == np.arange(len(array))).all():
        return array.reshape(*index.shape, *array.shape[1:])
    return array.at[index].get(mode="promise_in_bounds")


def columns(array_BWS: Array, block_PX: np.ndarray, seat_PXN: np.ndarray) -> Array:
    """Some seats of some blocks: [P, X, W, N, ...]."""
    seats_N = seat_PXN.reshape(-1, seat_PXN.shape[-1])[0]
    if (seat_PXN == seats_N).all():
        return rows(pick_seats(array_BWS, seats_N), block_PX)
    world_W = np.arange(array_BWS.shape[1])
    at = block_PX[:, :, None, None], world_W[:, None], seat_PXN[:, :, None, :]
    return array_BWS.at[at].get(mode="promise_in_bounds")


def pick_seats(array_BWS: Array, seats_N: np.ndarray) -> Array:
    """Some seats of every block; neighbours are a slice, which costs less than a gather."""
    first, count = int(seats_N[0]), len(seats_N)
    neighbours = (seats_N == first + np.arange(count)).all()
    return array_BWS[:, :, first : first + count] if neighbours else array_BWS[:, :, seats_N]


def seat(
    spec: GameSpec,
    seats_of_side: tuple[tuple[int, ...], ...],
    *,
    family_BK: Sequence[Sequence[str]],
    learner_BK: Sequence[Sequence[int]],
    worlds: int,
) -> Seating:
    """Arrange lanes into groups. learner_BK holds the learner's index within its family, or -1 where nobody learns.

    Learners of one family must learn in equally many lanes of equal size, because they train as one stacked array.
    """
    learning: dict[str, dict[int, list[Lane]]] = defaultdict(lambda: defaultdict(list))
    frozen: dict[tuple[str, int], list[Lane]] = defaultdict(list)
    for block, (families, learners) in enumerate(zip(family_BK, learner_BK, strict=True)):
        if len(families) != len(seats_of_side):
            raise ConfigError(
                f"Block {block} must name a family for each of the {len(seats_of_side)} sides, found {len(families)}."
            )
        for side, (family, learner) in enumerate(zip(families, learners, strict=True)):
            if learner >= 0:
                learning[family][learner].append((block, side))
            else:
                frozen[family, len(seats_of_side[side])].append((block, side))
    groups = []
    for family, rows in learning.items():
        lanes = tuple(tuple(rows[learner]) for learner in sorted(rows))
        shapes = {tuple(sorted(len(seats_of_side[side]) for _, side in row)) for row in lanes}
        if sorted(rows) != list(range(len(rows))) or len(shapes) > 1 or len(set(next(iter(shapes)))) > 1:
            raise ConfigError(
                f"Learners of family {family!r} must be numbered from 0 and learn in equally many lanes with equally "
                f"many seats; found lanes {lanes}. Give sides of different size families of their own."
            )
        groups.append(Group(family, lanes, learns=True))
    for (family, _), lanes in frozen.items():
        groups.append(Group(family, tuple((lane,) for lane in lanes), learns=False))
    return Seating(spec, seats_of_side, len(family_BK), worlds, tuple(groups))


def seat_changing(
    spec: GameSpec,
    *,
    families: Sequence[str],
    mirror_B: Sequence[bool],
    face_B: Sequence[bool],
    worlds: int,
    learners: int = 1,
) -> Seating:
    """Blocks with a home side, whose other sides change players, all of a block at a time and each for itself.

    mirror_B: the learner itself may drive the away sides, and then learns from them. face_B: a player of one of the
    families may; where sides are unlike, those whose names end in the number of the away side's seats. Each block
    allows one of them at least. Several learners have as many blocks each, one learner's after another's. Home sides
    alternate from block to block; where sides are unlike, each has half of the learners, always at home on their own.
    """
    sides, each = spec.seats_of_side, len(mirror_B)
    alike = spec.exchangeable_sides
    if len(sides) < 2 or not (alike or (len(sides) == 2 and learners % 2 == 0)):
        raise ConfigError(f"Opponents change where sides are alike, or two that are not; found seats {sides}.")
    home_B = tuple(
        block % len(sides) if alike else block // each * len(sides) // learners for block in range(learners * each)
    )
    away_B = [tuple((b, side) for side in range(len(sides)) if side != home) for b, home in enumerate(home_B)]

    def driven(blocks: range) -> tuple[Lane, ...]:
        mirrored = (lane for block in blocks if mirror_B[block % each] for lane in away_B[block])
        return (*((block, home_B[block]) for block in blocks), *mirrored)

    learning: dict[str, list[tuple[Lane, ...]]] = defaultdict(list)
    facing: dict[str, list[tuple[Lane, ...]]] = defaultdict(list)
    for first in range(0, len(home_B), each):
        learning[net_family(sides[home_B[first]])].append(driven(range(first, first + each)))
    for block, lanes in enumerate(away_B):
        own = net_family(sides[lanes[0][1]])
        fits = families if alike else [f for f in families if f.endswith(own.removeprefix("net"))]
        for family in fits if face_B[block % each] else ():
            facing[family] += [(lane,) for lane in lanes]
    groups = [Group(family, tuple(rows), learns=True) for family, rows in learning.items()]
    groups += [
        Group(family, tuple(facing[family]), learns=False, slot=slot)
        for family in families if facing[family] for slot in ("old", "next")
    ]  # fmt: skip
    return Seating(spec, sides, len(home_B), worlds, tuple(groups), home_B, tuple(families))


def net_family(seats: Sequence[int]) -> str:
    """Nets that drive as many seats: their learners train as one stacked array."""
    return f"net_{len(seats)}"
