"""Who can sit in a game. A player is told by its kind and its number, for good; where its weights are is another
matter.

On the host a player is this record everywhere. Arrays on the device hold whole numbers instead: `packed` makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["learner", "shadow", "past", "guest", "bot"]
NOBODY = -1
MIRROR = 0
"""On the device: the learner of the block itself drives the away side too, and learns there."""
FIRST: dict[Kind, int] = {"learner": 2**16, "past": 2**20, "shadow": 2**28, "guest": 2**29, "bot": 2**31}
"""On the device: the first number of each kind."""


@dataclass(frozen=True)
class Player:
    kind: Kind
    number: int
    """Of its kind, never given twice: the place of a learner, or of the one whose shadow it is; a running number of
    past selves and guests; the place of a bot in the run's ladder."""
    name: str = field(compare=False)
    """For people and files; no two players of a run have the same at one time."""
    learner: int = field(default=NOBODY, compare=False)
    """Whose present, shadow or past it is, by place in the line-up."""
    born: int = field(default=0, compare=False)
    """Steps of the run when it came into being; of a bot its place in the ladder. The order of the pool."""
    role: str = field(default="", compare=False)
    """What its learner was for."""
    pinned: bool = field(default=False, compare=False)
    """Never evicted."""


def packed(player: Player) -> int:
    """The number that stands for a player in arrays."""
    return FIRST[player.kind] + player.number


def unpacked(number: int) -> tuple[Kind, int] | None:
    """Kind and number of the player that a number of an array stands for; None where it is nobody's."""
    found: list[Kind] = [kind for kind, first in FIRST.items() if number >= first]
    kind = max(found, key=lambda one: FIRST[one]) if found else None
    return None if kind is None else (kind, number - FIRST[kind])


def learners_named(names: Sequence[str], roles: Sequence[str]) -> tuple[Player, ...]:
    return tuple(
        Player("learner", place, name, place, role=role)
        for place, (name, role) in enumerate(zip(names, roles, strict=True))
    )


def shadow_of(learner: Player) -> Player:
    return Player("shadow", learner.number, f"{learner.name}.shadow", learner.number, role=learner.role)


def past_self(number: int, learner: Player, *, born: int, alone: bool) -> Player:
    """The past self of a running number, copied from a learner after `born` steps."""
    name = f"past-{born}" if alone else f"past-{born}-{learner.name}"
    return Player("past", number, name, learner.number, born, learner.role)


def bot_players(ladder: Sequence[str]) -> tuple[Player, ...]:
    """The bots of a ladder; rules of age take their place in it for their birth."""
    return tuple(Player("bot", place, name, born=place) for place, name in enumerate(ladder))
