"""A command of sparring in a process of its own: what it says is passed on, signals reach it, its cost is measured."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE, Popen
from types import FrameType
from typing import Any

from sparring.cli.signals import save_signals, say, stop_signals

POSIX = hasattr(os, "wait4")
UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes of one unit of ru_maxrss."""


@dataclass(frozen=True)
class Ended:
    code: int
    """Exit code; negative: killed by that signal."""
    reason: str
    """What it said last about an error; empty where it said nothing."""
    seconds: float
    peak_mib: float | None
    """Most memory that was resident at once; None where the system does not tell."""
    stopped: bool
    """Whether a signal asked for the end."""


def run_child(words: list[str], *, prefix: str, quiet: bool) -> Ended:
    """Run `sparring WORDS` to its end. Ctrl-C stops it as it would stop alone."""
    began = time.monotonic()
    # In a session of its own: Ctrl-C in a terminal would reach it twice, which means "at once".
    process = Popen(
        [sys.executable, "-m", "sparring", *words], stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, text=True,
        errors="replace", start_new_session=POSIX,
    )  # fmt: skip
    last = ""
    with passed_on(process) as asked:
        assert process.stderr is not None
        for line in process.stderr:
            last = line.strip() or last
            if not quiet:
                say(f"{prefix}: {line.rstrip()}")
        peak = reap(process)
        process.stderr.close()
    return Ended(process.returncode, last.removeprefix("sparring: "), time.monotonic() - began, peak, asked())


def reap(process: Popen[str]) -> float | None:
    """Wait for the end; the peak of its memory in MiB."""
    if not POSIX:
        process.wait()
        return None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * UNIT / 2**20


@contextmanager
def passed_on(process: Popen[str]) -> Iterator[Any]:
    """Signals to stop or to save go to the process; yields a function that tells whether there was one to stop."""
    asked, stopping = False, stop_signals()

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        del frame
        asked = asked or number in stopping
        if POSIX and process.returncode is None:
            os.kill(process.pid, number)

    before = {number: signal.signal(number, ask) for number in (*stopping, *save_signals())}
    try:
        yield lambda: asked
    finally:
        if process.returncode is None:  # whatever broke here, nobody would watch it any longer
            process.kill()
        for number, handler in before.items():
            signal.signal(number, handler)
