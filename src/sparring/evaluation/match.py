"""Matches: line-ups of players, a number of complete games each, apart from training. All line-ups in one program."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.errors import GameError
from sparring.core.seeding import Seed
from sparring.evaluation.scoring import MatchGames
from sparring.games.game import Game
from sparring.games.outside import each_game_once
from sparring.play.chance import game_chance, stream
from sparring.play.collect import Bank, Luck, Stage, begin, draws, noise, play_step
from sparring.play.rollout import Cursor, Driver, Games, where_first
from sparring.play.roster import stack, take
from sparring.play.seating import Seating, seat

LineUpNames = tuple[str, ...]
"""Who drives each side."""

STRETCH = 200
"""Steps between two looks at whether all games are over: what is drawn and recorded at once grows with it."""


class Finished(NamedTuple):
    """The first game of each world."""

    done_BW: Array
    counts_BW: Array
    """Whether it came to an end, instead of going wrong (`play/faults`)."""
    return_BWS: Array
    length_BW: Array
    outcome_BWK: Array
    cause_BWK: Array
    """0 where the game gives no causes."""
    count_BWSJ: Array
    """No columns where it counts nothing."""


@dataclass(frozen=True)
class Match:
    """Line-ups with their seating: call it with the players' policies as often as weights change.

    Matches of one shape share a compiled program, whoever plays: who sits where is data.
    """

    lineups: tuple[LineUpNames, ...]
    game: Game
    seating: Seating
    deterministic: bool

    def __call__(self, players: Mapping[str, Any], *, seed: int) -> list[MatchGames]:
        static = {"seating": self.seating, "deterministic": self.deterministic, "stretch": STRETCH}
        with each_game_once(self.game):
            counts_BW, *found = map(np.asarray, play_match(*self.arguments(players, seed), **static))
        for lineup, counts_W in zip(self.lineups, counts_BW, strict=True):
            if not counts_W.any():
                raise GameError(
                    f"No game of {' against '.join(lineup)} came to an end: numbers were not finite, or games went on "
                    "after spec.longest steps. Run sparring.games.contract.check_game on the game."
                )
        return [MatchGames(*(array[b, counts_BW[b]] for array in found)) for b in range(len(self.lineups))]

    def arguments(self, players: Mapping[str, Any], seed: int) -> tuple[Game, tuple["Cast", ...], Array]:
        casts = tuple(cast_of(group.lanes, self.lineups, players) for group in self.seating.groups)
        return self.game, casts, jnp.asarray(seed, jnp.uint32)


class Cast(NamedTuple):
    """Who drives the lanes of a group."""

    policies: tuple[Any, ...]
    """Of those who do, each once."""
    row_P: np.ndarray
    """Which of them drives each lane."""
    ids_P: np.ndarray


def prepare_match(
    game: Game,
    lineups: Sequence[LineUpNames],
    players: Mapping[str, Any],
    *,
    games: int,
    seats_of_side: tuple[tuple[int, ...], ...] | None = None,
    deterministic: bool = False,
) -> Match:
    """Each line-up is a block of `games` worlds, and each world plays one game, so that long games count as much as
    short ones. Players of different architecture are families of their own; of `players` only shapes are looked at."""
    sides = seats_of_side or game.spec.seats_of_side
    family = {name: family_of(policy) for name, policy in players.items()}
    seating = seat(
        game.spec,
        sides,
        family_BK=[[family[name] for name in lineup] for lineup in lineups],
        learner_BK=[[-1] * len(sides)] * len(lineups),
        worlds=games,
    )
    return Match(tuple(lineups), game, seating, deterministic)


@partial(jax.jit, static_argnames=("seating", "deterministic", "stretch"))
def play_match(
    game: Game, casts: tuple[Cast, ...], seed: Array, *, seating: Seating, deterministic: bool, stretch: int
) -> tuple[Array, ...]:
    """Returns, lengths, outcomes, causes and counts of the games of all line-ups."""
    key = stream(jax.random.key(seed), "match")
    drivers = [Driver(take(stack(cast.policies), cast.row_P), None, jnp.asarray(cast.ids_P)) for cast in casts]
    cursor = begin(game, seating, drivers, stream(key, "first games"))

    def random(own: Array, steps: int) -> Any:
        chance = game_chance(game, stream(own, "chance"), steps, seating.blocks * seating.worlds)
        return chance, noise(seating, drivers, own, steps, not deterministic), draws(seating, drivers, own, steps)

    return play_out(game, seating, drivers, cursor, key, random, stretch)[1:]


def play_out(
    game: Game,
    seating: Seating,
    drivers: Sequence[Driver],
    cursor: Cursor,
    key: Array,
    random: Callable[[Array, int], Any],
    most_steps: int = STRETCH,
) -> Finished:
    """The game each world begins with, to its end: stretch after stretch until the last is over.

    A stretch has at most `most_steps`; random(key, steps) draws its chance, the noise of its actions and the lots of
    mixtures, as `play_step` wants them.
    """
    steps = min(game.spec.longest, most_steps)
    stretches = -(-game.spec.longest // steps)
    # Worlds that are done go on from the start they had, since nobody looks at them: no bank of starts is needed.
    bank = Bank(jax.tree.map(lambda x: x[None], cursor.state), None)
    one_step = partial(play_step, Stage(game, seating, drivers, bank, pairing=None, shaping=False))
    unused_V = jnp.zeros(seating.blocks * seating.worlds, jnp.int32)

    def stretch(cursor: Cursor, key: Array) -> tuple[Cursor, Games]:
        luck = Luck(*random(key, steps))._replace(last=jnp.zeros(steps, bool))
        (cursor, _), (_, record, _) = lax.scan(one_step, (cursor, unused_V), luck, length=steps)
        return cursor, record

    def go_on(carry: tuple[Array, Cursor, Finished]) -> tuple[Array, Cursor, Finished]:
        number, cursor, found = carry
        cursor, record = stretch(cursor, jax.random.fold_in(key, number))
        return number + 1, cursor, where_first(found.done_BW, found, in_stretch(record))

    if stretches == 1:
        return in_stretch(stretch(cursor, key)[1])
    carry = (jnp.zeros((), jnp.int32), cursor, nothing_yet(seating))
    return lax.while_loop(lambda c: (c[0] < stretches) & ~c[2].done_BW.all(), go_on, carry)[2]


def in_stretch(record: Games) -> Finished:
    counts_BW, returns, lengths, outcomes, causes, did = first_games(record)
    done_BW = record.ended_TBW.any(axis=0)
    numbers = lengths.astype(jnp.int32), outcomes.astype(float), causes.astype(jnp.int32), did.astype(float)
    return Finished(done_BW, counts_BW, returns.astype(float), *numbers)


def nothing_yet(seating: Seating) -> Finished:
    shape = (seating.blocks, seating.worlds)
    returns, outcomes = jnp.zeros((*shape, seating.spec.seats)), jnp.zeros((*shape, seating.spec.sides))
    causes = jnp.zeros(outcomes.shape, jnp.int32)
    did = jnp.zeros((*returns.shape, len(seating.spec.counts)))
    none_BW = jnp.zeros(shape, bool)
    return Finished(none_BW, none_BW, returns, jnp.zeros(shape, jnp.int32), outcomes, causes, did)


def cast_of(
    lanes: Sequence[Sequence[tuple[int, int]]], lineups: Sequence[LineUpNames], players: Mapping[str, Any]
) -> Cast:
    names = [lineups[block][side] for ((block, side),) in lanes]
    own = list(dict.fromkeys(names))
    ids = {name: (Seed.of(0) / name).word() for name in own}
    row_P = np.asarray([own.index(name) for name in names], np.int32)
    return Cast(tuple(players[name] for name in own), row_P, np.asarray([ids[name] for name in names], np.uint32))


def driver_of(
    lanes: Sequence[Sequence[tuple[int, int]]], lineups: Sequence[LineUpNames], players: Mapping[str, Any]
) -> Driver:
    cast = cast_of(lanes, lineups, players)
    return Driver(take(stack(cast.policies), cast.row_P), None, jnp.asarray(cast.ids_P))


def first_games(record: Games) -> tuple[Array, ...]:
    """Of the first game of each world: whether it came to an end, return_BWS, length_BW, outcome_BWK, cause_BWK,
    count_BWSJ."""
    step_BW = jnp.argmax(record.ended_TBW, axis=0)

    def at_end(x_TBW: Array) -> Array:
        index = step_BW.reshape(1, *step_BW.shape, *(1,) * (x_TBW.ndim - 3))
        return jnp.take_along_axis(x_TBW, index, axis=0)[0]

    outcome_BWK = at_end(record.outcome_TBWK)
    cause_BWK = jnp.zeros_like(outcome_BWK) if isinstance(record.cause_TBWK, tuple) else at_end(record.cause_TBWK)
    returns, counts = at_end(record.return_TBWS), record.count_TBWSJ
    did = jnp.zeros((*returns.shape, 0)) if isinstance(counts, tuple) else at_end(counts)
    return at_end(record.finished_TBW), returns, at_end(record.length_TBW), outcome_BWK, cause_BWK, did


def family_of(policy: Any) -> str:
    """Policies that can be stacked have one structure and one set of shapes."""
    leaves, structure = jax.tree.flatten(policy)
    return f"{structure}{[(leaf.shape, str(leaf.dtype)) for leaf in leaves]}"
