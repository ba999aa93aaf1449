"""What the league decided, as data: training carries it out, the log tells it to people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from sparring.league.player import Player


@dataclass(frozen=True)
class Event:
    told: ClassVar[bool] = True
    """Whether people want to read of it."""

    says: ClassVar[str] = ""
    """The sentence, with what the event holds as {0.name}."""

    def sentence(self) -> str:
        return self.says.format(self)

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

    says: ClassVar[str] = "{0.champion} stays champion. {0.why}"
    champion: str
    why: str


@dataclass(frozen=True)
class Reset(Event):
    """Put a learner back to where it began: weights, optimiser, statistics and shadow. With a parent, its policy is
    that past player's."""

    learner: int
    name: str
    parent: Player | None = None

    def sentence(self) -> str:
        return f"{self.name} starts over" + (f" as {self.parent.name}." if self.parent else ".")


@dataclass(frozen=True)
class Recalled(Event):
    """Load a past player from its file into a row of the pool."""

    told: ClassVar[bool] = False
    says: ClassVar[str] = "Brought back {0.player.name} (pool row {0.row})."
    player: Player
    row: int


@dataclass(frozen=True)
class Joined(Event):
    """Load a guest into a row of the pool."""

    says: ClassVar[str] = "{0.player.name} joined the pool (row {0.row})."
    player: Player
    row: int


@dataclass(frozen=True)
class Evicted(Event):
    """A row of the pool is free again, if the player had one; no block plays it any more."""

    player: Player
    row: int | None

    def sentence(self) -> str:
        return f"{self.player.name} left the pool" + ("." if self.row is None else f" (row {self.row}).")


@dataclass(frozen=True)
class Climbed(Event):
    says: ClassVar[str] = "Climbed to the level {0.level}."
    level: str
    """The new one."""


@dataclass(frozen=True)
class Retreated(Event):
    says: ClassVar[str] = "Retreated to the level {0.level}."
    level: str
    """The new one."""


@dataclass(frozen=True)
class Staged(Event):
    """The next stage of the game's rules began."""

    number: int
    """From 1."""
    stages: int
    rules: dict[str, float]
    plays: tuple[str, ...] = ()
    """Bots in the learners' place."""

    def sentence(self) -> str:
        rules = ", ".join(f"{name} {value:g}" for name, value in self.rules.items()) or "the game's own rules"
        who = f"; {' and '.join(self.plays)} in the learners' place" if self.plays else ""
        return f"Stage {self.number} of {self.stages}: {rules}{who}."


@dataclass(frozen=True)
class SharesSet(Event):
    shares: dict[str, float]

    def sentence(self) -> str:
        return "Shares set by hand: " + ", ".join(f"{kind} {share:.3g}" for kind, share in self.shares.items()) + "."


@dataclass(frozen=True)
class Counted(Event):
    """Something that should be rare happened for the first time; `LeagueState.counts` goes on counting."""

    says: ClassVar[str] = "For the first time: {0.what}."
    what: str
