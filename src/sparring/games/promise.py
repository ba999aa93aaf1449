"""How a promise that a game does not keep is told."""

import numpy as np
from numpy.typing import ArrayLike

from sparring.core.errors import GameError
from sparring.core.records import LARGEST
from sparring.games.trial import Record

SOUND = f"finite numbers, none beyond {LARGEST:g}"


def broken(rule: str, expected: str, found: str, remedy: str) -> GameError:
    return GameError(f"{rule}: expected {expected}, found {found}. {remedy}")


def where(record: Record, bad: ArrayLike, when: str = "at") -> str:
    """The first place of a fault, from bad [T, W] or [T, W, S]."""
    t, w, *seat = np.argwhere(np.asarray(bad))[0]
    return f"{when} step {int(record.played[t, w])} of a game" + (f", seat {seat[0]}" if seat else "")
