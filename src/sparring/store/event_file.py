"""TensorBoard's event files, written without TensorBoard: records of protocol buffers, each with checksums.

A record is its length (8 bytes), a masked CRC-32C of that, the message, a masked CRC-32C of it (TFRecord). Three
messages are enough: the version of the file, the start of a session, and values (tensorflow/core/util/event.proto).
Writing these takes a page; the packages that do it bring protobuf, grpc and more.
"""

import struct
import time
from collections.abc import Mapping
from pathlib import Path

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
