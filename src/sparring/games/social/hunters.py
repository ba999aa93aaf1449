"""Scripted hunters of the stag hunt. They see what a policy sees, in either view, and walk round walls.

Which animals a hunter heads for is `goals`; how it gets there is in `paths`.
"""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.game import Bots
from sparring.games.social import paths
from sparring.games.social.goals import apart, nearest
from sparring.games.social.paths import CERTAIN, Seen

if TYPE_CHECKING:
    from sparring.games.social.stag_hunt import StagHunt, StagHuntState


class Board(NamedTuple):
    """What hunters see."""

    own_N: Array
    """Own cell."""
    stags: Seen
    hares: Seen
    walls: Seen
    partner_N: Array
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


def goals(parameters_J: Array, board: Board, size: int) -> tuple[Array, Array]:
    """Which stags and which hares a hunter would be content to catch, [N, E] each: it heads for the nearest."""
    habit = Habit(*(parameters_J > 0.5))
    stags, hares = board.stags, board.hares
    paired_N1 = (board.partner_N & jnp.any(stags.there_NE, axis=1))[:, None]
    stag_NE = jnp.where(habit.together, paths.first(stags, size), stags.there_NE)
    stag_NE = stag_NE & habit.stags & (paired_N1 | ~habit.together)
    hare_NE = hares.there_NE & (habit.hares | (habit.together & ~paired_N1))
    wanted = paths.joined(stags._replace(there_NE=stag_NE), hares._replace(there_NE=hare_NE))
    goal_NE = jnp.where(habit.same, paths.first(wanted, size), wanted.there_NE)
    goal_NE = jnp.where(habit.near, paths.beside(wanted), goal_NE)
    return goal_NE[:, : stag_NE.shape[1]], goal_NE[:, stag_NE.shape[1] :]


def heading(parameters_J: Array, board: Board, size: int) -> Array:
    """wanted_NE: the stags, then the hares that a hunter heads for: the nearest of its goals, by the way round
    walls."""
    goal_NE = jnp.concatenate(goals(parameters_J, board, size), axis=1)
    steps_NE = paths.steps_round(board.own_N, paths.joined(board.stags, board.hares), board.walls, size)
    return nearest(goal_NE, steps_NE)


def scores(parameters_J: Array, board: Board, size: int) -> Array:
    """logits_NA: strike where a goal is, else a shortest way to one, else stay."""
    stag_NE, hare_NE = goals(parameters_J, board, size)
    animals, goal_NE = paths.joined(board.stags, board.hares), jnp.concatenate([stag_NE, hare_NE], axis=1)
    if board.walls.down_NE.shape[1]:
        moves = paths.ways_round(board.own_N, animals, goal_NE, board.walls, size)
    else:
        moves = paths.straight_ways(animals, goal_NE)
    strikes = [paths.here(board.stags, stag_NE), paths.here(board.hares, hare_NE)]
    idle_N = ~reduce(or_, [*moves, *strikes])
    return CERTAIN * jnp.stack([*moves, idle_N, *strikes], axis=-1).astype(float)


def board_of(state: "StagHuntState", size: int) -> Board:
    """The board as each seat sees it."""

    def objects(cell_E: Array) -> Seen:
        down_SE, right_SE = apart(state.cell_S, cell_E, size)
        return Seen(down_SE, right_SE, jnp.broadcast_to(cell_E >= 0, down_SE.shape))

    partner_S = jnp.sum(state.present_S.astype(jnp.int32)) > state.present_S
    return Board(state.cell_S, objects(state.stag_E), objects(state.hare_E), objects(state.wall_E), partner_S)


def read_places(game: "StagHunt", features_NF: Array) -> Board:
    """The board from lists of places."""
    sizes = [block.size for block in game.spec.layout]  # own, time, others, stags, hares, walls
    _, _, others, stags, hares, walls = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])

    def objects(columns: np.ndarray, width: int) -> Seen:
        return paths.seen_places(features_NF[:, columns[0] : columns[-1] + 1], width, game.size)

    nothing = paths.seen_places(features_NF[:, :0], 3, game.size)
    return Board(
        own_N=paths.own_cell_of_place(features_NF[:, :2], game.size),
        stags=objects(stags, 4),
        hares=objects(hares, 4),
        walls=objects(walls, 3) if game.walls else nothing,
        partner_N=jnp.any(objects(others, 3).there_NE, axis=1),
    )


def read_planes(game: "StagHunt", features_NF: Array) -> Board:
    """The board from planes."""
    size = game.size
    board_NCE = features_NF[:, : 5 * size * size].reshape(-1, size * size, 5)
    own_N = paths.own_cell_of_plane(board_NCE[:, :, 0])
    stags, hares, walls = (paths.seen_plane(board_NCE[:, :, k], own_N, size) for k in (2, 3, 4))
    return Board(own_N, stags, hares, walls, jnp.any(board_NCE[:, :, 1] > 0.5, axis=1))
