"""TensorBoard's event files, written and read without TensorBoard: records of protocol buffers, each with checksums.

A record is its length (8 bytes), a masked CRC-32C of that, the message, a masked CRC-32C of it (TFRecord). Three
messages are enough: the version of the file, the start of a session, and values (tensorflow/core/util/event.proto).
Writing these takes a page; the packages that do it bring protobuf, grpc and more.
"""

import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sparring.core.errors import RunError

VERSION = b"brain.Event:2"


def _table() -> list[int]:
    """CRC-32C (Castagnoli), reflected, a byte at a time."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    found = 0xFFFFFFFF
    for byte in data:
        found = _TABLE[(found ^ byte) & 0xFF] ^ found >> 8
    return found ^ 0xFFFFFFFF


def record(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + _masked(length) + message + _masked(message)


def _masked(data: bytes) -> bytes:
    found = crc32c(data)
    return struct.pack("<I", ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _number(value: int) -> bytes:
    """A varint."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _bytes(field: int, value: bytes) -> bytes:
    return _number(field << 3 | 2) + _number(len(value)) + value


def _event(content: bytes, step: int, seconds: float) -> bytes:
    return record(b"\x09" + struct.pack("<d", seconds) + b"\x10" + _number(step) + content)


def first_event(seconds: float) -> bytes:
    return _event(_bytes(3, VERSION), 0, seconds)


def session_event(step: int, seconds: float) -> bytes:
    """Readers drop what files before this one said of this step and later ones: a resumed run writes it again."""
    return _event(_bytes(7, b"\x08\x01"), step, seconds)


def values_event(values: Mapping[str, float], step: int, seconds: float) -> bytes:
    one = (_bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", value) for tag, value in values.items())
    return _event(_bytes(5, b"".join(_bytes(1, value) for value in one)), step, seconds)


class EventFile:
    """A new file in a folder, for values from a step on."""

    def __init__(self, folder: Path, step: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        taken = {int(file.name.split(".")[3]) for file in folder.glob("events.out.tfevents.*.sparring")}
        number = max(int(now), *(one + 1 for one in taken)) if taken else int(now)  # files are read in their order
        self.path = folder / f"events.out.tfevents.{number:010d}.sparring"
        self._append(first_event(now) + session_event(step, now))

    def add(self, values: Mapping[str, float], step: int) -> None:
        self._append(values_event(values, step, time.time()))

    def _append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)


def read_values(path: Path) -> Iterator[tuple[str, int, float]]:
    """Tag, step and value of every scalar in an event file of anybody's, in the order of writing. A record that was cut
    short by a kill is left out."""
    data, start = path.read_bytes(), 0
    while start + 12 <= len(data):
        (size,) = struct.unpack_from("<Q", data, start)
        if data[start + 8 : start + 12] != _masked(data[start : start + 8]):
            raise RunError(f"{path} is no event file of TensorBoard, or is damaged at byte {start}. Name another log.")
        event = dict(_fields(data[start + 12 : start + 12 + size]))
        start += size + 16
        if start <= len(data) and isinstance(event.get(5), bytes):
            for number, value in _fields(event[5]):
                scalar = dict(_fields(value)) if number == 1 and isinstance(value, bytes) else {}
                if (found := _scalar(scalar)) is not None:
                    yield scalar[1].decode(), event.get(2, 0), found


def _scalar(value: Mapping[int, Any]) -> float | None:
    """Of a summary's value: a plain number (2), or a tensor of one float (8) as its content (4) or its list (5)."""
    raw = value.get(2)
    if raw is None and isinstance(value.get(8), bytes):
        tensor = dict(_fields(value[8]))
        raw = (tensor.get(4) or tensor.get(5)) if tensor.get(1) == 1 else None
    return struct.unpack("<f", raw)[0] if isinstance(raw, bytes) and len(raw) == 4 else None


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values of a message: varints as they are, all else as bytes."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, place = _varint(message, place)
        else:
            size, place = _varint(message, place) if kind == 2 else ({1: 8, 5: 4}.get(kind, len(message)), place)
            value, place = message[place : place + size], place + size
        yield number, value


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value, shift, place = value | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            return value, place
