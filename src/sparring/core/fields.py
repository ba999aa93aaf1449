"""Fields of settings: each is declared with its range, and one walk over a config finds all of them."""

from collections.abc import Collection, Iterator
from dataclasses import Field, field, fields, is_dataclass, replace
from math import inf, isfinite
from typing import Any, NamedTuple, TypeVar

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule

C = TypeVar("C")
T = TypeVar("T")

RANGE = "range"
"""Under this key a field's metadata hold its range."""
BY_NAME = "by_name"
"""Under this key they say that its texts are NAME.SETTING=VALUE, which a file may write as tables [field.NAME]."""


class Range(NamedTuple):
    """Where a number may lie. What is not finite lies in no range."""

    least: float = -inf
    most: float = inf
    above: float = -inf
    below: float = inf

    def holds(self, number: float) -> bool:
        return self.least <= number <= self.most and self.above < number < self.below

    def wanted(self, number: float) -> str:
        """In words. Of whole numbers the end that was passed: the other is mostly as far as a device can count."""
        low = f"at least {_end(self.least)}" if self.least > self.above else f"above {_end(self.above)}"
        high = f"at most {_end(self.most)}" if self.most < self.below else f"below {_end(self.below)}"
        if isinstance(number, int):
            return low if number < self.least or number <= self.above else high
        if isfinite(self.least) and isfinite(self.most):
            return f"in [{_end(self.least)}, {_end(self.most)}]"
        ends = [end for end in (low, high) if not end.endswith("inf")]
        return " and ".join(ends if isfinite(number) else [*ends, "finite"])


def setting(
    default: T, *, least: float = -inf, most: float = inf, above: float = -inf, below: float = inf,
    by_name: bool = False,
) -> T:  # fmt: skip
    """A field with its range, which holds for both ends of a schedule and for every entry of a tuple."""
    return field(default=default, metadata={BY_NAME: True} if by_name else {RANGE: Range(least, most, above, below)})


def check_range(name: str, value: Any, bounds: Range) -> None:
    """Refuse a value out of its range; None is no number."""
    ends = (value.start, value.end) if isinstance(value, Schedule) else value if isinstance(value, tuple) else (value,)
    for number in ends:
        if number is not None and not bounds.holds(number):
            found = value if isinstance(value, Schedule) else f"{number:,}" if isinstance(number, int) else number
            raise ConfigError(f"{name} must be {bounds.wanted(number)}, found {found}.")


def check_ranges(config: Any) -> None:
    """Refuse the first setting of a config, tables within it included, that is out of its range."""
    for one, value in leaves(config):
        if RANGE in one.metadata:
            check_range(one.name, value, one.metadata[RANGE])


def leaves(config: Any) -> Iterator[tuple[Field[Any], Any]]:
    """Every setting and its value, table by table."""
    for one in fields(config):
        value = getattr(config, one.name)
        if is_table(value):
            yield from leaves(value)
        else:
            yield one, value


def overlaid(below: C, above: C, names: Collection[str]) -> C:
    """A config with those settings of another that are named."""
    changed: dict[str, Any] = {}
    for one in fields(below):  # type: ignore[arg-type]
        old, new = getattr(below, one.name), getattr(above, one.name)
        if is_table(old):
            changed[one.name] = overlaid(old, new, names)
        elif one.name in names:
            changed[one.name] = new
    return replace(below, **changed)  # type: ignore[type-var]


def is_table(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, Schedule)


def _end(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"
