"""Messages between trainer and workers: four bytes of length, then JSON, or a letter and numbers of rows. No JAX."""

import socket
import struct

STEP, RESET = b"s", b"r"
MOST_BYTES = 2**24


def send(line: socket.socket, content: bytes) -> None:
    line.sendall(struct.pack("<I", len(content)) + content)


def receive(line: socket.socket) -> bytes:
    """One whole message; EOFError where the other end is gone."""
    (length,) = struct.unpack("<I", exactly(line, 4))
    if length > MOST_BYTES:
        raise EOFError
    return exactly(line, length)


def exactly(line: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = line.recv(count - len(found))
        if not part:
            raise EOFError
        found += part
    return found
