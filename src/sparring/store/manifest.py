"""What a run is and was made with, so that it can be repeated. Nothing names a person or a host."""

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sparring.core.errors import RunError

_PACKAGES = ("sparring", "jax", "jaxlib", "equinox", "optax", "numpy")
_KINDS: dict[type, tuple[str, ...]] = {
    int: ("seed", "seeds", "iterations", "total_steps", "steps_per_iteration", "results_from", "lines_from", "longest"),
    str: ("game", "score", "fingerprint"),
    bool: ("alike", "many_alike", "watchable", "zero_sum"),
    list: ("sides", "seats", "learners"),
    dict: ("packages", "code", "fates"),
}
"""Facts that readers rely on. Lists are of texts."""
_WORDS = {int: "a whole number", str: "a text", bool: "true or false", list: "a list of texts", dict: "an object"}


class Manifest(dict[str, Any]):
    """The facts of a run; one that is asked for and not there is told as the damage it is."""

    path: Path

    def __missing__(self, key: str) -> Any:
        raise RunError(f"{self.path} does not say the {key!r} of the run. Restore the file from a copy.")


def checked_facts(path: Path, facts: Mapping[str, Any]) -> Manifest:
    """The facts, where those that readers rely on are of the kind they should be."""
    for kind, names in _KINDS.items():
        for name in names:
            fact = facts.get(name)
            if name in facts and not (type(fact) is kind and _sound(fact)):
                raise RunError(
                    f"{path} is damaged: {name!r} must be {_WORDS[kind]}, found {str(fact)[:40]!r}. Restore it from a "
                    "copy."
                )
    manifest = Manifest(facts)
    manifest.path = path
    return manifest


def _sound(fact: Any) -> bool:
    if isinstance(fact, list):
        return bool(fact) and all(isinstance(item, str) for item in fact)
    return not isinstance(fact, int) or 0 <= fact < 2**63


def manifest_facts() -> dict[str, Any]:
    """Plain data for the manifest. Reads versions without importing the packages; what is absent is None."""
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no") if commit else None
    return {
        "commit": commit,
        "uncommitted_changes": None if changes is None else bool(changes),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "cpus_allowed": _cpus_allowed(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpus_allowed() -> int | None:
    """Cores this process may use: results of parallel sums depend on it."""
    if hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a process may use them all
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _git(*arguments: str) -> str | None:
    """Output of git about the working directory, None where there is no git, no repository or no commit."""
    command = ["git", "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip()
