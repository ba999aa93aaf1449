"""Allies against enemies, two by two. Arrays are [A, E, W]: units of side k lie on axis k, their foes on the other."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.skirmish import lengths
from sparring.games.skirmish.army import Army, Stats


class Pairs(NamedTuple):
    delta_X: Array
    """[2, A, E, W] from the enemy to the ally."""
    squared: Array
    """Squared distance."""
    alive: Array
    """Both are."""
    open: tuple[Array, Array]
    """For each side: whether its unit may attack the other: both live, and not everybody can hit what flies."""
    reached: tuple[Array, Array]
    """For each side: whether, besides, its unit's weapon reaches that far."""


def along(side: int, units_NW: Array | np.ndarray) -> Array:
    """An array of a side's units, to be combined with arrays of pairs."""
    return jnp.expand_dims(units_NW, 1 - side)


def met(army: Army, stats: Stats, place_XU: Array, alive_U: Array) -> Pairs:
    ally, enemy = army.slice(0), army.slice(1)
    delta_X = place_XU[:, ally, None] - place_XU[:, None, enemy]
    squared = lengths.squared(delta_X)
    alive = along(0, alive_U[ally]) & along(1, alive_U[enemy])
    radii = stats.radius[ally][:, None] + stats.radius[enemy][None]
    open_to, reached = [], []
    for side in (0, 1):
        may = alive
        if army.any_of(1 - side, "flies"):
            grounded = along(1 - side, ~stats.flies[army.slice(1 - side)])
            may = may & (grounded | along(side, stats.hits_air[army.slice(side)]))
        open_to.append(may)
        reached.append(may & (squared <= (along(side, stats.reach[army.slice(side)]) + radii) ** 2))
    return Pairs(delta_X, squared, alive, (open_to[0], open_to[1]), (reached[0], reached[1]))
