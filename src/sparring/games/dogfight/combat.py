"""What happens in a sub-step: everybody flies, guns bite, missiles hit, and some are lost."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.dogfight import guns, missiles
from sparring.games.dogfight.airframe import Controls, Flight, fly
from sparring.games.dogfight.geometry import Sight, look, others, own
from sparring.games.dogfight.rules import BOUNDS, GROUND, GUN, MISSILE, TIMEOUT, Fight, Rules


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
    zones = guns.zones(sight, foe_SO & armed, rules, setting.front_quarter)
    bite_SO = guns.damage_rate(sight, rules) * setting.dt
    given_S = jnp.sum(jnp.where(zones.given, bite_SO, 0.0), axis=1)
    taken_S = jnp.sum(jnp.where(zones.taken, bite_SO, 0.0), axis=1)
    health_S = jnp.maximum(fight.health_S - taken_S, 0.0)
    shot_S, carried = jnp.zeros_like(flying_S), fight.missiles
    if carried is not None:
        carried, hit_SS = missiles.advance(carried, fight.flight, flight, flying_S, rules.missile_fuse, setting.dt)
        shot_S = jnp.sum(hit_SS, axis=0) > 0.5
        given_S, taken_S = given_S + jnp.sum(hit_SS, axis=1), taken_S + jnp.sum(hit_SS, axis=0)
    cause_S = jnp.where(flying_S, _fate(flight, sight, foe_SO, health_S, shot_S, rules), fight.cause_S)
    alive_S = fight.alive_S & (cause_S == TIMEOUT)
    return Fight(flight, health_S, alive_S, cause_S, fight.played, carried), given_S - taken_S


def _fate(flight: Flight, sight: Sight, foe_SO: Array, health_S: Array, shot_S: Array, rules: Rules) -> Array:
    """Why each is lost now; TIMEOUT where it is not."""
    height_S = flight.place.z_S
    # Who flies away loses: were a fight that breaks off a draw, two beginners would learn to part and never to fight.
    closing_SO, coming_SO = own(flight.speed_S) * sight.nose, -others(flight.speed_S) * sight.tail
    away_S = jnp.all((sight.range > rules.arena) & (closing_SO <= coming_SO) | ~foe_SO, axis=1)
    cause_S = jnp.where((height_S > rules.ceiling) | away_S, BOUNDS, TIMEOUT)
    cause_S = jnp.where(height_S < rules.hard_deck, GROUND, cause_S)
    cause_S = jnp.where(shot_S, MISSILE, cause_S)
    return jnp.where(health_S <= 0.0, GUN, cause_S)


def locks(fight: Fight, sight: Sight, armed: Array, rules: Rules, setting: Setting) -> Array:
    """lock_SS: a 1 at the enemy nearest to the nose, for each aircraft that can launch a missile now."""
    carried = fight.missiles
    assert carried is not None
    ready_S = carried.left_SM.any(axis=1) & (carried.pause_S < 1e-3) & armed
    inside_SO = (sight.nose > jnp.cos(rules.missile_cone * (jnp.pi / 180.0))) & (sight.range < rules.missile_range)
    cosine_SO = jnp.where(inside_SO & foes(fight.alive_S, setting) & own(ready_S), sight.nose, -2.0)
    best_SO = (cosine_SO == jnp.max(cosine_SO, axis=1, keepdims=True)) & (cosine_SO > -1.5)
    nobody = jnp.zeros(1, bool)
    rows = [jnp.concatenate([row_O[:s], nobody, row_O[s:]]) for s, row_O in enumerate(best_SO)]
    return jnp.stack(rows).astype(float)
