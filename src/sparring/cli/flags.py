"""Flags from dataclasses, by tyro: names without prefixes, --x / --no-x for booleans, schedules as texts."""

from typing import Any, TypeVar

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from sparring.core.schedules import Schedule

Arguments = TypeVar("Arguments")
_registry = ConstructorRegistry()


@_registry.primitive_rule
def _schedule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    if info.type is not Schedule:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="NUMBER|'A -> B'",
        instance_from_str=lambda words: Schedule.parse(words[0]),
        is_instance=lambda value: isinstance(value, Schedule),
        str_from_instance=lambda schedule: [str(schedule)],
    )


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


def lift_positional(words: list[str], flag: str) -> list[str]:
    """A first word that is no flag is the value of `flag`: sparring train kuhn = sparring train --game kuhn."""
    if words and not words[0].startswith("-"):
        return [flag, *words]
    return words


def value_of(words: list[str], flag: str) -> str | None:
    """The value of a flag that must be known before the others can be read."""
    for position, word in enumerate(words):
        if word == flag and position + 1 < len(words):
            return words[position + 1]
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None
