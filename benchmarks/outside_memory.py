"""Memory of workers and trainer over a long run: 8 workers of 2 environments each.

    python benchmarks/outside_memory.py --minutes 30 --settle 5
    python benchmarks/outside_memory.py --minutes 2 --settle 0.5

Prints the resident memory at the beginning and at the end of the time after the first minutes, the slope between, and
how many steps were made.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from sparring.games.outside import leases_in
from sparring.recipes.defaults import default_config
from sparring.setup.build import build
from sparring.training.runs import start


def resident(pid: int | str) -> float:
    """MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="pettingzoo:mpe2.simple_tag_v3")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--settle", type=float, default=5.0, help="minutes at the beginning that do not count")
    args = parser.parse_args()
    config = default_config(args.game, total_steps=2_000_000_000, num_workers=8, envs_per_worker=2, eval_games=0)
    built, began = build(config), time.monotonic()
    leases = leases_in(built.game)
    assert leases is not None
    seen: list[tuple[float, float, float]] = []
    iterations = 0

    def look(_: object) -> None:
        nonlocal iterations
        iterations += 1
        minutes = (time.monotonic() - began) / 60
        if minutes > args.settle and (not seen or minutes > seen[-1][0] + args.minutes / 200):
            workers = sum(resident(worker.process.pid) for worker in leases.pool.workers)
            seen.append((minutes, workers, resident(os.getpid())))

    with tempfile.TemporaryDirectory() as folder:
        over = lambda: time.monotonic() - began > 60 * args.minutes  # noqa: E731
        start(config, Path(folder) / "run", on_iteration=look, should_stop=over)
    minutes, workers, trainer = np.asarray(seen).T
    for name, memory in (("8 workers together", workers), ("trainer", trainer)):
        slope = np.polyfit(minutes, memory, 1)[0]
        print(f"{name}: {memory[0]:.1f} to {memory[-1]:.1f} MiB, {slope:+.2f} MiB a minute", flush=True)
    print(f"{iterations} iterations, {iterations * built.steps_per_iteration:,} steps", flush=True)


if __name__ == "__main__":
    main()
