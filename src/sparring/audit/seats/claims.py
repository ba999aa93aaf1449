"""Which seats should be alike: those that a game declares, or those that somebody says."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sparring.audit.seats.differences import Pair
from sparring.core.errors import ConfigError, GameError
from sparring.core.spec import GameSpec
from sparring.games.game import Game
from sparring.games.symmetry import exchangeable_pairs, exchanges

MOST_ORDERS = 24
"""Orders that are tried: all of four seats; of more, the generators and products of them."""
MOST_PAIRS = 28
"""Pairs that are compared: all of eight seats; of more, neighbours."""
ALL = "all"


def claimed(game: Game, alike: Sequence[str] = ()) -> Game:
    """The game with the claim that these seats are alike; each entry is a group, by name or number ("red,blue"), or
    all. Without entries it is the game's own claim, which must not be empty."""
    spec = game.spec
    if not alike:
        if not spec.exchangeable and not spec.sides_alike:
            every = ",".join(spec.seat_names)
            raise ConfigError(
                f"The game says of no seats that they are alike, so no difference between {every} is a fault. Say "
                f"which should be: --alike {every}"
            )
        return game
    groups = tuple(group_of(spec, text) for text in alike)
    spec = replace(spec, exchangeable=groups, sides_alike=False)
    try:
        exchanges(spec)
    except GameError as error:
        raise ConfigError(f"--alike {' '.join(alike)}: {error}") from None
    other = copy.copy(game)  # the same game, whatever its constructor wants
    object.__setattr__(other, "spec", spec)
    return other


def group_of(spec: GameSpec, text: str) -> tuple[int, ...]:
    """The seats of a group in words."""
    if text == ALL:
        return tuple(range(spec.seats))
    seats = []
    for name in (word.strip() for word in text.split(",")):
        number = int(name) if name.isdigit() else spec.seat_names.index(name) if name in spec.seat_names else -1
        if not 0 <= number < spec.seats:
            known = ", ".join(spec.seat_names)
            raise ConfigError(f"No seat {name!r}. The game has {known}, which are 0 to {spec.seats - 1}.")
        seats.append(number)
    if len(set(seats)) < 2:
        raise ConfigError(f"--alike {text} names {len(set(seats))} seat: a group has two or more, as in --alike 0,1.")
    return tuple(sorted(set(seats)))


def orders_of(spec: GameSpec) -> list[np.ndarray]:
    """Orders of seats that should change nothing: all of them where they are few. Testing products of the generators
    too is no waste: what one exchange hides in the states that were met, another shows."""
    generators = exchanges(spec)
    known = {tuple(range(spec.seats))}
    fresh = list(known)
    while fresh and len(known) <= MOST_ORDERS:
        fresh = [tuple(np.asarray(old)[order]) for old in fresh for order in generators]
        fresh = [order for order in dict.fromkeys(fresh) if order not in known][: MOST_ORDERS + 1 - len(known)]
        known.update(fresh)
    plain = tuple(range(spec.seats))
    ordered = dict.fromkeys([*map(tuple, generators), *sorted(known)])
    return [np.asarray(order, np.int32) for order in ordered if order != plain]


def pairs_of(spec: GameSpec) -> list[Pair]:
    pairs = exchangeable_pairs(spec)
    return pairs if len(pairs) <= MOST_PAIRS else exchangeable_pairs(spec, neighbours=True)


def order_name(spec: GameSpec, order: Sequence[int] | np.ndarray) -> str:
    """An order in words: the seats that change places."""
    moved = [f"{spec.seat_names[new]} as {spec.seat_names[int(old)]}" for new, old in enumerate(order) if new != old]
    return ", ".join(moved)
