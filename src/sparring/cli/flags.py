"""Flags from dataclasses, by tyro: names without prefixes, --x / --no-x for booleans, schedules as texts."""

from itertools import zip_longest
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule

Arguments = TypeVar("Arguments")
GameWord = Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[GAME]", help_behavior_hint="")]
"""A game as a word without a flag: sparring train kuhn = sparring train --game kuhn."""

RunFolder = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
MaybeRun = Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="[RUN]", help_behavior_hint="")]

_registry = ConstructorRegistry()


@_registry.primitive_rule
def _schedule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    if info.type is not Schedule:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="NUMBER|'A -> B'",
        instance_from_str=lambda words: _read_schedule(words[0]),
        is_instance=lambda value: isinstance(value, Schedule),
        str_from_instance=lambda schedule: [str(schedule)],
    )


@_registry.primitive_rule
def _schedule_or_none(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    if set(get_args(info.type)) != {Schedule, NoneType}:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="NUMBER|'A -> B'|none",
        instance_from_str=lambda words: None if words[0] == "none" else _read_schedule(words[0]),
        is_instance=lambda value: value is None or isinstance(value, Schedule),
        str_from_instance=lambda schedule: ["none" if schedule is None else str(schedule)],
    )


@_registry.primitive_rule
def _whole_number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    if info.type is not int:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: _read_whole_number(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda number: [str(number)],
    )


def _read_schedule(word: str) -> Schedule:
    try:
        return Schedule.parse(word)
    except ConfigError as error:
        raise ValueError(str(error)) from None  # tyro adds the name of the flag


def _read_whole_number(word: str) -> int:
    """Also 1_000_000 and 1e6, as people write numbers of steps."""
    try:
        return int(word)
    except ValueError:
        pass
    try:
        number = float(word)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise ValueError(f"expected a whole number, found {word!r}")
    return int(number)


def parse(kind: type[Arguments], words: list[str], *, command: str, default: Arguments | None = None) -> Arguments:
    """The arguments of a command; a wrong flag ends the program with tyro's message and code 2."""
    options: dict[str, Any] = {} if default is None else {"default": default}
    with _registry:
        return tyro.cli(
            kind,
            prog=f"sparring {command}",
            args=words,
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.HelptextFromCommentsOff),
            registry=_registry,
            **options,
        )


def value_of(words: list[str], flag: str) -> str | None:
    """The value of a flag that must be known before the others can be read; as with all flags, the last one counts."""
    found = None
    for word, following in zip_longest(words, words[1:]):
        if word == flag:
            found = following
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found
