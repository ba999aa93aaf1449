"""The process in which environments run: python -P -m sparring.workers.worker PORT, with a secret on standard input.

It is told what to do by short messages on a socket of this machine, and reads and writes rows of the shared memory. It
ends when standard input closes, however the trainer ended and whatever an environment is doing then. No JAX, and
nothing of the trainer is loaded.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sparring.core.errors import SparringError
from sparring.workers.buffers import open_file
from sparring.workers.makers import make_environment
from sparring.workers.messages import STEP, receive, send
from sparring.workers.probe import look_at
from sparring.workers.source import Found, Source
from sparring.workers.world import Parts, World


class Worker:
    """The environments of one process, made when their row is first used."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.first: Any = make_environment(source)
        self.found: Found | None = None
        self.parts: Parts | None = None
        self.rows: dict[str, np.ndarray] = {}
        self.worlds: dict[int, World] = {}

    def look(self) -> dict[str, Any]:
        return asdict(look_at(self.first, self.source))

    def open(self, path: Path, found: dict[str, Any]) -> None:
        self.found = Found.of(found)
        self.parts = Parts(self.first)
        self.rows = open_file(path, self.found)

    def world(self, slot: int) -> World:
        assert self.found is not None and self.parts is not None
        if slot not in self.worlds:
            env, self.first = self.first or make_environment(self.source), None
            self.worlds[slot] = World(env, self.parts, self.found)
        return self.worlds[slot]

    def play(self, command: int, slots: np.ndarray) -> None:
        """Step these worlds, or begin a game in them."""
        assert self.found is not None
        shuffled = self.found.alike != "none"
        for slot in slots.tolist():
            row = {name: array[slot : slot + 1].reshape(array.shape[1:]) for name, array in self.rows.items()}
            world = self.world(slot)
            world.step(row) if command == STEP[0] else world.reset(row, shuffled=shuffled)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a keyboard: the trainer decides when to stop
    warnings.simplefilter("ignore")
    secret = sys.stdin.buffer.readline()
    files: list[Path] = []
    threading.Thread(target=ends_with_trainer, args=(files,), daemon=True).start()
    # What an environment prints goes to standard error, where nobody takes it for a result.
    os.dup2(2, 1)
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        send(line, secret.strip())
        with suppress(EOFError, ConnectionError):
            serve(line, files)
    leave(files)


def ends_with_trainer(files: list[Path]) -> None:
    """Wait for the end of the trainer, whatever an environment does meanwhile."""
    with suppress(OSError, ValueError):
        sys.stdin.buffer.read()
    leave(files)


def leave(files: list[Path]) -> None:
    """Clean up what the trainer may have had no time for, and end. The socket and standard input close at once, and
    either may be noticed first. Threads and windows of environments do not keep the process."""
    for path in files:
        with suppress(OSError):
            path.unlink(missing_ok=True)
    os._exit(0)


def serve(line: socket.socket, files: list[Path]) -> None:
    """Answer every message: with JSON, with what was wrong, or after a step with the seconds it took."""
    worker: Worker | None = None
    asked, memory = 0.0, 0.0
    while True:
        message = receive(line)
        try:
            if message[:1] == b"{":
                told = json.loads(message)
                if "source" in told:
                    worker = Worker(Source.of(told["source"]))
                    send(line, json.dumps({"found": worker.look() if told["look"] else None}).encode())
                elif worker is not None:
                    files.append(Path(told["path"]))
                    worker.open(files[0], told["found"])
                    send(line, b"{}")
            elif worker is not None:
                began = time.perf_counter()
                worker.play(message[0], np.frombuffer(message, np.int32, offset=4))
                now = time.perf_counter()
                if now > asked + 1.0:
                    asked, memory = now, memory_used()
                send(line, np.asarray([now - began, memory]).tobytes())
        except SparringError as error:
            send(line, json.dumps({"error": str(error)}).encode())
        except Exception as error:
            send(line, json.dumps({"error": f"{type(error).__name__}: {error}. Correct the environment."}).encode())


def memory_used() -> float:
    """Resident bytes of this process; 0 where the system does not tell."""
    try:
        return float(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0.0


if __name__ == "__main__":
    main()
