"""What generated weights cost: samples a second and memory of each variant of Hyper-MAPPO beside plain MAPPO.

    python benchmarks/hyper_cost.py --worlds 1024          # on the device that is there; 128 suits two cores

Whole training iterations of spread, play and learning, with the settings of `mappo_spread` but for the worlds. Memory
is what the compiler says the program needs beside its inputs. Variants are timed in turns, so that a machine that is
busy with something else slows all of them alike; on a CPU shared with other work, believe the core seconds.
"""

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp

from hyper_study import VARIANTS, config_of
from sparring.setup.build import build
from sparring.setup.config import PlayConfig
from sparring.setup.memory import estimate
from sparring.studies.bench import TrainingLoop


def loop_of(variant: str, worlds: int, steps: int) -> TrainingLoop:
    config = config_of("spread", variant, 10_000_000, 1)
    return TrainingLoop(build(replace(config, play=PlayConfig(worlds=worlds, steps=steps))))


def compiled(loops: dict[str, TrainingLoop]) -> dict[str, int]:
    """All loops, several at once, and of each the bytes that its program needs as the compiler counts; from here on it
    runs that program."""

    def lowered(loop: TrainingLoop) -> Any:
        built, program = loop.built, loop.program
        return program.lower(  # type: ignore[attr-defined]
            built.game, loop.state, built.rosters, loop.orders, loop.knobs, loop.seeds_R, jnp.asarray(0)
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = list(pool.map(lambda one: one.compile(), [lowered(loop) for loop in loops.values()]))
    sizes = {}
    for (name, loop), program in zip(loops.items(), programs, strict=True):
        loop.program, found = program, program.memory_analysis()
        sizes[name] = int(found.temp_size_in_bytes + found.output_size_in_bytes)
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=10)
    given = parser.parse_args()
    names = ["mappo", *(name for name in given.variants if name != "mappo")]
    loops = {name: loop_of(name, given.worlds, given.steps) for name in names}
    began = time.perf_counter()
    sizes = compiled(loops)
    for loop in loops.values():
        loop.run(1)
    print(f"compiled in {time.perf_counter() - began:.0f} s", flush=True)
    times: dict[str, list[float]] = {name: [] for name in names}
    cores: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(given.rounds):
        for name, loop in loops.items():
            spent = time.process_time()
            times[name].append(loop.run(given.iterations))
            cores[name].append(time.process_time() - spent)
    print(f"\n{jax.devices()[0].device_kind}, {given.worlds} worlds of {given.steps} steps\n")
    print("| variant | million samples/s | time, in MAPPO's | core seconds, in MAPPO's | program, MB | estimate, MB |")
    print("|---|---|---|---|---|---|")
    for name, loop in loops.items():
        # Round by round, since what else a machine does changes between them.
        ratio, core = (
            median(own / base for own, base in zip(of[name], of["mappo"], strict=True)) for of in (times, cores)
        )
        speed = loop.built.steps_per_iteration / median(times[name]) / 1e6
        parts = estimate(loop.built.game, loop.built.config)
        guess = sum(size for part, size in parts.items() if part != "the program")
        print(
            f"| {name} | {speed:.2f} | {ratio:.2f} | {core:.2f} | {sizes[name] / 1e6:.0f} | {guess / 1e6:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
