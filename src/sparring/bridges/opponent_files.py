"""Opponents of a loop outside as files:

    opponents/opponent_2000.safetensors    weights of the version of step 2000, written once
    shadow.safetensors                     weights of the shadow
    league.json                            who is in the pool, all results, the number of the next draw

Nothing is pickled, and nothing is believed before the checksum that each file holds is proved. The state is replaced
after the weights that it names are written, and before those it no longer names are removed: a crash leaves a whole
pool behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save as write_arrays

from sparring.bridges.weights import Weights
from sparring.core.errors import RunError
from sparring.store.checksum import ZEROS, is_whole, sealed
from sparring.store.durable import replace_file

FORMAT_VERSION = 1
STATE, SHADOW, POOL = "league.json", "shadow.safetensors", "opponents"

_SEAL = b'"record_sha256": "'
_SEAL_OF_WEIGHTS = b'"sha256":"'  # in the header's metadata; a name of an array is not followed by a text


def pool_file(folder: Path, step: int) -> Path:
    return folder / POOL / f"opponent_{int(step)}.safetensors"


def holds_state(folder: Path) -> bool:
    return (folder / STATE).is_file()


def write_weights(path: Path, weights: Weights) -> None:
    """Write a file, whole or not at all, with its checksum within."""
    _write(path, sealed(write_arrays(weights, metadata={"sha256": ZEROS}), _SEAL_OF_WEIGHTS))


def read_weights(path: Path) -> Weights:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"Cannot read the weights in {path}: {error.strerror}. Restore the file from a copy.") from error
    if not is_whole(content, _SEAL_OF_WEIGHTS):
        raise RunError(f"{path} is damaged: its checksum does not match. Restore the file from a copy.")
    try:
        return dict(read_arrays(content))
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is not a file of weights ({error}). Restore the file from a copy.") from error


def write_state(folder: Path, state: Mapping[str, Any]) -> None:
    record = {"record_sha256": ZEROS, "format_version": FORMAT_VERSION, **state}
    _write(folder / STATE, sealed(json.dumps(record).encode(), _SEAL))


def read_state(folder: Path) -> dict[str, Any]:
    path = folder / STATE
    try:
        text = path.read_bytes()
    except OSError as error:
        raise RunError(
            f"No opponents in {folder}: cannot read {path.name} ({error.strerror}). Check the path."
        ) from error
    try:
        record = json.loads(text)
        version = int(record["format_version"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunError(f"{path} cannot be read. Restore the file from a copy.") from error
    if not is_whole(text, _SEAL):
        raise RunError(f"{path} is damaged: its checksum does not match. Restore the file from a copy.")
    if version > FORMAT_VERSION:
        raise RunError(f"{path} has format {version}; this version reads up to {FORMAT_VERSION}. Update sparring.")
    return record


def remove_others(folder: Path, steps: set[int]) -> None:
    """Remove files of versions that are in the pool no more. What cannot be removed now is in nobody's way."""
    kept = {pool_file(folder, step) for step in steps}
    for path in (folder / POOL).glob("opponent_*.safetensors"):
        if path not in kept:
            with suppress(OSError):
                path.unlink()


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise RunError(f"Cannot write {path}: {error.strerror}. Free some space or choose another folder.") from error
