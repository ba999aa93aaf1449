"""Both armies of a battle as arrays: allies first, then enemies. Letter U: all units; K: kinds of unit on the map."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.skirmish import terrain
from sparring.games.skirmish.maps import MIXTURES, BattleMap
from sparring.games.skirmish.units import (
    KINDS,
    LOOPS_PER_SECOND,
    SHIELD_DELAY,
    SHIELD_RATE,
    ZERG_REGENERATION,
    Kind,
    damage_to,
    faster,
    laddered,
)

SHIELD_WAIT = SHIELD_DELAY * LOOPS_PER_SECOND
SHIELD_GAIN = SHIELD_RATE / LOOPS_PER_SECOND
NOBODY = -1
"""Instead of a unit's number."""
CLOSE = 1.0
"""Weapons that reach less far need a place beside their target."""
AIRBORNE = 1e6
"""What flyers climb: anything."""


class Stats(NamedTuple):
    """What units are like, in cells and game loops. Fields are [U, 1], or [U, W] where kinds are drawn."""

    health: Array
    shield: Array
    armour: Array
    reach: Array
    period: Array
    windup: Array
    """Loops from the beginning of a blow until it is struck, or its missile leaves."""
    recovery: Array
    """Loops from the beginning of a blow in which a unit without a new order stands."""
    flight: Array
    """Loops that a missile flies for each cell; 0: none."""
    speed: Array
    radius: Array
    room: Array
    """Radius that no other unit of its layer may enter."""
    climb: Array
    flies: Array
    hits_air: Array
    heals: Array
    bursts: Array
    patient: Array
    """Whether a medivac can heal it."""
    regrowth: Array
    """Health that comes back in each loop."""
    cooldown_scale: Array


@dataclass(frozen=True)
class Army:
    """Who fights, in one battle or, where kinds are drawn, in all that can be drawn. Static under jit."""

    battle_map: BattleMap
    smaclite: bool
    drawn: bool
    """Whether the kinds are drawn at every start."""
    ladder: bool = False
    """Whether weapons are the ladder's and not Liberty's."""

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.battle_map.kinds(0)), len(self.battle_map.kinds(1))

    @property
    def units(self) -> int:
        return sum(self.sizes)

    @cached_property
    def races(self) -> tuple[str, str]:
        first, second = (KINDS[self.battle_map.kinds(side)[0]].race for side in (0, 1))
        return first, second

    def kinds_of(self, side: int) -> tuple[str, ...]:
        """Names of the kinds that a side may have, in SMAC's order."""
        if self.drawn:
            return tuple(name for name, _ in MIXTURES[self.races[side]])
        return tuple(dict.fromkeys(self.battle_map.kinds(side)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all kinds; a unit's kind is a number in this list."""
        return tuple(dict.fromkeys((*self.kinds_of(0), *self.kinds_of(1))))

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        made = faster if self.smaclite else laddered if self.ladder else lambda kind: kind
        return tuple(made(KINDS[name]) for name in self.names)

    @cached_property
    def kind_U(self) -> np.ndarray:
        """int32: the kind of every unit where they are not drawn."""
        names = (*self.battle_map.kinds(0), *self.battle_map.kinds(1))
        return np.array([self.names.index(name) if name in self.names else 0 for name in names], np.int32)

    def stats(self, kind_UW: Array) -> Stats:
        """Of the units as they are; constants where kinds are not drawn."""
        table = _table(self.kinds)
        if not self.drawn:
            return Stats(*(jnp.asarray(column_K[self.kind_U])[:, None] for column_K in table))
        return Stats(*(_looked_up(column_K, kind_UW) for column_K in table))

    def harm(self, kind: int, kind_VW: Array, side: int) -> Array:
        """Damage of one hit by a kind on each unit of a side, before armour."""
        column_K = np.array([damage_to(self.kinds[kind], target) for target in self.kinds], np.float32)
        if not self.drawn:
            return jnp.asarray(column_K[self.kind_U[self.slice(side)]])[:, None]
        return _looked_up(column_K, kind_VW)

    def slice(self, side: int) -> slice:
        allies = self.sizes[0]
        return slice(allies) if side == 0 else slice(allies, None)

    def first(self, side: int) -> int:
        """Number of a side's first unit among all."""
        return side * self.sizes[0]

    def numbers(self, side: int) -> tuple[int, ...]:
        """Numbers of the kinds of a side."""
        return tuple(self.names.index(name) for name in self.kinds_of(side))

    def numbered(self, side: int) -> Array:
        """The numbers of a side's units among all, along that side's axis of pairs."""
        numbers = jnp.arange(self.first(side), self.first(side) + self.sizes[side], dtype=jnp.int32)
        return jnp.expand_dims(numbers[:, None], 1 - side)

    def any_of(self, side: int, attribute: str) -> bool:
        """Whether a side may have units with something: shield, burst, line, heals, flies, delayed."""
        return any(getattr(self.kinds[number], attribute) for number in self.numbers(side))

    def slow(self, side: int) -> bool:
        """Whether anything of a side strikes later than in the loop in which it begins."""
        return self.any_of(side, "delayed") or self.any_of(side, "burst")

    def melee(self, side: int) -> bool:
        """Whether a side may have units with weapons that are CLOSE."""
        return any(self.kinds[number].reach < CLOSE for number in self.numbers(side))


@cache
def _table(kinds: tuple[Kind, ...]) -> tuple[np.ndarray, ...]:
    """The columns of `Stats`, [K] each."""
    columns = [
        (
            kind.health,
            kind.shield,
            kind.armour,
            kind.reach,
            kind.period * LOOPS_PER_SECOND,
            kind.damage_point * LOOPS_PER_SECOND,
            (kind.damage_point + kind.backswing) * LOOPS_PER_SECOND,
            LOOPS_PER_SECOND / kind.missile if kind.missile else 0.0,
            kind.speed / LOOPS_PER_SECOND,
            kind.radius,
            kind.room,
            AIRBORNE if kind.flies else terrain.CLIMB_COLOSSUS if kind.climbs else terrain.CLIMB,
            kind.flies,
            kind.hits_air,
            kind.heals,
            bool(kind.burst),
            "biological" in kind.attributes,
            ZERG_REGENERATION / LOOPS_PER_SECOND if kind.race == "zerg" else 0.0,
            kind.cooldown_scale,
        )
        for kind in kinds
    ]
    flags = {"flies", "hits_air", "heals", "bursts", "patient"}
    rows = zip(Stats._fields, zip(*columns, strict=True), strict=True)
    return tuple(np.array(row, bool if name in flags else np.float32) for name, row in rows)


def _looked_up(column_K: np.ndarray, kind_UW: Array) -> Array:
    """column_K[kind_UW] by comparisons, which cost less than a gather for two or three kinds."""
    found = jnp.full(kind_UW.shape, column_K[0])
    for number in range(1, len(column_K)):
        found = jnp.where(kind_UW == number, column_K[number], found)
    return found
