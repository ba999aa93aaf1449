"""What a run was made with, so that it can be repeated: versions, commit, machine. Nothing names a person or a host."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES = ("sparring", "jax", "jaxlib", "equinox", "optax", "numpy")


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
