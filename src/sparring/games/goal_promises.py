"""The part of the contract that is about goals."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import LARGEST, Goals
from sparring.core.spec import GameSpec
from sparring.games.game import Game
from sparring.games.promise import SOUND, broken, where
from sparring.games.symmetry import exchanged_goals, exchanges
from sparring.games.trial import Record, difference, quick_jit


def promised_goals(spec: GameSpec, goals: Any, reached: Any) -> tuple:
    """Shapes and types."""
    of_each = (spec.seats, len(spec.goals))
    return (
        ("goals().open_SG", goals.open_SG, of_each, jnp.bool_),
        ("goals().steps_SG", goals.steps_SG, of_each, jnp.floating),
        ("goals().about_SGZ", goals.about_SGZ, (*of_each, *goals.about_SGZ.shape[2:3]), jnp.floating),
        ("reached()", reached, of_each, jnp.bool_),
    )


@quick_jit
def _goals_of(game: Game, record: Record) -> tuple[Goals, Array]:
    goals = jax.vmap(jax.vmap(game.goals))(record.state)
    return goals, jax.vmap(jax.vmap(game.reached))(record.state, record.action, record.moment.after)


def check_goals(game: Game, record: Record, sample: Record) -> None:
    """What can be had is told in numbers, nothing else is reached, and both follow the seats. Whether a goal is ever
    reached in random play says nothing: some take skill."""
    if not game.spec.goals:
        return
    goals, reached = jax.tree.map(np.asarray, _goals_of(game, record))
    bad = ~(np.abs(goals.about_SGZ) <= LARGEST).all(-1) | ~((goals.steps_SG >= 0) & (goals.steps_SG <= LARGEST))
    if bad.any():
        found = f"others {where(record, bad.any(-1))}"
        raise broken("Finite goals", f"{SOUND}, and no steps below 0", found, "Guard divisions in goals().")
    bad = ~goals.open_SG & ((goals.steps_SG != 0) | (goals.about_SGZ != 0).any(-1))
    if bad.any():
        found, remedy = f"numbers of one that is not {where(record, bad.any(-1))}", "Multiply them by open_SG."
        raise broken("Goals that are not open", "zeros", found, remedy)
    bad = reached & ~goals.open_SG
    if bad.any():
        found = f"{game.spec.goals[np.argwhere(bad)[0][-1]]!r} {where(record, bad.any(-1))}"
        remedy = "Correct reached(), or what goals() said of the state before the step."
        raise broken("Goals that are reached", "open ones alone", found, remedy)
    for order in exchanges(game.spec):
        found = difference(*exchanged_goals(game, sample, jnp.asarray(order)))
        if found:
            expected = f"goals that follow the seats (new seat i is old seat {order.tolist()}[i])"
            remedy = "Correct the favour in goals() or reached(), or override permute() where goals name seats."
            raise broken("Exchangeable seats", expected, found, remedy)
