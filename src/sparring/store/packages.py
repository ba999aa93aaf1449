"""Player packages: one policy as one safetensors file, to keep, to share and to play against.

The header says what the player is for and how its network is built; the rest is named arrays. A package comes from
anywhere, so nothing in it is believed: it is data, reading it runs no code, and what is not a package is refused.

A package holds its own checksum. Those of version 1 have none: they are read as before, and `has_checksum` tells.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save as write_arrays

from sparring.core.errors import RunError
from sparring.store.checksum import ZEROS, is_whole, sealed
from sparring.store.durable import replace_file

FORMAT = "sparring-player"
FORMAT_VERSION = 2
SUFFIX = ".safetensors"

_WITHOUT_CHECKSUM = "1"
_SEAL = b'"sha256":"'  # in the header's metadata; quotes within its texts are escaped
_LARGEST_HEADER = 2**20  # thousands of arrays
_LARGEST_FILE = 2**31
_DTYPES = {"float32", "int32", "uint32", "bool"}
_PLAIN_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]{0,200}")


@dataclass(frozen=True, kw_only=True)
class PlayerMeta:
    """What a package says about its player. Texts have no control characters and at most 200 signs."""

    game: str
    options: tuple[str, ...] = ()
    """Options of the game, each as name=value."""
    net: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the network as plain data."""
    player: str
    sides: tuple[int, ...] = ()
    """The sides of the game that it learned to drive; empty: any."""
    steps: int = 0
    """For how many steps it was trained."""
    run: str = ""
    """The name of the run it comes from."""
    members: int = 0
    """Policies of which it draws one before each game, stacked, beside their weights; 0: it is one policy."""


def write_package(path: str | Path, arrays: Mapping[str, np.ndarray], meta: PlayerMeta) -> Path:
    """Write a package, whole or not at all. What could not be read again is not written."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise RunError(f"A player package is a file *{SUFFIX}, found {path.name}. Choose such a name.")
    text = json.dumps(asdict(meta))
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    _checked_arrays(path, plain)
    _meta(path, text)
    header = {"format": FORMAT, "version": str(FORMAT_VERSION), "player": text, "sha256": ZEROS}
    content = sealed(write_arrays(plain, header), _SEAL)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise RunError(
            f"Cannot write {path}: {error.strerror or error}. Choose a folder with space to write."
        ) from error
    return path


def read_package(path: str | Path) -> tuple[dict[str, np.ndarray], PlayerMeta]:
    """The arrays and the header of a package."""
    path = Path(path)
    content = _content(path)
    header = _header(path, content)
    if header["version"] != _WITHOUT_CHECKSUM and not is_whole(content, _SEAL):
        raise RunError(f"{path} is damaged: its checksum does not match. Get another copy, or write it again.")
    meta = _meta(path, header["player"])
    try:
        arrays = read_arrays(content)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise _refusal(path, f"arrays that cannot be read ({error})") from None
    return _checked_arrays(path, arrays), meta


def has_checksum(path: str | Path) -> bool:
    """Whether a package proves that it is as it was written; early versions of sparring wrote none that do."""
    path = Path(path)
    return _header(path, _content(path))["version"] != _WITHOUT_CHECKSUM


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise RunError(f"No player package at {path}. Check the name.")
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            length = int.from_bytes(start, "little")
            if len(start) < 8 or not 2 <= length <= min(size - 8, _LARGEST_HEADER):
                raise _refusal(path, "no safetensors header: the file is cut short, or of another kind")
            if size > _LARGEST_FILE:
                raise _refusal(path, f"{size:,} bytes, more than the {_LARGEST_FILE:,} that are read")
            return start + file.read()
    except OSError as error:
        raise RunError(f"Cannot read {path}: {error.strerror or error}. Make it readable.") from error


def _header(path: Path, content: bytes) -> dict[str, str]:
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        told = header["__metadata__"]
    except (ValueError, KeyError, TypeError, RecursionError):
        told = None
    if not isinstance(told, dict) or told.get("format") != FORMAT or not isinstance(told.get("player"), str):
        raise _refusal(path, "a file whose header does not say so")
    if told.get("version") not in (_WITHOUT_CHECKSUM, str(FORMAT_VERSION)):
        raise RunError(
            f"{path} has version {str(told.get('version'))[:20]!r} of the package format, expected "
            f"{_WITHOUT_CHECKSUM} or {FORMAT_VERSION}. Update sparring, or write the package again."
        )
    return told


def _meta(path: Path, text: str) -> PlayerMeta:
    try:
        told = json.loads(text)
        meta = PlayerMeta(**{**told, "options": tuple(told["options"]), "sides": tuple(told["sides"])})
        if not isinstance(told["options"], list) or not isinstance(told["sides"], list):
            raise TypeError("a list was expected")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _refusal(path, f"a header without {', '.join(f.name for f in fields(PlayerMeta))}") from None
    whole = (meta.steps, meta.members, *meta.sides)
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in whole):
        raise _refusal(path, "a header whose steps, members or sides are not whole numbers")
    texts = (meta.game, meta.player, meta.run, *meta.options)
    if not all(isinstance(text, str) and _PLAIN_TEXT.fullmatch(text) for text in texts) or not meta.player:
        raise _refusal(path, "a header whose names are not plain texts")
    if not isinstance(meta.net, dict):
        raise _refusal(path, "a header whose net is not a table of settings")
    return meta


def _checked_arrays(path: Path, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if not arrays:
        raise _refusal(path, "no arrays")
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES:
            raise _refusal(path, f"{name[:80]!r} of type {array.dtype}, where weights are {', '.join(sorted(_DTYPES))}")
        if not np.isfinite(array).all():
            raise _refusal(path, f"{name[:80]!r} with numbers that are not finite")
    return arrays


def _refusal(path: Path, found: str) -> RunError:
    return RunError(f"{path} is not a player package: expected a {FORMAT} file, found {found}. Give another file.")
