"""What a learner may be paid for besides the outcome.

A potential is differenced with the learner's own discount, and is nothing after the end: it leaves the best play as it
is. The other terms change the task.
"""

import jax.numpy as jnp
from jax import Array

from sparring.core.spec import Term
from sparring.games.dogfight.airframe import Flight
from sparring.games.dogfight.geometry import Sight
from sparring.games.dogfight.rules import Rules
from sparring.games.dogfight.vectors import arctan2

TERMS = (
    Term("posture", "potential", "being behind the enemy at gun range, minus its being behind: zero-sum, within 1"),
    Term("safety", "potential", "height above the hard deck after some seconds of this climb or sink, from 0 to 1"),
    Term("aim", "potential", "nose on the enemy within gun range, minus its nose on the own aircraft: within 1"),
    Term("hits", "reward", "damage given minus taken in this step: zero-sum; it changes the task"),
    Term("survival", "reward", "1 / longest for every step alive; it changes the task: long games pay"),
    Term("defeat", "reward", "-1 when the own side loses; it changes the task: a draw is then worth more"),
    Term("pursuit", "reward", "posture for every second: zero-sum; it changes the task: being behind pays"),
    Term("blunder", "reward", "-1 when lost to the ground, the bounds or a collision; it changes the task: no escape"),
)

BEST_RANGE, RANGE_SCALE = 500.0, 3000.0
"""Of posture, m (the form of McGrew et al. 2010)."""
SAFE, LOOK_AHEAD = 1500.0, 5.0
"""Clearance beyond which height earns nothing, m; seconds of the present climb or sink that are added to it."""
SHARP, FADE = jnp.pi / 30, 500.0
"""Of aim: the angle (6 degrees) and the distance beyond gun range, in m, over which it falls to a third."""


def potential(flight: Flight, sight: Sight, foe_SO: Array, alive_S: Array, rules: Rules) -> Array:
    """potential_SJ in the order of the terms; nothing for an aircraft that is gone."""
    nose_SO, tail_SO = _angle(sight.nose), _angle(sight.tail)
    closeness_SO = jnp.exp(-jnp.abs(sight.range - BEST_RANGE) / RANGE_SCALE)
    posture_SO = (1.0 - (nose_SO + tail_SO) / jnp.pi) * closeness_SO
    reach_SO = jnp.exp(-jnp.maximum(sight.range - rules.gun_far, 0.0) / FADE)
    aim_SO = (jnp.exp(-nose_SO / SHARP) - jnp.exp((tail_SO - jnp.pi) / SHARP)) * reach_SO
    # Each pair of enemies adds to one what it takes from the other, so dead enemies make the sum smaller, not the mean.
    share = 2.0 / alive_S.shape[0]
    clearance_S = flight.place.z_S - rules.hard_deck + LOOK_AHEAD * flight.speed_S * flight.heading.z_S
    safety_S = jnp.where(alive_S, jnp.clip(clearance_S / SAFE, 0.0, 1.0), 0.0)
    posture_S, aim_S = (share * jnp.sum(jnp.where(foe_SO, x_SO, 0.0), axis=1) for x_SO in (posture_SO, aim_SO))
    return jnp.stack([posture_S, safety_S, aim_S], axis=-1)


def _angle(cosine: Array) -> Array:
    return arctan2(jnp.sqrt(jnp.maximum(1.0 - cosine * cosine, 0.0)), cosine)
