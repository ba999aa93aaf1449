"""Medivacs: whom they care for, what it gives and costs."""

from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.skirmish import lengths
from sparring.games.skirmish.army import Army, Stats
from sparring.games.skirmish.script import FAR, SCAN, nearest
from sparring.games.skirmish.units import KINDS, LOOPS_PER_SECOND

if TYPE_CHECKING:  # a battle calls this module
    from sparring.games.skirmish.battle import Battle

MEDIVAC = KINDS["medivac"]
GAIN = MEDIVAC.heal_rate / LOOPS_PER_SECOND
COST = GAIN / MEDIVAC.heal_per_energy
"""Of one loop."""


class Care(NamedTuple):
    """What the healers of a side do in one loop."""

    gained: Array
    """Health that each of its units gets."""
    spent: Array
    """Energy."""
    patient: Array
    """The number of the unit that each cares for, among all; -1: none."""
    called: Array
    busy: Array
    """It heals, and therefore stands."""
    sought: Array | None
    """[2, N, W] from the healer to its patient; None where a side has no healers."""


def care(army: Army, stats: Stats, side: int, battle: "Battle", scripted: bool, favour_U: Array) -> Care:
    units = army.slice(side)
    health = battle.health_U[units]
    if not army.any_of(side, "heals"):
        nothing = jnp.zeros_like(health)
        nobody = jnp.full(health.shape, -1, jnp.int32)
        return Care(nothing, nothing, nobody, nothing > 0, nothing > 0, None)
    first, count = army.first(side), army.sizes[side]
    place_XN = battle.place_XU[:, units]
    delta_XNN = place_XN[:, None] - place_XN[:, :, None]
    squared = lengths.squared(delta_XNN)
    # [healer, friend, W]
    open_to = (health > 0) & stats.patient[units] & ~stats.heals[units]
    able = (stats.heals[units] & (health > 0))[:, None] & open_to[None]
    number = jnp.arange(first, first + count, dtype=jnp.int32)[None, :, None]
    radii = stats.radius[units][:, None] + stats.radius[units][None]
    wounded = (health < stats.health[units])[None]
    if scripted:
        seen = able & wounded & (squared <= (SCAN + radii) ** 2)
        chosen = nearest(jnp.where(seen, squared, FAR), favour_U[units][None], axis=1)
    else:
        chosen = able & (battle.target_U[units][:, None] == number)
    in_reach = chosen & (squared <= (stats.reach[units][:, None] + radii) ** 2)
    heals = in_reach & wounded & (battle.energy_U[units] >= COST)[:, None]
    received = GAIN * jnp.sum(heals, axis=0, dtype=jnp.float32)
    return Care(
        gained=jnp.minimum(received, stats.health[units] - health),
        spent=COST * heals.any(axis=1),
        patient=jnp.max(jnp.where(chosen, number, -1), axis=1),
        called=chosen.any(axis=1),
        busy=in_reach.any(axis=1),
        sought=jnp.sum(jnp.where(chosen, delta_XNN, 0.0), axis=2),
    )
