"""Play: every block of worlds for a number of steps, each side driven by its player. Pure; its callers compile it."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.records import Action, Step
from sparring.games.game import Game, State
from sparring.nets.distributions import Distribution
from sparring.play.chance import action_noise, game_chance, stream, twins
from sparring.play.decide import (
    Decision,
    Sight,
    blank_memory,
    by_block,
    critic_views,
    decide,
    judge,
    look,
    refresh,
    within_bounds,
)
from sparring.play.rollout import Cursor, Driver, Games, Rollout, where_first
from sparring.play.seating import Group, Seating
from sparring.play.starts import draw, fresh_starts, starts_needed


class Turn(NamedTuple):
    """What one learning group saw, did and got in one step; leaves [L, W, N, ...]."""

    features: Array
    legal: Array
    views: Array | None
    action: Action
    log_prob: Array
    distribution: Distribution
    value: Array
    cut_value: Array
    reward: Array
    over: Array
    cut: Array
    present: Array
    acting: Array
    start: Array


def begin(game: Game, seating: Seating, drivers: Sequence[Driver], key: Array) -> Cursor:
    """A cursor with every world at a fresh start."""
    shape = (seating.blocks, seating.worlds)
    return Cursor(
        state=fresh_starts(game, key, seating.blocks * seating.worlds),
        memory=tuple(blank_memory(seating, *pair) for pair in zip(seating.groups, drivers, strict=True)),
        start_BW=jnp.ones(shape, bool),
        return_BWS=jnp.zeros((*shape, game.spec.seats)),
        length_BW=jnp.zeros(shape, jnp.int32),
    )


def collect(
    game: Game,
    seating: Seating,
    drivers: Sequence[Driver],
    cursor: Cursor,
    key: Array,
    *,
    steps: int,
    sequence: int | None = None,
    explore: bool = True,
) -> tuple[tuple[Rollout, ...], Cursor, Games]:
    """Play `steps` steps. Returns a rollout for each learning group (leaves [T, L, W, ...]), the cursor, the games.

    `sequence` is the length of the stretches on which recurrent policies train; it divides `steps`.
    With `explore` off every player takes its most likely action.
    """
    sequence = sequence or steps
    worlds = seating.blocks * seating.worlds
    bank = fresh_starts(game, stream(key, "starts"), starts_needed(steps, game.spec.shortest), worlds)
    random = (game_chance(game, stream(key, "chance"), steps, worlds), noise(seating, drivers, key, steps, explore))
    random = jax.tree.map(lambda x: x.reshape(steps // sequence, sequence, *x.shape[1:]), random)
    one_step = partial(play_step, game, seating, drivers, bank)

    def play_sequence(carry: tuple[Cursor, Array], random: Any) -> tuple[tuple[Cursor, Array], Any]:
        memory = carry[0].memory
        carry, (turns, games) = lax.scan(one_step, carry, random, length=sequence)
        return carry, (memory, turns, games)

    carry = (cursor, jnp.zeros(worlds, jnp.int32))
    (cursor, _), (memory, turns, games) = lax.scan(play_sequence, carry, random, length=steps // sequence)
    turns, games = jax.tree.map(lambda x: x.reshape(steps, *x.shape[2:]), (turns, games))
    last = look(game, seating, drivers, cursor.state)
    rollouts = []
    for turn, i in zip(turns, seating.learning, strict=True):
        group, driver = seating.groups[i], drivers[i]
        value, _ = judge(
            seating, group, driver, last, refresh(seating, group, driver, cursor.start_BW, cursor.memory[i])[1]
        )
        rollouts.append(to_rollout(turn, memory[i], value, seating.sides_of(group)))
    return tuple(rollouts), cursor, games


def noise(seating: Seating, drivers: Sequence[Driver], key: Array, steps: int, explore: bool) -> Any:
    """For each group the random numbers of its choices, leaves [T, P, W, N, ...]."""
    if not explore:
        return ((),) * len(drivers)
    numbers = twins(seating, tuple(driver.ids_P for driver in drivers))
    return tuple(
        action_noise(seating, group, stream(key, "actions"), driver.ids_P, twin_PX, steps)
        for group, driver, twin_PX in zip(seating.groups, drivers, numbers, strict=True)
    )


def play_step(
    game: Game, seating: Seating, drivers: Sequence[Driver], bank: State, carry: tuple[Cursor, Array], random: Any
) -> tuple[tuple[Cursor, Array], tuple[tuple[Turn, ...], Games]]:
    """One step of every world. The carry counts the starts each world has used."""
    (cursor, used_V), (chance, numbers) = carry, random
    players = list(zip(seating.groups, drivers, strict=True))
    learners = [players[i] for i in seating.learning]
    memory = [
        refresh(seating, *player, cursor.start_BW, old) for player, old in zip(players, cursor.memory, strict=True)
    ]
    sight = look(game, seating, drivers, cursor.state)
    decisions = [decide(seating, *p, sight, m[0], n) for p, m, n in zip(players, memory, numbers, strict=True)]
    values = [judge(seating, *players[i], sight, memory[i][1]) for i in seating.learning]

    action = Action(*(seating.to_seats(parts) for parts in zip(*(d.action for d in decisions), strict=True)))
    played = jax.tree.map(
        lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), within_bounds(action, game.spec.action)
    )
    state, step = jax.vmap(game.step)(cursor.state, played, chance)
    step = by_block(step, seating)

    critic_memory = dict(zip(seating.learning, (m for _, m in values), strict=True))
    memory = tuple((decision.memory, critic_memory.get(i, ())) for i, decision in enumerate(decisions))

    def final_values() -> list[Array]:
        sight = look(game, seating, drivers, state)
        return [judge(seating, *players[i], sight, memory[i][1])[0] for i in seating.learning]

    # The final observation of a cut game exists only here, and its value is computed only when there is one.
    cut_values = lax.cond(step.cut.any(), final_values, lambda: [jnp.zeros_like(value) for value, _ in values])
    turns = tuple(
        turn(seating, *learners[j], cursor, sight, decisions[i], step, values[j][0], cut_values[j])
        for j, i in enumerate(seating.learning)
    )
    games = Games(
        step.over | step.cut, cursor.return_BWS + step.reward_S, cursor.length_BW + 1, jnp.asarray(step.outcome_K)
    )
    return restart(state, memory, games, bank, used_V), (turns, games)


def turn(
    seating: Seating,
    group: Group,
    driver: Driver,
    cursor: Cursor,
    sight: Sight,
    decision: Decision,
    step: Step,
    value: Array,
    cut_value: Array,
) -> Turn:
    """One learning group's share of a step."""
    observation = sight.observation
    seats = partial(seating.per_seat, group=group)
    world = partial(seating.per_world, group=group)
    return Turn(
        features=seats(observation.features_SF),
        legal=seats(observation.legal_SA),
        views=critic_views(seating, group, driver, sight) if driver.critic.sees == "central" else None,
        action=decision.action,
        log_prob=decision.log_prob,
        distribution=decision.distribution,
        value=value,
        cut_value=cut_value,
        reward=seats(step.reward_S),
        over=seats(step.left_S | step.over[..., None]),
        cut=world(step.cut),
        present=seats(observation.present_S),
        acting=seats(observation.acting_S),
        start=world(cursor.start_BW),
    )


def restart(state: State, memory: tuple, games: Games, bank: State, used_V: Array) -> tuple[Cursor, Array]:
    """Worlds whose game ended begin again from the start bank; the others go on."""
    ended_BW = games.finished_TBW
    ended_V = ended_BW.reshape(-1)
    cursor = Cursor(
        state=where_first(ended_V, draw(bank, used_V), state),
        memory=memory,
        start_BW=ended_BW,
        return_BWS=jnp.where(ended_BW[..., None], 0.0, games.return_TBWS),
        length_BW=jnp.where(ended_BW, 0, games.length_TBW),
    )
    return cursor, used_V + ended_V


def to_rollout(turns: Turn, memory: tuple, last_value: Array, side_PWK: Array) -> Rollout:
    """Turns of all steps, with what follows each: the next value, or that of the final observation of a cut game."""
    next_value = jnp.concatenate([turns.value[1:], last_value[None]])
    cut = turns.cut[..., None]
    return Rollout(
        features_TWNF=turns.features,
        legal_TWNA=turns.legal,
        views_TWVG=turns.views,
        action=turns.action,
        log_prob_TWN=turns.log_prob,
        distribution=turns.distribution,
        value_TWN=turns.value,
        next_value_TWN=jnp.where(cut, turns.cut_value, next_value),
        reward_TWN=turns.reward,
        over_TWN=turns.over,
        ended_TWN=turns.over | cut,
        present_TWN=turns.present,
        acting_TWN=turns.acting,
        start_TW=turns.start,
        side_TWK=jnp.broadcast_to(side_PWK, (turns.start.shape[0], *side_PWK.shape)),
        memory=memory,
    )
