"""L2: do seats earn the same in many games? For what exact exchange cannot reach, such as games of other people.

Every pair of seats that should be alike is compared under every probe. If seats are exchangeable, a difference within a
game is as likely as its opposite, and nothing else is assumed; evidence may be looked at after every batch.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, exp
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.audit.findings import Finding, Picture, Tell, untold
from sparring.audit.pictures import boxes, ladder
from sparring.audit.seats.claims import Pair, orders_of, pair_name, pairs_of
from sparring.audit.seats.levels import ALPHA, L2
from sparring.audit.seats.probes import Cast, cast_name
from sparring.core.spec import GameSpec
from sparring.evaluation.match import prepare_match
from sparring.games.game import Game
from sparring.games.own_parts import OwnParts
from sparring.statistics.intervals import Interval
from sparring.statistics.permutation import holm
from sparring.statistics.sequential import games_to_see, running_half_width, symmetry_evidence

MARGIN = 0.01
"""A difference below this share of what a seat earns counts as none. What a seat earns is the mean absolute return
under the probe that earns most: a share of what chance earns would often be a share of nothing."""
SEEN = 0.05
"""The difference, as a share of what a seat earns, of which the report says how many games show it."""
USUAL = 500
"""Games for which the evidence is sharpest; it stays valid for any number."""


@dataclass(frozen=True)
class Budget:
    games: int = 20_000
    """Games of each probe, at most."""
    seconds: float = 40.0
    batch: int = 256


@dataclass
class Tally:
    """Differences of one pair under one probe so far."""

    probe: str
    pair: Pair
    scale: float
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    evidence: float = 0.0
    """The largest so far, in logarithms."""

    def add(self, difference_G: np.ndarray) -> None:
        self.count += len(difference_G)
        self.total += float(difference_G.sum())
        self.squares += float((difference_G**2).sum())
        self.evidence = max(self.evidence, symmetry_evidence(self.total, self.squares, self.scale))

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)

    @property
    def spread(self) -> float:
        return float(np.sqrt(max(self.squares / max(self.count, 1) - self.mean**2, 0.0)))

    @property
    def p_value(self) -> float:
        return min(1.0, exp(-self.evidence))

    def interval(self, alpha: float) -> Interval:
        half = running_half_width(self.spread, self.count, alpha, USUAL) if self.spread else 0.0
        return Interval(self.mean, self.mean - half, self.mean + half, self.count)


@dataclass
class Played:
    """All tests of a level, and the returns of each probe."""

    tallies: list[Tally]
    size: float
    """What a seat earns, in games that are not tested."""
    returns: dict[str, list[np.ndarray]] = field(default_factory=dict)
    seconds: float = 0.0
    """Of all games but the first batch."""

    @property
    def p_values(self) -> list[float]:
        return holm([one.p_value for one in self.tallies])

    @property
    def worst(self) -> Tally:
        return max(self.tallies, key=lambda one: (one.evidence, abs(one.mean)))

    def within_margin(self) -> bool:
        intervals = [one.interval(ALPHA / len(self.tallies)) for one in self.tallies]
        return all(max(abs(found.low), abs(found.high)) <= MARGIN * self.size for found in intervals)


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
    seats = sorted({seat for pair in pairs for seat in pair[0] + pair[1]})
    played = Played([], max(float(np.abs(return_GS[:, seats]).mean()) for return_GS in first.values()))
    for probe, return_GS in first.items():
        scales = (USUAL * float((apart(return_GS, pair) ** 2).mean()) or 1.0 for pair in pairs)
        played.tallies += [Tally(probe, pair, scale) for pair, scale in zip(pairs, scales, strict=True)]
    number = 0
    while True:
        number += 1
        for probe, return_GS in play(number).items():
            played.returns.setdefault(probe, []).append(return_GS)
            for one in (one for one in played.tallies if one.probe == probe):
                one.add(apart(return_GS, one.pair))
        spent, games = time.monotonic() - began, played.tallies[0].count
        played.seconds = spent
        tell(f"L2 {games:,} games of each probe", min(1.0, max(spent / budget.seconds, games / budget.games)))
        shown = min(played.p_values) < ALPHA
        if shown or played.within_margin() or games >= budget.games or spent >= budget.seconds:
            return played


def apart(return_GS: np.ndarray, pair: Pair) -> np.ndarray:
    one, two = (return_GS[:, list(seats)].mean(axis=1) for seats in pair)
    return one - two


def judged(spec: GameSpec, played: Played, *, by_place: str = "") -> Finding:
    """What the games show; `by_place` is added to the meaning of a fault."""
    worst, tests, p_value = played.worst, len(played.tallies), min(played.p_values)
    span = worst.interval(ALPHA / tests)
    share = f" ({abs(worst.mean) / played.size:.1%} of the {played.size:.3g} that a seat earns)" if played.size else ""
    shown = f"{pair_name(spec, worst.pair)} under {worst.probe}: {worst.mean:+.3g} [{span.low:.3g}, {span.high:.3g}]"
    needed = max(games_to_see(SEEN * played.size, one.spread, ALPHA / tests, USUAL) for one in played.tallies)
    numbers = {
        "games": worst.count, "tests": tests, "p_value": p_value, "difference": worst.mean, "low": span.low,
        "high": span.high, "size": played.size, "margin": MARGIN, "games_for_5_percent": needed,
        "means": {probe: np.concatenate(x).mean(0).tolist() for probe, x in played.returns.items()},
    }  # fmt: skip
    told = f"{worst.count:,} games of each of {len(played.returns)} probes; a difference of 5 % takes {needed:,}."
    if p_value < ALPHA:
        return L2.found(
            False, f"{shown}{share}, p = {p_value:.1g} over {tests} tests and all looks. {told}",
            f"The game pays seats unlike that should be alike. {by_place}".strip(),
            "Look at ties, at the order in which moves are carried out, and at where games begin.", **numbers,
        )  # fmt: skip
    if not any(one.squares for one in played.tallies):
        text = "Seats that should be alike are always paid the same." if played.size else "Nobody earned anything."
        return L2.found(True if played.size else None, f"{text} {told}", **numbers)
    if played.within_margin():
        text = f"No difference beyond {MARGIN:.0%} of what a seat earns. Largest: {shown}. {told}"
        return L2.found(True, text, **numbers)
    more = max(more_games(one, tests, MARGIN * played.size) for one in played.tallies)
    enough = ceil(1.2 * played.seconds * (1 + more / worst.count))  # a machine may be busier the next time
    return L2.found(
        None, f"No difference shown. Largest: {shown}{share}. {told}",
        f"That it is below {MARGIN:.0%} of what a seat earns is not shown either.",
        f"About {more:,} more games of each probe would show it: --games {worst.count + more} --seconds {enough}.",
        **numbers, more_games=more,
    )  # fmt: skip


def more_games(one: Tally, tests: int, margin: float) -> int:
    """Games until the interval would lie within the margin, if there is no difference."""
    count = max(one.count, 2)
    while count < 10**9 and margin and running_half_width(one.spread, count, ALPHA / tests, USUAL) > margin:
        count = int(count * 1.2) + 1
    return max(0, count - one.count)


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
        f"{one.probe}: {pair_name(spec, one.pair)}": Interval(x.mean * unit, x.low * unit, x.high * unit, x.count)
        for one, x in spans
    }
    return [
        boxes(f"Returns of each seat, {worst.probe}", shown, "return of a game"),
        ladder("Differences of pairs of seats", rungs, "per cent of what a seat earns", 100 * MARGIN),
    ]
