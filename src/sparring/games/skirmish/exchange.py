"""Seats in another order: choices, targets and masks that name units are renamed with them."""

from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Observation
from sparring.games.game import permute_seats
from sparring.games.skirmish.army import Army
from sparring.games.skirmish.battle import Battle, Luck
from sparring.games.skirmish.command import ATTACK


def groups(army: Army, sides: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Seats of one kind on one side; where kinds are drawn, all of a side, unless what choices mean is drawn too."""
    found = []
    for side in sides:
        first = army.first(side)
        if army.drawn:
            whole = tuple(range(first, first + army.sizes[side]))
            found += [] if army.any_of(side, "heals") else [whole]
            continue
        numbered = enumerate(army.battle_map.kinds(side), start=first)
        found += [tuple(seat for seat, _ in group) for _, group in groupby(numbered, key=lambda pair: pair[1])]
    return tuple(group for group in found if len(group) > 1)


def permuted(army: Army, duel: bool, tree: Any, order_S: Array) -> Any:
    """`Game.permute`. A whole side that changes places is mirrored."""
    order_U = order_S if duel else jnp.concatenate([order_S, jnp.arange(army.sizes[0], army.units)])
    if isinstance(tree, Action):
        entry_SA = _entries(army, order_U, len(order_S))
        moved = permute_seats(tree, order_S)
        # The new name of a choice is where the old one stands in the list of old names.
        renamed = jnp.argmax(entry_SA == moved.discrete_SD, axis=1).astype(moved.discrete_SD.dtype)
        return moved._replace(discrete_SD=renamed[:, None])
    if isinstance(tree, Observation):
        moved = permute_seats(tree, order_S)
        entry_SA = _entries(army, order_U, len(order_S))[:, : moved.legal_SA.shape[1]]
        return moved._replace(legal_SA=jnp.take_along_axis(moved.legal_SA, entry_SA, axis=1))
    if isinstance(tree, Luck):
        return jax.tree.map(lambda x: x[order_U], tree)
    if isinstance(tree, Battle):
        return _battle(army, tree, order_S, order_U)
    return permute_seats(tree, order_S)


def _battle(army: Army, battle: Battle, order_S: Array, order_U: Array) -> Battle:
    swapped = order_U[0] >= army.sizes[0]
    place_XU = battle.place_XU[:, order_U] * jnp.where(swapped, army.battle_map.frame(1), 1.0)[:, None]
    rename_U = jnp.argsort(order_U)
    target_U = battle.target_U[order_U]
    units = {
        name: getattr(battle, name)[order_U]
        for name in ("health_U", "shield_U", "energy_U", "cooldown_U", "calm_U", "kind_U")
    }
    return battle._replace(
        place_XU=place_XU,
        target_U=jnp.where(target_U >= 0, rename_U[target_U], target_U).astype(jnp.int32),
        last_S=_last(army, battle, order_S, order_U),
        **units,
    )


def _last(army: Army, battle: Battle, order_S: Array, order_U: Array) -> Array:
    last_S = battle.last_S[order_S]
    entry_SA = _entries(army, order_U, len(order_S))
    renamed = jnp.argmax(entry_SA == last_S[:, None], axis=1)
    return jnp.where(last_S >= 0, renamed, last_S).astype(jnp.int32)


def _entries(army: Army, order_U: Array, seats: int) -> Array:
    """entry_SA: the old name of every choice of the new seats."""
    allies = army.sizes[0]
    heals_U = np.array([army.kinds[number].heals for number in army.kind_U]) & (not army.drawn)
    rows = []
    for seat in range(seats):
        old = order_U[seat]
        side, old_side = int(seat >= allies), old >= allies
        named = np.where(heals_U[seat], side, 1 - side)
        new_first, count = (0, allies)[int(named)], army.sizes[int(named)]
        old_first = jnp.where(old_side == bool(side), new_first, allies - new_first)
        units = order_U[new_first : new_first + count] - old_first
        width = max(army.sizes)
        rest = jnp.arange(count, width)
        rows.append(jnp.concatenate([jnp.arange(ATTACK), ATTACK + units, ATTACK + rest]))
    return jnp.stack(rows)
