"""Writes that a crash, a power cut or a full disk cannot leave half done, and the sentence for those that fail.

Visible at once and safe on the disk are two promises: renaming gives the first, fsync of file and folder the second.
"""

import errno
import os
from contextlib import suppress
from io import FileIO
from pathlib import Path

from sparring.core.errors import RunError

TEMPORARY = ".tmp-"
"""How the names of unfinished files and folders begin: nobody reads them, and the next writer removes them."""

_NO_SPACE = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_NO_SYNC = {errno.EINVAL, errno.EBADF, getattr(errno, "ENOTSUP", errno.EINVAL)}


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until it is on the disk. Not atomic: for files that nobody looks for yet."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders; its renames are journalled
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:  # some network file systems refuse to sync folders
            raise
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Put a new content in place of a file: a reader sees the old one or the new one, whole. Raises OSError."""
    temporary = path.with_name(TEMPORARY + path.name)
    try:
        write_synced(temporary, data)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def append_whole(path: Path, data: bytes) -> None:
    """Append lines to a file, all or none, after cutting off what a killed writer left of its last. Raises OSError."""
    with path.open("a+b", buffering=0) as file:
        end = _end_of_lines(file)
        file.truncate(end)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        except BaseException:
            with suppress(OSError):
                file.truncate(end)
            raise


def cannot_write(path: Path, error: OSError, *, run: Path, needed: int | None = None) -> RunError:
    """The sentence for a write that failed."""
    resume = f"`sparring resume {run}`"
    if error.errno in _NO_SPACE:
        size = "" if needed is None else f" needs {needed:,} bytes"
        return RunError(f"The disk is full: {path}{size or ' cannot grow'}; free some space, then {resume}.")
    reason = error.strerror or str(error)
    return RunError(f"Cannot write {path}: {reason}; make the folder writable, then {resume}.")


def _end_of_lines(file: FileIO, block: int = 4096) -> int:
    """The position behind the last newline."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - block)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
