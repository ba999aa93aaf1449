"""Scripted hunters of the stag hunt. They see what a policy sees, in either view, and walk round walls.

Which cells a hunter heads for is `goals`; how it gets there is `paths.ways`. Equally short ways have equal logits, so
ties are broken by the draw of the action, never by the order of seats, animals or moves.
"""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.game import Bots
from sparring.games.social import paths
from sparring.games.social.paths import CERTAIN, Cells

if TYPE_CHECKING:
    from sparring.games.social.stag_hunt import StagHunt


class Board(NamedTuple):
    """What one hunter sees, as sets of cells; leaves [N]."""

    own: Cells
    stags: Cells
    hares: Cells
    walls: Cells
    partner: Array
    """Whether another hunter is still in the game."""


class Habit(NamedTuple):
    """What a bot does, yes or no: the columns of the table of bots."""

    stags: Array
    hares: Array
    together: Array
    """Hunt the stag only while another hunter is in the game, the one that all see as the first; otherwise hares."""
    same: Array
    """Of all it would hunt, choose the first in reading order, as everybody else does."""
    near: Array
    """Wait until something is on a cell beside it."""


HABITS = {
    "nearest_hare": ("hares",),
    "nearest_stag": ("stags",),
    "stay": (),
    "herd": ("stags", "hares", "same"),
    "grab": ("stags", "hares", "near"),
    "prosocial": ("stags", "together"),
}


def bots() -> Bots:
    """`nearest_hare` ("NH") goes for the nearest living hare; `nearest_stag` goes to the nearest stag, waits on it and
    strikes at every step; `stay` does nothing; `herd`: all go for the same animal, for as much contention as possible;
    `grab` waits until an animal is beside it; `prosocial` goes for the stag while there is one and another hunter is in
    the game, else for the nearest hare."""
    return Bots(tuple(HABITS), jnp.array([[float(k in habit) for k in Habit._fields] for habit in HABITS.values()]))


def goals(parameters_J: Array, board: Board, size: int) -> tuple[Cells, Cells]:
    """The stags and the hares that a hunter would be content to catch; it heads for the nearest of them."""
    habit = Habit(*(parameters_J > 0.5))
    paired = board.partner & paths.some(board.stags)
    stags = paths.either(habit.together | habit.same, paths.first(board.stags), board.stags)
    stags = paths.kept(habit.stags & (paired | ~habit.together), stags)
    hares = paths.kept(habit.hares | (habit.together & ~paired), board.hares)
    wanted = paths.union(stags, hares)
    wanted = paths.either(habit.same, paths.first(wanted), wanted)
    near = paths.union(board.own, *paths.beside(board.own, size))
    wanted = paths.either(habit.near, paths.common(wanted, near), wanted)
    return paths.common(stags, wanted), paths.common(hares, wanted)


def scores(parameters_J: Array, board: Board, size: int) -> Array:
    """logits_NA: strike where a goal is, else a shortest way to one, else stay."""
    stags, hares = goals(parameters_J, board, size)
    moves = paths.ways(board.own, paths.union(stags, hares), board.walls, size)
    strikes = [paths.some(paths.common(board.own, animals)) for animals in (stags, hares)]
    idle = ~reduce(or_, [*moves, *strikes])
    return CERTAIN * jnp.stack([*moves, idle, *strikes], axis=-1).astype(float)


def read_places(game: "StagHunt", features_NF: Array) -> Board:
    """The board from lists of places."""
    size, others = game.size, game.spec.seats - 1
    begin = np.cumsum([3, 3 * others, 4 * game.stags, 4 * game.hares, 3 * game.walls])
    present_N = [features_NF[:, e] > 0.5 for e in range(begin[0] + 2, begin[1], 3)]
    own_N = paths.cell_of(features_NF[:, 0], features_NF[:, 1], size)
    own = paths.bits(own_N, jnp.array(True), size)

    def objects(block: int, width: int) -> Cells:
        listed = paths.listed(own_N, features_NF[:, begin[block] : begin[block + 1]], width, size)
        return paths.union([jnp.zeros_like(word) for word in own], *listed)

    return Board(own, objects(1, 4), objects(2, 4), objects(3, 3), reduce(or_, present_N))


def read_planes(game: "StagHunt", features_NF: Array) -> Board:
    """The board from planes."""
    size = game.size
    board = features_NF[:, : 5 * size * size].reshape(-1, size * size, 5)
    own, crowd, stags, hares, walls = (paths.bits_of_plane(board[:, :, k], size) for k in range(5))
    return Board(own, stags, hares, walls, paths.some(crowd))
