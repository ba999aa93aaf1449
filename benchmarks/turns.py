"""Sparring and JaxMARL timed in turns on one machine: each side a process that compiles, says so, and runs a round at
each request.

Both are compiled before the first clock starts, and what slows the machine for a while slows both. JaxMARL lives in an
environment of its own under .cache/jaxmarl, made at the first run with our versions of jax and optax. Workers import
this module from either environment, so it needs no packages.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CACHE, JAXMARL = HERE.parent / ".cache" / "jaxmarl", "0.2.0"

Answer = dict[str, float]
"""What a round gives; always with seconds_per_iteration."""


def serve(go: Callable[[], Answer]) -> None:
    """Compiles by a first round, prints {"ready": true}, then answers each line "go" on stdin with a round."""
    go()
    print(json.dumps({"ready": True}), flush=True)
    while sys.stdin.readline().strip() == "go":
        print(json.dumps(go()), flush=True)


def timed(program: Callable[..., Any], *inputs: Any) -> tuple[float, Any]:
    import jax

    started = time.perf_counter()
    result = jax.block_until_ready(program(*inputs))
    return time.perf_counter() - started, result


def jaxmarl_python(device: str) -> Path:
    """The interpreter of JaxMARL's environment, which is made anew when its stamp does not name what is wanted."""
    jax = "jax" if device == "cpu" else "jax[cuda12]"
    wanted = [f"jaxmarl=={JAXMARL}", "flax", "distrax", f"optax=={version('optax')}", f"{jax}=={version('jax')}"]
    python, stamp = CACHE / "env" / "bin" / "python", CACHE / "installed.json"
    recorded = json.dumps({"python": sys.version, "packages": wanted})
    if python.exists() and stamp.exists() and stamp.read_text() == recorded:
        return python
    print(f"Installing {', '.join(wanted)} under {CACHE} (about a gigabyte) ...", file=sys.stderr)
    stamp.unlink(missing_ok=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(CACHE / "env")], check=True, stdout=sys.stderr)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True, stdout=sys.stderr)
    stamp.write_text(recorded)
    return python


class Worker:
    """One side's process."""

    def __init__(self, command: list[str], device: str) -> None:
        self.command = command
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process that writes to it
        environment = {**os.environ, "JAX_PLATFORMS": device, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )

    def answer(self) -> Answer:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):  # Libraries greet on stdout as well.
                return json.loads(line)
        self.log.seek(0)
        raise SystemExit(f"{' '.join(self.command)} ended without an answer. It said:\n{self.log.read()[-4000:]}")

    def go(self) -> Answer:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.log.close()


def common_flags(
    description: str | None, *, known: Iterable[str], games: list[str], worlds: list[int]
) -> argparse.ArgumentParser:
    """The flags that comparisons share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", choices=known, default=games)
    parser.add_argument("--worlds", nargs="+", type=int, default=worlds)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=20, help="per round at 128 worlds; in proportion at others")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--only", choices=["ours", "theirs"], help="measure one side alone")
    parser.add_argument("--json", action="store_true", help="print one JSON object, the table going to stderr")
    return parser


def sizes(game: str, worlds: int, steps: int, args: argparse.Namespace) -> list[str]:
    """The flags that every worker takes."""
    iterations = max(2, args.iterations * 128 // worlds)
    return f"--game {game} --worlds {worlds} --steps {steps} --iterations {iterations}".split()


def both_sides(args: argparse.Namespace, *, theirs: list[str], ours: list[str]) -> dict[str, list[Answer]]:
    """The answers of each side that is asked for, round by round; the words begin with a worker of this folder."""
    commands = {}
    if args.only != "ours":
        commands["theirs"] = [str(jaxmarl_python(args.device)), str(HERE / theirs[0]), *theirs[1:]]
    if args.only != "theirs":
        commands["ours"] = [sys.executable, str(HERE / ours[0]), *ours[1:]]
    return take_turns(commands, args.device, args.rounds)


def take_turns(commands: dict[str, list[str]], device: str, rounds: int) -> dict[str, list[Answer]]:
    """The answers of each side, round by round."""
    workers = {side: Worker(command, device) for side, command in commands.items()}
    try:
        for worker in workers.values():
            worker.answer()
        turns = [{side: worker.go() for side, worker in workers.items()} for _ in range(rounds)]
    finally:
        for worker in workers.values():
            worker.close()
    return {side: [turn[side] for turn in turns] for side in workers}


def ratio(speed: dict[str, float]) -> float | None:
    """How many times as fast ours is; None where one side was measured alone."""
    return speed["ours"] / speed["theirs"] if len(speed) == 2 else None


def heading(what: str) -> str:
    return f"{what + ': ours':>20}{'theirs':>12}{'ratio':>8}"


def columns(speed: dict[str, float]) -> str:
    """The cells under a heading."""
    ours, theirs = (f"{speed[side]:,.0f}" if side in speed else "-" for side in ("ours", "theirs"))
    return f"{ours:>20}{theirs:>12}{ratio(speed) or math.nan:>8.2f}"


def compare_all(args: argparse.Namespace, compare: Callable[[str, int], dict[str, Any]], *, header: str) -> None:
    """A row for each game and number of worlds; `compare` gives what JSON prints and, under "line", the table."""
    table = sys.stderr if args.json else sys.stdout
    print(f"{'game':12}{'worlds':>8}{header}", file=table)
    rows = []
    for game, worlds in product(args.games, args.worlds):
        row = compare(game, worlds)
        print(f"{game:12}{worlds:>8}{row.pop('line')}", file=table, flush=True)
        rows.append({"game": game, "worlds": worlds, **row})
    if args.json:
        print(json.dumps({"device": args.device, "jax": version("jax"), "jaxmarl": JAXMARL, "results": rows}))
