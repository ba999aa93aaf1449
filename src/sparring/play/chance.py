"""Where randomness comes from: (seed, iteration, name, player id). Adding a use never moves another one's numbers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.seeding import name_word
from sparring.games.game import Game
from sparring.play.seating import Group, Seating


def stream(key: Array, name: str) -> Array:
    """An independent key for one named use."""
    return jax.random.fold_in(key, name_word(name))


def game_chance(game: Game, key: Array, steps: int, worlds: int) -> Any:
    """The chance of every step of every world: leaves [T, V, ...]."""
    if not jax.tree.leaves(jax.eval_shape(game.chance, key)):
        return game.chance(key)
    return jax.vmap(jax.vmap(game.chance))(jax.random.split(key, (steps, worlds)))


def action_noise(
    seating: Seating, group: Group, key: Array, ids_P: Array, twin_PX: Array, steps: int, *, coin: bool = False
) -> tuple[Array, ...]:
    """The random numbers of one group's choices: uniform [T, P, X*W, N, D] and normal [T, P, X*W, N, C], and where
    asked a coin [T, P, X*W, N].

    A key is made of the player's id, its block and its twin number (how many earlier sides of the block the same
    player drives), never of a slot: permuting learners, or seats, permutes the numbers with them.
    """
    seats, action = seating.seats_in(group), seating.spec.action
    shape = (steps, seating.worlds, seats)

    def of_lane(player: Array, block: Array, twin: Array) -> tuple[Array, ...]:
        lane = jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, player), block), twin)
        uniform = jax.random.uniform(stream(lane, "uniform"), (*shape, len(action.heads)))
        normal = jax.random.normal(stream(lane, "normal"), (*shape, action.dimensions))
        return (uniform, normal, jax.random.uniform(stream(lane, "coin"), shape)) if coin else (uniform, normal)

    def per_step(noise: Array) -> Array:
        time_first = jnp.moveaxis(noise, 2, 0)  # [P, X, T, W, N, .] to [T, P, X, W, N, .]
        return time_first.reshape(steps, group.players, noise.shape[1] * noise.shape[3], *noise.shape[4:])

    over_lanes = jax.vmap(jax.vmap(of_lane, in_axes=(None, 0, 0)))
    return jax.tree.map(per_step, over_lanes(ids_P, group.block_PX, twin_PX))


def twins(seating: Seating, ids: tuple[Array, ...]) -> tuple[Array, ...]:
    """For each group, the twin number of each lane, [P, X]."""
    shape = (len(ids), seating.blocks, len(seating.seats_of_side))
    seated_GBK, id_GBK = np.zeros(shape, bool), jnp.zeros(shape, jnp.uint32)
    for g, (group, ids_P) in enumerate(zip(seating.groups, ids, strict=True)):
        lanes = (g, group.block_PX, group.side_PX)
        seated_GBK[lanes] = True
        id_GBK = id_GBK.at[lanes].set(ids_P[:, None].astype(jnp.uint32))

    def twin_PX(group: Group, ids_P: Array) -> Array:
        # Where several may drive a lane, one that may be the same player is counted as if it were.
        may_PXK = ((id_GBK[:, group.block_PX] == ids_P[:, None, None]) & seated_GBK[:, group.block_PX]).any(0)
        earlier_PXK = np.arange(shape[2]) < group.side_PX[..., None]
        return (may_PXK & earlier_PXK).sum(-1, dtype=jnp.int32)

    return tuple(twin_PX(*pair) for pair in zip(seating.groups, ids, strict=True))
