"""What the league decided, as data: training carries it out, the log tells it to people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from sparring.league.player import Player


@dataclass(frozen=True)
class Event:
    told: ClassVar[bool] = True
    """Whether people want to read of it."""

    def sentence(self) -> str:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        return {"event": type(self).__name__.lower(), **asdict(self)}


@dataclass(frozen=True)
class Own(Event):
    """What happened to one of several learners."""

    whose: str
    event: Event

    def sentence(self) -> str:
        return f"{self.whose}: {self.event.sentence()}"

    def to_dict(self) -> dict[str, Any]:
        return {**self.event.to_dict(), "whose": self.whose}


@dataclass(frozen=True)
class Snapshot(Event):
    """Copy a learner to a row of the pool, or to its file alone."""

    player: Player
    row: int | None
    learner: int = 0
    why: str = ""

    def sentence(self) -> str:
        where = "on disk" if self.row is None else f"pool row {self.row}"
        return f"Took the snapshot {self.player.name} ({where})" + (f": {self.why.rstrip('.')}." if self.why else ".")


@dataclass(frozen=True)
class Kept(Event):
    """A trial for promotion ended, and the champion stays."""

    champion: str
    why: str

    def sentence(self) -> str:
        return f"{self.champion} stays champion. {self.why}"


@dataclass(frozen=True)
class Reset(Event):
    """Put a learner back to where it began: weights, optimiser, statistics and shadow. With a parent, its policy is
    that past player's."""

    learner: int
    name: str
    parent: Player | None = None

    def sentence(self) -> str:
        return f"{self.name} begins anew" + (f" as {self.parent.name}." if self.parent else ".")


@dataclass(frozen=True)
class Recalled(Event):
    """Load a past player from its file into a row of the pool."""

    told: ClassVar[bool] = False
    player: Player
    row: int

    def sentence(self) -> str:
        return f"Brought back {self.player.name} (pool row {self.row})."


@dataclass(frozen=True)
class Joined(Event):
    """Load a guest into a row of the pool."""

    player: Player
    row: int

    def sentence(self) -> str:
        return f"{self.player.name} joined the pool (row {self.row})."


@dataclass(frozen=True)
class Evicted(Event):
    """A row of the pool is free again, if the player had one; no block plays it any more."""

    player: Player
    row: int | None

    def sentence(self) -> str:
        return f"{self.player.name} left the pool" + ("." if self.row is None else f" (row {self.row}).")


@dataclass(frozen=True)
class Climbed(Event):
    level: str
    """The new one."""

    def sentence(self) -> str:
        return f"Climbed to the level {self.level}."


@dataclass(frozen=True)
class Retreated(Event):
    level: str
    """The new one."""

    def sentence(self) -> str:
        return f"Retreated to the level {self.level}."


@dataclass(frozen=True)
class Staged(Event):
    """The next stage of the game's rules began."""

    number: int
    """From 1."""
    stages: int
    rules: dict[str, float]

    def sentence(self) -> str:
        rules = ", ".join(f"{name} {value:g}" for name, value in self.rules.items()) or "the game's own rules"
        return f"Stage {self.number} of {self.stages}: {rules}."


@dataclass(frozen=True)
class SharesSet(Event):
    shares: dict[str, float]

    def sentence(self) -> str:
        return "Shares set by hand: " + ", ".join(f"{kind} {share:.3g}" for kind, share in self.shares.items()) + "."


@dataclass(frozen=True)
class Counted(Event):
    """Something that should be rare happened for the first time; `LeagueState.counts` goes on counting."""

    what: str

    def sentence(self) -> str:
        return f"For the first time: {self.what}."
