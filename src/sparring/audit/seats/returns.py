"""L2: do seats earn the same in many games? For what exact exchange cannot reach, such as games of other people. Every
pair of seats that should be alike is compared under every probe."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.audit.findings import Picture, Tell, untold
from sparring.audit.pictures import boxes, ladder
from sparring.audit.seats.claims import orders_of, pairs_of
from sparring.audit.seats.differences import MARGIN, Played, apart, pair_name
from sparring.audit.seats.levels import ALPHA
from sparring.audit.seats.probes import Cast, cast_name
from sparring.core.spec import GameSpec
from sparring.evaluation.match import prepare_match
from sparring.games.game import Game
from sparring.games.own_parts import OwnParts
from sparring.statistics.intervals import Interval


@dataclass(frozen=True)
class Budget:
    games: int = 20_000
    """Games of each probe, at most."""
    seconds: float = 40.0
    batch: int = 256


PlayGames = Callable[[int], Mapping[str, np.ndarray]]
"""The returns of one batch, return_GS of each probe by name, by the number of the batch."""


def match_player(game: Game, players: Mapping[str, Any], casts: Sequence[Cast], *, batch: int, seed: int) -> PlayGames:
    """Batches of games of all probes, in one program."""
    match = prepare_match(game, list(casts), players, games=batch)

    def play(number: int) -> dict[str, np.ndarray]:
        found = match(players, seed=(seed * 100_003 + number) % 2**31)
        return {cast_name(cast): np.asarray(games.return_GS, float) for cast, games in zip(casts, found, strict=True)}

    return play


def compare(spec: GameSpec, play: PlayGames, budget: Budget, tell: Tell = untold) -> Played:
    """Play until a seat is shown to be favoured, until all differences are within the margin, or to the budget's end.
    The first batch sets the scales and is not tested."""
    pairs, first = pairs_of(spec), play(0)
    began = time.monotonic()  # the first batch was compiled, too
    played = Played.begun(first, pairs)
    number = 0
    while True:
        number += 1
        played.add(play(number))
        spent, games = time.monotonic() - began, played.tallies[0].count
        played.seconds = spent
        tell(f"L2 {games:,} games of each probe", min(1.0, max(spent / budget.seconds, games / budget.games)))
        shown = min(played.p_values) < ALPHA
        if shown or played.within_margin() or games >= budget.games or spent >= budget.seconds:
            return played


def shuffled(game: Game) -> OwnParts:
    """The game beginning with its seats in an order drawn by chance; everything else is that game's."""
    orders_OS = np.stack([np.arange(game.spec.seats), *orders_of(game.spec)])

    def dealt(state: Any, key: Array) -> Any:
        return game.permute(state, jnp.asarray(orders_OS)[jax.random.randint(key, (), 0, len(orders_OS))])

    return OwnParts(game.spec, game.rules, game, opening=dealt)


def name_or_place(game: Game, players: Mapping[str, Any], played: Played, casts: Sequence[Cast], budget: Budget) -> str:
    """Whether a difference follows the number of a seat or the place it begins in: places are dealt out anew before
    each game. What then stays with the seat is in the rules."""
    if game.spec.outside:
        return ""
    worst = played.worst
    cast = next(cast for cast in casts if cast_name(cast) == worst.probe)
    play = match_player(shuffled(game), players, [cast], batch=budget.batch, seed=1)
    numbers = range(-(-worst.count // budget.batch))
    difference_G = np.concatenate([apart(play(number)[worst.probe], worst.pair) for number in numbers])
    error = float(difference_G.std()) / np.sqrt(len(difference_G))
    stays = difference_G.mean() * np.sign(worst.mean) > max(abs(worst.mean) / 2, 2 * error)
    where = "stays with the number of the seat: the rules name it" if stays else "goes: it is in where a seat begins"
    return f"With places dealt again before each game the difference is {difference_G.mean():+.3g} and {where}."


def pictures_of(spec: GameSpec, played: Played) -> list[Picture]:
    """Boxes of each seat under the probe that says most, and the intervals of all pairs."""
    worst = played.worst
    return_GS = np.concatenate(played.returns[worst.probe])
    seats = sorted({seat for one in played.tallies for seat in one.pair[0] + one.pair[1]})
    shown = {spec.seat_names[seat]: return_GS[:, seat] for seat in seats}
    largest, unit = sorted(played.tallies, key=lambda one: -abs(one.mean))[:20], 100 / (played.size or 1.0)
    spans = ((one, one.interval(ALPHA / len(played.tallies))) for one in largest)
    rungs = {
        f"{one.probe}: {pair_name(spec.seat_names, one.pair)}": Interval(x.mean * unit, x.low * unit, x.high * unit, 0)
        for one, x in spans
    }
    return [
        boxes(f"Returns of each seat, {worst.probe}", shown, "return of a game"),
        ladder("Differences of pairs of seats", rungs, "per cent of what a seat earns", 100 * MARGIN),
    ]
