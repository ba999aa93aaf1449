"""Dataclass <-> TOML, strictly: a key that is not a setting, and a value of another type or out of the setting's range,
are errors, never ignored. How settings go together is for those who use them to check.

A setting may be int, float, bool, str, a Literal, a Schedule, a tuple of these, any of them `| None`, a dataclass of
settings, which becomes a table, or a Literal `| Code`: a name of its list, or that of code. TOML has no null: None is
left out where it is the default, and else the text "none".
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, wraps
from math import isnan
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from sparring.core.code import reference
from sparring.core.errors import ConfigError
from sparring.core.fields import BY_NAME, RANGE, check_range, check_ranges
from sparring.core.names import near_names
from sparring.core.schedules import Schedule
from sparring.core.words import FLAGS, called_here, nearest, not_here

C = TypeVar("C")

_NONE = "none"
_SCALARS: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text in quotes"}


def to_dict(config: Any) -> dict[str, Any]:
    """Nested plain data: numbers, texts, lists and dictionaries. `from_dict` gives the same config back."""
    plain: dict[str, Any] = {}
    for name, field in _settings(type(config)).items():
        value = getattr(config, name)
        if value is not None:
            plain[name] = _plain(value, name)
        elif field.default is not None:
            plain[name] = _NONE
    return plain


def to_toml(config: Any) -> str:
    """The TOML text of a config: settings of a table first, then its tables."""
    return "\n".join(_table_lines(to_dict(config), ())).strip("\n") + "\n"


def load_toml(cls: type[C], path: str | Path, *, base: C | None = None) -> C:
    """Read a file of settings; those it does not name keep the value of `base`, or else their default."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"No file of settings at {path}. Check the path.") from None
    except OSError as error:
        raise ConfigError(f"Cannot read the settings in {path}: {error.strerror}. Give a readable TOML file.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not a text file in UTF-8, as TOML is. Give a TOML file.") from None
    except (ValueError, RecursionError) as error:  # ValueError: bad TOML, or a number of thousands of digits
        quotes = ' Text needs quotes, as in game = "kuhn".' if "Invalid value" in str(error) else ""
        raise ConfigError(f"{path} is not valid TOML: {error}. Correct that line.{quotes}") from None
    return from_dict(cls, data, where=path, base=base)


def from_dict(cls: type[C], data: Mapping[str, Any], *, where: str | Path, base: C | None = None) -> C:
    """Build `cls` from nested plain data. `where` names the source in errors; `base` gives what `data` leaves out."""
    return _read_table(cls, data, _Place(str(where), cls), base)


class _Place(NamedTuple):
    """Where in which source a value stands."""

    where: str
    root: type
    path: tuple[str, ...] = ()

    def at(self, key: str) -> _Place:
        return self._replace(path=(*self.path, key))

    def wrong(self, expected: str, found: Any, advice: str) -> ConfigError:
        name = ".".join(self.path) or "the file"
        return ConfigError(f"{self.where}: {name} must be {expected}, found {_describe(found)}. {advice}")

    def example(self, value: Any) -> str:
        return f"Write for example: {self.path[-1]} = {_toml_value(value)}"


def _read_table(cls: type[C], data: Any, place: _Place, base: C | None) -> C:
    if not isinstance(data, Mapping):
        raise place.wrong("a table of settings", data, f"Write its settings below a line [{'.'.join(place.path)}].")
    known = _settings(cls)
    for key in data:
        if key not in known:
            raise _unknown_setting(cls, str(key), place)
    hints = _hints(cls)
    values: dict[str, Any] = {}
    for name, field in known.items():
        default = _default(field) if base is None else getattr(base, name)
        if name in data:
            given = _by_name(data[name], place.at(name)) if BY_NAME in field.metadata else data[name]
            values[name] = _read(hints[name], given, place.at(name), default)
            if RANGE in field.metadata:
                full = ".".join(place.at(name).path)
                check_range(f"{place.where}: {full}", values[name], field.metadata[RANGE])
        elif default is MISSING:
            missing = ".".join(place.at(name).path)
            raise ConfigError(f"{place.where}: {missing} is missing and has no default. Add it.")
        else:
            values[name] = default
    return cls(**values)


def _read(hint: Any, value: Any, place: _Place, default: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        inner = [argument for argument in arguments if argument is not NoneType]
        if len(inner) == 1 and len(arguments) == 2:
            return None if value == _NONE else _read(inner[0], value, place, default)
        names = next((argument for argument in inner if get_origin(argument) is Literal), None)
        if names is not None and set(inner) == {names, str}:  # one of these names, or the name of code
            own = isinstance(value, str) and reference(value) is not None
            return value if own else _read_literal(get_args(names), value, place)
    if origin is Literal:
        return _read_literal(arguments, value, place)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _read_tuple(arguments[0], value, place, default)
    if hint is Schedule:
        return _read_schedule(value, place)
    if is_dataclass(hint) and isinstance(hint, type):
        return _read_table(hint, value, place, default if isinstance(default, hint) else None)
    if hint in _SCALARS:
        return _read_scalar(hint, value, place, default)
    raise TypeError(
        f"a setting cannot have the type {hint} ({'.'.join(place.path)}): see the list in sparring.core.settings"
    )


def _by_name(value: Any, place: _Place) -> Any:
    """Tables [field.NAME] of settings as texts NAME.SETTING=VALUE; anything else as it is."""
    if not isinstance(value, Mapping):
        return value
    found = []
    for name, table in value.items():
        if not isinstance(table, Mapping):
            raise place.at(name).wrong(
                "a table of settings", table, f"Write them below a line [{place.path[-1]}.NAME]."
            )
        found += [f"{name}.{key}={_text(one)}" for key, one in table.items()]
    return found


def _text(value: Any) -> str:
    """A value as `read_text` reads it."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_text(config: C, name: str, text: str, *, where: str) -> C:
    """A config with one setting, in whatever table it stands, read from a text such as `3e-4 -> 0` or `64, 64`."""
    hint = _hints(type(config)).get(name)
    return from_dict(type(config), {name: _of_text(hint, text.strip())}, where=where, base=config)


def _of_text(hint: Any, text: str) -> Any:
    """What a file would say: lists are parted by commas, numbers and true and false are no texts."""
    if get_origin(hint) is tuple:
        return [_of_text(get_args(hint)[0], part.strip()) for part in text.split(",") if part.strip()]
    if hint is str or Schedule in (hint, *get_args(hint)):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_literal(choices: tuple[Any, ...], value: Any, place: _Place) -> Any:
    for choice in choices:
        if type(choice) is type(value) and choice == value:  # 1 == True in Python, but not in a file of settings
            return choice
    listed = ", ".join(_toml_value(choice) for choice in choices)
    near = near_names(str(value), [str(choice) for choice in choices])
    wanted = next((choice for choice in choices if near and str(choice) == near[0]), choices[0])
    raise place.wrong(f"one of {listed}", value, place.example(wanted))


def _read_tuple(hint: Any, value: Any, place: _Place, default: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        example = [value] if isinstance(value, bool | int | float | str) else _plain(default or (), place.path[-1])
        raise place.wrong("a list", value, place.example(example))
    return tuple(
        _read(hint, item, place._replace(path=(*place.path[:-1], f"{place.path[-1]}[{position}]")), None)
        for position, item in enumerate(value)
    )


def _read_schedule(value: Any, place: _Place) -> Schedule:
    try:
        return Schedule.parse(value)
    except ConfigError as error:
        raise ConfigError(f"{place.where}: {'.'.join(place.path)}: {error}") from None


def _read_scalar(kind: type, value: Any, place: _Place, default: Any) -> Any:
    if type(value) is kind and not (kind is float and isnan(value)):
        return value
    if kind is float and type(value) is int and abs(value) <= 2**1023:
        return float(value)
    raise place.wrong(_SCALARS[kind], value, place.example(_nearest_value(kind, value, default)))


def _nearest_value(kind: type, value: Any, default: Any) -> Any:
    """What the writer probably meant, or else an example of the right type."""
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    if kind in (int, float) and isinstance(value, str):
        try:
            return kind(value)
        except ValueError:
            pass
    if kind is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if kind is str and type(value) in (bool, int, float):
        return _toml_value(value)
    return default if type(default) is kind else {int: 1, float: 0.5, bool: True, str: "text"}[kind]


def _unknown_setting(cls: type, key: str, place: _Place) -> ConfigError:
    return ConfigError(f"{place.where}: unknown setting {'.'.join(place.at(key).path)!r}. {_hint(cls, key, place)}")


def _hint(cls: type, key: str, place: _Place) -> str:
    """What was probably meant: the right word in the wrong table, a word of another library, a flag, or a slip."""
    paths = {path[-1]: path for path in _paths(place.root)}
    here, (ours, remark) = _settings(cls), called_here(key)
    if key in paths and len(paths[key]) > 1:
        table, kind = ".".join(paths[key][:-1]), _table_at(place.root, paths[key][:-1]).__name__
        return f"It belongs to [{table}] in a file, to {table}={kind}({key}=...) in Python."
    if ours in here or ours in paths:
        called = ".".join(place.at(ours).path if ours in here else paths[ours])
        return f"Here it is called {called!r}{f' ({remark})' if remark else ''}."
    if key in FLAGS or ours in FLAGS:
        flag = (ours or key).replace("_", "-")
        return f"That is a flag, not a setting of a run: sparring train --config FILE --{flag} ..."
    if answer := not_here(key):
        return f"{answer}."
    if near := nearest(key, here):
        return f"Did you mean {'.'.join(place.at(near).path)!r}?"
    if near := nearest(key, paths):
        return f"Did you mean {'.'.join(paths[near])!r}?"
    return f"Known here: {', '.join(sorted(here))}."


def _table_at(cls: type, path: tuple[str, ...]) -> type:
    for name in path:
        hint = _hints(cls)[name]
        cls = next(kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and is_dataclass(kind))
    return cls


def explained(cls: type[C]) -> type[C]:
    """A dataclass of settings that answers a name it does not have as a file of settings does."""
    make = cls.__init__

    @wraps(make)
    def explaining(self: Any, *values: Any, **named: Any) -> None:
        if values:
            example = f"{cls.__name__}({next(iter(_settings(cls)))}=...)"
            raise ConfigError(
                f"{cls.__name__} takes settings by name, found {values[0]!r}. Write for example: {example}"
            )
        for name in named:
            if name not in _settings(cls):
                raise _unknown_setting(cls, name, _Place(cls.__name__, cls))
        make(self, **named)

    cls.__init__ = explaining
    return cls


def checked_types(config: C) -> C:
    """The config with every value of the type its setting has; a number stands for a constant schedule, a list for a
    tuple. All else is refused as in a file."""
    if not is_dataclass(config):
        raise ConfigError(f"Expected settings such as RunConfig(game='kuhn'), found {config!r}.")
    name = type(config).__name__
    with suppress(TypeError, AttributeError):  # of a wrong type, which is told below
        check_ranges(config)
    try:
        return from_dict(type(config), to_dict(config), where=name)
    except (TypeError, AttributeError) as error:
        raise ConfigError(f"{name}: {error}") from None


def _paths(cls: type, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name in _settings(cls):
        yield (*above, name)
        hint = _hints(cls)[name]
        for inner in (hint, *get_args(hint)):
            if isinstance(inner, type) and is_dataclass(inner) and inner is not Schedule:
                yield from _paths(inner, (*above, name))


@cache
def _settings(cls: type) -> dict[str, Field[Any]]:
    return {field.name: field for field in fields(cls) if field.init}


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, Schedule):
        return value.start if value.shape == "constant" else str(value)
    if is_dataclass(value):
        return to_dict(value)
    if isinstance(value, tuple | list):
        return [_plain(item, name) for item in value]
    if type(value) in _SCALARS:
        return value
    raise TypeError(f"the setting {name} holds {value!r}, which TOML cannot: see the list in sparring.core.settings")


def _describe(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    kind = {bool: "", int: "the whole number ", float: "the number ", str: "the text "}.get(type(value))
    return repr(value) if kind is None else kind + _toml_value(value)


def _table_lines(table: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    for key, value in table.items():
        if not isinstance(value, dict):
            yield f"{_toml_key(key)} = {_toml_value(value)}"
    for key, value in table.items():
        if isinstance(value, dict):
            yield ""
            yield f"[{'.'.join(_toml_key(step) for step in (*path, key))}]"
            yield from _table_lines(value, (*path, key))


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key, re.ASCII) else _toml_value(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):  # JSON's escapes are TOML's, but for DEL, which only TOML forbids
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml_value(item) for item in value)}]"
    raise TypeError(f"TOML lists hold numbers, texts, true, false and lists, found {value!r}")
