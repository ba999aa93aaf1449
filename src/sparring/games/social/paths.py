"""Shortest ways round walls, for scripted players: a set of cells is the bits of a few words.

A word holds as many whole rows of the grid as fit in 32 bits, two words for 8x8. A flood from all goals at once then
takes some thirty operations a step, whatever the number of goals.
"""

from functools import reduce
from operator import or_

import jax.numpy as jnp
from jax import Array, lax

CERTAIN = 30.0
"""Logit of a scripted choice: anything else happens once in 10^13."""
Cells = list[Array]
"""The words of a set, uint32, first rows first; each may have leading axes."""


def bits(cell: Array, there: Array, size: int) -> Cells:
    """The set with one cell, or none where it is not there."""
    per_word, sets = size * rows_in_word(size), []
    for w in range(words(size)):
        position = cell - w * per_word
        inside = there & (position >= 0) & (position < per_word)
        shift = jnp.where(inside, position, 0).astype(jnp.uint32)
        sets.append(jnp.where(inside, jnp.uint32(1) << shift, jnp.uint32(0)))
    return sets


def cell_of(down: Array, right: Array, size: int) -> Array:
    """What a way, given as shares of the grid, adds to a cell."""
    return jnp.round((down * size + right) * size).astype(jnp.int32)


def listed(own_N: Array, features_NF: Array, width: int, size: int) -> list[Cells]:
    """The sets of single objects from a list of places (views.listed) of that many numbers each."""
    sets = []
    for e in range(0, features_NF.shape[1], width):
        cell_N = own_N + cell_of(features_NF[:, e], features_NF[:, e + 1], size)
        sets.append(bits(cell_N, features_NF[:, e + 2] > 0.5, size))
    return sets


def bits_of_plane(plane_NC: Array, size: int) -> Cells:
    """The set of the cells whose number is positive."""
    per_word = size * rows_in_word(size)
    sets = []
    for begin in range(0, size * size, per_word):
        part = plane_NC[..., begin : begin + per_word] > 0.5
        weight = jnp.uint32(1) << jnp.arange(part.shape[-1], dtype=jnp.uint32)
        sets.append(jnp.sum(jnp.where(part, weight, jnp.uint32(0)), axis=-1, dtype=jnp.uint32))
    return sets


def words(size: int) -> int:
    return -(-size // rows_in_word(size))


def rows_in_word(size: int) -> int:
    return min(32 // size, size)


def union(*sets: Cells) -> Cells:
    return [reduce(or_, same) for same in zip(*sets, strict=True)]


def common(one: Cells, two: Cells) -> Cells:
    return [a & b for a, b in zip(one, two, strict=True)]


def kept(keep: Array, cells: Cells) -> Cells:
    """The set, or none."""
    return [jnp.where(keep, word, jnp.uint32(0)) for word in cells]


def either(condition: Array, one: Cells, two: Cells) -> Cells:
    return [jnp.where(condition, a, b) for a, b in zip(one, two, strict=True)]


def some(cells: Cells) -> Array:
    """Whether the set has a cell."""
    return reduce(or_, cells) != 0


def first(cells: Cells) -> Cells:
    """The first cell of the set in reading order: one that all players see alike."""
    found, single = jnp.zeros_like(cells[0]), []
    for word in cells:
        lowest = word & (jnp.uint32(0) - word)
        single.append(jnp.where(found == 0, lowest, jnp.uint32(0)))
        found = found | word
    return single


def beside(cells: Cells, size: int) -> list[Cells]:
    """The cells from which up, down, left and right lead into the set."""
    rows = rows_in_word(size)
    last = jnp.uint32(size * (rows - 1))
    left_edge = sum(1 << (size * r) for r in range(rows))
    right_edge = jnp.uint32(left_edge << (size - 1))
    nothing = jnp.zeros_like(cells[0])
    before, after = [nothing, *cells[:-1]], [*cells[1:], nothing]
    below = [(word << size) | (other >> last) if rows > 1 else other for word, other in zip(cells, before, strict=True)]
    above = [(word >> size) | (other << last) if rows > 1 else other for word, other in zip(cells, after, strict=True)]
    right = [(word & ~right_edge) << 1 for word in cells]
    left = [(word & ~jnp.uint32(left_edge)) >> 1 for word in cells]
    return [common(moved, _grid(size)) for moved in (below, above, right, left)]


def ways(own: Cells, goals: Cells, walls: Cells, size: int) -> list[Array]:
    """Which of up, down, left and right begin a shortest way to the nearest goal; none where one is here, or nowhere.

    All that are equally short are told, so a tie is the chance of whoever draws among them.
    """
    free = [~wall for wall in walls]

    def grow(carry: tuple[tuple[Array, ...], Array]) -> tuple[tuple[Array, ...], Array]:
        reached = list(carry[0])
        grown = common(union(reached, *beside(reached, size)), free)
        # Never grown over the own cell: in the end it holds what is nearer to a goal.
        grown = either(some(common(grown, own)), reached, grown)
        return tuple(grown), some([a ^ b for a, b in zip(grown, reached, strict=True)])

    start = tuple(kept(~some(common(own, goals)), goals))
    reached, _ = lax.while_loop(lambda carry: jnp.any(carry[1]), grow, (start, some(list(start))))
    return [some(common(own, cells)) for cells in beside(list(reached), size)]


def _grid(size: int) -> Cells:
    """All cells."""
    rows = rows_in_word(size)
    return [jnp.uint32((1 << (size * min(rows, size - w * rows))) - 1) for w in range(words(size))]
