"""What scripted enemies do: march to a goal and fight whom they meet.

An approximation of the engine's attack-move. A unit looks round as far as SCAN or its weapon reaches, and farther for
a foe that fires at it, or, if it sees nobody, at its comrades. Those who attack come first, then the nearest, beside
whom it finds a place to fight. It keeps a target in reach, but an idle one only until another that attacks is in reach
too.
"""

import jax.numpy as jnp
from jax import Array

from sparring.games.skirmish.army import CLOSE, Army, Stats
from sparring.games.skirmish.pairs import Pairs, along

SCAN = 5.0
HELP = 4.0
"""Cells within which comrades without a target hear that one is hit (the engine's own figure), added here to how far
they see."""
FUZZ = 1e-3
"""Squared cells within which targets are equally far: chance chooses, never the number of a seat."""
FAR = 1e9
IDLE, FULL = 2.0**12, 1e6
"""Squared cells by which a target seems farther that attacks nobody, and one that has no free place round it: more than
any two on a map are apart."""


def chosen(army: Army, stats: Stats, pairs: Pairs, target_EW: Array, pressed: Array, favour_UW: Array) -> Array:
    """Pairs in which the enemy aims at the ally; `pressed` are those in which the ally fires at the enemy."""
    ally, enemy = army.slice(0), army.slice(1)
    if army.battle_map.goal == "allies":
        seen = pairs.open[1]
    else:
        radii = stats.radius[ally][:, None] + stats.radius[enemy][None]
        scan = jnp.maximum(stats.reach[enemy], SCAN)[None] + radii
        seen = ((pairs.squared <= scan**2) | pressed) & pairs.open[1]
        # Comrades call for help: whoever sees nobody else goes for those who fire at one of them, from farther away.
        called = (pairs.squared <= (scan + HELP) ** 2) & pressed.any(axis=1, keepdims=True) & pairs.open[1]
        seen = seen | (called & ~seen.any(axis=0, keepdims=True))
    if army.any_of(1, "heals"):
        seen = seen & along(1, ~stats.heals[enemy])
    number = along(0, jnp.arange(army.sizes[0], dtype=target_EW.dtype)[:, None])
    held = (along(1, target_EW) == number) & pairs.reached[1]
    # Agents do not attack by themselves, like workers, and like them they threaten nobody but while they attack.
    idle = ~pressed.any(axis=1, keepdims=True)
    kept = held & (~idle | ~(pairs.reached[1] & ~idle).any(axis=0, keepdims=True))
    squared = pairs.squared + IDLE * idle
    if army.melee(1):
        close = held & along(1, stats.reach[enemy] < CLOSE)
        full = jnp.sum(close, axis=1, keepdims=True) >= _places(stats, ally, enemy)
        squared = jnp.where(full & ~held, squared + FULL, squared)
    # A kept target is nearer than any other, so that one search finds it first.
    squared = jnp.where(kept, -1.0, jnp.where(seen, squared, FAR))
    return nearest(squared, along(0, favour_UW[ally]), axis=0)


def _places(stats: Stats, ally: slice, enemy: slice) -> Array:
    """How many enemies like one fit round an ally and reach it, side by side."""
    ring = (stats.reach[enemy] + stats.radius[enemy])[None] + stats.radius[ally][:, None]
    return jnp.floor(jnp.pi / jnp.arcsin(jnp.minimum(stats.room[enemy][None] / ring, 1.0)))


def nearest(squared: Array, favour: Array, axis: int) -> Array:
    """Marks the one that is least far along an axis, if any is nearer than FAR: one alone, as a weapon aims."""
    least = jnp.min(squared, axis=axis, keepdims=True)
    favour = jnp.where((squared <= least + FUZZ) & (squared < FAR), favour, jnp.inf)
    return (favour == jnp.min(favour, axis=axis, keepdims=True)) & (favour < jnp.inf)
