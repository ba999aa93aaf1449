"""Names: those of files, checked where they come out of one; the nearest that are known; counts."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from typing import Any, TypeGuard

_FILE_NAME = re.compile(r"\w[\w .+@#()-]{0,119}")  # begins with a letter, digit or _, and has no sign of a path


def is_file_name(name: Any) -> TypeGuard[str]:
    """Whether a name can be that of a file in the folder where it belongs, and of nothing outside it."""
    return isinstance(name, str) and _FILE_NAME.fullmatch(name) is not None


def checked_name(name: Any) -> str:
    """The name of a player out of a file; ValueError where it could not have been given by a run."""
    if not is_file_name(name):
        raise ValueError(f"{str(name)[:80]!r} is not a name of a player (letters, digits and .+@#()- within)")
    return name


def counted(number: int, thing: str) -> str:
    """A number of things, one or several."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def near_names(name: str, known: Iterable[str], *, n: int = 1, cutoff: float = 0.5) -> list[str]:
    """The names most alike, the nearest first; of those as alike the one of nearest length: ase is ace, not master."""
    choices = list(known)
    found = get_close_matches(name, choices, n=max(len(choices), 1), cutoff=cutoff)

    def rank(one: str) -> tuple[float, int, str]:
        return -SequenceMatcher(None, one, name).ratio(), abs(len(one) - len(name)), one

    return sorted(found, key=rank)[:n]
