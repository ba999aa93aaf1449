"""From actions to controls and back. Action 0 is half throttle, 1 g and no roll: wings level, it flies level."""

from itertools import pairwise

import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action
from sparring.core.spec import ActionSpec
from sparring.games.dogfight.airframe import F16, Controls, Flight

BINS = ((-1.0, 0.0, 1.0), (-0.5, -0.125, 0.0, 0.06, 0.19, 0.44, 1.0), (-1.0, -0.3, -0.08, 0.0, 0.08, 0.3, 1.0))
"""Choices of the discrete heads throttle, pull and roll. Pulls are -1, 0.5, 1, 1.5, 2.5, 4.5 and 9 g; the fine ones
near 0 are for aiming."""
UP, DOWN = 8.0, 4.0
"""Load factor of a full pull and a full push, beyond the 1 g of level flight."""
SHARPNESS = 1e4
"""Weight of the squared distance to a bin in a bot's logits: it takes the nearest."""


def action_spec(discrete: bool, missiles: bool) -> ActionSpec:
    fire = (2,) if missiles else ()
    if discrete:
        return ActionSpec(heads=(*(len(bins) for bins in BINS), *fire))
    return ActionSpec(heads=fire, low=(-1.0,) * 3, high=(1.0,) * 3)


def stick(action: Action, spec: ActionSpec) -> list[Array]:
    """Throttle, pull and roll of every seat, each from -1 to 1."""
    if not spec.low:
        columns = [action.discrete_SD[:, head] for head in range(3)]
        return [_looked_up(column, bins) for column, bins in zip(columns, BINS, strict=True)]
    return [jnp.clip(action.continuous_SC[:, i], -1.0, 1.0) for i in range(3)]


def legal(alive_S: Array, ready_S: Array | None, spec: ActionSpec) -> Array:
    """legal_SA: one that is gone has entry 0 of each head alone; a missile can be fired where one is ready."""
    first_A = np.concatenate([np.arange(size) == 0 for size in spec.heads] or [np.zeros(0, bool)])
    legal_SA = alive_S[:, None] | first_A
    if ready_S is None:
        return legal_SA
    return jnp.concatenate([legal_SA[:, :-1], (alive_S & ready_S)[:, None]], axis=1)


def controls_of(action: Action, spec: ActionSpec, flight: Flight, levelling: Array) -> Controls:
    throttle_S, pull_S, roll_S = stick(action, spec)
    centre_S = centre_of_roll(flight.right.z_S, levelling)
    return Controls(
        throttle_S=0.5 * (throttle_S + 1.0),
        load_S=1.0 + pull_S * jnp.where(pull_S < 0, DOWN, UP),
        roll_S=roll_S + (1.0 - jnp.abs(roll_S)) * centre_S,
    )


def centre_of_roll(right_up: Array, levelling: Array) -> Array:
    """The share of the greatest roll rate that a centred stick asks for: towards wings level. `right_up` is the upward
    component of the right wing, `levelling` in degrees a second at 90 degrees of bank."""
    return jnp.clip(right_up * levelling * (jnp.pi / 180.0 / F16.roll_rate), -0.9, 0.9)


def scores(wish: Controls, centre_N: Array, fire_N: Array, spec: ActionSpec) -> tuple[Array, Array]:
    """logits_NA and mean_NC of the actions nearest to wished controls: `controls_of` backwards. `fire_N` is positive
    where one fires."""
    roll_N = (wish.roll_S - centre_N) / (1.0 - jnp.sign(wish.roll_S - centre_N) * centre_N)
    pull_N = (wish.load_S - 1.0) / jnp.where(wish.load_S < 1.0, DOWN, UP)
    parts = [2.0 * wish.throttle_S - 1.0, pull_N, roll_N]
    stick_NC = jnp.clip(jnp.stack(parts, axis=-1), -1.0, 1.0)
    logits = []
    if not spec.low:
        logits = [-SHARPNESS * (stick_NC[:, [i]] - np.array(bins, np.float32)) ** 2 for i, bins in enumerate(BINS)]
        stick_NC = stick_NC[:, :0]
    if len(spec.heads) == (1 if spec.low else 4):
        logits.append(jnp.stack([jnp.zeros_like(fire_N), SHARPNESS * fire_N], axis=-1))
    return jnp.concatenate(logits, axis=-1) if logits else stick_NC[:, :0], stick_NC


def _looked_up(choice_S: Array, bins: tuple[float, ...]) -> Array:
    """A sum of steps instead of a gather, which is slow on a CPU."""
    value_S = jnp.full(choice_S.shape, bins[0])
    for number, (below, above) in enumerate(pairwise(bins)):
        value_S = value_S + jnp.where(choice_S > number, above - below, 0.0)
    return value_S
