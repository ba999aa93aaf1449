"""How aircraft lie to each other: for each seat, every other seat in seat order. Letter: O the other seats."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.games.dogfight.airframe import Flight
from sparring.games.dogfight.vectors import Vector
from sparring.games.others import others as of_others


class Sight(NamedTuple):
    """What lies between each seat and each other seat; all [S, O]."""

    line: Vector
    """Unit vector to the other."""
    range: Array
    nose: Array
    """Cosine of the angle between the own heading and the line: 1 points at the other."""
    tail: Array
    """Cosine of the angle between the other's heading and the line: 1 looks at its tail, -1 into its nose."""


def others(tree: Any) -> Any:
    """[S, ...] to [S, O, ...]."""
    return jax.tree.map(of_others, tree)


def own(tree: Any) -> Any:
    """[S, ...] to [S, 1, ...], to meet what `others` gives."""
    return jax.tree.map(lambda x_S: x_S[:, None], tree)


def look(flight: Flight) -> Sight:
    between = others(flight.place) - own(flight.place)
    distance = jnp.maximum(between.length(), 1.0)
    line = between * (1.0 / distance)
    return Sight(line, distance, own(flight.heading).dot(line), others(flight.heading).dot(line))


def closest(start: Vector, end: Vector) -> Array:
    """Least length of a difference of places that moves from `start` to `end`: a sub-step can be longer than a fuse
    reaches or a bubble is wide."""
    way = end - start
    share = jnp.clip(-start.dot(way) / jnp.maximum(way.dot(way), 1e-6), 0.0, 1.0)
    return (start + way * share).length()


def total(x: Array, axis: int) -> Array:
    """A sum over a short axis, written out: on a CPU a reduction takes several times as long."""
    parts = jnp.split(x, x.shape[axis], axis)
    return sum(parts[1:], parts[0]).squeeze(axis)
