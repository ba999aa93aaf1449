"""Worker processes and the environments in them, as the trainer sees them: rows by number. No JAX.

At most one message is under way to a worker, so nothing piles up. A worker that ends or hangs is replaced by another,
and the games in it are lost; three times before a game is over, and the pool gives up.
"""

import atexit
import json
import os
import secrets
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sparring.core.errors import GameError
from sparring.workers.buffers import new_file, open_file
from sparring.workers.messages import receive, send
from sparring.workers.source import Found, Source

STARTUP = 120.0
"""Seconds that a worker may take to load its environment."""
PATIENCE = 3
"""Times a worker may fail before a game in it is over."""


@dataclass
class Worker:
    """A process as the trainer knows it."""

    process: subprocess.Popen
    line: socket.socket
    failures: int = 0
    """Since a game in it was last over."""
    memory: float = 0.0
    """Resident bytes, as it last said."""


@dataclass
class Pool:
    """The processes of one environment. `trouble` is what stands in the way of going on; callers look at it."""

    source: Source
    timeout: float = 60.0
    """Seconds without an answer after which a worker counts as hanging."""
    workers: list[Worker] = field(default_factory=list)
    rows: dict[str, np.ndarray] = field(default_factory=dict)
    trouble: GameError | None = None
    events: list[str] = field(default_factory=list)
    busy: float = 0.0
    """Seconds in which environments ran: of each call, those of the slowest worker."""
    _found: Found | None = None
    _path: Path | None = None

    @property
    def found(self) -> Found:
        """What the environment is; the first worker looks, and the shared memory is made for it."""
        if self._found is None:
            atexit.register(self.close)
            worker = self.start(look=True)
            self._found = Found.of(self.answer(worker)["found"])
            self._path = new_file(self._found)
            self.rows = open_file(self._path, self._found)
            self.share(worker)
            self.workers.append(worker)
        return self._found

    def staff(self, count: int) -> None:
        """As many workers as asked for, started side by side."""
        _ = self.found
        new = [self.start(look=False) for _ in range(count - len(self.workers))]
        for worker in new:
            self.answer(worker)
            self.share(worker)
        self.workers += new
        while len(self.workers) > count:
            end(self.workers.pop())

    def start(self, *, look: bool) -> Worker:
        """A new process that loads the environment. Its interpreter has the trainer's path, and no main module of the
        user's is run again, so no guard is needed there."""
        secret = secrets.token_hex(16).encode()
        paths = os.pathsep.join(dict.fromkeys(path or str(Path.cwd()) for path in sys.path))
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(1.0)
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "sparring.workers.worker", str(server.getsockname()[1])],
                stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths, **QUIET},
            )  # fmt: skip
            assert process.stdin is not None
            process.stdin.write(secret + b"\n")  # and it stays open: when it closes, the trainer is gone
            process.stdin.flush()
            line = self.accepted(server, process, secret)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        worker = Worker(process, line)
        send(line, json.dumps({"source": self.source.plain(), "look": look}).encode())
        return worker

    def accepted(self, server: socket.socket, process: subprocess.Popen, secret: bytes) -> socket.socket:
        until = time.monotonic() + STARTUP
        while time.monotonic() < until and process.poll() is None:
            try:
                line, _ = server.accept()
            except TimeoutError:
                continue
            line.settimeout(STARTUP)
            if secrets.compare_digest(receive(line), secret):
                return line
            line.close()
        process.kill()
        raise GameError(f"A worker of {self.source} did not start. Its message, if any, is above.")

    def answer(self, worker: Worker) -> dict[str, Any]:
        """What a worker says of its environment."""
        try:
            told = json.loads(receive(worker.line))
        except (EOFError, OSError):
            end(worker)
            raise GameError(
                f"A worker of {self.source} ended or hung while it loaded the environment: {how_ended(worker)}. Its "
                "message, if any, is above."
            ) from None
        if "error" in told:
            end(worker)
            raise GameError(f"{told['error']}")
        return told

    def share(self, worker: Worker) -> None:
        assert self._found is not None
        send(worker.line, json.dumps({"path": str(self._path), "found": self._found.__dict__}).encode())
        self.answer(worker)
        worker.line.settimeout(None)

    def play(self, command: bytes, slots: np.ndarray) -> np.ndarray:
        """Step these rows, or begin games in them. Returns the rows that were lost with their worker."""
        count, lost = len(self.workers), []
        own = {w: slots[slots % count == w].astype(np.int32) for w in range(count)}
        waiting = [w for w in own if len(own[w])]
        for w in waiting:
            try:
                send(self.workers[w].line, command + b"\0\0\0" + own[w].tobytes())
            except OSError:
                continue  # gone: waiting for its answer says so
        slowest = 0.0
        for w, message in self.answers(waiting):
            if not message:
                lost.append(own[w])
            elif message[:1] == b"{":
                self.trouble = GameError(f"{self.source}: {json.loads(message)['error']}")
                lost.append(own[w])
            else:
                seconds, self.workers[w].memory = np.frombuffer(message, np.float64)
                slowest = max(slowest, seconds)
        self.busy += slowest
        return np.concatenate(lost) if lost else np.zeros(0, np.int32)

    def answers(self, waiting: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Each worker's answer as it comes; empty where a worker is gone, which has been replaced then."""
        with selectors.DefaultSelector() as selector:
            for w in waiting:
                selector.register(self.workers[w].line, selectors.EVENT_READ, w)
            left, until = set(waiting), time.monotonic() + self.timeout
            while left:
                ready = selector.select(max(0.0, until - time.monotonic()))
                for key, _ in ready:
                    w = key.data
                    selector.unregister(key.fileobj)
                    left.discard(w)
                    try:
                        message = receive(self.workers[w].line)
                    except (EOFError, OSError):
                        self.replace(w, "ended by itself")
                        message = b""
                    yield w, message
                if not ready:
                    for w in left:
                        self.replace(w, f"did not answer within {self.timeout:g} s")
                        yield w, b""
                    return

    def replace(self, w: int, why: str) -> None:
        """Another process in the place of one that is gone; what it had is lost."""
        old = self.workers[w]
        end(old)
        words = f"Worker {w} {why} ({how_ended(old)})"
        if old.failures + 1 >= PATIENCE:
            self.trouble = GameError(
                f"{self.source}: {words}, for the {PATIENCE}rd time before a game in it was over. Step the environment "
                "by itself to see why, or raise --worker-timeout."
            )
            return
        try:
            new = self.start(look=False)
            self.answer(new)
            self.share(new)
        except GameError as error:
            self.trouble = error
            return
        new.failures = old.failures + 1
        self.workers[w] = new
        self.events.append(f"{words}. It was started again; the games in it were left out.")

    def close(self) -> None:
        for worker in self.workers:
            end(worker)
        self.workers.clear()
        if self._path is not None:
            with suppress(OSError):  # Windows keeps a file that is mapped
                self._path.unlink(missing_ok=True)


QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
"""Workers are many: each computes with one thread."""


def end(worker: Worker) -> None:
    worker.process.kill()
    worker.process.wait()
    worker.line.close()
    if worker.process.stdin is not None:
        worker.process.stdin.close()


def how_ended(worker: Worker) -> str:
    code = worker.process.returncode
    return "still running" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
