"""Whose choice decides a step, for critics that judge choices; and what the others chose."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action
from sparring.games.others import others_SO
from sparring.play.decide import Decision, Sight
from sparring.play.rollout import Choice, Driver, Others
from sparring.play.seating import Group, Seating


def deciding_choice(
    seating: Seating, drivers: Sequence[Driver], decisions: dict[int, Decision], driven: list[tuple[Action, Any]],
    drives: list, action: Action, sight: Sight,
) -> Choice | None:  # fmt: skip
    """The choice on which the value of each seat turns: its own or, in games of turns, that of the seat whose turn it
    is. None where no critic judges choices."""
    if not any(drivers[i].critic.choices for i in seating.learning):
        return None
    spec, entries = seating.spec, seating.spec.action.entries
    likely = [
        jnp.exp(decisions[i].distribution.log_p_A)
        if i in decisions
        else jax.nn.one_hot(chosen.discrete_SD[..., 0], entries)
        for i, (chosen, _) in enumerate(driven)
    ]
    p_BWSA, taken_BWS = seating.to_seats(likely, drives), action.discrete_SD[..., 0]
    if not spec.in_turn:
        others = what_others_did(action, sight, spec.seats)
        told = jax.nn.one_hot(others.discrete[..., 0], entries) * others.acting[..., None]
        return Choice(p_BWSA, taken_BWS, told.reshape(*taken_BWS.shape, -1))
    whose_BWS = jnp.argmax(sight.observation.acting_S, axis=-1)[..., None].repeat(spec.seats, -1)
    return Choice(
        jnp.take_along_axis(p_BWSA, whose_BWS[..., None], 2), jnp.take_along_axis(taken_BWS, whose_BWS, 2), None
    )


def told_to(seating: Seating, group: Group, choice: Choice | None) -> Array | None:
    """What the critics of a group are told of others' choices."""
    return None if choice is None or choice.told is None else seating.per_seat(choice.told, group)


def what_others_did(action: Action, sight: Sight, seats: int) -> Others:
    """For each seat what all others did, [B, W, S, O, ...]."""
    other_SO = others_SO(seats)
    acting_BWS = sight.observation.acting_S
    return Others(action.discrete_SD[:, :, other_SO], action.continuous_SC[:, :, other_SO], acting_BWS[:, :, other_SO])
