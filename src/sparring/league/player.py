"""Who can drive a side. An id says who it is for good; a row of the roster is only where its weights are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sparring.core.errors import ConfigError
from sparring.core.names import checked_name
from sparring.core.settings import from_dict

Kind = Literal["self", "rival", "shadow", "past", "bot", "guest"]

LEARNER = 0
RIVAL = 2**16
"""Learners of a league of several from here up, as they are now, by their place in the line-up."""
PAST = 2**20
"""Past selves from here up; an id is never given twice."""
SHADOW = 2**28
GUEST = 2**29
"""Policies of other runs from here up."""
BOT = 2**31
"""Bots from here up, by their place in the game's list of bot names."""


@dataclass(frozen=True, kw_only=True)
class Player:
    id: int
    name: str
    kind: Kind
    parent: int = LEARNER
    """Whose copy it is."""
    born: int = 0
    """Steps of the learner when it came into being; the order of the pool."""
    pinned: bool = False
    """Never evicted."""
    role: str = ""
    """What its learner was for, in a league of several."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Player:
        """Of a checkpoint, which is not believed: every field has its type, and the name can be that of a file."""
        try:
            player = from_dict(cls, plain, where="a player")
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return replace(player, name=checked_name(player.name))


def kind_of(player: int) -> Kind:
    """The kind of player that an id belongs to."""
    if player >= BOT:
        return "bot"
    if player >= GUEST:
        return "guest"
    if player >= SHADOW:
        return "shadow"
    if player >= PAST:
        return "past"
    return "rival" if player >= RIVAL else "self"


def bot_players(ladder: Sequence[str], names: Sequence[str]) -> tuple[Player, ...]:
    """The bots of a ladder; rules of age take their place in it for their birth. `names`: all bots of the game."""
    return tuple(
        Player(id=BOT + names.index(name), name=name, kind="bot", born=place) for place, name in enumerate(ladder)
    )


def past_self(number: int, *, born: int) -> Player:
    """The past self of a running number, copied from the learner after `born` steps."""
    return Player(id=PAST + number, name=f"past-{born}", kind="past", born=born)


def past_rival(number: int, rival: Player, *, born: int) -> Player:
    """The same of one learner of several."""
    name = f"past-{born}-{rival.name}"
    return Player(id=PAST + number, name=name, kind="past", parent=rival.id, born=born, role=rival.role)
