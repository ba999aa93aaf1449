"""Who sits where. The worlds of a rollout come in blocks; each side of each block is a lane, driven by one player.

Static: which families can drive a lane, and which learner can learn there. Traced: which of them does, and which row.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
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
        """Where players change: the block of each row, since one player drives all away sides of a block."""
        return tuple(row[0][0] for row in self.lanes)


@dataclass(frozen=True)
class Seating:
    """B blocks of W worlds each. A block where every side learns is a mirror block, otherwise a match block."""

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

    def seats_in(self, group: Group) -> int:
        """N: seats of a lane."""
        return len(self.seats_of_side[group.lanes[0][0][1]])

    def sides_of(self, group: Group) -> Array:
        """Which of the driven sides each world of a lane is, one-hot: [P, X*W, K]."""
        side_PX = np.asarray([[side for _, side in row] for row in group.lanes])
        return jnp.asarray(np.repeat(side_PX, self.worlds, axis=1)[..., None] == np.arange(len(self.seats_of_side)))

    @property
    def learning(self) -> tuple[int, ...]:
        """Indices of the groups that learn."""
        return tuple(i for i, group in enumerate(self.groups) if group.learns)

    def at_home(self, array_BWK: Array, axis: int = 0) -> Array:
        """What the home side of each block got: [..., B, W, K] to [..., B, W]; B stands at `axis`."""
        blocks = jnp.moveaxis(array_BWK, axis, 0)
        return jnp.stack([block[..., side] for block, side in zip(blocks, self.home_B, strict=True)], axis=axis)

    def per_world(self, array_BW: Array, group: Group) -> Array:
        """[B, W, ...] as each lane sees it: [P, X*W, ...]."""
        return gather_lanes(group, lambda block, _: array_BW[block])

    def per_seat(self, array_BWS: Array, group: Group) -> Array:
        """[B, W, S, ...] as each lane sees it: [P, X*W, N, ...]."""
        return gather_lanes(group, lambda block, side: pick_seats(array_BWS[block], self.seats_of_side[side]))

    def views(self, central_BWC: Array, group: Group) -> Array:
        """The critic's views of each lane: [P, X*W, V, G], with V = N where the game has one view for each seat."""

        def of_lane(block: int, side: int) -> Array:
            seats = self.seats_of_side[side]
            own = {"world": (0,), "side": (self.spec.side_of_seat[seats[0]],), "seat": seats}[self.spec.central.kind]
            return pick_seats(central_BWC[block], own)

        return gather_lanes(group, of_lane)

    def to_seats(self, arrays: Sequence[Array], drives: Sequence[Array | None] | None = None) -> Array:
        """The inverse of `per_seat` over all groups: [P, X*W, N, ...] each, to [B, W, S, ...].

        Where groups share a lane, `drives` ([P, X*W] for each group) says in which worlds each one is heard.
        """
        columns: dict[Lane, Array] = {}
        for group, array, drives_PW in zip(self.groups, arrays, drives or [None] * len(arrays), strict=True):
            shape = (group.players, len(group.lanes[0]), self.worlds)
            lanes = array.reshape(*shape, *array.shape[2:])
            for p, row in enumerate(group.lanes):
                for x, (block, side) in enumerate(row):
                    for n, seat in enumerate(self.seats_of_side[side]):
                        new, before = lanes[p, x, :, n], columns.get((block, seat))
                        if before is not None and drives_PW is not None:
                            heard_W = drives_PW.reshape(shape)[p, x]
                            new = jnp.where(heard_W.reshape(-1, *[1] * (new.ndim - 1)), new, before)
                        columns[block, seat] = new
        by_block = [
            jnp.stack([columns[block, seat] for seat in range(self.spec.seats)], axis=1) for block in range(self.blocks)
        ]
        return jnp.stack(by_block)


def gather_lanes(group: Group, of_lane) -> Array:
    """Lanes stacked as [P, X, W, ...], then worlds of one player joined: [P, X*W, ...]."""
    stacked = jnp.stack([jnp.stack([of_lane(*lane) for lane in row]) for row in group.lanes])
    players, lanes, worlds, *rest = stacked.shape
    return stacked.reshape(players, lanes * worlds, *rest)


def pick_seats(array: Array, seats: tuple[int, ...], axis: int = 1) -> Array:
    """Some entries of an axis; neighbours are a slice, which costs less than a gather."""
    before = (slice(None),) * axis
    if seats == tuple(range(seats[0], seats[-1] + 1)):
        return array[(*before, slice(seats[0], seats[-1] + 1))]
    return array[(*before, jnp.asarray(seats))]


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
    """Blocks with a home side, whose other sides change players: one player at a time drives all of a block's.

    mirror_B: the learner itself may drive the away sides, and then learns from them. face_B: a player of one of the
    families may; where sides are unlike, those of the away side's own net. Each block allows one of them at least.
    Several learners have as many blocks each, one learner's after another's. Home sides alternate from block to block;
    where sides are unlike, there is a learner for each, always at home on its own.
    """
    sides, each = spec.seats_of_side, len(mirror_B)
    alike = spec.exchangeable_sides
    if len(sides) < 2 or not (alike or len(sides) == learners == 2):
        raise ConfigError(f"Opponents change where sides are alike, or two that are not; found seats {sides}.")
    home_B = tuple((block if alike else block // each) % len(sides) for block in range(learners * each))
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
        for family in (f for f in families if face_B[block % each] and (alike or f == own)):
            facing[family].append(lanes)
    groups = [Group(family, tuple(rows), learns=True) for family, rows in learning.items()]
    groups += [
        Group(family, tuple(facing[family]), learns=False, slot=slot)
        for family in families if facing[family] for slot in ("old", "next")
    ]  # fmt: skip
    return Seating(spec, sides, len(home_B), worlds, tuple(groups), home_B, tuple(families))


def net_family(seats: Sequence[int]) -> str:
    """Nets that drive as many seats: their learners train as one stacked array."""
    return f"net_{len(seats)}"
