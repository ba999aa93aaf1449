"""Matches: line-ups of players, a number of complete games each, apart from training. All line-ups in one program."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.seeding import Seed
from sparring.evaluation.scoring import MatchGames
from sparring.games.game import Game
from sparring.play.chance import stream
from sparring.play.collect import begin, collect
from sparring.play.rollout import Driver, Games
from sparring.play.roster import stack
from sparring.play.seating import seat

LineUpNames = tuple[str, ...]
"""Who drives each side."""


@dataclass(frozen=True)
class Match:
    """Compiled line-ups: call it with the players' policies as often as weights change."""

    lineups: tuple[LineUpNames, ...]
    program: Callable[[Mapping[str, Any], Array], tuple[Array, Array, Array]]

    def __call__(self, players: Mapping[str, Any], *, seed: int) -> list[MatchGames]:
        arrays = self.program(dict(players), jnp.asarray(seed, jnp.uint32))
        returns, lengths, outcomes = (np.asarray(array) for array in arrays)
        return [MatchGames(returns[b], lengths[b], outcomes[b]) for b in range(len(self.lineups))]


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
    short ones. Players of different architecture are families of their own."""
    sides = seats_of_side or game.spec.seats_of_side
    family = {name: family_of(policy) for name, policy in players.items()}
    seating = seat(
        game.spec,
        sides,
        family_BK=[[family[name] for name in lineup] for lineup in lineups],
        learner_BK=[[-1] * len(sides)] * len(lineups),
        worlds=games,
    )

    def play(players: Mapping[str, Any], seed: Array) -> tuple[Array, Array, Array]:
        key = stream(jax.random.key(seed), "match")
        drivers = [driver_of(group.lanes, lineups, players) for group in seating.groups]
        cursor = begin(game, seating, drivers, stream(key, "first games"))
        _, _, record = collect(game, seating, drivers, cursor, key, steps=game.spec.longest, explore=not deterministic)
        return first_games(record)

    return Match(tuple(lineups), jax.jit(play))


def driver_of(
    lanes: Sequence[Sequence[tuple[int, int]]], lineups: Sequence[LineUpNames], players: Mapping[str, Any]
) -> Driver:
    names = [lineups[block][side] for ((block, side),) in lanes]
    ids = [(Seed.of(0) / name).word() for name in names]
    return Driver(stack([players[name] for name in names]), None, jnp.asarray(ids, jnp.uint32))


def first_games(record: Games) -> tuple[Array, Array, Array]:
    """The result of the first game each world finished: return_BWS, length_BW, outcome_BWK."""
    step_BW = jnp.argmax(record.finished_TBW, axis=0)

    def at_end(x_TBW: Array) -> Array:
        index = step_BW.reshape(1, *step_BW.shape, *(1,) * (x_TBW.ndim - 3))
        return jnp.take_along_axis(x_TBW, index, axis=0)[0]

    return at_end(record.return_TBWS), at_end(record.length_TBW), at_end(record.outcome_TBWK)


def family_of(policy: Any) -> str:
    """Policies that can be stacked have one structure and one set of shapes."""
    leaves, structure = jax.tree.flatten(policy)
    return f"{structure}{[(leaf.shape, str(leaf.dtype)) for leaf in leaves]}"
