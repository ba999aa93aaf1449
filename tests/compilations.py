"""Counts the programs that each test file compiles in its own process, and compares them with what is allowed.

A program costs the same count whether the compiler makes it or the cache on disk has it. What an earlier file of the
same worker left in memory costs nothing, so that a count is at most that of the file alone.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
EVENT = "/jax/core/compile/backend_compile_duration"


class Compilations:
    """A plugin of pytest: workers count, and the process that started them adds up, prints and judges."""

    def __init__(self) -> None:
        self.programs: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.file = ""
        self.listening = False

    def heard(self, event: str, seconds: float, **_: object) -> None:
        if event == EVENT and self.file:
            self.programs[self.file] += 1
            self.seconds[self.file] += seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if not self.listening and "jax" in sys.modules:  # tests of rooms without JAX do not wait for it
            sys.modules["jax"].monitoring.register_event_duration_secs_listener(self.heard)
            self.listening = True
        self.file = item.path.relative_to(TESTS).as_posix()
        try:
            return (yield)
        finally:
            self.file = ""

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["compilations"] = (dict(self.programs), dict(self.seconds))
        elif over(self.programs) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        programs, seconds = getattr(node, "workeroutput", {}).get("compilations", ({}, {}))
        self.programs.update(programs)
        self.seconds.update(seconds)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total = self.programs.total()
        if not total:
            return
        terminalreporter.section("compilations, file by file")
        for file, programs in self.programs.most_common():
            terminalreporter.write_line(f"{programs:5} programs {self.seconds[file]:6.1f} s  {file}")
        terminalreporter.write_line(f"{total:5} programs {self.seconds.total():6.1f} s  in all")
        for line in over(self.programs):
            terminalreporter.write_line(line, red=True)


def allowances() -> dict[str, int]:
    """The table COMPILATIONS of test_house.py, read as text: importing it would load half the library."""
    for node in ast.parse((TESTS / "test_house.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMPILATIONS":
            return ast.literal_eval(node.value)
    raise LookupError("tests/test_house.py has no table COMPILATIONS")


def over(programs: Counter[str]) -> list[str]:
    allowed = allowances()
    return [
        f"tests/{file} compiled {count} programs, and tests/test_house.py allows {allowed.get(file, UNMEASURED)}: "
        f"share programs between tests, or say there why it needs more."
        for file, count in programs.items()
        if count > allowed.get(file, UNMEASURED)
    ]


UNMEASURED = 120
"""Allowed to a file that has no line in the table."""
