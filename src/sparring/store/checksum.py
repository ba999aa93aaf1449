"""A checksum that stands in the file it proves: SHA-256 of all its bytes, taken while the place of the sum is zeros."""

import hashlib

ZEROS = "0" * 64


def sealed(data: bytes, mark: bytes) -> bytes:
    """The data with its checksum in the place of the 64 zeros behind the first `mark`."""
    start = data.index(mark) + len(mark)
    return data[:start] + _checksum(data, start) + data[start + len(ZEROS) :]


def is_whole(data: bytes, mark: bytes) -> bool:
    """Whether the data is as it was when it was sealed: a changed bit anywhere, in the sum too, is found."""
    place = data.find(mark)
    start = place + len(mark)
    return place >= 0 and data[start : start + len(ZEROS)] == _checksum(data, start)


def _checksum(data: bytes, start: int) -> bytes:
    proof = hashlib.sha256(data[:start] + ZEROS.encode())
    proof.update(memoryview(data)[start + len(ZEROS) :])
    return proof.hexdigest().encode()
