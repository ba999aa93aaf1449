"""Exchanging seats: which exchanges a spec allows, and what a game should then show."""

from functools import partial
from itertools import combinations, pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import GameError
from sparring.core.records import Action, Goals
from sparring.core.spec import GameSpec
from sparring.games.game import Chance, Game, State, listed_rows
from sparring.games.trial import Moment, Record, moment, quick_jit


def exchanges(spec: GameSpec) -> list[np.ndarray]:
    """Orders (new seat i is old seat order[i]) that generate all that a spec allows: within sides, and of whole sides.

    A group across sides must hold all their seats, because an exchange that tears sides apart is another game.
    """
    orders = []
    for one, two in exchangeable_pairs(spec, neighbours=True):
        order = np.arange(spec.seats)
        order[list(one)], order[list(two)] = two, one
        orders.append(order)
    return orders


def exchangeable_pairs(spec: GameSpec, *, neighbours: bool = False) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Seats, or whole sides, that may take each other's places: all pairs, or of each group only neighbours, which
    generate the others."""
    pairs = pairwise if neighbours else partial(combinations, r=2)
    moves: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for group in spec.exchangeable:
        parts = [tuple(s for s in group if spec.side_of_seat[s] == side) for side in range(spec.sides)]
        parts = [part for part in parts if part]
        whole = all(part in spec.seats_of_side for part in parts) and len({len(part) for part in parts}) == 1
        if len(parts) > 1 and not whole:
            raise GameError(
                f"Exchangeable seats: expected seats of one side, or all seats of sides of one size, found group "
                f"{group} with side_of_seat {spec.side_of_seat}. Change spec.exchangeable."
            )
        moves += [((one,), (two,)) for part in parts for one, two in pairs(part)]
        moves += pairs(parts)
    if spec.sides_alike:
        moves += pairs(spec.seats_of_side)
    return moves


def exchange(game: Game, sample: Record, order_S: Array) -> tuple[Moment, Moment]:
    """What happens when the seats of sampled transitions are exchanged, and what should."""
    spec = game.spec
    first_K = np.asarray([seats[0] for seats in spec.seats_of_side])
    side_order_K = jnp.asarray(spec.side_of_seat)[order_S[first_K]]

    def one(state: State, action: Action, chance: Chance, happened: Moment) -> tuple[Moment, Moment]:
        state, after = game.permute(state, order_S), game.permute(happened.after, order_S)
        found = moment(game, state, game.permute(action, order_S), game.permute(chance, order_S))
        seen, step = game.permute(happened.seen, order_S), game.permute(happened.step, order_S)
        seen = seen._replace(features_SF=listed_anew(spec, seen.features_SF, order_S))
        step = step._replace(outcome_K=step.outcome_K[side_order_K])
        if spec.causes:
            step = step._replace(cause_K=step.cause_K[side_order_K])
        # The inner order of a central view is the game's own affair.
        return found, Moment(seen, found.central, after, step)

    return jax.vmap(one)(*sample[:4])


exchanged = quick_jit(exchange)


def listed_anew(spec: GameSpec, features_SF: Array, order_S: Array) -> Array:
    """Features whose rows are in their new order, with the blocks that list seats in theirs."""
    blocks, begin = [], 0
    for block in spec.layout:
        part = features_SF[:, begin : begin + block.size]
        if block.lists and block.size:
            part_SRX = part.reshape(spec.seats, block.shape[0], -1)
            row_SR = listed_rows(spec, block.lists, order_S, block.shape[0])
            part = jnp.take_along_axis(part_SRX, row_SR[..., None], axis=1).reshape(part.shape)
        blocks.append(part)
        begin += block.size
    return jnp.concatenate(blocks, axis=1)


def exchange_potentials(game: Game, state_M: State, order_S: Array) -> tuple[Array, Array]:
    """potential_MSJ with the seats of every state exchanged, and what it should be then."""
    found_MSJ = jax.vmap(lambda state: game.potential(game.permute(state, order_S)))(state_M)
    return found_MSJ, jax.vmap(game.potential)(state_M)[:, order_S]


exchanged_potentials = quick_jit(exchange_potentials)


def exchange_goals(game: Game, sample: Record, order_S: Array) -> tuple[tuple[Goals, Goals], tuple[Goals, Goals]]:
    """Goals, and those that were reached, of sampled transitions with their seats exchanged, and what they should
    be."""

    def told(state: State, action: Action, after: State) -> tuple[Goals, Goals]:
        goals = game.goals(state)
        return goals, goals._replace(open_SG=game.reached(state, action, after))

    def one(*moment: Any) -> tuple[tuple[Goals, Goals], tuple[Goals, Goals]]:
        wanted = told(*moment)
        goals, reached = (game.permute(goals, order_S) for goals in wanted)
        return told(*(game.permute(part, order_S) for part in moment)), (goals, reached)

    return jax.vmap(one)(sample.state, sample.action, sample.moment.after)


exchanged_goals = quick_jit(exchange_goals)
