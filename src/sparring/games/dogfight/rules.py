"""What a fight is: its state, the rules that a curriculum may change, and the words for how it ends."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.dogfight.airframe import Flight
from sparring.games.dogfight.missiles import Missiles

CAUSES = ("gun", "missile", "collision", "ground", "bounds", "outflown", "timeout")
FATES = (
    "was shot down", "was hit by a missile", "collided", "flew into the ground", "left the arena",
    "was outflown (the other kept the advantage for too long)", "ran out of time",
)  # fmt: skip
GUN, MISSILE, COLLISION, GROUND, BOUNDS, OUTFLOWN, TIMEOUT = range(len(CAUSES))

PEACE = 2.0
"""Seconds at the start in which no weapon works and nobody collides. Starts keep every edge farther away than an
aircraft can fly in that time (`starts`), so no game is shorter, whatever the rules."""


def usually(value: float) -> Any:
    """A default that becomes an array in `standard_rules`."""
    return value


class Rules(NamedTuple):
    """Scalars, in metres, seconds and degrees. The gun zone is that of the AlphaDogfight trials: 500 to 3,000 feet."""

    gun_cone: Array = usually(1.0)
    """Half-angle of the gun zone about the nose."""
    gun_width: Array = usually(20.0)
    """A target within this distance of the line of the gun is hit as well: near it is larger than the cone."""
    gun_near: Array = usually(152.0)
    gun_far: Array = usually(914.0)
    """The gun reaches from near to far; its damage falls from full to nothing on the way."""
    gun_damage: Array = usually(1.0)
    """Damage a second at the near end; an aircraft has health 1."""
    bubble: Array = usually(30.0)
    """Two enemies that pass within this distance collide: lost is the one whose nose points more at the other, or both
    where they are alike. So nobody gains by ramming, and a chaser keeps clear."""
    control_time: Array = usually(40.0)
    """Seconds right behind the enemy that count as much as its health. A side that is ahead by 1 in both together has
    won: who flees, hides or circles is chased, and loses."""
    margin: Array = usually(0.05)
    """A smaller lead than this at the end of time is a draw."""
    hard_deck: Array = usually(300.0)
    """Below this height an aircraft is lost."""
    ceiling: Array = usually(15_000.0)
    """Above this height an aircraft is lost."""
    arena: Array = usually(10_000.0)
    """An aircraft farther than this from every living enemy is lost if it flies away from them more than they from it:
    who breaks off a duel loses it; when both do alike, both are lost and it is a draw."""
    levelling: Array = usually(90.0)
    """Roll towards wings level while the stick is centred, degrees a second at 90 degrees of bank. It keeps beginners
    in the air and takes nothing from others: a full stick rolls as fast as without."""
    start_offensive: Array = usually(0.25)
    """Share of starts in which one side begins behind the other."""
    start_defensive: Array = usually(0.5)
    """Share of those in which it is side 0 that is chased: at one half the sides are alike."""
    start_range_low: Array = usually(1500.0)
    start_range_high: Array = usually(4000.0)
    """How far apart the sides begin where nobody is behind."""
    start_uneven: Array = usually(1.0)
    """How much such starts differ for the sides: at 0 what one side sees, the other sees; at 1 headings are off by up
    to 30 degrees and heights by up to 500 m, at one energy, by chance for either side."""
    start_chase_low: Array = usually(500.0)
    start_chase_high: Array = usually(1500.0)
    """How far behind the other a side begins."""
    start_height_low: Array = usually(4000.0)
    start_height_high: Array = usually(7000.0)
    start_speed_low: Array = usually(200.0)
    start_speed_high: Array = usually(280.0)
    missile_cone: Array = usually(20.0)
    """Half-angle about the nose in which a missile can be launched."""
    missile_aspect: Array = usually(60.0)
    """Half-angle about the target's tail from which its seeker sees the engine: two never have each other. At 180 it
    sees from everywhere, and two that meet shoot each other."""
    missile_near: Array = usually(600.0)
    missile_range: Array = usually(2500.0)
    """Between these it can be launched: behind a target that flies on, it arrives."""
    missile_pause: Array = usually(25.0)
    """Between two launches of an aircraft."""
    missile_fuse: Array = usually(15.0)
    """A missile that passes its target within this distance destroys it."""


def standard_rules() -> Rules:
    return Rules(*(jnp.asarray(value, float) for value in Rules()))


class Fight(NamedTuple):
    """One world."""

    flight: Flight
    health_S: Array
    alive_S: Array
    control_S: Array
    """Seconds of control over enemies minus theirs over it."""
    cause_S: Array
    """How an aircraft was lost, as an index into CAUSES; TIMEOUT while it lives."""
    played: Array
    """Decisions since the start, int32."""
    missiles: Missiles | None
    """None in a fight with guns alone."""
