"""Flags from dataclasses, by tyro: names without prefixes, --x / --no-x for booleans, schedules as texts.

A command of many flags names the usual ones: --help shows these, --help-all shows all, --help SECTION those of a table
of settings, --help FLAG one. All pages come from the fields.
"""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, make_dataclass
from inspect import getsource
from itertools import pairwise
from math import inf
from pathlib import Path
from textwrap import dedent
from types import NoneType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.words import called_here, nearest, not_here

Arguments = TypeVar("Arguments")
GameWord = Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[GAME]", help_behavior_hint="")]
"""A game as a word without a flag: sparring train kuhn = sparring train --game kuhn."""

RunFolder = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
MaybeRun = Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="[RUN]", help_behavior_hint="")]

UNITS = {"k": 1_000, "K": 1_000, "m": 1_000_000, "M": 1_000_000}
HELP, HELP_ALL = ("--help", "-h"), "--help-all"
NO_DEFAULT = ("", "None", "''", "False")
"""Defaults that only say that a flag is not used unless it is given."""

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
    """Also 1_000_000, 1e6, 300k and 1.5M, as people write numbers of steps."""
    try:
        return int(word)
    except ValueError:
        pass
    unit = UNITS.get(word[-1:], 1)
    try:
        number = round(float(word[:-1] if unit > 1 else word) * unit, 6)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise ValueError(f"expected a whole number, found {word!r}")
    return int(number)


def parse(
    kind: type[Arguments],
    words: list[str],
    *,
    command: str,
    shown: Callable[[Arguments], Arguments] | None = None,
    usual: Collection[str] = (),
    examples: Sequence[str] = (),
) -> Arguments:
    """The arguments of a command; a wrong value of a flag ends the program with tyro's message and code 2.

    `usual` are the fields that --help shows; none: all of them. `shown` makes, of what else was said, the values that
    help shows as defaults.
    """
    check_known(kind, words, command)
    asked = next((word for word in words if word in (*HELP, HELP_ALL)), None)
    if asked is None:
        return _read(kind, words, command)
    topic, others = _topic(kind, words, usual)
    if not topic:
        _check_topic(kind, words)
    default = shown(_read(kind, others, command)) if shown and others else None
    short = bool(topic) or (bool(usual) and asked != HELP_ALL)
    page = _page(kind, default or (kind() if short else None), topic or usual if short else None, kind.__doc__)
    try:
        return _read(page, ["--help"], command)
    finally:  # tyro prints the page and ends the program
        if examples and not topic:
            print("\n".join(("examples:", *(f"  {line}" for line in examples))))
        if short:
            print(f"These are the flags {'asked for' if topic else 'most people use'}. All of them:", end=" ")
            print(f"sparring {command} {HELP_ALL}. Of one kind: --help {'|'.join(_sections(kind))}, or --help FLAG.")


def _topic(kind: type, words: Sequence[str], usual: Collection[str]) -> tuple[Collection[str], list[str]]:
    """The fields that somebody asks about by the name of a section, of a flag, or of how several flags begin, after
    --help; and all other words."""
    place, name = _asked(words)
    alike = {flag for flag in _flags(kind) if name and f"{flag}_".startswith(f"{name}_")} if usual else set[str]()
    topic = _sections(kind).get(name) or alike
    others = [word for i, word in enumerate(words) if i != place and not (topic and i == place + 1)]
    return topic, [word for word in others if word not in (*HELP, HELP_ALL)]


def _asked(words: Sequence[str]) -> tuple[int, str]:
    """Where a word asks for help, and the name of what comes after it, if anything."""
    place = next(place for place, word in enumerate(words) if word in (*HELP, HELP_ALL))
    return place, words[place + 1].lstrip("-").replace("-", "_") if place + 1 < len(words) else ""


def _check_topic(kind: type, words: Sequence[str]) -> None:
    """Refuse a slip in the name of a section or a flag; any other word may be a game."""
    _, name = _asked(words)
    if near := nearest(name, {*_sections(kind), *_flags(kind)}):
        raise ConfigError(f"There is no section or flag {name!r} to explain. Did you mean --help {near}?")


def _sections(kind: type) -> dict[str, Collection[str]]:
    """The tables of settings by name, those inside of others too, with their own fields."""
    found: dict[str, Collection[str]] = {}
    for name, hint in get_type_hints(kind).items():
        if is_dataclass(hint) and hint is not Schedule:
            inner = get_type_hints(hint)
            own = {field for field, kind in inner.items() if not is_dataclass(kind) or kind is Schedule}
            found |= {name: own, **_sections(hint)}  # type: ignore[arg-type]
    return found


def check_known(kind: type, words: Sequence[str], command: str) -> None:
    """Refuse flags that there are not, all at once, each with what it is called here or what was probably meant."""
    known, wrong, rest = set(_flags(kind)), [], ""
    for word in (word for word in words if word.startswith("--") and word not in (*HELP, HELP_ALL)):
        name = word[2:].partition("=")[0].replace("-", "_")
        if name in known or name.removeprefix("no_") in known:
            continue
        ours, remark = called_here(name)
        if ours.strip("_") in known:
            hint = f" Here it is called {_flag(ours)}{f' ({remark})' if remark else ''}."
        elif answer := not_here(name):
            hint = f" {answer}."
        elif near := nearest(name, known):
            hint = f" Did you mean {_flag(near)}?"
        else:
            hint, rest = "", f" All flags: sparring {command} {HELP_ALL}"
        wrong.append(f"Unknown flag {word.partition('=')[0]}.{hint}")
    if wrong:
        raise ConfigError(" ".join(wrong) + rest)


def _flags(kind: type) -> Iterator[str]:
    """The names of all flags, those of tables within included."""
    return (name for name, _ in _hints(kind))


def split(words: Sequence[str], kind: type) -> tuple[list[str], list[str]]:
    """The words of a command's own flags, and those that it hands on to `sparring train`."""
    kinds, found = dict(_hints(kind)), ([], [])
    takes, to = 0.0, 1
    for word in words:
        if word.startswith("-") and not word[1:2].isdigit():
            name = word.partition("=")[0].lstrip("-").replace("-", "_")
            hint = kinds.get(name.removeprefix("no_"))
            to = 0 if hint is not None or name in ("help", "help_all", "h") else 1
            many = get_origin(hint) is tuple
            takes = 0 if hint is bool or "=" in word or hint is None else inf if many else 1
            found[to].append(word)
            continue
        if to == 0 and takes <= 0:
            to = 1
        takes -= 1
        found[to].append(word)
    return found


def _hints(kind: type) -> Iterator[tuple[str, Any]]:
    """Names and types of all flags, those of tables within included."""
    for name, hint in get_type_hints(kind).items():
        if is_dataclass(hint) and hint is not Schedule:
            yield from _hints(hint)  # type: ignore[arg-type]
        else:
            yield name.strip("_"), hint


def _flag(name: str) -> str:
    return f"--{name.strip('_').replace('_', '-')}"


def named(words: Sequence[str]) -> frozenset[str]:
    """The fields whose flags are among words that `parse` understood, where nothing but a flag begins with two dashes.

    A flag may give a value that is the default: only the words tell it from one that was not given.
    """
    flags = (word[2:].partition("=")[0].replace("-", "_") for word in words if word.startswith("--"))
    return frozenset(flag.removeprefix("no_") for flag in flags)


def _page(kind: type, values: Any, usual: Collection[str] | None, doc: str | None) -> type:
    """The dataclass as help shows it: the values of an instance as its defaults, its own where there is none; only the
    usual fields, where there are any; each text in one paragraph, however its source is broken into lines."""
    hints, texts, specs = get_type_hints(kind, include_extras=True), _texts(kind), []
    for one in fields(kind):
        hint, value = hints[one.name], getattr(values, one.name, None)
        if is_dataclass(hint) and hint is not Schedule:
            table = _page(cast(type, hint), value, usual, " " if usual is not None or _unsaid(hint) else hint.__doc__)
            specs.append((one.name, table, field(default_factory=table)))
            continue
        seen = Annotated[hint, tyro.conf.arg(help=texts.get(one.name), **_plain(hint))]  # type: ignore[valid-type]
        if usual is not None and one.name not in usual:
            seen = tyro.conf.Suppress[seen]
        own: dict[str, Any] = {"default": one.default, "default_factory": one.default_factory}
        given: dict[str, Any] = own if values is None else {"default_factory": lambda value=value: value}
        specs.append((one.name, seen, field(**given)))
    return make_dataclass(kind.__name__, specs, bases=(kind,), namespace={"__doc__": doc}, frozen=True, kw_only=True)


def _unsaid(kind: Any) -> bool:
    """Whether nobody wrote what a table of settings is for: then `dataclass` lists its fields there."""
    return (kind.__doc__ or "(").startswith((f"{kind.__name__}(", "("))


def _plain(hint: Any) -> dict[str, Any]:
    """What help shows beside the text of a flag, where its field does not say."""
    bare, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    maybe = [kind.__name__.upper() for kind in (Path, int, float, str) if {*get_args(bare)} == {kind, NoneType}]
    shown = {"help_behavior_hint": _default, **({"metavar": maybe[0]} if maybe else {})}
    return {name: value for name, value in shown.items() if all(getattr(x, name, None) is None for x in more)}


def _default(said: str) -> str:
    return "" if said in NO_DEFAULT else f"(default: {said})"


def _texts(kind: type) -> dict[str, str]:
    """What stands below each field in the source."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        body = cast(ast.ClassDef, ast.parse(dedent(getsource(base))).body[0]).body
        for one, below in pairwise(body):
            match one, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = " ".join(text.split())
    return found


def _read(kind: type[Arguments], words: list[str], command: str) -> Arguments:
    with _registry:
        return tyro.cli(
            kind,
            prog=f"sparring {command}",
            args=words,
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.HelptextFromCommentsOff),
            registry=_registry,
        )


def check_needs(arguments: Any, needs: Mapping[str, str]) -> None:
    """Refuse a flag that does nothing without another one: `needs` gives for a field of a command the one it needs."""
    for name, switch in needs.items():
        default = type(arguments).__dataclass_fields__[name].default
        if getattr(arguments, name) != default and not getattr(arguments, switch):
            asked, needed = _flag(name), _flag(switch)
            raise ConfigError(f"{asked} does nothing without {needed}. Add {needed}, or leave {asked} out.")
