"""How scripted players on a grid see things and get to them, from what a policy sees.

Letter E: objects that are seen; of a plane, one for each cell. All that are equally near, and all ways that are equally
short, are told: a tie is the chance of whoever draws the action, never the order of objects or moves.
"""

from functools import reduce
from operator import or_
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from sparring.games.social import grid
from sparring.games.social.grid import FAR

CERTAIN = 30.0
"""Logit of a scripted choice: anything else happens once in 10^13."""


class Seen(NamedTuple):
    """Objects of one kind, relative to the player, in cells."""

    down_NE: Array
    right_NE: Array
    there_NE: Array


def seen_places(block_NF: Array, width: int, size: int) -> Seen:
    """From a list of places (views.listed) of that many numbers each."""
    block_NEX = block_NF.reshape(block_NF.shape[0], -1, width)
    down_NE, right_NE = (jnp.round(block_NEX[:, :, k] * size).astype(jnp.int32) for k in range(2))
    return Seen(down_NE, right_NE, block_NEX[:, :, 2] > 0.5)


def seen_plane(plane_NC: Array, own_N: Array, size: int) -> Seen:
    """From a plane, which lists every cell."""
    row_C, column_C = grid.split(jnp.arange(size * size), size)
    row_N, column_N = grid.split(own_N, size)
    return Seen(row_C - row_N[:, None], column_C - column_N[:, None], plane_NC > 0.5)


def own_cell_of_place(place_N2: Array, size: int) -> Array:
    """0 where the player has left."""
    row_N, column_N = (jnp.round(place_N2[:, k] * size).astype(jnp.int32) for k in range(2))
    return jnp.maximum(row_N * size + column_N, 0)


def own_cell_of_plane(plane_NC: Array) -> Array:
    """0 where the player has left."""
    return jnp.sum(jnp.where(plane_NC > 0.5, jnp.arange(plane_NC.shape[1]), 0), axis=1)


def joined(one: Seen, two: Seen) -> Seen:
    return Seen(*(jnp.concatenate(pair, axis=1) for pair in zip(one, two, strict=True)))


def beside(seen: Seen) -> Array:
    """near_NE: what is here or one move away."""
    return seen.there_NE & (_distance(seen) <= 1)


def first(seen: Seen, size: int) -> Array:
    """first_NE: the first in reading order, one that all players see alike."""
    order_NE = jnp.where(seen.there_NE, seen.down_NE * size + seen.right_NE, FAR)
    return seen.there_NE & (order_NE == jnp.min(order_NE, axis=1, keepdims=True))


def here(seen: Seen, goal_NE: Array) -> Array:
    """here_N: whether a goal is on the own cell."""
    return jnp.any(goal_NE & (_distance(seen) == 0), axis=1)


def straight_ways(seen: Seen, goal_NE: Array) -> list[Array]:
    """Which of up, down, left and right lead nearer to a nearest goal, without walls; none where one is here."""
    distance_NE = jnp.where(goal_NE, _distance(seen), FAR)
    nearest_NE = goal_NE & (distance_NE == jnp.min(distance_NE, axis=1, keepdims=True))
    sides = (seen.down_NE < 0, seen.down_NE > 0, seen.right_NE < 0, seen.right_NE > 0)
    return [jnp.any(nearest_NE & side_NE, axis=1) for side_NE in sides]


def ways_round(own_N: Array, seen: Seen, goal_NE: Array, walls: Seen, size: int) -> list[Array]:
    """`straight_ways` round walls: a flood from all goals at once, until it comes beside the player."""
    own = _bits(own_N[:, None], jnp.ones((own_N.shape[0], 1), bool), size)
    goals = _bits(_cell(own_N, seen, size), goal_NE & (_distance(seen) > 0), size)
    free = [~wall for wall in _bits(_cell(own_N, walls, size), walls.there_NE, size)]
    around = _common(reduce(_union, _neighbours(own, size)), free)

    def grow(carry: tuple[Cells, Array]) -> tuple[Cells, Array]:
        reached, going_N = carry
        grown = _common(_union(reached, reduce(_union, _neighbours(reached, size))), free)
        grown = [jnp.where(going_N, new, old) for new, old in zip(grown, reached, strict=True)]
        return grown, going_N & ~_some(_common(grown, around)) & _some(_changed(grown, reached))

    going_N = ~here(seen, goal_NE) & _some(goals) & ~_some(_common(goals, around))
    reached, _ = lax.while_loop(lambda carry: jnp.any(carry[1]), grow, (goals, going_N))
    begins = [_some(_common(own, cells)) for cells in _neighbours(reached, size)]
    return [begin & ~here(seen, goal_NE) for begin in begins]


Cells = list[Array]
"""A set of cells as the bits of a few words, uint32 of [N]. A word holds as many whole rows as fit: two words
for 8x8, so that one step of a flood takes some thirty operations."""


def steps_round(own_N: Array, seen: Seen, walls: Seen, size: int) -> Array:
    """steps_NE: moves from each player to each object round walls, FAR to what is not there: a flood from the
    player."""
    own = _bits(own_N[:, None], jnp.ones((own_N.shape[0], 1), bool), size)
    free = [~wall for wall in _bits(_cell(own_N, walls, size), walls.there_NE, size)]
    cell_NE = _cell(own_N, seen, size)

    def grow(carry: tuple[Cells, Array, Array, Array]) -> tuple[Cells, Array, Array, Array]:
        reached, steps_NE, count, _ = carry
        grown = _common(_union(reached, reduce(_union, _neighbours(reached, size))), free)
        new_NE = seen.there_NE & (steps_NE == FAR) & _holds(grown, cell_NE, size)
        return grown, jnp.where(new_NE, count, steps_NE), count + 1, jnp.any(_some(_changed(grown, reached)))

    here_NE = jnp.where(seen.there_NE & (_distance(seen) == 0), 0, FAR)
    begin = own, here_NE, jnp.int32(1), jnp.array(True)
    return lax.while_loop(lambda carry: carry[3], grow, begin)[1]


def _holds(cells: Cells, cell_NE: Array, size: int) -> Array:
    """Whether the set has each of these cells."""
    per_word, found_NE = size * _rows_in_word(size), jnp.zeros(cell_NE.shape, bool)
    for w, word in enumerate(cells):
        position_NE = cell_NE - w * per_word
        bit_NE = (word[:, None] >> jnp.clip(position_NE, 0, 31).astype(jnp.uint32)) & 1
        found_NE = found_NE | ((position_NE >= 0) & (position_NE < per_word) & (bit_NE == 1))
    return found_NE


def _rows_in_word(size: int) -> int:
    return min(32 // size, size)


def _words(size: int) -> int:
    return -(-size // _rows_in_word(size))


def _bits(cell_NE: Array, there_NE: Array, size: int) -> Cells:
    """The set of these cells, which are different."""
    per_word, words = size * _rows_in_word(size), []
    for w in range(_words(size)):
        position_NE = cell_NE - w * per_word
        inside_NE = there_NE & (position_NE >= 0) & (position_NE < per_word)
        bit_NE = jnp.uint32(1) << jnp.where(inside_NE, position_NE, 0).astype(jnp.uint32)
        words.append(jnp.sum(jnp.where(inside_NE, bit_NE, jnp.uint32(0)), axis=1, dtype=jnp.uint32))
    return words


def _neighbours(cells: Cells, size: int) -> list[Cells]:
    """The cells from which up, down, left and right lead into the set."""
    rows = _rows_in_word(size)
    last, edge = size * (rows - 1), sum(1 << (size * r) for r in range(rows))
    left_edge, right_edge = jnp.uint32(edge), jnp.uint32(edge << (size - 1))
    grid_cells = [jnp.uint32((1 << (size * min(rows, size - w * rows))) - 1) for w in range(_words(size))]
    nothing = jnp.zeros_like(cells[0])
    below, above = [], []
    for word, before, after in zip(cells, [nothing, *cells[:-1]], [*cells[1:], nothing], strict=True):
        below.append(before if rows == 1 else (word << size) | (before >> last))
        above.append(after if rows == 1 else (word >> size) | (after << last))
    right = [(word & ~right_edge) << 1 for word in cells]
    left = [(word & ~left_edge) >> 1 for word in cells]
    return [_common(moved, grid_cells) for moved in (below, above, right, left)]


def _union(one: Cells, two: Cells) -> Cells:
    return [a | b for a, b in zip(one, two, strict=True)]


def _common(one: Cells, two: Cells) -> Cells:
    return [a & b for a, b in zip(one, two, strict=True)]


def _changed(one: Cells, two: Cells) -> Cells:
    return [a ^ b for a, b in zip(one, two, strict=True)]


def _some(cells: Cells) -> Array:
    """Whether the set has a cell."""
    return reduce(or_, cells) != 0


def _cell(own_N: Array, seen: Seen, size: int) -> Array:
    return own_N[:, None] + seen.down_NE * size + seen.right_NE


def _distance(seen: Seen) -> Array:
    return jnp.abs(seen.down_NE) + jnp.abs(seen.right_NE)
