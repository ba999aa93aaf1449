"""What agents see, and what a centralised critic may see. The blocks and their order are SMAC's.

Letters: N units of the side that looks, M its foes, Z features of one unit.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import jax.numpy as jnp
from jax import Array

from sparring.core.spec import Central, Feature
from sparring.games.others import others, without_own
from sparring.games.skirmish.army import Army, Stats
from sparring.games.skirmish.battle import Battle
from sparring.games.skirmish.command import ATTACK
from sparring.games.skirmish.lengths import squared
from sparring.games.skirmish.terrain import SIZE
from sparring.games.skirmish.units import SIGHT

Critic = Literal["smac", "agent_specific", "feature_pruned"]
Actor = Literal["smac", "mappo"]
"""What agents see: SMAC's observation, or besides which one they are and what they and friends in sight did last, as in
the environment of MAPPO's authors (on-policy de66d7a)."""


@dataclass(frozen=True)
class Shape:
    """Sizes of everything that is seen. Where both sides are learners they share one shape, wide enough for both."""

    army: Army
    duel: bool
    quirky_types: bool
    actor: Actor = "smac"

    @property
    def sides(self) -> tuple[int, ...]:
        """Those that are commanded."""
        return (0, 1) if self.duel else (0,)

    @property
    def friends(self) -> int:
        return max(self.army.sizes[side] for side in self.sides)

    @property
    def foes(self) -> int:
        return max(self.army.sizes[1 - side] for side in self.sides)

    @property
    def choices(self) -> int:
        named = self.friends if any(self.army.any_of(side, "heals") for side in self.sides) else 0
        return ATTACK + max(self.foes, named)

    @property
    def shields(self) -> tuple[bool, bool]:
        """Whether those of friends and of foes are told."""
        found = self.army.any_of(0, "shield"), self.army.any_of(1, "shield")
        return (any(found), any(found)) if self.duel else found

    @cached_property
    def bits(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the kinds that the type bits of friends and of foes stand for; none where each side has one kind, or
        where two sides of learners, which share a shape, have one together."""
        kinds = self.army.kinds_of(0), self.army.kinds_of(1)
        if self.duel:
            names = self.army.names if len(self.army.names) > 1 else ()
            return names, names
        if max(map(len, kinds)) == 1:
            return (), ()
        # SMAC numbers enemy zealots before enemy stalkers, and its agents the other way round.
        quirky = self.quirky_types and kinds[1] == ("stalker", "zealot")
        return kinds[0], kinds[1][::-1] if quirky else kinds[1]

    @property
    def friend_size(self) -> int:
        return 5 + self.shields[0] + len(self.bits[0])

    @property
    def foe_size(self) -> int:
        return 5 + self.shields[1] + len(self.bits[1])

    def layout(self) -> tuple[Feature, ...]:
        blocks = (
            Feature("move", (4,)),
            Feature("enemies", (self.foes, self.foe_size), lists="foes" if self.duel else ""),
            Feature("allies", (self.friends - 1, self.friend_size), lists="friends"),
            Feature("own", (self.friend_size - 4,)),
        )
        if self.actor == "smac":
            return blocks
        last = Feature("last", (self.choices,)), Feature("allies_last", (self.friends - 1, self.choices), "friends")
        return (*blocks, *last, Feature("name", (self.friends,)))

    @property
    def features(self) -> int:
        """Of SMAC's observation."""
        return sum(block.size for block in self.layout()[:4])

    @property
    def state_size(self) -> int:
        """Of SMAC's state."""
        friend, foe = self.friend_size - 1, self.foe_size - 2
        return self.friends * friend + self.foes * foe + self.friends * self.choices

    def central(self, kind: Critic) -> Central:
        if kind == "smac":
            return Central("side", self.state_size) if self.duel else Central("world", self.state_size)
        own = self.friends + self.features
        if kind == "agent_specific":
            return Central("seat", own + self.state_size)
        return Central("seat", own + 3 + self.friends * self.choices + self.friends - 1)


def observed(shape: Shape, stats: Stats, battle: Battle, side: int, legal_NA: Array) -> Array:
    """features_NFW of a side."""
    alive_N = battle.health_U[shape.army.slice(side)] > 0
    seen = _around(shape, stats, battle, side, legal_NA, SIGHT, alive_N)
    if shape.actor == "smac":
        return seen
    choices_NA = _choices(shape, battle, side)
    friend_NN = _relative(shape, battle, side, shape.army.slice(side), SIGHT, alive_N)[0]
    friends_last = _flat(without_own(friend_NN[:, :, None] * choices_NA[None]), shape.friends - 1)
    return jnp.concatenate([seen, choices_NA * alive_N[:, None], friends_last, _names(shape, battle, side)], axis=1)


def _around(
    shape: Shape, stats: Stats, battle: Battle, side: int, legal_NA: Array, sight: float, awake_N: Array
) -> Array:
    """Moves, foes, friends and oneself as each unit of a side that is awake sees them within a distance."""
    army, units, foes = shape.army, shape.army.slice(side), shape.army.slice(1 - side)
    seen_foes = _relative(shape, battle, side, foes, sight, awake_N)
    # A healer's choices name friends, and it attacks nobody. SMAC has its choices here: ally i in the row of enemy i.
    attackable = legal_NA[:, ATTACK : ATTACK + army.sizes[1 - side]] & ~stats.heals[units][:, None]
    foe = [attackable.astype(float), *seen_foes[1:], *_condition(shape, stats, battle, foes, 1)]
    seen_friends = _relative(shape, battle, side, units, sight, awake_N)
    friend = [*seen_friends, *_condition(shape, stats, battle, units, 0)]
    friend_block = _masked(friend, seen_friends[0])
    own = jnp.stack(_condition(shape, stats, battle, units, 0), axis=1)
    parts = (
        legal_NA[:, 2:ATTACK].astype(float),
        _flat(_masked(foe, seen_foes[0]), shape.foes),
        _flat(without_own(friend_block), shape.friends - 1),
        own,
    )
    return jnp.concatenate(parts, axis=1) * awake_N[:, None]


def state(shape: Shape, stats: Stats, battle: Battle, side: int) -> Array:
    """SMAC's state as a side sees it: the world's size is 1, its middle 0."""
    army, units, foes = shape.army, shape.army.slice(side), shape.army.slice(1 - side)
    blocks = []
    for who, group, kind in ((units, shape.friends, 0), (foes, shape.foes, 1)):
        health, *rest = _condition(shape, stats, battle, who, kind)
        x, y = battle.place_XU[:, who] * army.battle_map.frame(side)[:, None, None] / SIZE
        cooldown = [_cooldown(stats, battle, who)] if kind == 0 else []
        block = jnp.stack([health, *cooldown, x, y, *rest], axis=1) * (battle.health_U[who] > 0)[:, None]
        blocks.append(_rows(block, group))
    return jnp.concatenate([*blocks, _last(shape, battle, side)])


def central(
    shape: Shape, stats: Stats, battle: Battle, side: int, legal_NA: Array, kind: Critic, *, masked: bool
) -> Array:
    """One row for each unit of a side: which one it is, the world as it relates to it, and what more the kind adds.

    "agent_specific" is what the agent sees and SMAC's state; "feature_pruned" says of every unit, seen or not, where it
    is relative to the agent and how it is, without saying it twice. With death masking (`masked`) the row of a dead
    unit says nothing but which one it is.
    """
    army, units = shape.army, shape.army.slice(side)
    count, alive_N = army.sizes[side], battle.health_U[units] > 0
    worlds = alive_N.shape[-1]
    if kind == "agent_specific":
        seen = _around(shape, stats, battle, side, legal_NA, SIGHT, alive_N)
        whole = jnp.broadcast_to(state(shape, stats, battle, side)[None], (count, shape.state_size, worlds))
        rows = jnp.concatenate([seen, whole], axis=1)
    else:
        around = _around(shape, stats, battle, side, legal_NA, jnp.inf, jnp.ones_like(alive_N))
        x, y = battle.place_XU[:, units] * army.battle_map.frame(side)[:, None, None] / SIZE
        cooldown = _cooldown(stats, battle, units) * alive_N
        waits = jnp.pad(others(cooldown), ((0, 0), (0, shape.friends - count), (0, 0)))
        last = jnp.broadcast_to(_last(shape, battle, side)[None], (count, shape.friends * shape.choices, worlds))
        rows = jnp.concatenate([around, jnp.stack([x, y, cooldown], axis=1), waits, last], axis=1)
    return jnp.concatenate([_names(shape, battle, side), rows * alive_N[:, None] if masked else rows], axis=1)


def _relative(shape: Shape, battle: Battle, side: int, others: slice, sight: float, awake_N: Array) -> list[Array]:
    """Seen, distance and offset of each other for each unit of a side, [N, M, W], in units of SIGHT."""
    units = shape.army.slice(side)
    sign_X = shape.army.battle_map.frame(side)
    delta_X = battle.place_XU[:, None, others] - battle.place_XU[:, units, None]
    distance = jnp.sqrt(squared(delta_X))
    seen = (distance < sight) & (battle.health_U[others] > 0)[None] & awake_N[:, None]
    return [seen.astype(float), distance / SIGHT, *(delta_X[x] * sign_X[x] / SIGHT for x in (0, 1))]


def _condition(shape: Shape, stats: Stats, battle: Battle, units: slice, foe: int) -> list[Array]:
    """Health, shield and kind of units, as many as are told; [N, W] each."""
    parts = [battle.health_U[units] / stats.health[units]]
    if shape.shields[foe]:
        parts.append(battle.shield_U[units] / jnp.maximum(stats.shield[units], 1.0))
    numbers = [shape.army.names.index(name) for name in shape.bits[foe]]
    return parts + [(battle.kind_U[units] == number).astype(float) for number in numbers]


def _masked(parts: list[Array], seen_NM: Array) -> Array:
    """[N, M, Z, W]; parts of others alone are the same for all that look."""
    return jnp.stack([jnp.broadcast_to(part, seen_NM.shape) for part in parts], axis=2) * seen_NM[:, :, None]


def _flat(block_NMZ: Array, rows: int) -> Array:
    padded = jnp.pad(block_NMZ, ((0, 0), (0, rows - block_NMZ.shape[1]), (0, 0), (0, 0)))
    return padded.reshape(padded.shape[0], -1, padded.shape[-1])


def _rows(block_NZ: Array, rows: int) -> Array:
    padded = jnp.pad(block_NZ, ((0, rows - block_NZ.shape[0]), (0, 0), (0, 0)))
    return padded.reshape(-1, padded.shape[-1])


def _cooldown(stats: Stats, battle: Battle, units: slice) -> Array:
    """Loops until the next shot, or a medivac's energy, in SMAC's units."""
    left = jnp.where(stats.heals[units], battle.energy_U[units], jnp.maximum(battle.cooldown_U[units], 0.0))
    return left / stats.cooldown_scale[units]


def _last(shape: Shape, battle: Battle, side: int) -> Array:
    """The last choice of each unit of a side as bits, one after another."""
    return _rows(_choices(shape, battle, side), shape.friends)


def _choices(shape: Shape, battle: Battle, side: int) -> Array:
    """[N, A, W]: the last choice of each unit of a side as bits."""
    last_N = battle.last_S[shape.army.slice(side)]
    return (last_N[:, None] == jnp.arange(shape.choices)[:, None]).astype(float)


def _names(shape: Shape, battle: Battle, side: int) -> Array:
    """[N, friends, W]: which unit of its side each is, the dead too."""
    count = shape.army.sizes[side]
    return jnp.broadcast_to(jnp.eye(count, shape.friends)[..., None], (count, shape.friends, battle.health_U.shape[-1]))
