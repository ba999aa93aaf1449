"""What happens in a sub-step: everybody flies, guns bite, missiles hit, and some are lost."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.dogfight import guns, missiles
from sparring.games.dogfight.airframe import Controls, Flight, fly
from sparring.games.dogfight.geometry import Sight, closest, look, others, own
from sparring.games.dogfight.rules import BOUNDS, COLLISION, GROUND, GUN, MISSILE, TIMEOUT, Fight, Rules

ALIKE = 0.05
"""Two whose noses point at each other within this difference of cosines are both at fault when they collide: 18 degrees
beside a nose that points straight."""
FAR, FARTHEST, LEAST = 1500.0, 4000.0, 0.25
"""Control is full up to the first range, m, and falls to its least at the second: whoever flees, however far, is still
chased."""


class Setting(NamedTuple):
    """What is fixed when a game is made."""

    side_of_seat: tuple[int, ...]
    decisions: int
    """A second."""
    substeps: int
    """Of a decision."""
    front_quarter: bool
    """Whether guns also work on an enemy that comes head on."""

    @property
    def dt(self) -> float:
        """Seconds of a sub-step."""
        return 1.0 / (self.decisions * self.substeps)

    @property
    def foe_SO(self) -> np.ndarray:
        """Which of the others are enemies."""
        side_S = np.array(self.side_of_seat)
        return np.array(
            [[side != own for other, side in enumerate(side_S) if other != s] for s, own in enumerate(side_S)]
        )


def foes(alive_S: Array, setting: Setting) -> Array:
    """Which of the others can be shot at and shoot, [S, O]."""
    return own(alive_S) & others(alive_S) & setting.foe_SO


def undecided(alive_S: Array) -> Array:
    """Whether both sides still have an aircraft; the seats of a side are neighbours."""
    return alive_S.reshape(2, -1).any(axis=1).all()


def substep(fight: Fight, wish: Controls, armed: Array, rules: Rules, setting: Setting) -> tuple[Fight, Array]:
    """The fight afterwards, and the damage that each gave minus what it took. Nothing moves once a side is gone."""
    flying_S = fight.alive_S & undecided(fight.alive_S)
    flown = fly(fight.flight, wish, setting.dt)
    flight: Flight = jax.tree.map(lambda new, old: jnp.where(flying_S, new, old), flown, fight.flight)
    sight, foe_SO = look(flight), foes(flying_S, setting)
    given_S, taken_S = (
        setting.dt * jnp.sum(bite_SO, axis=1)
        for bite_SO in guns.bites(sight, foe_SO & armed, rules, setting.front_quarter)
    )
    health_S = jnp.maximum(fight.health_S - taken_S, 0.0)
    shot_S, carried = jnp.zeros_like(flying_S), fight.missiles
    if carried is not None:
        carried, hit_SS = missiles.advance(carried, fight.flight, flight, flying_S, rules.missile_fuse, setting.dt)
        shot_S = jnp.sum(hit_SS, axis=0) > 0.5
        given_S, taken_S = given_S + jnp.sum(hit_SS, axis=1), taken_S + jnp.sum(hit_SS, axis=0)
    rammed_S = _rammed(fight.flight, flight, foe_SO & armed, rules.bubble)
    fate_S = _fate(flight, sight, foe_SO, health_S, shot_S, rammed_S, rules)
    cause_S = jnp.where(flying_S, fate_S, fight.cause_S)
    alive_S = fight.alive_S & (cause_S == TIMEOUT)
    after = fight._replace(flight=flight, health_S=health_S, alive_S=alive_S, cause_S=cause_S, missiles=carried)
    return after, given_S - taken_S


def control(sight: Sight, foe_SO: Array) -> Array:
    """How well each is placed against its enemies, [S]: 1 right behind one with the nose on it, -1 the reverse, 0 nose
    to nose or abreast. What one has, the other lacks."""
    near_SO = jnp.clip(1.0 - (sight.range - FAR) * ((1.0 - LEAST) / (FARTHEST - FAR)), LEAST, 1.0)
    placed_SO = 0.5 * (sight.nose + sight.tail) * near_SO
    return jnp.sum(jnp.where(foe_SO, placed_SO, 0.0), axis=1) * (2.0 / foe_SO.shape[0])


def lead(fight: Fight, rules: Rules) -> Array:
    """By how much a side is ahead, as each of its seats sees it, [S]: in health, and in seconds of control."""
    health_S = jnp.where(fight.alive_S, fight.health_S, 0.0)
    side_K = jnp.sum((health_S + 0.5 * fight.control_S / rules.control_time).reshape(2, -1), axis=1)
    lead_K = (side_K - side_K[::-1]) * (2.0 / health_S.shape[0])
    return jnp.repeat(lead_K, health_S.shape[0] // 2)


def _rammed(before: Flight, after: Flight, foe_SO: Array, bubble: Array) -> Array:
    """Who has flown into an enemy: its nose pointed at the other more than the other's at it, or as much."""
    start, end = (others(flight.place) - own(flight.place) for flight in (before, after))
    fault_SO = (own(before.heading) + others(before.heading)).dot(start) > -ALIKE * start.length()
    return jnp.any(foe_SO & fault_SO & (closest(start, end) < bubble), axis=1)


def _fate(
    flight: Flight,
    sight: Sight,
    foe_SO: Array,
    health_S: Array,
    shot_S: Array,
    rammed_S: Array,
    rules: Rules,
) -> Array:
    """Why each is lost now; TIMEOUT where it is not."""
    height_S = flight.place.z_S
    # Who flies away loses: were a fight that breaks off a draw, two beginners would learn to part and never to fight.
    closing_SO, coming_SO = own(flight.speed_S) * sight.nose, -others(flight.speed_S) * sight.tail
    away_S = jnp.all((sight.range > rules.arena) & (closing_SO <= coming_SO) | ~foe_SO, axis=1)
    cause_S = jnp.where((height_S > rules.ceiling) | away_S, BOUNDS, TIMEOUT)
    cause_S = jnp.where(height_S < rules.hard_deck, GROUND, cause_S)
    cause_S = jnp.where(rammed_S, COLLISION, cause_S)
    cause_S = jnp.where(shot_S, MISSILE, cause_S)
    return jnp.where(health_S <= 0.0, GUN, cause_S)


def locks(fight: Fight, sight: Sight, armed: Array, rules: Rules, setting: Setting) -> Array:
    """lock_SS: a 1 at the enemy nearest to the nose, for each aircraft that can launch a missile now."""
    carried = fight.missiles
    assert carried is not None
    ready_S = carried.left_SM.any(axis=1) & (carried.pause_S < 1e-3) & armed
    cone, aspect = (jnp.cos(angle * (jnp.pi / 180.0)) for angle in (rules.missile_cone, rules.missile_aspect))
    reach_SO = (sight.range > rules.missile_near) & (sight.range < rules.missile_range)
    inside_SO = reach_SO & (sight.nose > cone) & (sight.tail >= aspect)
    cosine_SO = jnp.where(inside_SO & foes(fight.alive_S, setting) & own(ready_S), sight.nose, -2.0)
    best_SO = (cosine_SO == jnp.max(cosine_SO, axis=1, keepdims=True)) & (cosine_SO > -1.5)
    nobody = jnp.zeros(1, bool)
    rows = [jnp.concatenate([row_O[:s], nobody, row_O[s:]]) for s, row_O in enumerate(best_SO)]
    return jnp.stack(rows).astype(float)
