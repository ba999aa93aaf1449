"""Memory that workers and the trainer share: one file mapped by all, a row for each environment. No JAX."""

import mmap
import os
import tempfile
from math import prod
from pathlib import Path

import numpy as np

from sparring.workers.source import Found

MOST = 8192
"""Environments of one pool. The file has holes: only rows that are used take memory."""
FOLDER = Path("/dev/shm")


def fields_of(found: Found) -> dict[str, tuple[tuple[int, ...], type]]:
    """What a row holds: shape and type by name. The first three the trainer writes, the others a worker."""
    seats, sides, entries = found.seats, found.sides, sum(found.heads)
    return {
        "discrete": ((seats, len(found.heads)), np.int32),
        "continuous": ((seats, found.dimensions), np.float32),
        "seed": ((), np.uint64),
        "features": ((seats, found.marked), np.float32),
        "legal": ((seats, entries), np.bool_),
        "present": ((seats,), np.bool_),
        "acting": ((seats,), np.bool_),
        "reward": ((seats,), np.float32),
        "left": ((seats,), np.bool_),
        "over": ((), np.bool_),
        "cut": ((), np.bool_),
        "outcome": ((sides,), np.float32),
        "count": ((seats, len(found.infos)), np.float32),
    }


def bytes_needed(found: Found) -> int:
    return sum(MOST * prod(shape) * np.dtype(kind).itemsize + 64 for shape, kind in fields_of(found).values())


def new_file(found: Found) -> Path:
    """An empty file of the right size, in memory where the system has a folder for that."""
    folder = str(FOLDER) if FOLDER.is_dir() and os.access(FOLDER, os.W_OK) else None
    handle, path = tempfile.mkstemp(prefix="sparring-", dir=folder)
    os.truncate(handle, bytes_needed(found))
    os.close(handle)
    return Path(path)


def open_file(path: Path, found: Found) -> dict[str, np.ndarray]:
    """The file as arrays [MOST, ...] by name."""
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    arrays, at = {}, 0
    for name, (shape, kind) in fields_of(found).items():
        count = MOST * prod(shape)
        arrays[name] = np.frombuffer(memory, kind, count, at).reshape(MOST, *shape)
        at += count * np.dtype(kind).itemsize
        at += -at % 64
    return arrays
