"""Seats in another order: choices, targets and masks that name units are renamed with them."""

from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Goals
from sparring.core.spec import GameSpec
from sparring.games.game import named_rows, permute_seats, rename_choices, renamed
from sparring.games.skirmish import goals
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


def permuted(spec: GameSpec, army: Army, tree: Any, order_S: Array) -> Any:
    """`Game.permute`. Enemies that follow a script keep their places."""
    order_U = jnp.concatenate([order_S, jnp.arange(spec.seats, army.units)])
    if isinstance(tree, Luck):
        return jax.tree.map(lambda x: x[order_U], tree)
    if isinstance(tree, Goals):
        row_SG = named_rows(goals.foes(army)[: spec.seats], order_S, order_U, len(spec.goals))
        return Goals(*(_listed_anew(part_SG, row_SG) for part_SG in permute_seats(tree, order_S)))
    row_SR = named_rows(_named(army)[: spec.seats], order_S, order_U, spec.action.entries - ATTACK)
    if isinstance(tree, Battle):
        return _battle(army, tree, order_S, order_U, row_SR)
    return rename_choices(permute_seats(tree, order_S), row_SR, spec, first=ATTACK)


def _listed_anew(part_SG: Array, row_SG: Array) -> Array:
    return jnp.take_along_axis(part_SG, row_SG.reshape(*row_SG.shape, *[1] * (part_SG.ndim - 2)), axis=1)


def _battle(army: Army, battle: Battle, order_S: Array, order_U: Array, row_SR: Array) -> Battle:
    """A side that takes the place of the other is mirrored."""
    swapped = order_U[0] >= army.sizes[0]
    units = {
        name: getattr(battle, name)[order_U]
        for name in ("health_U", "shield_U", "energy_U", "cooldown_U", "calm_U", "lands_U", "windup_U", "turn_U",
                     "habit_U", "kind_U")
    }  # fmt: skip
    new_name_U = jnp.argsort(order_U)

    def renamed_units(named_U: Array) -> Array:
        return jnp.where(named_U >= 0, new_name_U[named_U], named_U)[order_U].astype(jnp.int32)

    return battle._replace(
        place_XU=battle.place_XU[:, order_U] * jnp.where(swapped, army.battle_map.frame(1), 1.0)[:, None],
        target_U=renamed_units(battle.target_U),
        shot_U=renamed_units(battle.shot_U),
        last_S=renamed(battle.last_S[order_S], row_SR, ATTACK),
        **units,
    )


def _named(army: Army) -> list[range]:
    """The units that each unit's choices from ATTACK on name: its foes, or all of its side where it heals."""
    side_of_unit = [side for side in (0, 1) for _ in range(army.sizes[side])]
    heals = [not army.drawn and army.kinds[number].heals for number in army.kind_U]
    meant = [side if healer else 1 - side for side, healer in zip(side_of_unit, heals, strict=True)]
    return [range(army.first(side), army.first(side) + army.sizes[side]) for side in meant]
