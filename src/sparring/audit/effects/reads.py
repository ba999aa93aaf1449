"""Who reads which setting while a run is built and traced: a setting that nobody reads cannot matter."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from sparring.core.schedules import Schedule
from sparring.setup.config import OPPOSING, RunConfig

CHECKS = (
    "dataclasses", "sparring.core", "sparring.setup.checks", "sparring.setup.needs", "sparring.setup.memory",
    "sparring.setup.evaluations", "sparring.setup.own_code", "sparring.audit", "copy",
)  # fmt: skip
"""Modules that look at settings only to copy or to refuse them."""
HOST = ("sparring.training", "sparring.league")
"""Rooms that decide between iterations, outside of any program."""
BETWEEN = tuple(table for table in OPPOSING if table != "seats")
"""Tables of settings that they read, many of them only later in a run: that nobody read one yet shows nothing."""
Readers = dict[str, set[str]]
"""By setting, the functions that read it, as module.function."""


@contextmanager
def watched_settings() -> Iterator[Readers]:
    """Settings that are read meanwhile."""
    found: Readers = {}
    kinds = list(dict.fromkeys(_tables(RunConfig)))
    for kind in kinds:
        kind.__getattribute__ = _watching(frozenset(field.name for field in fields(kind)), found)  # type: ignore
    try:
        yield found
    finally:
        for kind in kinds:
            del kind.__getattribute__


def read_between(name: str, readers: set[str]) -> bool:
    """Whether a setting acts, or may act, between iterations."""
    tables = get_type_hints(RunConfig)
    late = {field.name for table in BETWEEN for field in fields(tables[table])} | {"stages"}
    return name in late or any(reader.startswith(HOST) for reader in readers)


def _tables(kind: Any) -> Iterator[Any]:
    yield kind
    for hint in get_type_hints(kind).values():
        if isinstance(hint, type) and is_dataclass(hint) and hint is not Schedule:
            yield from _tables(hint)


def _watching(names: frozenset[str], found: Readers) -> Any:
    def look(self: Any, name: str) -> Any:
        if name in names and (reader := _reader()):
            found.setdefault(name, set()).add(reader)
        return object.__getattribute__(self, name)

    return look


def _reader() -> str:
    """The function outside of the tables of settings themselves; empty where it only copies, compares or checks."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").endswith(".config"):
        if frame.f_code.co_filename.startswith("<"):  # made by dataclass: comparing, hashing
            return ""
        frame = frame.f_back
    module = frame.f_globals.get("__name__", "") if frame is not None else ""
    if frame is None or frame.f_code.co_filename.startswith("<") or module.startswith(CHECKS):
        return ""
    return f"{module}.{frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name}"
