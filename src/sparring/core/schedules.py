"""A coefficient that may change over a run, written as people say it: `3e-4`, `3e-4 -> 0`, `0.05 -> 0.001 cosine`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import cos, isfinite, pi
from typing import Literal, get_args

from sparring.core.errors import ConfigError, unknown

Shape = Literal["constant", "linear", "cosine"]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TEXT = re.compile(rf"\s*({_NUMBER})\s*(?:->\s*({_NUMBER})\s*([A-Za-z]*)\s*)?", re.ASCII)
_EXAMPLES = "Write a number (3e-4), a change (3e-4 -> 0) or a change with its shape (0.05 -> 0.001 cosine)."


@dataclass(frozen=True)
class Schedule:
    """From `start` to `end` while the run goes from 0 to 1. Schedules that never differ in value compare equal."""

    start: float
    end: float
    shape: Shape

    def __post_init__(self) -> None:
        if self.shape not in get_args(Shape):
            raise ConfigError(unknown("schedule shape", str(self.shape), get_args(Shape)))
        if not (isfinite(self.start) and isfinite(self.end)):
            raise ConfigError(f"A schedule needs finite numbers, found {self.start} and {self.end}. {_EXAMPLES}")
        if self.shape == "constant" and self.start != self.end:
            raise ConfigError(
                f"A constant schedule has one value, found {self.start} and {self.end}. Choose linear or cosine."
            )
        object.__setattr__(self, "start", float(self.start))
        object.__setattr__(self, "end", float(self.end))
        if self.start == self.end:  # one canonical form per behaviour, so that equality and hashes mean something
            object.__setattr__(self, "shape", "constant")

    @classmethod
    def parse(cls, source: str | float | Schedule) -> Schedule:
        """Read a number or a text; `parse(str(schedule)) == schedule`."""
        if isinstance(source, Schedule):
            return source
        if isinstance(source, bool) or not isinstance(source, int | float | str):
            raise ConfigError(f"A schedule is a number or a text, found {source!r}. {_EXAMPLES}")
        if isinstance(source, int | float):
            return cls(_finite(source), _finite(source), "constant")
        match = _TEXT.fullmatch(source)
        if match is None:
            raise ConfigError(f"Cannot read the schedule {source!r}. {_EXAMPLES}")
        start, end, shape = match.groups()
        if end is None:
            return cls(_finite(start), _finite(start), "constant")
        if shape not in ("", "linear", "cosine"):
            raise ConfigError(unknown("schedule shape", shape, ("linear", "cosine")))
        return cls(_finite(start), _finite(end), shape or "linear")

    def at(self, progress: float) -> float:
        """The value when the share `progress`, in [0, 1], of the run is done; exactly `start` at 0 and `end` at 1."""
        if not 0.0 <= progress <= 1.0:
            raise ConfigError(f"The progress of a run lies in [0, 1], found {progress}. Divide by the full length.")
        if self.shape == "constant":
            return self.start
        left = 1.0 - progress if self.shape == "linear" else (1.0 + cos(pi * progress)) / 2.0
        return left * self.start + (1.0 - left) * self.end

    def __str__(self) -> str:
        if self.shape == "constant":
            return _short(self.start)
        change = f"{_short(self.start)} -> {_short(self.end)}"
        return change if self.shape == "linear" else f"{change} {self.shape}"


def _finite(source: str | float) -> float:
    try:
        number = float(source)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise ConfigError(f"A schedule needs finite numbers, found {source}. {_EXAMPLES}")
    return number


def _short(number: float) -> str:
    return repr(number).removesuffix(".0")
