"""Lines of JSON that a run appends, read back. A line that is not what its readers rely on is named with its number."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

from sparring.core.errors import RunError

Problem = Callable[[Mapping[str, Any]], str]
"""What is wrong with a line; empty: nothing."""

_LARGEST = 2**63
"""Whole numbers from here up are none that a run counts, and do not fit into arrays."""
_NEEDED: dict[str, dict[str, type]] = {
    "train": {"iteration": int, "seed": int, "steps": int},
    "eval": {"iteration": int, "seed": int, "steps": int},
    "notice": {"iteration": int, "seed": int, "learner": str, "notice": str, "text": str},
}
"""What readers take from a line of metrics of each kind; of others, such as events, they take the iteration."""
_TIMING: dict[str, type] = {"iteration": int, "seconds": float, "steps_per_second": float}
_EXPLOIT: dict[str, type] = {
    "player": str, "seed": int, "iteration": int, "steps": int, "by": str, "exploitability": float,
}  # fmt: skip
_WORDS = {int: "a whole number", float: "a number", str: "a text"}


def problem_of_metrics(line: Mapping[str, Any]) -> str:
    kind = line.get("kind")
    if not isinstance(kind, str):
        return _mismatch("kind", str, kind)
    found = _lacking(line, _NEEDED.get(kind, {"iteration": int}))
    if found or kind not in ("train", "eval"):
        return found
    values = ((key, value) for key, value in line.items() if key != "kind" and value is not None)
    return next((_mismatch(key, float, value) for key, value in values if not _fits(value, float)), "")


def problem_of_timing(line: Mapping[str, Any]) -> str:
    return _lacking(line, _TIMING)


def problem_of_exploits(line: Mapping[str, Any]) -> str:
    return _lacking(line, _EXPLOIT)


def read_lines(path: Path, problem: Problem) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Each whole line of a file, read and raw. Only the newline makes a line whole."""
    if not path.exists():
        return
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"Cannot read {path}: {error.strerror}. Make it readable.") from error
    whole = content[: content.rfind(b"\n") + 1]
    for number, raw in enumerate(whole.split(b"\n")[:-1], start=1):
        line: Any = None
        with suppress(ValueError, RecursionError):
            line = json.loads(raw)
        found = problem(line) if isinstance(line, dict) else "expected a JSON object"
        if found:
            raise RunError(f"Line {number} of {path} is damaged: {found}. Remove that line.")
        yield line, raw + b"\n"


def series(lines: Iterable[Mapping[str, Any]], name: str) -> tuple[list[int], list[float]]:
    """Steps and values of a metric, the mean over seeds; both empty where no line has it."""
    found: dict[int, list[float]] = {}
    for line in lines:
        if line.get(name) is not None:
            found.setdefault(line["steps"], []).append(line[name])
    return sorted(found), [sum(found[step]) / len(found[step]) for step in sorted(found)]


def _lacking(line: Mapping[str, Any], needed: Mapping[str, type]) -> str:
    wrong = (_mismatch(key, kind, line.get(key)) for key, kind in needed.items() if not _fits(line.get(key), kind))
    return next(wrong, "")


def _fits(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return kind in (int, float) and abs(value) < _LARGEST
    return isinstance(value, kind) and (kind is not float or isfinite(value))


def _mismatch(key: str, kind: type, found: Any) -> str:
    return f"{key!r} must be {_WORDS[kind]}, found {json.dumps(found)[:40]}"
