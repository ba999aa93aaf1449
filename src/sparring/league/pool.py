"""Who stays in the pool of past selves. Members are ordered by the step of their birth, never by name or row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from sparring.league.config import Eviction, PoolConfig
from sparring.league.player import NOBODY, Player


@dataclass(frozen=True)
class Pool:
    """Who is in the pool and where the weights are."""

    players: tuple[Player, ...] = ()
    """By age, the oldest first."""
    rows: dict[Player, int] = field(default_factory=dict)
    """Of those in memory."""
    leaving: frozenset[Player] = frozenset()
    """Drawn no more; they go when no block plays them."""
    used: dict[Player, int] = field(default_factory=dict)
    """The iteration for which each of those in memory was last drawn."""

    @property
    def eligible(self) -> tuple[Player, ...]:
        return tuple(player for player in self.players if player not in self.leaving)

    def of(self, learner: int) -> tuple[Player, ...]:
        """The past of a learner, and guests, who are in everybody's pool."""
        return tuple(player for player in self.players if player.learner in (learner, NOBODY))

    def free_row(self, size: int) -> int | None:
        taken = set(self.rows.values())
        return next((row for row in range(size) if row not in taken), None)

    def joined_by(self, player: Player, row: int | None, iteration: int = 0) -> Pool:
        return self.with_row(player, row, iteration, players=by_age((*self.players, player)))

    def with_row(self, player: Player, row: int | None, iteration: int, **more: Any) -> Pool:
        """The pool with a member in a row of memory; None: on disk alone."""
        if row is None:
            return replace(self, **more)
        return replace(self, rows={**self.rows, player: row}, used={**self.used, player: iteration}, **more)

    def out_of_memory(self, player: Player) -> Pool:
        rows, used = dict(self.rows), dict(self.used)
        rows.pop(player, None)
        used.pop(player, None)
        return replace(self, rows=rows, used=used)

    def without(self, player: Player) -> Pool:
        others = tuple(member for member in self.players if member != player)
        return replace(self.out_of_memory(player), players=others, leaving=self.leaving - {player})


def by_age(pool: Sequence[Player]) -> tuple[Player, ...]:
    """Oldest first."""
    return tuple(sorted(pool, key=lambda player: (player.born, player.kind == "guest", player.number)))


def snapshot_interval(config: PoolConfig, total_steps: int) -> int:
    """Steps between two snapshots. A copy at every update would fill the pool with the last few updates."""
    return config.snapshot_every or max(1, total_steps // 50)


def evictee(
    pool: Sequence[Player],
    policy: Eviction,
    *,
    now: int,
    referenced: Collection[Player] = (),
    payoff_MM: np.ndarray | None = None,
    rating_M: Sequence[float] | None = None,
) -> Player | None:
    """Who makes room for a snapshot taken after `now` steps: never pinned, never referenced by a block.

    The newest stays while another can go. Arrays follow the order of `pool`. None: nobody can go.
    """
    members = by_age(pool)
    free = [player for player in members if not player.pinned and player not in referenced]
    candidates = [player for player in free if player != members[-1]] or free
    if len(candidates) <= 1 or policy == "oldest":
        return next((player for player in members if player in candidates), None)
    if policy == "redundant" and payoff_MM is not None:
        rating = {player: rating_M[place] for place, player in enumerate(pool)} if rating_M is not None else {}
        return _redundant(pool, frozenset(candidates), payoff_MM, rating)
    return _least_missed(members, frozenset(candidates), now)


def _least_missed(members: Sequence[Player], candidates: frozenset[Player], now: int) -> Player:
    """The candidate whose leaving opens the smallest gap between its neighbours on a log scale of age.

    The smallest gap is the smallest ratio of ages. The oldest has no older neighbour, so it is missed most.
    """
    age = [max(1, now - player.born) for player in members]

    def gap(place: int) -> float:
        inside = 0 < place < len(members) - 1
        return age[place - 1] / age[place + 1] if inside else inf

    return members[min((place for place, player in enumerate(members) if player in candidates), key=gap)]


def _redundant(
    pool: Sequence[Player], candidates: frozenset[Player], payoff_MM: np.ndarray, rating: dict[Player, float]
) -> Player:
    """Of the two members with the most similar rows of payoff the lower rated, or the older where that is unknown."""
    free_M = np.array([player in candidates for player in pool])
    distance_MM = np.abs(payoff_MM[:, None, :] - payoff_MM[None, :, :]).mean(axis=-1)
    distance_MM[np.tril_indices(len(pool))] = np.inf
    distance_MM[~(free_M[:, None] | free_M)] = np.inf
    pair = [pool[place] for place in divmod(int(np.argmin(distance_MM)), len(pool))]
    return min(
        (player for player in pair if player in candidates),
        key=lambda player: (rating.get(player, 0.0), player.born, player.number),
    )
