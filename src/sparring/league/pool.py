"""Who stays in the pool of past selves. Members are ordered by the step of their birth, never by name or row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from sparring.league.config import Eviction, PoolConfig
from sparring.league.player import Player


@dataclass(frozen=True)
class Pool:
    """Who is in the pool and where the weights are."""

    players: tuple[Player, ...] = ()
    """By age, the oldest first."""
    rows: Mapping[int, int] = field(default_factory=dict)
    leaving: frozenset[int] = frozenset()
    """Drawn no more; they go when no block plays them."""

    @property
    def eligible(self) -> tuple[Player, ...]:
        return tuple(player for player in self.players if player.id not in self.leaving)

    def free_row(self, size: int) -> int | None:
        return next((row for row in range(size) if row not in self.rows.values()), None)

    def joined_by(self, player: Player, row: int) -> Pool:
        return Pool(by_age((*self.players, player)), {**self.rows, player.id: row}, self.leaving)

    def without(self, player: int) -> Pool:
        return Pool(
            tuple(member for member in self.players if member.id != player),
            {key: row for key, row in self.rows.items() if key != player},
            self.leaving - {player},
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "players": [{**player.to_dict(), "row": self.rows[player.id]} for player in self.players],
            "leaving": sorted(self.leaving),
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Pool:
        rows = {member["id"]: member["row"] for member in plain["players"]}
        players = [{key: value for key, value in member.items() if key != "row"} for member in plain["players"]]
        return cls(by_age([Player.from_dict(player) for player in players]), rows, frozenset(plain["leaving"]))


def by_age(pool: Sequence[Player]) -> tuple[Player, ...]:
    """Oldest first."""
    return tuple(sorted(pool, key=lambda player: (player.born, player.id)))


def snapshot_interval(config: PoolConfig, total_steps: int) -> int:
    """Steps between two snapshots. A copy at every update would fill the pool with the last few updates."""
    return config.snapshot_every or max(1, total_steps // 50)


def snapshot_due(config: PoolConfig, *, steps: int, last: int, total_steps: int, low: float) -> bool:
    """Whether enough steps have passed since the `last` snapshot, or the newest member is surely beaten.

    `low` is the lower bound of the learner's rate against the newest member, 0 where it is unknown.
    """
    if config.pool_size == 0:
        return False
    return steps - last >= snapshot_interval(config, total_steps) or 0.0 < config.snapshot_mark < low


def evictee(
    pool: Sequence[Player],
    policy: Eviction,
    *,
    now: int,
    referenced: Collection[int] = (),
    payoff_MM: np.ndarray | None = None,
    rating_M: Sequence[float] | None = None,
) -> Player | None:
    """Who makes room for a snapshot taken after `now` steps: never pinned, never referenced by a block.

    The newest stays while another can go. Arrays follow the order of `pool`. None: nobody can go.
    """
    members = by_age(pool)
    free = [player.id for player in members if not player.pinned and player.id not in referenced]
    candidates = [player for player in free if player != members[-1].id] or free
    if len(candidates) <= 1 or policy == "oldest":
        return next((player for player in members if player.id in candidates), None)
    if policy == "redundant" and payoff_MM is not None:
        rating = {player.id: rating_M[place] for place, player in enumerate(pool)} if rating_M is not None else {}
        return _redundant(pool, frozenset(candidates), payoff_MM, rating)
    return _least_missed(members, frozenset(candidates), now)


def _least_missed(members: Sequence[Player], candidates: frozenset[int], now: int) -> Player:
    """The candidate whose leaving opens the smallest gap between its neighbours on a log scale of age.

    The smallest gap is the smallest ratio of ages. The oldest has no older neighbour, so it is missed most.
    """
    age = [max(1, now - player.born) for player in members]

    def gap(place: int) -> float:
        inside = 0 < place < len(members) - 1
        return age[place - 1] / age[place + 1] if inside else inf

    return members[min((place for place, player in enumerate(members) if player.id in candidates), key=gap)]


def _redundant(
    pool: Sequence[Player], candidates: frozenset[int], payoff_MM: np.ndarray, rating: dict[int, float]
) -> Player:
    """Of the two members with the most similar rows of payoff the lower rated, or the older where that is unknown."""
    free_M = np.array([player.id in candidates for player in pool])
    distance_MM = np.abs(payoff_MM[:, None, :] - payoff_MM[None, :, :]).mean(axis=-1)
    distance_MM[np.tril_indices(len(pool))] = np.inf
    distance_MM[~(free_M[:, None] | free_M)] = np.inf
    pair = [pool[place] for place in divmod(int(np.argmin(distance_MM)), len(pool))]
    return min(
        (player for player in pair if player.id in candidates),
        key=lambda player: (rating.get(player.id, 0.0), player.born, player.id),
    )
