"""Defeats worth a second try: states from shortly before a lost game, from which later games start.

Letters: E entries of the archive, Q steps that an entry remembers, D defeats that may be added at once.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.records import Action
from sparring.games.game import Game
from sparring.play.chance import stream
from sparring.play.rollout import Games, Pairing, where_first
from sparring.play.seating import Seating

ADDED = 8
"""Most defeats that enter the archive in one rollout: enough to stay fresh, few enough to be of different games."""
EMPTY = 0
"""The learner's own id: it is never the opponent of an entry."""


class Archive(NamedTuple):
    """A ring of defeats of the learner by players that do not learn."""

    state: Any
    """Leaves [E, ...]: where a game stood some steps before it was lost."""
    action: Action
    """What all seats did from there on, leaves [E, Q, S, ...]; the chance of these steps beside it."""
    chance: Any
    player_E: Array
    """Who won; EMPTY where nothing is kept."""
    learner_E: Array
    """Who lost, by place in the line-up; and on which side."""
    side_E: Array
    left_E: Array
    """Steps from the state to the defeat."""
    born_E: Array
    """The iteration of the defeat."""
    added: Array
    """Defeats ever added; the next one takes the place `added` modulo E."""


def empty_archive(game: Game, size: int, steps: int) -> Archive:
    """Room for `size` defeats, each with up to `steps` steps."""
    state, chance = jax.eval_shape(lambda key: (game.start(key), game.chance(key)), jax.random.key(0))
    action = game.spec.action
    seats = game.spec.seats

    def blank(tree: Any, *lead: int) -> Any:
        return jax.tree.map(lambda x: jnp.zeros((*lead, *x.shape), x.dtype), tree)

    played = Action(jnp.zeros((seats, len(action.heads)), jnp.int32), jnp.zeros((seats, action.dimensions)))
    numbers = jnp.zeros(size, jnp.int32)
    return Archive(
        blank(state, size), blank(played, size, steps), blank(chance, size, steps),
        jnp.full(size, EMPTY, jnp.uint32), numbers, numbers, numbers, numbers, jnp.zeros((), jnp.int32),
    )  # fmt: skip


def lost_to_others(games: Games, seating: Seating, pairing: Pairing) -> tuple[Array, Array]:
    """Where the home side lost a game to a player that does not learn, [T, B, W]; and the id of that player. Of several
    away sides it is the one with the best outcome."""
    assert games.fresh_TBW is not None
    outcome_TBW = seating.at_home(games.outcome_TBWK)
    old_BK1, next_BK1 = pairing.player_2X.reshape(2, seating.blocks, seating.away, 1)
    player_TBKW = jnp.where(games.fresh_TBW[:, :, None], next_BK1, old_BK1)
    block_X, side_X = seating.away_lanes.T
    theirs_XTW = games.outcome_TBWK[:, block_X, :, side_X]
    theirs_TBKW = theirs_XTW.swapaxes(0, 1).reshape(player_TBKW.shape)
    player_TBW = jnp.take_along_axis(player_TBKW, jnp.argmax(theirs_TBKW, axis=2, keepdims=True), axis=2)[:, :, 0]
    return games.finished_TBW & (outcome_TBW < 0) & (player_TBW != EMPTY), player_TBW


def remembered(
    archive: Archive, games: Games, seating: Seating, pairing: Pairing, reach: Array, key: Array,
    iteration: Array,
) -> Archive:  # fmt: skip
    """The archive with some of this rollout's defeats, each from about `reach` steps before its end.

    Games that began from the archive themselves are passed over: they would fill it with the same few situations.
    """
    film = games.film
    assert film is not None
    lost_TBW, player_TBW = lost_to_others(games, seating, pairing)
    if games.replayed_TBW is not None:
        lost_TBW = lost_TBW & ~games.replayed_TBW
    steps, blocks, worlds = lost_TBW.shape
    every = steps // jax.tree.leaves(film.state)[0].shape[0]
    end_TBW = jnp.broadcast_to(jnp.arange(steps)[:, None, None], lost_TBW.shape)
    began_TBW = jnp.maximum(end_TBW + 1 - games.length_TBW, 0)
    # The kept state nearest to `reach` steps before the end that still belongs to this game.
    wanted_TBW = jnp.maximum(jnp.maximum(end_TBW + 1 - reach, 0) // every, -(-began_TBW // every))
    usable_TBW = lost_TBW & (wanted_TBW * every <= end_TBW)
    # Taking those with the largest random numbers chooses evenly and none twice. Usable ones have at least 0.5, so that
    # a 0 means that there was nothing left to choose.
    luck = jnp.where(usable_TBW, jax.random.uniform(key, usable_TBW.shape, minval=0.5), 0.0).reshape(-1)
    found_D, place_D = lax.top_k(luck, min(ADDED, luck.shape[0], archive.player_E.shape[0]))
    t_D, v_D = place_D // (blocks * worlds), place_D % (blocks * worlds)
    chunk_D = jnp.minimum(wanted_TBW.reshape(-1)[place_D], steps // every - 1)
    first_D = chunk_D * every
    window = jnp.minimum(first_D[:, None] + jnp.arange(archive.action.discrete_SD.shape[1]), steps - 1)
    valid_D = found_D > 0
    size = archive.player_E.shape[0]
    row_D = jnp.where(valid_D, (archive.added + jnp.arange(len(place_D))) % size, size)  # beyond the end: dropped

    def put(kept: Any, new: Any) -> Any:
        return jax.tree.map(lambda old, x: old.at[row_D].set(x, mode="drop"), kept, new)

    return Archive(
        put(archive.state, jax.tree.map(lambda x: x[chunk_D, v_D], film.state)),
        put(archive.action, jax.tree.map(lambda x: x[window, v_D[:, None]], film.action)),
        put(archive.chance, jax.tree.map(lambda x: x[window, v_D[:, None]], film.chance)),
        put(archive.player_E, player_TBW.reshape(-1)[place_D].astype(jnp.uint32)),
        put(archive.learner_E, jnp.asarray(seating.learner_B, jnp.int32)[v_D // worlds]),
        put(archive.side_E, jnp.asarray(seating.home_B, jnp.int32)[v_D // worlds]),
        put(archive.left_E, (t_D + 1 - first_D).astype(jnp.int32)),
        put(archive.born_E, jnp.broadcast_to(iteration, t_D.shape).astype(jnp.int32)),
        archive.added + valid_D.sum(dtype=jnp.int32),
    )


def second_tries(
    archive: Archive, fresh: Any, seating: Seating, pairing: Pairing, share: Array, key: Array
) -> tuple[Any, Array]:
    """Starts [V, ...] of which a share begins before an earlier defeat by the same player; and which do, [V]."""
    worlds, blocks = seating.worlds, seating.blocks
    there_BKE = archive.player_E == pairing.player_2X[1].reshape(blocks, seating.away, 1)
    mine_BE = there_BKE.any(1) & (archive.player_E != EMPTY)
    mine_BE &= archive.side_E == jnp.asarray(seating.home_B)[:, None]
    mine_BE &= archive.learner_E == jnp.asarray(seating.learner_B)[:, None]
    luck_BWE = jax.random.uniform(stream(key, "which"), (blocks, worlds, mine_BE.shape[1]), minval=0.5)
    entry_V = jnp.argmax(jnp.where(mine_BE[:, None], luck_BWE, 0.0), axis=2).reshape(-1)
    chosen_BW = (jax.random.uniform(stream(key, "whether"), (blocks, worlds)) < share) & mine_BE.any(1)[:, None]
    again = jax.tree.map(lambda x: x[entry_V], archive.state)
    return where_first(chosen_BW.reshape(-1), again, fresh), chosen_BW.reshape(-1)


def before_defeat(games: Games, seating: Seating, pairing: Pairing, reach: Array) -> Array:
    """The last `reach` steps of games that the home side lost to a player that does not learn, [T, B, W]."""
    lost_TBW, _ = lost_to_others(games, seating, pairing)

    def back(left_BW: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        lost_BW, ended_BW = step
        # Backwards in time: a defeat winds the clock up, the end of an earlier game stops it.
        left_BW = jnp.where(lost_BW, reach, jnp.where(ended_BW, 0, jnp.maximum(left_BW - 1, 0)))
        return left_BW, left_BW > 0

    start = jnp.zeros(lost_TBW.shape[1:], jnp.int32)
    return lax.scan(back, start, (lost_TBW, games.ended_TBW), reverse=True)[1]


def replay_results(games: Games, seating: Seating) -> Array:
    """Completed second tries, and those won, drawn and lost by the home side: [4]."""
    outcome_TBW = seating.at_home(games.outcome_TBWK)
    assert games.replayed_TBW is not None
    done_TBW = games.finished_TBW & games.replayed_TBW
    kinds = (jnp.ones_like(done_TBW), outcome_TBW > 0, outcome_TBW == 0, outcome_TBW < 0)
    return jnp.stack([(done_TBW & kind).sum() for kind in kinds])
