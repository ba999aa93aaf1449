"""Rows that opponent models are fitted on: a step of a world as one seat saw it, and the goals that turned out.

Letters: R rows, O the other seats, G goals, Z what tells them apart, K kinds of goals, D heads of an action.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.spec import ActionSpec
from sparring.nets.distributions import split_heads
from sparring.opponent_models.omg import Passage
from sparring.opponent_models.spatial import recent
from sparring.play.rollout import Rollout


class Replies(NamedTuple):
    """What a row says of the step after it."""

    own_D: Array
    """What the seat itself did now."""
    next_OD: Array
    """What each of the others did in the next step of the same game."""
    known_O: Array
    """There was such a step, and a choice in it."""


class Sample(NamedTuple):
    """Leaves [R, ...], or without R of one row."""

    features_F: Array
    discrete_OD: Array
    """What each of the others did."""
    legal_OA: Array
    acting_O: Array
    open_OG: Array
    steps_OG: Array
    about_OGZ: Array
    leaning_OK: Array
    """Log of how likely each kind of goal was in earlier games."""
    label_O: Array
    """The goal that each of them reached next in this game, the last one if none; -1 where it is not known."""
    useful: Array
    """The seat was there to see it, and one of the others had a choice whose goal is known, or answered it where
    replies are modelled."""
    track_KOGZ: Any = ()
    """What goals looked like in the last steps, the newest last, where a model looks at that."""
    ending_OX: Any = ()
    """What the piece of play ends in that each of the others was in, where goals are learned from that."""
    passage: Passage | tuple = ()
    """What led to the step and what came of it, where goals are learned from that."""
    replies: Replies | tuple = ()
    """Where what the others do next is modelled."""
    held_OG: Any = ()
    """Log of the belief that followed from what they did, where more than that is read."""


def hindsight(reached_TWNOG: Array, open_TWNOG: Array, start_TW: Array, over_W: Array | None = None) -> Array:
    """label_TWNO: the goal that each other seat reaches next within the same game, as long as it was there to be
    reached; the last one, of those after nothing, where it reaches none to the end; -1 where the rollout ends before.

    What is reached late is not known near the end of a rollout: there labels lean to what is near. `over_W`: worlds
    whose game ends with the rollout. Where all games do, nothing else tells that somebody was after nothing.
    """
    last_1W = jnp.zeros_like(start_TW[:1]) if over_W is None else over_W[None]
    ends_TW = jnp.concatenate([start_TW[1:], last_1W])
    goals = jnp.arange(reached_TWNOG.shape[-1], dtype=jnp.int32)
    none = goals[-1]

    def before(next_WNO: Array, step: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        reached_WNOG, open_WNOG, ends_W = step
        later_WNO = jnp.where(ends_W[:, None, None], none, next_WNO)
        now_WNO = jnp.where(reached_WNOG.any(-1), jnp.argmax(reached_WNOG, axis=-1).astype(jnp.int32), later_WNO)
        there_WNO = (open_WNOG & (now_WNO[..., None] == goals)).any(-1)
        label_WNO = jnp.where(there_WNO, now_WNO, -1)
        return label_WNO, label_WNO

    unknown_WNO = jnp.full(reached_TWNOG.shape[1:-1], -1, jnp.int32)
    return lax.scan(before, unknown_WNO, (reached_TWNOG, open_TWNOG, ends_TW), reverse=True)[1]


def aims(seen: Any, *, listed: bool) -> Any:
    """What is seen of the others (a Situation, or Others of a rollout), with one thing more that they may be after:
    nothing of all that, told by a last number of 1. Where goals are not looked at, it is the only one."""

    goals = seen.open.shape[-1] if listed else 0
    others = seen.acting.shape

    def with_last(x: Array, last: float) -> Array:
        return jnp.concatenate([x[..., :goals], jnp.broadcast_to(jnp.asarray(last, x.dtype), (*others, 1))], axis=-1)

    about = seen.about[..., :goals, :] if listed else jnp.zeros((*others, 0, 0))
    about = jnp.pad(about, [(0, 0)] * len(others) + [(0, 1), (0, 1)])
    about = about.at[..., -1, -1].set(1.0)
    found = seen._replace(open=with_last(seen.open, True), steps=with_last(seen.steps, 0.0), about=about)
    reached = getattr(seen, "reached", None)
    return found if reached is None else found._replace(reached=with_last(reached, False))


def rows_of(rollout: Rollout, action: ActionSpec, recall: int = 0, **more: Any) -> Sample:
    """All steps of a rollout, whose others come with their aims, as rows, T W N in a line. Where they can have but one
    aim it is known, else it turns out. `recall`: steps of what goals looked like; those before the rollout are not
    known, and its first one stands for them. `more`: what else rows are to hold."""
    seen: Any = rollout.others
    label_TWNO = jnp.zeros(seen.acting.shape, jnp.int32)
    if seen.open.shape[-1] > 1:
        label_TWNO = hindsight(seen.reached, seen.open, rollout.start_TW, rollout.finished_TW[-1])
    known_TWNO = (label_TWNO >= 0) & seen.acting & chosen_freely(action, seen.legal)
    if "replies" in more:  # in turns nobody else chooses beside an own choice, only after it
        known_TWNO = known_TWNO | more["replies"].known_O
    sample = Sample(
        rollout.features_TWNF, seen.discrete, seen.legal, seen.acting, seen.open, seen.steps, seen.about,
        rollout.thought.leaning_NOK, label_TWNO, rollout.present_TWN & known_TWNO.any(-1),
        recent(seen.about, jnp.broadcast_to(rollout.start_TW[..., None], rollout.present_TWN.shape), recall)
        if recall else (), **more,
    )  # fmt: skip
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[3:]), sample)


def replies_in(rollout: Rollout, action: ActionSpec) -> Replies:
    """What came after each step, leaves [T, W, N, ...]; after the last one it is not known."""
    seen: Any = rollout.others

    def later(x: Array) -> Array:
        return jnp.concatenate([x[1:], jnp.zeros_like(x[:1])])

    known = later(seen.acting & chosen_freely(action, seen.legal)) & ~rollout.ended_TWN[..., None]
    return Replies(rollout.action.discrete_SD, later(seen.discrete), known)


def chosen_freely(action: ActionSpec, legal_A: Array) -> Array:
    """Whether there was anything to choose: some head with two legal entries or more."""
    heads = split_heads(legal_A, action)
    return jnp.stack([head.sum(-1) > 1 for head in heads], axis=-1).any(-1)
