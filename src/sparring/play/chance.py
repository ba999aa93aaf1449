"""Where randomness comes from: (seed, iteration, name, player id). Adding a use never moves another one's numbers."""

from collections.abc import Sequence
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


def streams(key: Array, *names: str) -> Array:
    """The keys of several uses, made in one piece: each one made alone is as much to compile."""
    return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(
        key, np.asarray([name_word(name) for name in names], np.uint32)
    )


def game_chance(game: Game, key: Array, steps: int, worlds: int) -> Any:
    """The chance of every step of every world: leaves [T, V, ...]."""
    if not jax.tree.leaves(jax.eval_shape(game.chance, key)):
        return game.chance(key)
    return jax.vmap(jax.vmap(game.chance))(jax.random.split(key, (steps, worlds)))


def action_noise(
    seating: Seating, key: Array, ids: tuple[Array, ...], steps: int, coins: Sequence[bool] = ()
) -> tuple[tuple[Array, ...], ...]:
    """The random numbers of each group's choices: uniform [T, P, X*W, N, D] and normal [T, P, X*W, N, C], and where its
    entry of `coins` says so a coin [T, P, X*W, N].

    A key is made of the player's id, its block and its twin number (how many earlier sides of the block the same
    player drives), never of a slot: permuting learners, or seats, permutes the numbers with them. Lanes of all groups
    with as many seats are drawn in one batch: a draw takes long to compile.
    """
    lanes_of_group = lanes_by_group(seating, ids)
    coins = coins or [False] * len(ids)
    found: list[tuple[Array, ...]] = [()] * len(ids)
    for seats in sorted(set(map(seating.seats_in, seating.groups))):
        alike = [g for g, group in enumerate(seating.groups) if seating.seats_in(group) == seats]
        lanes = [jnp.concatenate(parts) for parts in zip(*(lanes_of_group[g] for g in alike), strict=True)]
        drawn = lane_noise(seating, key, lanes, (steps, seating.worlds, seats), coin=any(coins[g] for g in alike))
        ends = np.cumsum([seating.groups[g].block_PX.size for g in alike])[:-1]
        for g, *parts in zip(alike, *(jnp.split(numbers, ends) for numbers in drawn), strict=True):
            wanted = parts if coins[g] else parts[:2]
            found[g] = tuple(by_step(seating.groups[g], part) for part in wanted)
    return tuple(found)


def lots(seating: Seating, key: Array, ids: tuple[Array, ...], steps: int, draws: Sequence[bool]) -> tuple:
    """For each group whose entry of `draws` says so a number in [0, 1) for every lane, [T, P, X*W], keyed as noise is:
    where a game begins, it decides which of its policies a mixture plays with. None elsewhere."""
    if not any(draws):
        return (None,) * len(ids)

    def of_lane(player: Array, block: Array, twin: Array) -> Array:
        return jax.random.uniform(lane_key(key, player, block, twin), (steps, seating.worlds))

    return tuple(
        by_step(group, jax.vmap(of_lane)(*lanes)) if drawn else None
        for group, lanes, drawn in zip(seating.groups, lanes_by_group(seating, ids), draws, strict=True)
    )


def lanes_by_group(seating: Seating, ids: tuple[Array, ...]) -> list[tuple[Any, ...]]:
    """Player, block and twin number of every lane of each group, [P*X]."""
    return [
        (jnp.broadcast_to(ids_P[:, None], twin_PX.shape).reshape(-1), group.block_PX.reshape(-1), twin_PX.reshape(-1))
        for group, ids_P, twin_PX in zip(seating.groups, ids, twins(seating, ids), strict=True)
    ]


def lane_key(key: Array, player: Array, block: Array, twin: Array) -> Array:
    return jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, player), block), twin)


def lane_noise(
    seating: Seating, key: Array, lanes: Sequence[Array], shape: tuple[int, int, int], *, coin: bool
) -> tuple[Array, ...]:
    """The numbers of lanes given by player, block and twin: leaves [lanes, T, W, N, ...]."""
    action = seating.spec.action

    def of_lane(player: Array, block: Array, twin: Array) -> tuple[Array, ...]:
        own = streams(lane_key(key, player, block, twin), "uniform", "normal", "coin")
        uniform = jax.random.uniform(own[0], (*shape, len(action.heads)))
        normal = jax.random.normal(own[1], (*shape, action.dimensions))
        return (uniform, normal, jax.random.uniform(own[2], shape)) if coin else (uniform, normal)

    return jax.vmap(of_lane)(*lanes)


def by_step(group: Group, noise: Array) -> Array:
    """[P*X, T, W, ...] to [T, P, X*W, ...]."""
    _, steps, worlds, *rest = noise.shape
    players, lanes = group.block_PX.shape
    return jnp.moveaxis(noise, 1, 0).reshape(steps, players, lanes * worlds, *rest)


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
