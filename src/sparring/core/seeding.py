"""One seed, and a named stream of chance for everybody who needs one: switching a part on moves nobody else's numbers.

Seed.of(7) / "weights" / 3 / "actor"
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from operator import index

import numpy as np

from sparring.core.errors import ConfigError

# Each step of a path adds a tag and a word. NumPy pads short entropy with zeros, so (7,) and (7, 0) are one stream;
# tags are never zero, and therefore no path continues another by zeros alone. They also tell 3 from "3".
_NUMBER, _NAME = 1, 2
_WORD = 2**32


@dataclass(frozen=True)
class Seed:
    """A path of numbers and names. Equal paths give equal chance, on every platform and in every process."""

    words: tuple[int, ...]

    @classmethod
    def of(cls, root: int) -> Seed:
        return cls(()) / root

    def __truediv__(self, step: int | str) -> Seed:
        if isinstance(step, str):
            return Seed((*self.words, _NAME, name_word(step)))
        return Seed((*self.words, _NUMBER, _checked(step)))

    def generator(self) -> np.random.Generator:
        """A fresh generator: two calls give the same numbers. PCG64 by name, since NumPy's default may change."""
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.words)))

    def word(self) -> int:
        """32 bits, for libraries that take one number as seed."""
        return int(np.random.SeedSequence(self.words).generate_state(1, np.uint32)[0])


class _Shapes(Seed):
    def __truediv__(self, step: int | str) -> Seed:
        return self


SHAPES = _Shapes(())
"""Draws nothing: for whoever wants to know how large a network would be without making it."""


def name_word(name: str) -> int:
    """A 32-bit hash of a name for `jax.random.fold_in`: CRC-32, since `hash` differs from process to process."""
    return zlib.crc32(name.encode())


def _checked(number: int) -> int:
    if isinstance(number, bool):
        raise ConfigError(f"A seed is built of whole numbers and names, found {number}. Use 0 or 1, or a name.")
    try:
        whole = index(number)
    except TypeError:
        raise ConfigError(f"A seed is built of whole numbers and names, found {number!r}. Use one of these.") from None
    if not 0 <= whole < _WORD:
        raise ConfigError(f"A seed lies in [0, {_WORD - 1}], found {whole}. Choose one in that range.")
    return whole
