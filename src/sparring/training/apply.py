"""What the leagues decided, carried out: rows of learners and pools are copied, put back or loaded."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from sparring.league.events import Event, Joined, Recalled, Reset, Snapshot
from sparring.league.player import Player
from sparring.learn.learner import Learner, while_games_go_on
from sparring.training.opposition import Opposition
from sparring.training.program import TrainState


def applied(
    state: TrainState,
    events_R: Sequence[Sequence[Event]],
    opposition: Opposition,
    read: Callable[[int, Player], Any] | None = None,
) -> TrainState:
    """Carry out what the leagues decided: copy learners, and guests that are built alike, into rows of the pool, bring
    past players back (`read` gives the weights of one of a seed), and let learners begin anew."""
    for r, events in enumerate(events_R):
        for event in events:
            if isinstance(event, Snapshot) and event.row is not None:
                group, place = opposition.built.lineup.place_of(event.learner)
                at = map(jnp.asarray, (r, place, event.row))
                state = state._replace(pool=copy_row(state.pool, state.learners[group], *at))
            elif isinstance(event, Reset):
                assert state.origin is not None
                anew = begin_anew(state.learners[0], state.origin, jnp.asarray(r), jnp.asarray(event.learner))
                state = state._replace(learners=(anew,))
            elif isinstance(event, Recalled):
                assert read is not None
                state = state._replace(pool=load_row(state.pool, r, event.row, read(r, event.player)))
            elif isinstance(event, Joined) and opposition.guests[event.player.id].family not in opposition.kinds:
                guest = opposition.guests[event.player.id].policy
                state = state._replace(pool=load_row(state.pool, r, event.row, guest))
    return state


def load_row(pool: Any, seed: int, row: int, policy: Any) -> Any:
    """The pool with a policy from elsewhere in one row."""
    return jax.tree.map(lambda rows, one: rows.at[seed, row].set(one), pool, policy)


@jax.jit
def copy_row(pool: Any, learners: Learner, seed: jax.Array, learner: jax.Array, row: jax.Array) -> Any:
    """The pool with a learner's present policy in one row."""
    return jax.tree.map(lambda rows, actor: rows.at[seed, row].set(actor[seed, learner]), pool, learners.model.actor)


@jax.jit
def begin_anew(learners: Learner, origin: Learner, seed: jax.Array, learner: jax.Array) -> Learner:
    """One learner as it began: weights, optimiser, statistics and shadow; the others as they are."""
    at = (seed, learner)
    anew = jax.tree.map(lambda now, first: now.at[at].set(first[at]), learners, origin)
    return while_games_go_on(anew, learners)
