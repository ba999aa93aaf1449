"""What a learning group keeps of each step it played, and the rollout that is made of it."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action, Step
from sparring.nets.distributions import Distribution
from sparring.play.decide import Decision, Sight, blank_from, critic_views, lasting
from sparring.play.faults import left_out
from sparring.play.rollout import Choice, Driver, Others, Rollout, Shaping, Worth, where_first
from sparring.play.seating import Group, Seating


class Turn(NamedTuple):
    """What one learning group saw, did and got in one step; leaves [L, W, N, ...]."""

    features: Array
    legal: Array
    views: Array | None
    action: Action
    log_prob: Array
    distribution: Distribution
    value: Array
    later_value: Array
    """Of what the step led to, where the game was cut or the rollout ends."""
    reward: Array
    common: Array | None
    """Mean reward of those with whom the seat shares, where rewards are shared."""
    over: Array
    cut: Array
    present: Array
    acting: Array
    start: Array
    shaping: Shaping | None
    able: Array | None
    """Whether the seat's choice counted, whoever made it; where others are imitated."""
    fault: Array
    """Worlds that went wrong in this step, and those in which nothing usable was seen before it."""
    blind: Array
    later_blind: Array
    """The same of what the step led to, where that was looked at."""
    others: Others | None = None
    worth: Worth | None = None
    counts: Array | None = None
    thought: Any = None
    """What the group's mind thought before it."""
    blank: Array | None = None
    """Where the memory was blank before it, if that is not wherever a game begins."""
    finished: Array | None = None
    """Where it ended the game, if a mind wants to know."""


class Happened(NamedTuple):
    """One step of all worlds, whoever drives them."""

    start_BW: Array
    """The step is the first of a game."""
    sight: Sight
    """What was seen before it."""
    step: Step
    paid: Shaping | None
    fault_BW: Array
    """Worlds that went wrong in it."""
    later_blind_BW: Array
    """Worlds in which nothing usable was seen after it, where that was looked at."""
    common_BWS: Array | None = None
    """Mean reward of those with whom each seat shares, where rewards are shared."""
    action: Action | None = None
    """What was done; None where nobody is imitated."""
    others: Others | None = None
    """What all other seats did, seen from each, where that is asked for."""
    choice: Choice | None = None
    """What decides the step for each seat; None where no critic judges choices."""
    count_BWSJ: Array | tuple | None = None
    """What the game has counted of each seat so far, where that is asked for."""
    played_BW: Array | None = None
    """Games that each world had seen end, where a memory outlasts them."""


def turn(
    seating: Seating, group: Group, driver: Driver, decision: Decision, values: tuple[Array, Array],
    drives_PW: Array | None, happened: Happened, thought: Any = None,
) -> Turn:  # fmt: skip
    """One learning group's share of a step; `values` are those of what it saw and of what the step led to. What another
    player did in its place is none of its experience. Where rewards are shared, a seat that has left goes on earning
    its share until the game is over."""
    sight, step, action, common_BWS = happened.sight, happened.step, happened.action, happened.common_BWS
    observation = sight.observation
    present_BWS, over_BWS = observation.present_S, step.left_S | step.over[..., None]
    if common_BWS is not None:
        present_BWS, over_BWS = jnp.ones_like(present_BWS), jnp.broadcast_to(step.over[..., None], over_BWS.shape)
    seats = partial(seating.per_seat, group=group)
    world = partial(seating.per_world, group=group)
    own = (lambda x: x) if drives_PW is None else (lambda x: x & drives_PW[..., None])
    worth, (value, later_value) = None, values
    if happened.choice is not None:
        choice = jax.tree.map(seats, happened.choice)
        worth, value, later_value = Worth(value[..., 1:], choice), value[..., 0], later_value[..., 0]
    chosen = decision.action
    if action is not None and drives_PW is not None:  # what another player did is kept where it is to be imitated
        chosen = where_first(drives_PW, chosen, jax.tree.map(seats, action))
    return Turn(
        features=seats(observation.features_SF),
        legal=seats(observation.legal_SA),
        views=critic_views(seating, group, driver, sight) if driver.critic.sees == "central" else None,
        action=chosen,
        log_prob=decision.log_prob,
        distribution=decision.distribution,
        value=value,
        later_value=later_value,
        reward=seats(step.reward_S),
        common=None if common_BWS is None else seats(common_BWS),
        over=seats(over_BWS),
        cut=world(step.cut),
        present=own(seats(present_BWS)),
        acting=own(seats(observation.acting_S)),
        start=world(happened.start_BW),
        shaping=None if happened.paid is None else jax.tree.map(seats, happened.paid),
        able=None if action is None else seats(observation.acting_S),
        fault=world(happened.fault_BW),
        blind=world(sight.blind_BW),
        later_blind=world(happened.later_blind_BW),
        others=None if happened.others is None else jax.tree.map(seats, happened.others),
        worth=worth,
        counts=None if happened.count_BWSJ is None else seats(jnp.asarray(happened.count_BWSJ)),
        thought=thought,
        blank=world(blank_from(driver, happened.start_BW, happened.played_BW)) if lasting(driver.policy) > 1 else None,
        finished=None if thought is None else world(step.over | step.cut),
    )


def to_rollout(turns: Turn, memory: tuple, side_PWK: Array) -> Rollout:
    """Turns of all steps, with what follows each: the next value, or that of the final observation of a cut game."""
    next_value = jnp.concatenate([turns.value[1:], turns.later_value[-1:]])
    cut = turns.cut[..., None]
    ended = turns.over | cut
    lost, stops = left_out(turns.fault, jnp.concatenate([turns.blind, turns.later_blind[-1:]]), ended)
    return Rollout(
        features_TWNF=turns.features,
        legal_TWNA=turns.legal,
        views_TWVG=turns.views,
        action=turns.action,
        log_prob_TWN=turns.log_prob,
        distribution=turns.distribution,
        value_TWN=turns.value,
        next_value_TWN=jnp.where(cut, turns.later_value, next_value),
        reward_TWN=turns.reward,
        common_TWN=turns.common,
        over_TWN=turns.over,
        ended_TWN=ended | stops,
        present_TWN=turns.present & ~lost,
        acting_TWN=turns.acting & ~lost,
        start_TW=turns.start,
        side_TWK=jnp.broadcast_to(side_PWK, (turns.start.shape[0], *side_PWK.shape)),
        memory=memory,
        shaping=turns.shaping,
        imitate_TWN=None if turns.able is None else turns.able & ~lost,
        others=turns.others,
        worth=turns.worth,
        counts_TWNJ=turns.counts,
        thought=turns.thought,
        blank_TW=turns.blank,
        finished_TW=turns.finished,
    )
