"""A lock that lives as long as the process that holds it.

The operating system keeps it, not the file: after `kill -9`, a crash or a restarted container (where a new process may
well get the old one's number) nothing is left to clean up. The file stays and only says who held it last.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

if os.name == "nt":
    import msvcrt

    def _lock_or_fail(descriptor: int) -> None:
        os.lseek(descriptor, 2**30, os.SEEK_SET)  # beyond the text, which others must be able to read
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock_or_fail(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


_HELD = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EINVAL, getattr(errno, "ENOTSUP", errno.ENOSYS)}


class HeldError(Exception):
    """The lock is held; the message is the number of the process that holds it, or "?"."""


def take(path: Path) -> int:
    """Take the lock; `os.close` of what this returns lets go of it. Raises HeldError, or OSError if it cannot be made.

    Some cluster file systems have no locks. A run there is better than none, so it goes unlocked.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(descriptor, path)
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, str(os.getpid()).encode())
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int, path: Path) -> None:
    try:
        _lock_or_fail(descriptor)
    except OSError as error:
        if error.errno in _HELD:
            holder = path.read_text(errors="replace").strip()
            raise HeldError(holder if holder.isdecimal() else "?") from error
        if error.errno not in _NO_LOCKS:
            raise
