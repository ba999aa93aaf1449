"""How long a run takes to compile, over blocks, seats and seeds: it must not grow with any of them.

    python benchmarks/compile_time.py --axes blocks seats seeds
    python benchmarks/compile_time.py --recipes demo dogfight

Seconds from a config to a program that can run: the first state, tracing and compiling. Nothing comes from a cache.
"""

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp

from sparring.recipes.catalogue import RECIPES
from sparring.recipes.self_play import apply
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig, SeatsConfig
from sparring.setup.program import compile_program


def blocks(count: int) -> RunConfig:
    """Air combat against self, shadow, past and bots."""
    config = RunConfig(game="dogfight", play=PlayConfig(worlds=512, steps=16, blocks=count))
    return apply(config, "sparring")


def seats(count: int) -> RunConfig:
    """Agents that cover landmarks, each with a learner of its own."""
    return RunConfig(
        game="particles:spread",
        options=(f"agents={count}",),
        seats=SeatsConfig(share="seat"),
        play=PlayConfig(worlds=128, steps=25),
    )


def seeds(count: int) -> RunConfig:
    return replace(blocks(16), seeds=count)


AXES: dict[str, tuple[Callable[[int], RunConfig], tuple[int, ...]]] = {
    "blocks": (blocks, (4, 16, 64, 128)),
    "seats": (seats, (2, 3, 9, 27)),
    "seeds": (seeds, (1, 2, 4, 8)),
}


def measured(config: RunConfig) -> tuple[float, float, int]:
    """Seconds by the clock, seconds of all cores, and lines of the program as it is given to the compiler."""
    jax.clear_caches()
    compile_program.cache_clear()
    built = build(config)
    began, used = time.perf_counter(), cpu_seconds()
    state = first_state(built)
    knobs = jax.tree.map(jnp.asarray, built.knobs(0))
    lowered = compile_program(built.plan).lower(
        built.game, state, built.rosters, built.standing, knobs, jnp.asarray(built.seeds_R), jnp.asarray(0)
    )
    lowered.compile()
    return time.perf_counter() - began, cpu_seconds() - used, len(lowered.as_text().splitlines())


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--axes", nargs="*", default=list(AXES), choices=list(AXES))
    parser.add_argument("--recipes", nargs="*", default=[], choices=list(RECIPES))
    arguments = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    rows = [(axis, count, AXES[axis][0](count)) for axis in arguments.axes for count in AXES[axis][1]]
    rows += [(name, seeds, replace(RECIPES[name](), seeds=seeds)) for name in arguments.recipes for seeds in (1, 3)]
    measured(RunConfig(game="kuhn"))  # what only the first program of a process pays
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}")
    print(f"{'':12} {'':>6} {'seconds':>8} {'of cores':>9} {'lines':>7}")
    for what, count, config in rows:
        seconds, used, lines = measured(config)
        print(f"{what:12} {count:6} {seconds:8.1f} {used:9.1f} {lines:7,}", flush=True)


if __name__ == "__main__":
    main()
