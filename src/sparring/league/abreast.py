"""Leagues side by side, one for each of several learners: members of a population, or the two unlike sides of a game.

Each is a league of one learner (league.py) that knows nothing of the others. This gives it a part of the blocks and of
the rows of the pool, and tells players of one from those of another: the past selves of learner l of L have the ids
PAST + number * L + l, its shadow SHADOW + l. The doors are those of any league.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from sparring.core.errors import RunError
from sparring.league import desk
from sparring.league.curriculum import Standing
from sparring.league.desk import Member
from sparring.league.events import Event, Evicted, Own, Snapshot
from sparring.league.knowledge import Knowledge
from sparring.league.league import League
from sparring.league.ledger import Ledger
from sparring.league.orders import Orders, Report
from sparring.league.player import LEARNER, PAST, RIVAL, SHADOW, Player, kind_of
from sparring.league.pool import Pool, by_age


@dataclass
class Abreast:
    leagues: list[League]
    """What opposes each learner."""
    names: tuple[str, ...]
    """Of the learners."""
    unlike: bool = False
    """Two sides that are not alike: each learner meets the other one, its shadow and its past, not its own."""
    anew: list[int] = field(default_factory=list)
    """The iteration in which each learner last became a copy of another: earlier games are not its own."""

    def __post_init__(self) -> None:
        self.anew = self.anew or [0] * len(self.names)

    # The doors of an iteration.

    def assign(self, iteration: int, progress: float, steps: int) -> Orders:
        return self._joined([league.assign(iteration, progress, steps) for league in self.leagues])

    def report(self, report: Report) -> None:
        each = len(report.drained_B) // len(self.leagues)
        for learner, league in enumerate(self.leagues):
            first, old = learner * each, report.iteration < self.anew[learner]
            rows = tuple(
                row._replace(block=row.block - first, player=self.inside(row.player))
                for row in report.rows
                if row.block // each == learner and kind_of(row.player) != "rival" and not old
            )
            league.report(Report(report.iteration, rows, report.drained_B[first : first + each]))

    def row_of(self, player: int) -> int | None:
        league = self._owner((player - PAST) % len(self.names))  # who owns it and who meets it: the same way back
        row = self.leagues[league].row_of(self.inside(player))
        return None if row is None else self._row(league, row)

    def members(self) -> tuple[Member, ...]:
        """The learners, then whoever the first of them meets, then the second: bots for each of them."""
        found = [(place, one) for place, league in enumerate(self.leagues) for one in league.members()]
        rows = [None if one.row is None else self._row(place, one.row) for place, one in found]
        met = tuple(
            one._replace(player=self._shown(place, one.player), row=row)
            for (place, one), row in zip(found, rows, strict=True)
        )
        return (*desk.described(self._rivals, Ledger(), lambda _: None), *met)

    def _shown(self, league: int, player: Player) -> Player:
        own = self._player(league, player)
        return replace(own, name=f"{own.name} ({self.names[league]})") if own.kind == "bot" else own

    @property
    def players(self) -> tuple[Player, ...]:
        """All that there are, learners first."""
        return (
            *self._rivals,
            *(self._player(place, one) for place, league in enumerate(self.leagues) for one in league.players),
        )

    @property
    def _rivals(self) -> list[Player]:
        return [Player(id=RIVAL + place, name=name, kind="rival") for place, name in enumerate(self.names)]

    @property
    def pool(self) -> Pool:
        """All past players in memory."""
        found = [(place, one) for place, league in enumerate(self.leagues) for one in league.pool.players]
        players = [self._player(place, one) for place, one in found]
        rows = [self._row(place, self.leagues[place].pool.rows[one.id]) for place, one in found]
        return Pool(by_age(players), {one.id: row for one, row in zip(players, rows, strict=True)})

    def descended(self, parent_M: np.ndarray, iteration: int) -> None:
        """Learners became copies of others: what games of their old weights showed is true of nobody."""
        for learner in np.flatnonzero(parent_M != np.arange(len(parent_M))).tolist():
            league, self.anew[learner] = self.leagues[learner], iteration
            league.knowledge, league.trial = Knowledge(), {}
            league.standing = Standing(self.leagues[int(parent_M[learner])].standing.level)
            league.inbox = [replace(report, rows=()) for report in league.inbox]

    # Whose is whose.

    def _owner(self, league: int) -> int:
        """The learner whose present, shadow and past a league is made of."""
        return 1 - league if self.unlike else league

    def outside(self, league: int, player: int) -> int:
        """The id by which all know a player that one of the leagues has drawn."""
        owner = self._owner(league)
        kind = kind_of(player)
        if kind == "self":
            return RIVAL + owner if self.unlike else LEARNER
        if kind == "shadow":
            return SHADOW + owner
        return PAST + (player - PAST) * len(self.names) + owner if kind == "past" else player

    def inside(self, player: int) -> int:
        """The id by which its own league knows it."""
        kind = kind_of(player)
        if kind == "shadow":
            return SHADOW
        return PAST + (player - PAST) // len(self.names) if kind == "past" else player

    def _row(self, league: int, row: int) -> int:
        return league * self.leagues[league].pool_config.pool_size + row

    def _player(self, league: int, player: Player) -> Player:
        owner = self._owner(league)
        name = {"shadow": f"{self.names[owner]}.shadow", "past": f"{player.name}-{self.names[owner]}"}
        return replace(
            player,
            id=self.outside(league, player.id),
            name=name.get(player.kind, player.name),
            parent=RIVAL + owner if player.kind == "past" else player.parent,
        )

    def _event(self, league: int, event: Event) -> Event:
        if isinstance(event, Snapshot | Evicted):
            row = None if event.row is None else self._row(league, event.row)
            event = replace(event, player=self._player(league, event.player), row=row)
            return replace(event, learner=self._owner(league)) if isinstance(event, Snapshot) else event
        return Own(self.names[league], event)

    def _joined(self, parts: list[Orders]) -> Orders:
        """The orders of all blocks: one learner's after another's."""
        columns = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Orders) if f.name != "events"}
        for name in ("old_B", "next_B"):
            columns[name] = [
                np.array([self.outside(league, int(player)) for player in column], np.uint32)
                for league, column in enumerate(columns[name])
            ]
        events = tuple(self._event(league, event) for league, part in enumerate(parts) for event in part.events)
        return Orders(**{name: np.concatenate(column) for name, column in columns.items()}, events=events)

    # Interruptions.

    def state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "names": list(self.names),
            "abreast": [league.state() for league in self.leagues],
            "pool": self.pool.to_dict(),
            "anew": list(self.anew),
        }

    def restored(self, state: dict[str, Any]) -> Abreast:
        """The leagues that gave this state; these have just begun with the same settings."""
        if list(self.names) != state["names"]:
            raise RunError(
                f"The saved learners were {state['names']}, now they are {list(self.names)}. Resume with those."
            )
        leagues = [league.restored(own) for league, own in zip(self.leagues, state["abreast"], strict=True)]
        return replace(self, leagues=leagues, anew=list(state["anew"]))
