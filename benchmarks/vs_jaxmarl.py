"""Training speed of Sparring and of JaxMARL on the same particle games, measured in turns on this machine.

    python benchmarks/vs_jaxmarl.py                # every game and size, on the CPU
    python benchmarks/vs_jaxmarl.py --baselines ../JaxMARL
    python benchmarks/vs_jaxmarl.py --device cuda --iterations 200 --json

JaxMARL's package has no training script. The other side is therefore an IPPO loop of ours around its games, wrappers
and libraries, with its settings and without its logging; with --baselines it is the script of a checkout, as it stands.

On both sides one network drives all seats (MLP 64x64 tanh, actor and critic apart), 25 steps, 4 epochs of 4
minibatches. JaxMARL lives in an environment of its own under .cache/jaxmarl, made at the first run with our versions
of jax and optax. Both workers are compiled before the first clock starts and then take turns, so that what slows the
machine for a while slows both. Speeds are medians over the rounds, in agent-steps per second of training.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
CACHE, JAXMARL = HERE.parent / ".cache" / "jaxmarl", "0.2.0"
SEATS, STEPS = {"spread": 3, "tag": 4}, 25


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
    """One side's process: compiles, says so, then runs and times a round at each request."""

    def __init__(self, command: list[str], device: str) -> None:
        self.command = command
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process that writes to it
        environment = {**os.environ, "JAX_PLATFORMS": device, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):  # Libraries greet on stdout as well.
                return json.loads(line)
        self.log.seek(0)
        raise SystemExit(f"{' '.join(self.command)} ended without an answer. It said:\n{self.log.read()[-4000:]}")

    def go(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.answer()["seconds_per_iteration"]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.log.close()


def take_turns(commands: dict[str, list[str]], device: str, rounds: int) -> dict[str, list[float]]:
    """Seconds per iteration of each side in each round."""
    workers = {side: Worker(command, device) for side, command in commands.items()}
    try:
        for worker in workers.values():
            worker.answer()
        turns = [{side: worker.go() for side, worker in workers.items()} for _ in range(rounds)]
    finally:
        for worker in workers.values():
            worker.close()
    return {side: [turn[side] for turn in turns] for side in workers}


def compare(game: str, worlds: int, args: argparse.Namespace) -> dict[str, Any]:
    iterations = max(2, args.iterations * 128 // worlds)
    sizes = f"--game {game} --worlds {worlds} --steps {STEPS} --iterations {iterations}".split()
    commands = {}
    if args.only != "ours":
        checkout = ["--baselines", str(args.baselines)] if args.baselines else []
        commands["theirs"] = [str(jaxmarl_python(args.device)), str(HERE / "jaxmarl_worker.py"), *sizes, *checkout]
    if args.only != "theirs":
        commands["ours"] = [sys.executable, str(HERE / "sparring_worker.py"), *sizes]
    seconds = take_turns(commands, args.device, args.rounds)
    speed = {side: worlds * STEPS * SEATS[game] / median(seconds[side]) for side in commands}
    ratio = speed["ours"] / speed["theirs"] if len(speed) == 2 else None
    return {"game": game, "worlds": worlds, **speed, "ratio": ratio, "seconds_per_iteration": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", choices=SEATS, default=list(SEATS))
    parser.add_argument("--worlds", nargs="+", type=int, default=[128, 1024])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=20, help="per round at 128 worlds; in proportion at others")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--only", choices=["ours", "theirs"], help="measure one side alone")
    parser.add_argument("--baselines", type=Path, help="a checkout of JaxMARL whose own training script is timed")
    parser.add_argument("--json", action="store_true", help="print one JSON object, the table going to stderr")
    args = parser.parse_args()
    table = sys.stderr if args.json else sys.stdout
    print(f"{'game':8}{'worlds':>8}{'ours':>14}{'theirs':>14}{'ratio':>8}   agent-steps/s", file=table)
    rows = []
    for game, worlds in product(args.games, args.worlds):
        row = compare(game, worlds, args)
        ours, theirs = (f"{row[side]:,.0f}" if side in row else "-" for side in ("ours", "theirs"))
        print(f"{game:8}{worlds:>8}{ours:>14}{theirs:>14}{row['ratio'] or math.nan:>8.2f}", file=table, flush=True)
        rows.append(row)
    if args.json:
        print(json.dumps({"device": args.device, "jax": version("jax"), "jaxmarl": JAXMARL, "results": rows}))


if __name__ == "__main__":
    main()
