"""Who moves and who speaks, and how an action says so.

Discrete: a head of five directions, then a head of the symbols. In mpe2 both are one number, direction + 5 * symbol. A
seat that does not move, or does not speak, has entry 0 of that head alone.

Continuous: five dimensions for the directions, of which the first is idle, then one for each symbol, all between 0 and
1. Where seats differ in what they can do, a head names what an action consists of: each seat has the one kind that is
its own, so the dimensions it lacks add nothing to the probability of its actions.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action
from sparring.core.spec import ActionSpec

DIRECTIONS = ((0.0, 0.0), (-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0))
"""Thrust of each discrete action: stay, left, right, down, up. The continuous dimensions have the same order."""
SHARPNESS = 30.0
"""Weight of the squared error in the logits of scripted players: the best entry is nearly always taken."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is fixed about a particle game beside its seats: static under jit."""

    moves: tuple[bool, ...]
    """For each seat. One that does not move must not be solid."""
    speaks: tuple[bool, ...] = ()
    """For each seat; empty: nobody."""
    symbols: int = 0
    continuous: bool = False
    solid: bool = False
    """Whether seats push each other away."""
    solid_landmarks: int = 0
    """How many landmarks, the first ones, push seats away; only where seats are solid."""
    landmark_range: float = 1.0
    """Half side of the square in which landmarks are drawn."""

    @property
    def parts(self) -> tuple[int, int]:
        """Width of the two parts of an action, directions and symbols; 0 where no seat has it."""
        return len(DIRECTIONS) * any(self.moves), self.symbols * any(self.speaks)

    @property
    def abilities(self) -> tuple[tuple[bool, bool], ...]:
        """For each seat, whether it moves and whether it speaks."""
        return tuple(zip(self.moves, self.speaks or (False,) * len(self.moves), strict=True))

    @property
    def kinds(self) -> tuple[tuple[bool, bool], ...]:
        """The different abilities, in the order of the seats."""
        return tuple(dict.fromkeys(self.abilities))


class Wish(NamedTuple):
    """What a scripted player wants of each of its seats; None where no seat can do it."""

    thrust_NX: Array | None = None
    word_NU: Array | None = None


def action_spec(setting: Setting) -> ActionSpec:
    directions, symbols = setting.parts
    if not setting.continuous:
        return ActionSpec(heads=tuple(width for width in setting.parts if width))
    low, high = (0.0,) * (directions + symbols), (1.0,) * (directions + symbols)
    if len(setting.kinds) == 1:
        return ActionSpec(low=low, high=high)
    counts = tuple((moves,) * directions + (speaks,) * symbols for moves, speaks in setting.kinds)
    return ActionSpec(heads=(len(counts),), low=low, high=high, counts=counts)


def legal(setting: Setting) -> np.ndarray:
    """legal_SA, the same at every step."""
    abilities = setting.abilities
    if setting.continuous:
        kinds = setting.kinds
        return np.array([[kind == own for kind in kinds if len(kinds) > 1] for own in abilities], bool)
    rows = [
        [able or entry == 0 for able, width in zip(own, setting.parts, strict=True) for entry in range(width)]
        for own in abilities
    ]
    return np.array(rows, bool)


def thrust(action: Action, setting: Setting) -> Array:
    """thrust_SX between -1 and 1 on each axis; 0 for seats that do not move."""
    if setting.continuous:
        right_S = action.continuous_SC[:, 2] - action.continuous_SC[:, 1]
        up_S = action.continuous_SC[:, 4] - action.continuous_SC[:, 3]
    else:
        choice_S = action.discrete_SD[:, 0]
        right_S, up_S = _difference(choice_S == 2, choice_S == 1), _difference(choice_S == 4, choice_S == 3)
    return _only(jnp.stack([right_S, up_S], axis=-1), setting.moves)


def said(action: Action, setting: Setting) -> Array:
    """said_SU: one-hot, or the dimensions as they are; 0 for seats that do not speak."""
    directions, symbols = setting.parts
    if setting.continuous:
        return _only(action.continuous_SC[:, directions:], setting.speaks)
    return _only((action.discrete_SD[:, -1:] == jnp.arange(symbols)).astype(float), setting.speaks)


def scores(wish: Wish, setting: Setting) -> tuple[Array, Array]:
    """logits_NA and mean_NC of the actions nearest to a wish."""
    directions, symbols = setting.parts
    rows = next(len(part) for part in wish if part is not None)
    thrust_NX = jnp.zeros((rows, 2)) if wish.thrust_NX is None else wish.thrust_NX
    word_NU = jnp.zeros((rows, symbols)) if wish.word_NU is None else wish.word_NU
    if not setting.continuous:
        error_NA = jnp.sum((thrust_NX[:, None] - jnp.array(DIRECTIONS[:directions]).reshape(-1, 2)) ** 2, axis=-1)
        return SHARPNESS * jnp.concatenate([-error_NA, word_NU], axis=1), jnp.zeros((rows, 0))
    axes = jnp.clip(thrust_NX, -1.0, 1.0).T[:, :, None] if directions else ()
    pushes = [jnp.maximum(sign * axis_N1, 0.0) for axis_N1 in axes for sign in (-1.0, 1.0)]
    idle = [jnp.zeros((rows, 1))] if directions else []
    choices = len(action_spec(setting).heads) * len(setting.kinds)
    return jnp.zeros((rows, choices)), jnp.concatenate([*idle, *pushes, word_NU], axis=1)


def _difference(plus_S: Array, minus_S: Array) -> Array:
    return plus_S.astype(float) - minus_S.astype(float)


def _only(rows_SX: Array, able: tuple[bool, ...]) -> Array:
    return rows_SX if all(able) else jnp.where(np.array(able)[:, None], rows_SX, 0.0)
