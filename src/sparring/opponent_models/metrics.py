"""How well a mind foresees, on steps that its models have not learned from yet: each rollout is judged by what was
thought while it was played, and only then learned from.

Accuracy alone means nothing: everything stands beside what needs no model. An action is judged against how often it is
chosen at all (marginal) and against any legal one (legal), where there was a choice; a goal against the nearest one,
where several were open and the one that was reached next is known (hindsight).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.spec import ActionSpec
from sparring.learn.losses import masked_mean
from sparring.nets.distributions import IMPOSSIBLE, split_heads
from sparring.opponent_models.actions import log_likelihood
from sparring.opponent_models.sample import chosen_freely
from sparring.play.rollout import Rollout

SURE = 0.9
"""A belief as high as this is one that is acted on."""
LONGEST = 32
"""Steps up to which it is counted how long a belief takes to become sure."""


def action_measures(rollout: Rollout, action: ActionSpec, frequency_OA: Array) -> dict[str, Array]:
    """`frequency_OA`: how often each entry was chosen by each of the others in earlier rollouts."""
    others: Any = rollout.others
    expected, done = rollout.thought.log_p_NOA, others.discrete
    free = chosen_freely(action, others.legal)
    seen = others.acting & rollout.present_TWN[..., None]
    counted = seen & free

    def missed(log_p_A: Array) -> Array:
        return -masked_mean(log_likelihood(action, log_p_A, done), counted)

    nll, marginal = missed(expected), missed(log_shares(action, frequency_OA))
    likeliest = jnp.stack([jnp.argmax(head, axis=-1) for head in split_heads(expected, action)], axis=-1)
    return {
        "nll": nll,
        "nll_marginal": marginal,
        "nll_legal": missed(log_legal(action, others.legal)),
        "skill": 1.0 - nll / jnp.maximum(marginal, 1e-6),
        "accuracy": masked_mean((likeliest == done).all(-1), counted),
        "choices": masked_mean(1.0 * free, seen),
    }


def log_legal(action: ActionSpec, legal_A: Array) -> Array:
    """Log of a guess by which all that is legal in a head is as likely."""
    ways = [(head, jnp.log(jnp.maximum(head.sum(-1, keepdims=True), 1))) for head in split_heads(legal_A, action)]
    return jnp.concatenate([jnp.where(head, -log, IMPOSSIBLE) for head, log in ways], axis=-1)


def log_shares(action: ActionSpec, count_A: Array) -> Array:
    """Log of the shares of counts within each head; one is added to each, so that nothing is impossible."""
    return jnp.concatenate(
        [jnp.log((h + 1) / (h + 1).sum(-1, keepdims=True)) for h in split_heads(count_A, action)], -1
    )


def frequencies(rollout: Rollout, action: ActionSpec) -> Array:
    """count_OA: how often each entry was chosen where there was a choice."""
    others: Any = rollout.others
    counted = others.acting & rollout.present_TWN[..., None] & chosen_freely(action, others.legal)
    taken = [jax.nn.one_hot(others.discrete[..., d], size) for d, size in enumerate(action.heads)]
    return jnp.where(counted[..., None], jnp.concatenate(taken, axis=-1), 0.0).sum((0, 1, 2))


def goal_measures(rollout: Rollout, label_TWNO: Array, *, listed: bool) -> dict[str, Array]:
    """Of those who reached something; being after nothing is the last of all aims and counts as a wrong guess. Goals
    that are not listed stand beside the commonest one, since none of them is nearer than another."""
    others: Any = rollout.others
    log_b, open_ = rollout.thought.log_b_NOG, others.open[..., :-1]
    seen, none = others.acting & rollout.present_TWN[..., None], open_.shape[-1]
    reached = (label_TWNO >= 0) & (label_TWNO < none)
    counted = seen & (open_.sum(-1) > 1) & reached
    truth = jax.nn.one_hot(label_TWNO, none + 1)
    nearest = jnp.argmin(jnp.where(open_, others.steps[..., :-1], jnp.inf), axis=-1)
    plain = {"goal_nearest": masked_mean(1.0 * (nearest == label_TWNO), counted)}
    if not listed:
        often_G = jnp.where(counted[..., None], truth, 0.0).sum((0, 1, 2, 3))
        plain = {"goal_commonest": often_G.max() / jnp.maximum(often_G.sum(), 1.0)}
    median, never = steps_to_be_sure((jnp.exp(log_b) * truth).sum(-1) >= SURE, counted, label_TWNO, rollout.start_TW)
    return {
        "goal_top1": masked_mean(1.0 * (jnp.argmax(log_b, axis=-1) == label_TWNO), counted),
        **plain,
        "goal_nll": -masked_mean((log_b * truth).sum(-1), counted),
        "goal_brier": masked_mean(((jnp.exp(log_b) - truth) ** 2).sum(-1), counted),
        "goal_known": masked_mean(1.0 * (label_TWNO >= 0), seen),
        "goal_none": masked_mean(1.0 * (label_TWNO == none), seen & (label_TWNO >= 0)),
        "steps_to_90": median,
        "never_90": never,
        "no_goals": masked_mean(1.0 * ~open_.any(-1), seen),
    }


def steps_to_be_sure(sure_T: Array, counted_T: Array, label_T: Array, start_TW: Array) -> tuple[Array, Array]:
    """Over all stretches with one label that begin in the rollout: the median number of steps, counted from 0, after
    which a belief is sure and stays so to the end of the stretch; and the share of those that never are. Leaves [T, W,
    N, O]; stretches are cut to the steps that count."""
    starts_T = jnp.broadcast_to(start_TW[..., None, None], label_T.shape)
    goes_on_T = counted_T[1:] & counted_T[:-1] & (label_T[1:] == label_T[:-1]) & ~starts_T[1:]
    begun_T = counted_T & jnp.concatenate([starts_T[:1], ~goes_on_T])
    ends_T = jnp.concatenate([~goes_on_T, jnp.ones_like(begun_T[:1])])

    def stays(later: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        sure, ends = step
        now = sure & (ends | later)
        return now, now

    def ages(age: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        begun, counted = step
        now = jnp.where(begun, 0, jnp.where(counted & (age >= 0), age + 1, -1))
        return now, now

    stays_T = lax.scan(stays, jnp.zeros_like(sure_T[0]), (sure_T, ends_T), reverse=True)[1]
    age_T = lax.scan(ages, jnp.full_like(label_T[0], -1), (begun_T, counted_T))[1]
    before_T = jnp.concatenate([jnp.zeros_like(stays_T[:1]), stays_T[:-1]])
    first_T = stays_T & (begun_T | ~before_T) & (age_T >= 0)
    place_T = jnp.where(first_T, jnp.minimum(age_T, LONGEST), LONGEST + 1)
    count_J = jnp.zeros(LONGEST + 1, jnp.int32).at[place_T.reshape(-1)].add(1, mode="drop")
    stretches = jnp.maximum(begun_T.sum(), 1)
    half_J = jnp.cumsum(count_J) * 2 >= stretches
    return 1.0 * jnp.where(half_J.any(), jnp.argmax(half_J), LONGEST + 1), 1.0 - count_J.sum() / stretches


def work_measures(rollout: Rollout) -> dict[str, Array]:
    """What thinking cost: of all goals that might be asked about, the share for which a model was, and near ones for
    which there was no room; beliefs that had to begin anew, per step of one of the others."""
    others: Any = rollout.others
    thought = rollout.thought
    live = others.open & others.acting[..., None] & rollout.present_TWN[..., None, None]
    return {
        "asked": masked_mean(1.0 * thought.evaluated_NOG, live),
        "no_room": masked_mean(1.0 * thought.passed_NOG, live),
        "resets": masked_mean(1.0 * thought.reset_NO, others.acting),
    }
