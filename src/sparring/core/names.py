"""Names that become names of files. Those that come out of a file are checked before they do: one pattern for all."""

import re
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
