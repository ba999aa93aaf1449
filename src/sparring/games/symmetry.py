"""Exchanging seats: which exchanges a spec allows, and what a game should then show."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import GameError
from sparring.core.records import Action
from sparring.core.spec import GameSpec
from sparring.games.game import Chance, Game, State, permute_seats
from sparring.games.trial import Moment, Record, moment, quick_jit


def exchanges(spec: GameSpec) -> list[np.ndarray]:
    """Orders (new seat i is old seat order[i]) that generate all that a spec allows: within sides, and of whole sides.

    A group across sides must hold all their seats, because an exchange that tears sides apart is another game.
    """
    orders = []
    for group in spec.exchangeable:
        parts = [[s for s in group if spec.side_of_seat[s] == side] for side in range(spec.sides)]
        parts = [part for part in parts if part]
        whole = all(tuple(part) in spec.seats_of_side for part in parts) and len({len(part) for part in parts}) == 1
        if len(parts) > 1 and not whole:
            raise GameError(
                f"Exchangeable seats: expected seats of one side, or all seats of sides of one size, found group "
                f"{group} with side_of_seat {spec.side_of_seat}. Change spec.exchangeable."
            )
        moves = [([one], [two]) for part in parts for one, two in pairwise(part)]
        for one, two in [*moves, *pairwise(parts)]:
            order = np.arange(spec.seats)
            order[one], order[two] = two, one
            orders.append(order)
    return orders


def exchanged(game: Game, sample: Record, order: np.ndarray) -> tuple[Moment, Moment]:
    """What happens when the seats of sampled transitions are exchanged, and what should."""
    spec = game.spec
    found, wanted = _exchanged(game, sample, jnp.asarray(order))
    side_order = [spec.side_of_seat[order[seats[0]]] for seats in spec.seats_of_side]
    return found, wanted._replace(
        seen=wanted.seen._replace(features_SF=exchanged_features(spec, sample.moment.seen.features_SF, order)),
        step=wanted.step._replace(outcome_K=wanted.step.outcome_K[:, np.array(side_order)]),
        central=found.central,  # its inner order is the game's own affair
    )


@quick_jit
def _exchanged(game: Game, sample: Record, order_S: Array) -> tuple[Moment, Moment]:
    def one(state: State, action: Action, chance: Chance, happened: Moment) -> tuple[Moment, Moment]:
        state, after = game.permute(state, order_S), game.permute(happened.after, order_S)
        found = moment(game, state, permute_seats(action, order_S), game.permute(chance, order_S))
        seen, step = permute_seats(happened.seen, order_S), permute_seats(happened.step, order_S)
        return found, happened._replace(seen=seen, after=after, step=step)

    return jax.vmap(one)(*sample[:4])


def exchanged_features(spec: GameSpec, features_MSF: Array, order: np.ndarray) -> np.ndarray:
    """Rows in their new order; blocks that list the other seats listed anew."""
    features, rows = np.asarray(features_MSF), []
    for new, old in enumerate(order):
        blocks, begin = [], 0
        for block in spec.layout:
            part = features[:, old, begin : begin + block.size]
            if block.others:
                listed = [other - (other > old) for seat, other in enumerate(order) if seat != new]
                part = part.reshape(len(part), *block.shape)[:, listed].reshape(part.shape)
            blocks.append(part)
            begin += block.size
        rows.append(np.concatenate(blocks, axis=1))
    return np.stack(rows, axis=1)
