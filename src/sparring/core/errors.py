"""What can go wrong, as one tree. Every message says what was expected, what was found and what to do.

SparringError
├── ConfigError   a setting, a flag or a combination of them
├── GameError     a game breaks its contract, or is not known
└── RunError      a run directory is missing, foreign, damaged or cannot be written
"""

from collections.abc import Iterable

from sparring.core.names import near_names


class SparringError(Exception):
    """The root: the command line prints its message as one sentence and exits with `exit_code`."""

    exit_code = 1


class ConfigError(SparringError):
    exit_code = 2


class GameError(SparringError):
    exit_code = 2


class RunError(SparringError):
    exit_code = 3


def unknown(kind: str, name: str, known: Iterable[str], *, of: str = "") -> str:
    """The sentence for a name that is not in a closed list `of` something, with the nearest one that is."""
    choices = sorted(known)
    near = near_names(name, choices, cutoff=0.55)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(choices) or 'none'}."
    return f"Unknown {kind} {name!r}{f' of {of}' if of else ''}. {hint}"
