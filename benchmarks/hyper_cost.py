"""What generated weights cost: samples a second and memory of each variant of Hyper-MAPPO beside plain MAPPO.

    python benchmarks/hyper_cost.py --worlds 1024          # on the device that is there; 128 suits two cores

Whole training iterations of spread, play and learning, with the settings of `mappo_spread` but for the worlds. Memory
is what the compiler says the program needs beside its inputs. Variants are timed in turns, so that a machine that is
busy with something else slows all of them alike.
"""

import argparse
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


def program_bytes(loop: TrainingLoop) -> int:
    """Of the compiled iteration, as the compiler counts; from here on that program runs."""
    built = loop.built
    given = (built.game, loop.state, built.rosters, loop.orders, loop.knobs, loop.seeds_R, jnp.asarray(0))
    program: Any = loop.program
    loop.program = compiled = program.lower(*given).compile()
    found = compiled.memory_analysis()
    return int(found.temp_size_in_bytes + found.output_size_in_bytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=10)
    given = parser.parse_args()
    names = ["mappo", *(name for name in given.variants if name != "mappo")]
    loops, sizes = {}, {}
    for name in names:
        loops[name] = loop_of(name, given.worlds, given.steps)
        sizes[name] = program_bytes(loops[name])
        loops[name].run(1)
        print(f"compiled {name}: {sizes[name] / 1e6:.0f} MB", flush=True)
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(given.rounds):
        for name, loop in loops.items():
            times[name].append(loop.run(given.iterations))
    print(f"\n{jax.devices()[0].device_kind}, {given.worlds} worlds of {given.steps} steps\n")
    print("| variant | million samples/s | time, in MAPPO's | program, MB | estimate, MB |\n|---|---|---|---|---|")
    for name, loop in loops.items():
        # Round by round, since what else a machine does changes between them.
        ratio = median(own / base for own, base in zip(times[name], times["mappo"], strict=True))
        speed = loop.built.steps_per_iteration / median(times[name]) / 1e6
        parts = estimate(loop.built.game, loop.built.config)
        guess = sum(size for part, size in parts.items() if part != "the program")
        print(f"| {name} | {speed:.2f} | {ratio:.2f} | {sizes[name] / 1e6:.0f} | {guess / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()
