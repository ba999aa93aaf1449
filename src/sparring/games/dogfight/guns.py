"""The gun: a zone ahead of the nose in which the enemy loses health. It fires by itself, and nobody needs to lead."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.dogfight.geometry import Sight
from sparring.games.dogfight.rules import Rules

FULL = 0.7
"""Cosine of the angle off the tail of the target, 45 degrees, within which the gun does all its damage."""


class Bites(NamedTuple):
    """Health a second that guns take, 0 outside their zones; both [S, O], and never of friends."""

    given: Array
    taken: Array


def bites(sight: Sight, enemy_SO: Array, rules: Rules, front_quarter: bool) -> Bites:
    """Cosines are compared, not angles. `enemy_SO` says which of the others can be shot at and shoot."""
    reach_SO = (sight.range > rules.gun_near) & (sight.range < rules.gun_far) & enemy_SO
    rate_SO = rules.gun_damage * (rules.gun_far - sight.range) / (rules.gun_far - rules.gun_near)
    # The square of the cosine beyond which a target is within the cone, or within the width of the line.
    cone = jnp.square(jnp.cos(rules.gun_cone * (jnp.pi / 180.0)))
    least_SO = jnp.minimum(cone, 1.0 - jnp.square(rules.gun_width / sight.range))

    def bite(nose_SO: Array, tail_SO: Array) -> Array:
        hit_SO = reach_SO & (nose_SO > 0.0) & (nose_SO * nose_SO > least_SO)
        return jnp.where(hit_SO, rate_SO * (1.0 if front_quarter else aspect(tail_SO)), 0.0)

    return Bites(bite(sight.nose, sight.tail), bite(-sight.tail, -sight.nose))


def aspect(tail: Array) -> Array:
    """Share of the damage that a target takes, by the cosine of the angle off its tail: all from behind, less from the
    quarter, nothing from ahead of its wings. A fight of face shots would be decided by luck before it began."""
    return jnp.clip(tail * (1.0 / FULL), 0.0, 1.0)
