"""What the leagues decided, carried out before an iteration."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from sparring.league.events import Event, Joined, Recalled, Reset, Snapshot
from sparring.league.player import Player
from sparring.setup.program import TrainState
from sparring.setup.rows import begun_anew, copied, put, with_blank_memory, with_policy
from sparring.training.opposition import Opposition

Read = Callable[[int, Player], Any]


def applied(state: TrainState, events_R: Sequence[Sequence[Event]], opposition: Opposition, read: Read) -> TrainState:
    """Copy learners, and guests that are built alike, into rows of the pool, bring past players back (`read` gives the
    weights of one of a seed), and let learners start over."""
    for r, events in enumerate(events_R):
        for event in events:
            if isinstance(event, Snapshot) and event.row is not None:
                group, place = opposition.built.lineup.place_of(event.learner)
                at = map(jnp.asarray, (r, place, event.row))
                state = state._replace(pool=copied(state.pool, state.learners[group], *at))
            elif isinstance(event, Reset):
                state = put_back(state, event, opposition, r, read)
            elif isinstance(event, Recalled):
                state = state._replace(pool=put(state.pool, read(r, event.player), r, event.row))
            elif isinstance(event, Joined) and opposition.guests[event.player].row < 0:
                state = state._replace(pool=put(state.pool, opposition.guests[event.player].policy, r, event.row))
    return state


def put_back(state: TrainState, event: Reset, opposition: Opposition, r: int, read: Read) -> TrainState:
    """A learner as it began, or with the policy of a past main, which comes with no critic and no optimiser."""
    assert state.origin is not None
    group, place = opposition.built.lineup.place_of(event.learner)
    learners, origin = state.learners[group], state.origin[group]
    anew = begun_anew(learners, origin, jnp.asarray(r), jnp.asarray(place))
    if event.parent is not None:
        anew = with_policy(anew, read(r, event.parent), r, place)
    groups = tuple(anew if g == group else old for g, old in enumerate(state.learners))
    seating = opposition.built.plan.seating
    return with_blank_memory(state._replace(learners=groups), seating.learning[group], r, [place])
