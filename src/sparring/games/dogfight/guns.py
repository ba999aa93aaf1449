"""The gun: a zone ahead of the nose in which the enemy loses health. It fires by itself, and nobody needs to lead."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.dogfight.geometry import Sight
from sparring.games.dogfight.rules import Rules

FRONT_QUARTER = -0.5
"""Cosine of 120 degrees: without front-quarter guns the target must fly less than that across the line of fire."""


class Zones(NamedTuple):
    """Who has whom in the gun zone; both [S, O], and never of friends."""

    given: Array
    taken: Array


def zones(sight: Sight, enemy_SO: Array, rules: Rules, front_quarter: bool) -> Zones:
    """Cosines are compared, not angles. `enemy_SO` says which of the others can be shot at and shoot."""
    narrow = jnp.cos(rules.gun_cone * (jnp.pi / 180.0))
    reach_SO = (sight.range > rules.gun_near) & (sight.range < rules.gun_far) & enemy_SO
    given_SO, taken_SO = reach_SO & (sight.nose > narrow), reach_SO & (-sight.tail > narrow)
    if not front_quarter:
        given_SO, taken_SO = given_SO & (sight.tail > FRONT_QUARTER), taken_SO & (-sight.nose > FRONT_QUARTER)
    return Zones(given_SO, taken_SO)


def damage_rate(sight: Sight, rules: Rules) -> Array:
    """Health a second that a target in the zone loses, [S, O]."""
    return rules.gun_damage * (rules.gun_far - sight.range) / (rules.gun_far - rules.gun_near)
