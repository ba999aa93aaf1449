"""The border to the device: players, as leagues know them, become rows and numbers of arrays here and nowhere else."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparring.league.blocks import Draw
from sparring.league.league import League
from sparring.league.player import MIRROR, Player, packed
from sparring.league.state import Assignment
from sparring.play.rollout import Pairing
from sparring.play.seating import Seating, net_family
from sparring.players.guests import Guest
from sparring.setup.line_up import bots_family
from sparring.setup.program import Orders, live_row, shadow_row

OWN = 0
"""In place of a family: the learner of the block itself, which learns on both sides."""


class Slot(NamedTuple):
    """Who drives the away lanes of all blocks, in one of their two slots: arrays [X]. To a league, each is a block."""

    family: np.ndarray
    """OWN, or 1 + the number of the family in the seating."""
    player: np.ndarray
    row: np.ndarray
    temperature: np.ndarray
    epsilon: np.ndarray


def packed_orders(
    seating: Seating, leagues: Sequence[League], assignments: Sequence[Assignment], guests: Mapping[Player, Guest],
    orders: Orders,
) -> Orders:  # fmt: skip
    """The orders of an iteration, with what the league of every seed has decided in them."""
    slots = [
        [
            packed_slot(seating, league, [getattr(block, slot) for block in assignment.blocks], guests)
            for slot in ("old", "next")
        ]
        for league, assignment in zip(leagues, assignments, strict=True)
    ]
    groups = [group for group in seating.groups if not group.learns]

    def columns(name: str) -> tuple[np.ndarray, ...]:
        """An array of the slots as each group that does not learn sees it: [R, P]."""
        found = []
        for group in groups:
            own, chair_P = [both[group.slot == "next"] for both in slots], seating.chair_PX(group)[:, 0]
            part = np.stack([getattr(slot, name)[chair_P] for slot in own])
            if name == "row":  # row 0 where others drive the lanes
                family = np.stack([slot.family[chair_P] for slot in own])
                part = np.where(family == 1 + seating.families.index(group.family), part, 0)
            found.append(part)
        return tuple(found)

    # NumPy arrays: the program takes them as they are, and each array put on the device by itself costs as much.
    pairing: list[Any] = [
        np.stack([[slot.family for slot in both] for both in slots]),
        np.stack([[slot.player for slot in both] for both in slots]),
        np.stack([assignment.changed_B[:: seating.away] for assignment in assignments]),
    ]
    weak = any(column is not None for column in orders.temperature)
    return orders._replace(
        rows=columns("row"),
        ids=columns("player"),
        temperature=columns("temperature") if weak else orders.temperature,
        epsilon=columns("epsilon") if weak else orders.epsilon,
        pairing=Pairing(*pairing),
    )


def packed_slot(seating: Seating, league: League, draws: Sequence[Draw], guests: Mapping[Player, Guest]) -> Slot:
    mirror_B, each = league.rules.mirror_B, league.rules.blocks_each
    found = []
    for lane, draw in enumerate(draws):
        player, learner = draw.player, lane // each
        if player.kind == "learner" and player.number == learner and mirror_B[lane % each]:
            found.append((OWN, MIRROR, 0))
        else:
            family = 1 + seating.families.index(family_of(seating, lane // seating.away, player, guests))
            found.append((family, packed(player), row_of(league, player, guests)))
    family_B, player_B, row_B = zip(*found, strict=True)
    weakness = np.array([(draw.temperature, draw.epsilon) for draw in draws], np.float32)
    return Slot(np.array(family_B, np.int32), np.array(player_B, np.uint32), np.array(row_B, np.int32), *weakness.T)


def family_of(seating: Seating, block: int, player: Player, guests: Mapping[Player, Guest]) -> str:
    """Of whoever drives the away sides of a block, which are alike where there are several."""
    away = seating.seats_of_side[seating.home_B[block] - 1]
    if player.kind == "bot":
        return bots_family(seating.spec, away)
    return guests[player].family if player in guests else net_family(away)


def row_of(league: League, player: Player, guests: Mapping[Player, Guest]) -> int:
    """In the roster of its family; in the learners' own family learners and shadows have rows below 0."""
    if player.kind == "bot":
        return player.number
    if player.kind == "learner":
        return live_row(player.number)
    if player.kind == "shadow":
        return shadow_row(player.number)
    if player in guests and guests[player].row >= 0:
        return guests[player].row
    return league.state.pool.rows[player]
