"""Exchanging left and right: the mirrored fight is a fight by the same rules, so experience can be used twice."""

import jax.numpy as jnp

from sparring.core.records import Action
from sparring.core.spec import ActionSpec
from sparring.games.dogfight.controls import BINS
from sparring.games.dogfight.rules import Fight
from sparring.games.dogfight.vectors import Vector


def mirrored_fight(fight: Fight) -> Fight:
    """East becomes west for everybody."""
    flight, missiles = fight.flight, fight.missiles
    turned = flight._replace(
        place=_mirrored(flight.place),
        heading=_mirrored(flight.heading),
        lift=_mirrored(flight.lift),
        roll_S=-flight.roll_S,
    )
    if missiles is not None:
        missiles = missiles._replace(place=_mirrored(missiles.place), heading=_mirrored(missiles.heading))
    return fight._replace(flight=turned, missiles=missiles)


def mirrored_action(action: Action, spec: ActionSpec) -> Action:
    """The same throttle and pull, the roll to the other side."""
    if not spec.low:
        sign_D = jnp.array([-1 if head == 2 else 1 for head in range(len(spec.heads))])
        last_D = jnp.array([len(BINS[2]) - 1 if head == 2 else 0 for head in range(len(spec.heads))])
        return action._replace(discrete_SD=last_D + sign_D * action.discrete_SD)
    return action._replace(continuous_SC=action.continuous_SC * jnp.array([1.0, 1.0, -1.0]))


def _mirrored(vector: Vector) -> Vector:
    return Vector(-vector.x_S, vector.y_S, vector.z_S)
