"""Signals are heard at once, also while the main thread compiles or waits for a device.

Python runs its handlers between two of its own instructions, and compiling a program is one that takes minutes. So the
handlers here do nothing: the interpreter also writes the number of each signal into a socket, and a thread that waits
at the other end acts on it. Whatever a run has saved survives the end of its process at any moment.
"""

import os
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from types import FrameType

from sparring.cli.main import INTERRUPTED, STOPPED, complain

SAVE = "SIGUSR1"
"""Save a checkpoint and go on."""
ONE_WISH = 0.5
"""Seconds in which a second signal to stop is the first one again: programs that start others often pass on what the
terminal has sent to all of them already."""


def stop_signals() -> list[int]:
    """Those that ask for an end, where the platform has them. A hang-up that is ignored, by nohup, stays ignored."""
    known = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    return [number for number in known if not (number.name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN)]


def save_signals() -> list[int]:
    return [getattr(signal, SAVE)] if hasattr(signal, SAVE) else []


@dataclass
class Wishes:
    """What signals have asked of a run so far. Its loop calls `stop` and `save` once in each iteration."""

    as_json: bool = False
    begun: bool = False
    """Whether there is an iteration to lose."""
    stopping: bool = False
    saving: bool = False
    heard_at: float = 0.0
    """When it was first asked to stop."""

    def stop(self) -> bool:
        self.begun = True
        return self.stopping

    def save(self) -> bool:
        asked, self.saving = self.saving, False
        return asked

    def hear(self, number: int) -> None:
        name = signal.Signals(number).name
        if name == SAVE:
            self.saving = True
            say(f"{name}: saving a checkpoint after this iteration, then going on")
        elif not self.begun:
            self.leave(f"{name}: stopped before the first iteration; nothing is lost", STOPPED)
        elif self.stopping and monotonic() - self.heard_at < ONE_WISH:
            return
        elif self.stopping:
            self.leave(f"{name}: stopped at once, at the last checkpoint", INTERRUPTED)
        else:
            self.stopping, self.heard_at = True, monotonic()
            say(f"{name}: stopping after this iteration; again to stop now, at the last checkpoint")

    def leave(self, sentence: str, code: int) -> None:
        """End the process, whatever its main thread is doing."""
        try:
            complain(sentence, code, as_json=self.as_json)
            sys.stdout.flush()
            if sys.stderr.isatty():
                print("\x1b[?25h", end="", file=sys.stderr, flush=True)  # a bar hides the cursor
        finally:
            os._exit(code)


class Interruptions(Wishes):
    """Of a command that has nothing to save: one signal ends it at once, also while it compiles."""

    def hear(self, number: int) -> None:
        del number
        self.leave("interrupted", INTERRUPTED)


@contextmanager
def heard(*, as_json: bool = False) -> Iterator[Wishes]:
    """What signals ask for from now on. A second one to stop ends the process at once, and so does the first as long
    as nothing was trained."""
    with listening(Wishes(as_json), [*stop_signals(), *save_signals()]) as wishes:
        yield wishes


@contextmanager
def listening(wishes: Wishes, numbers: list[int]) -> Iterator[Wishes]:
    inbox, outbox = socket.socketpair()
    outbox.setblocking(False)
    before = {number: signal.signal(number, left_to_the_listener) for number in numbers}
    woken = signal.set_wakeup_fd(outbox.fileno(), warn_on_full_buffer=False)
    listener = Thread(target=listen, args=(inbox, wishes, numbers), daemon=True)
    listener.start()
    try:
        yield wishes
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        outbox.close()
        listener.join()
        inbox.close()


def left_to_the_listener(number: int, frame: FrameType | None) -> None:
    """A handler must exist, or the number is not written."""


def listen(inbox: socket.socket, wishes: Wishes, numbers: list[int]) -> None:
    """Until the other end is closed."""
    while heard := inbox.recv(64):
        for number in heard:
            if number in numbers:
                wishes.hear(number)


def say(line: str) -> None:
    """A line on standard error. Where a terminal was hung up nobody reads it, and what is printed there later must not
    end a run that is about to save."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for place in (1, 2):
            if stat.S_ISCHR(os.fstat(place).st_mode):
                os.dup2(nowhere, place)
