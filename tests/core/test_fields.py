"""Ranges that stand in fields, and the walk that finds them."""

from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

import pytest

from sparring.core.errors import ConfigError
from sparring.core.fields import RANGE, check_ranges, leaves, overlaid, setting
from sparring.core.schedules import Schedule
from sparring.setup.config import RunConfig


@dataclass(frozen=True, kw_only=True)
class Learning:
    rate: Schedule = setting(Schedule.parse(0.1), least=0, most=1)
    own: Schedule | None = setting(None, least=0)
    power: float = setting(2.0, above=0)
    share: float = setting(0.5, least=0, below=1)
    half: float = setting(0.2, above=0, most=0.5)


@dataclass(frozen=True, kw_only=True)
class Run:
    seeds: int = setting(1, least=1, most=10_000)
    widths: tuple[int, ...] = setting((8, 8), least=1)
    name: str = ""
    learning: Learning = field(default_factory=Learning)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (Run(seeds=0), "seeds must be at least 1, found 0."),
        (Run(seeds=20_000), "seeds must be at most 10,000, found 20,000."),
        (Run(widths=(8, 0, -1)), "widths must be at least 1, found 0."),
        (Run(learning=Learning(rate=Schedule.parse("0.5 -> 2"))), "rate must be in [0, 1], found 0.5 -> 2."),
        (Run(learning=Learning(rate=Schedule.parse("-1 -> 1"))), "rate must be in [0, 1], found -1 -> 1."),
        (Learning(own=Schedule.parse(-1)), "own must be at least 0, found -1."),
        (Learning(power=0.0), "power must be above 0, found 0.0."),
        (Learning(power=inf), "power must be above 0 and finite, found inf."),
        (Learning(share=1.0), "share must be at least 0 and below 1, found 1.0."),
        (Learning(share=nan), "share must be at least 0 and below 1 and finite, found nan."),
        (Learning(half=0.6), "half must be above 0 and at most 0.5, found 0.6."),
    ],
)
def test_a_value_out_of_its_range_is_refused_by_name(config: Any, said: str):
    with pytest.raises(ConfigError) as caught:
        check_ranges(config)
    assert str(caught.value) == said


def test_the_ends_of_a_range_are_in_it_and_none_is_no_number():
    check_ranges(Run())
    check_ranges(Run(seeds=10_000, widths=(), learning=Learning(rate=Schedule.parse("0 -> 1"), share=0.0, half=0.5)))


def test_named_settings_are_taken_from_the_other_config_wherever_they_stand():
    below, above = Run(seeds=2, learning=Learning(power=3.0, share=0.1)), Run(name="x", learning=Learning(share=0.5))
    assert overlaid(below, above, {"seeds", "share"}) == Run(seeds=1, learning=Learning(power=3.0, share=0.5))
    assert overlaid(below, above, ()) == below


def test_every_number_of_a_run_has_a_range_and_its_default_lies_in_it():
    check_ranges(RunConfig())
    for one, value in leaves(RunConfig()):
        numbers = value if isinstance(value, tuple) else (value,)
        if any(isinstance(number, int | float | Schedule) and not isinstance(number, bool) for number in numbers):
            assert RANGE in one.metadata, one.name
