"""Checkpoints: numbered folders of named arrays that are either whole or not there, and are proved whole when read.

    checkpoints/000123/arrays.safetensors     the arrays
    checkpoints/000123/checkpoint.json        iteration, SHA-256 of both files, and what the trainer adds
    checkpoints/000123.old/                   only after a crash while number 123 was being written a second time

Nothing is pickled: a checkpoint is data, and loading one runs no code.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save as write_arrays

from sparring.core.errors import RunError
from sparring.store.checksum import ZEROS, is_whole, sealed
from sparring.store.durable import TEMPORARY, cannot_write, sync_folder, write_synced

FORMAT_VERSION = 1

_ARRAYS, _RECORD = "arrays.safetensors", "checkpoint.json"
_NUMBERED = re.compile(r"(\d{6,})(\.old)?", re.ASCII)
_NATIVE = {
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
}
_AS_BYTES = {"bfloat16", "complex64", "complex128"}  # dtypes that safetensors cannot give back to NumPy
_SEAL = b'"record_sha256": "'
_LARGEST_HEADER = 2**24  # some hundred thousand arrays: a larger one is no checkpoint of ours


@dataclass(frozen=True)
class Checkpoint:
    iteration: int
    arrays: dict[str, np.ndarray]
    meta: dict[str, Any]
    path: Path
    skipped: tuple[str, ...] = ()
    """One sentence for each later checkpoint that was damaged."""


class _DamageError(Exception):
    """Why a folder is not a checkpoint."""


def save(folder: Path, iteration: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], *, keep: int) -> Path:
    """Write checkpoint `iteration` and keep the newest `keep`; whatever goes wrong, those already there stay.

    `meta` is JSON: tuples come back as lists and keys as texts. Later numbers are removed with the old ones: a run that
    writes iteration n has gone back to before them.
    """
    if keep < 1 or iteration < 0:
        raise ValueError(f"keep is at least 1 and iteration at least 0, found keep={keep} and iteration={iteration}")
    content, dtypes = _pack(arrays)
    record = _record(iteration, content, dtypes, meta)
    target, temporary = folder / f"{iteration:06d}", folder / f"{TEMPORARY}{iteration:06d}"
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            sync_folder(folder.parent)
        _remove_leftovers(folder)
        temporary.mkdir()
        write_synced(temporary / _ARRAYS, content)
        write_synced(temporary / _RECORD, record)
        sync_folder(temporary)
        if target.exists():
            aside = target.with_name(f"{target.name}.old")
            _remove(aside)
            target.replace(aside)
        temporary.replace(target)
        sync_folder(folder)
    except OSError as error:
        needed = len(content) + len(record)
        raise cannot_write(target, error, run=folder.parent, needed=needed) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _prune(folder, target, keep)
    return target


def load(folder: Path) -> Checkpoint:
    """The newest whole checkpoint; damaged ones are passed over and named in `skipped`."""
    skipped: list[str] = []
    for path in newest_first(folder):
        try:
            iteration, arrays, meta = _read(path)
        except (_DamageError, OSError) as reason:
            skipped.append(f"{path} is damaged: {reason}.")
        else:
            return Checkpoint(iteration, arrays, meta, path, tuple(skipped))
    if skipped:
        raise RunError(f"No whole checkpoint in {folder}. {' '.join(skipped)} Restore one from a copy, or train again.")
    raise RunError(f"No checkpoint in {folder}: the run ended before its first one. Train again with --force.")


def load_one(path: Path) -> Checkpoint:
    """One checkpoint by its folder, whichever later ones there are."""
    try:
        return Checkpoint(*_read(path), path)
    except (_DamageError, OSError) as reason:
        raise RunError(f"{path} is damaged: {reason}. Take another, or restore it from a copy.") from reason


def newest_first(folder: Path) -> list[Path]:
    """Folders of checkpoints, unread: whole or damaged. Empty where a run was stopped before its first."""
    found = [(_NUMBERED.fullmatch(path.name), path) for path in folder.iterdir()] if folder.is_dir() else []
    ranked = [((int(match[1]), match[2] is None), path) for match, path in found if match]
    return [path for _, path in sorted(ranked, reverse=True)]


def _pack(arrays: Mapping[str, np.ndarray]) -> tuple[bytes, dict[str, Any]]:
    """The safetensors file, and dtype and shape of the arrays that are in it as plain bytes."""
    native: dict[str, np.ndarray] = {}
    dtypes: dict[str, Any] = {}
    for name, array in arrays.items():
        array = np.asarray(array, order="C")
        if array.dtype.name not in _NATIVE | _AS_BYTES or name == "__metadata__":
            raise TypeError(f"a checkpoint holds named arrays of numbers, found {name!r} of dtype {array.dtype}")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if array.dtype.name in _AS_BYTES:
            dtypes[name] = {"dtype": array.dtype.name, "shape": list(array.shape)}
            array = np.frombuffer(array.tobytes(), np.uint8)
        native[name] = array
    return write_arrays(native), dtypes


def _unpack(content: bytes, dtypes: Mapping[str, Any]) -> dict[str, np.ndarray]:
    if len(content) < 8 or int.from_bytes(content[:8], "little") > min(len(content) - 8, _LARGEST_HEADER):
        raise _DamageError(f"{_ARRAYS} has no sane header")
    try:
        arrays = read_arrays(content)
        for name, stored in dtypes.items():
            arrays[name] = arrays[name].view(_dtype(stored["dtype"])).reshape(stored["shape"])
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise _DamageError(f"{_ARRAYS} cannot be read ({error})") from error
    return arrays


def _dtype(name: str) -> np.dtype:
    if name not in _AS_BYTES:
        raise ValueError(f"dtype {name!r} is not known")
    if name == "bfloat16":
        from ml_dtypes import bfloat16  # comes with jax, and is not needed without it

        return np.dtype(bfloat16)
    return np.dtype(name)


def _record(iteration: int, content: bytes, dtypes: dict[str, Any], meta: Mapping[str, Any]) -> bytes:
    """checkpoint.json. It holds its own checksum: no bit goes unproved."""
    fields = {
        "record_sha256": ZEROS,  # first, so that no other text comes before it
        "format_version": FORMAT_VERSION,
        "iteration": int(iteration),
        "arrays_sha256": hashlib.sha256(content).hexdigest(),
        "dtypes": dtypes,
        "meta": dict(meta),
    }
    return sealed(json.dumps(fields, indent=1).encode(), _SEAL)


def _read(path: Path) -> tuple[int, dict[str, np.ndarray], dict[str, Any]]:
    text = (path / _RECORD).read_bytes()
    try:
        record = json.loads(text)
        expected, version, iteration = record["arrays_sha256"], int(record["format_version"]), int(record["iteration"])
        dtypes, meta = dict(record["dtypes"]), dict(record["meta"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _DamageError(f"{_RECORD} cannot be read") from error
    if not is_whole(text, _SEAL):
        raise _DamageError(f"the checksum of {_RECORD} does not match")
    number = _NUMBERED.fullmatch(path.name)
    if number is None or int(number[1]) != iteration:
        raise _DamageError(f"it holds iteration {iteration}, and its folder has another number")
    if version > FORMAT_VERSION:
        raise _DamageError(f"it has format {version}, and this version of sparring reads up to {FORMAT_VERSION}")
    content = (path / _ARRAYS).read_bytes()
    if hashlib.sha256(content).hexdigest() != expected:
        raise _DamageError(f"the checksum of {_ARRAYS} does not match")
    return iteration, _unpack(content, dtypes), meta


def _prune(folder: Path, newest: Path, keep: int) -> None:
    """Remove all but `newest` and the `keep - 1` before it. The new one is safe by now, so failures may wait."""
    ordered = newest_first(folder)
    place = ordered.index(newest)  # numbers before this place are later ones
    kept: dict[str, Path] = {}
    for path in ordered[place:]:
        kept.setdefault(path.stem, path)
    for path in set(ordered) - set(list(kept.values())[:keep]):
        _remove(path)


def _remove(path: Path) -> None:
    """Out of sight in one step, so that no reader meets a folder half removed."""
    hidden = path.with_name(TEMPORARY + path.name)
    try:
        path.replace(hidden)
    except OSError:
        return
    shutil.rmtree(hidden, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    for path in folder.glob(f"{TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)
