"""Players that change: each world hands its away side to the next player when its game ends, never before."""

from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.scipy.stats import norm

from sparring.core.records import Action
from sparring.core.spec import ActionSpec
from sparring.nets.distributions import Distribution
from sparring.nets.exploring import Exploring
from sparring.nets.minds import untold
from sparring.play.branches import only_when
from sparring.play.decide import Decision, Sight, decide
from sparring.play.rollout import Cursor, Driver, Pairing, where_first
from sparring.play.seating import Group, Seating, joined_lanes


def driving(seating: Seating, group: Group, pairing: Pairing | None, fresh_BW: Array | None) -> Array | None:
    """In which worlds of its lanes a group is heard, [P, X*W]; None: in all."""
    if pairing is None or fresh_BW is None or not (group.slot or group.learns):
        return None
    if group.slot:
        slot, family = ("old", "next").index(group.slot), seating.families.index(group.family) + 1
        block_P, chair_P = jnp.asarray(group.blocks), seating.chair_PX(group)[:, 0]
        return (pairing.family_2X[slot, chair_P] == family)[:, None] & (fresh_BW[block_P] == bool(slot))
    old_PX1, next_PX1 = pairing.family_2X[:, seating.chair_PX(group), None]
    # A learner is heard at home, and on away lanes only in worlds whose player it is itself (family 0).
    home_PX = jnp.asarray(seating.at_home_PX(group))
    return joined_lanes((jnp.where(fresh_BW[group.block_PX], next_PX1, old_PX1) == 0) | home_PX[..., None])


def shifted(seating: Seating, cursor: Cursor, pairing: Pairing) -> Cursor:
    """Blocks that are given a new player: the one that was next is old now and keeps its memory. Worlds in the middle
    of a game stay with it; worlds that are about to begin one move on to the new player at once."""
    assert cursor.fresh_BW is not None
    begins_BW = cursor.start_BW
    if cursor.replayed_BW is not None:  # a second try is against the player that won the first
        begins_BW = begins_BW & ~cursor.replayed_BW
    fresh_BW = jnp.where(pairing.shift_B[:, None], begins_BW, cursor.fresh_BW)
    memory = list(cursor.memory)
    place = {(group.family, group.slot): i for i, group in enumerate(seating.groups)}
    for (family, slot), i in place.items():
        if slot == "old":
            moved_P = pairing.shift_B[jnp.asarray(seating.groups[i].blocks)]
            moved_PW = jnp.repeat(moved_P[:, None], len(seating.groups[i].lanes[0]) * seating.worlds, axis=1)
            memory[i] = where_first(moved_PW, memory[place[family, "next"]], memory[i])
    return cursor._replace(fresh_BW=fresh_BW, memory=tuple(memory))


def drive(
    seating: Seating, group: Group, driver: Driver, sight: Sight, memory: Any, noise: Any, drives_PW: Array | None
) -> tuple[Action, Any]:
    """Actions and memory of players that do not learn; nothing is computed while they drive no world at all."""

    def play() -> tuple[Action, Any]:
        if driver.epsilon_P is None:
            decision = decide(seating, group, driver, sight, memory, noise)
        else:
            decision = decide_weakened(seating, group, driver, sight, memory, noise)
        return decision.action, decision.memory

    def rest() -> tuple[Action, Any]:
        return nothing_done(seating, group), untold(memory)

    return play() if drives_PW is None else only_when(drives_PW, play, rest)


def nothing_done(seating: Seating, group: Group) -> Action:
    """Actions of the shapes that a group's have, for worlds in which it is not heard."""
    spec, shape = seating.spec.action, (*group.block_PX.shape, seating.worlds, seating.seats_in(group))
    choices = jnp.zeros((*shape, len(spec.heads)), jnp.int32), jnp.zeros((*shape, spec.dimensions))
    return Action(*map(joined_lanes, choices))


def decide_weakened(seating: Seating, group: Group, driver: Driver, sight: Sight, memory: Any, noise: Any) -> Decision:
    """Choices with a temperature, of which a share is replaced by random actions; without noise only the likeliest."""
    *numbers, coin = noise if noise else (None,)
    flatter = driver._replace(policy=Exploring(driver.policy, driver.temperature_P, None))
    decision = decide(seating, group, flatter, sight, memory, numbers)
    if coin is None or driver.epsilon_P is None:
        return decision
    legal = seating.per_seat(sight.observation.legal_SA, group)
    wild = random_action(seating.spec.action, legal, *numbers)
    return decision._replace(action=where_first(coin < driver.epsilon_P[:, None, None], wild, decision.action))


def random_action(action: ActionSpec, legal_NA: Array, uniform_ND: Array, normal_NC: Array) -> Action:
    """Any legal entry of each head alike, and any value of each dimension within its bounds."""
    low_C, high_C = jnp.asarray(action.low), jnp.asarray(action.high)
    flat = Distribution.make(action, jnp.zeros(legal_NA.shape), legal_NA, jnp.zeros(normal_NC.shape), jnp.zeros(()))
    chosen = flat.sample(uniform_ND, normal_NC)
    # A normal number put into its own distribution function is uniform in [0, 1]: so the numbers that were drawn for
    # the policy serve here too.
    return chosen._replace(continuous_SC=low_C + (high_C - low_C) * norm.cdf(normal_NC))
