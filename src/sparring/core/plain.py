"""Frozen records <-> plain data for JSON: a state is saved as its fields say, and read back with every type checked.

A field may hold numbers, texts, None, arrays, tuples, frozen sets, dictionaries with any key, dataclasses and named
tuples. Settings, which people write, are the matter of core/settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from math import prod
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Lists, dictionaries of texts, numbers, texts and None. `from_plain` gives the same value back."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "values": value.ravel().tolist()}
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return [[to_plain(key), to_plain(item)] for key, item in value.items()]
    if isinstance(value, frozenset):
        return sorted(map(to_plain, value), key=repr)
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    raise TypeError(f"{value!r} is of no kind that can be saved: see the list in sparring.core.plain")


def from_plain(hint: type[T], plain: Any) -> T:
    """A value of the type from plain data, which is not believed: ValueError where it is of another kind."""
    return _read(hint, plain, getattr(hint, "__name__", str(hint)))


def _read(hint: Any, plain: Any, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if plain is None and NoneType in arguments:
            return None
        return _read(next(one for one in arguments if one is not NoneType), plain, where)
    if origin is Literal:
        known = any(type(plain) is type(one) and plain == one for one in arguments)
        return _expect(known, plain, where, f"one of {arguments}")
    if origin is tuple or hint is tuple:
        return _tuple(arguments, plain, where)
    if origin is frozenset:
        return frozenset(_tuple((arguments[0], ...), plain, where))
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        pairs = isinstance(plain, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in plain)
        _expect(pairs, plain, where, "a list of pairs")
        return {_read(arguments[0], key, where): _read(arguments[1], item, where) for key, item in plain}
    if hint is np.ndarray:
        return _array(plain, where)
    if is_dataclass(hint) and isinstance(hint, type):
        _expect(isinstance(plain, dict) and set(plain) == set(_hints(hint)), plain, where, f"a {hint.__name__}")
        return hint(**{name: _read(kind, plain[name], f"{where}.{name}") for name, kind in _hints(hint).items()})
    if isinstance(hint, type) and issubclass(hint, tuple):  # a named tuple
        kinds = _hints(hint)
        _expect(isinstance(plain, list) and len(plain) == len(kinds), plain, where, f"{len(kinds)} entries")
        named = zip(kinds.items(), plain, strict=True)
        return hint(*(_read(kind, item, f"{where}.{name}") for (name, kind), item in named))
    if hint is float and type(plain) is int:
        return float(plain)
    return _expect(type(plain) is hint, plain, where, getattr(hint, "__name__", str(hint)))


def _tuple(arguments: tuple[Any, ...], plain: Any, where: str) -> tuple[Any, ...]:
    _expect(isinstance(plain, list), plain, where, "a list")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_read(arguments[0], item, where) for item in plain)
    _expect(len(plain) == len(arguments), plain, where, f"{len(arguments)} entries")
    return tuple(_read(kind, item, where) for kind, item in zip(arguments, plain, strict=True))


def _array(plain: Any, where: str) -> np.ndarray:
    _expect(isinstance(plain, dict) and set(plain) == {"shape", "values"}, plain, where, "an array")
    shape, values = _tuple((int, ...), plain["shape"], f"{where}.shape"), plain["values"]
    _expect(isinstance(values, list), values, where, "a list of numbers")
    kinds = set(map(type, values))
    _expect(kinds <= {bool} or kinds <= {int, float}, values, where, "truths alone or numbers alone")
    _expect(all(size >= 0 for size in shape) and prod(shape) == len(values), plain, where, f"{shape} numbers")
    kind = bool if kinds == {bool} else int if kinds == {int} else float
    try:
        return np.array(values, kind).reshape(shape)
    except OverflowError:
        raise ValueError(f"{where}: a number is too large for an array") from None


def _expect(holds: bool, plain: Any, where: str, expected: str) -> Any:
    if not holds:
        raise ValueError(f"{where}: expected {expected}, found {str(plain)[:60]!r}")
    return plain


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
