"""Settings of the whole test session, and what several rooms share. JAX reads its environment when it is imported."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.runner import pytest_runtest_protocol as set_up_called_and_torn_down
from _pytest.unraisableexception import gc_collect_iterations_key

from compilations import TESTS, Compilations, allowances

if TYPE_CHECKING:  # tests of rooms without JAX do not wait for it
    from sparring.games.game import Game
    from sparring.setup.build import Built
    from sparring.setup.config import RunConfig

# Compiled programs stay here between runs; xdist workers and subprocesses inherit the variables and share them.
PROGRAMS = Path(__file__).parent.parent / ".cache" / "test-programs"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(PROGRAMS))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
# Tests run a program a few times: unoptimised, and not split into parts that are compiled side by side, it compiles in
# a quarter of the time. Low bits of numbers differ, so a run that must repeat itself bit for bit does so once more as
# the compiler optimises by itself: OPTIMISED=1.
QUICK = [
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_llvm_disable_expensive_passes=true",
]
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):  # later compilers end a process that names this one
    QUICK.append("--xla_cpu_use_fusion_emitters=false")
own_flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag not in QUICK]
os.environ["XLA_FLAGS"] = " ".join([*own_flags, *([] if os.environ.get("OPTIMISED") else QUICK)])


# Nothing here outlives a power cut, and waiting for the disk some ten thousand times takes longer than many tests.
os.fsync = lambda _: None


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Compilations(), "compilations")
    config.option.loadscopereorder = False  # workers take files in the order below
    config.stash[gc_collect_iterations_key] = 1  # at the end all garbage is searched once, not five times over
    # Entries of the cache are not written in one piece: a worker that reads half of one compiles for itself.
    for verb in ("reading", "writing"):
        config.addinivalue_line("filterwarnings", f"ignore:Error {verb} persistent compilation cache:UserWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that compile much come first, so that no worker is left alone with a long one at the end."""
    allowed = allowances()
    items.sort(key=lambda item: -allowed.get(item.path.relative_to(TESTS).as_posix(), 0))


def pytest_collection_finish() -> None:
    """Tracing makes objects by the million and hardly a cycle: searching all that lives for garbage as often as Python
    does by itself took a fifth of the time of tests that trace much. What imports left is never searched again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    if "jax" in sys.modules:
        from lowering import keep_contexts

        keep_contexts()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """As pytest does it, with room for the calls within: its own are a hundred deep before a test begins."""
    from sparring.core.frames import roomy  # not before: mutants are put in the place of a source that nobody has read

    return roomy(set_up_called_and_torn_down)(item, nextitem)


MOST_MAPS = 45_000
"""Two thirds of the pieces of memory that Linux gives a process. Every compiled program takes some, and the one that
finds none ends the process without a word; no file takes more than a fifth."""


@pytest.fixture(autouse=True, scope="module")
def room_for_programs() -> Iterator[None]:
    """A worker that has compiled much forgets it after a file; what is needed again is read from the folder."""
    yield
    maps = Path("/proc/self/maps")
    if "jax" in sys.modules and maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        import jax

        jax.clear_caches()
        gc.collect()


@cache
def prepared(config: RunConfig, make_game: Callable[[], Game] | None = None) -> tuple[Built, Callable]:
    from sparring.setup.build import build
    from sparring.setup.program import compile_program

    built = build(config, game=make_game() if make_game else None)
    return built, compile_program(built.plan)


@pytest.fixture(scope="session")
def program() -> Callable[..., tuple[Built, Callable]]:
    """program(config, make_game=None) gives what was built and its compiled iteration, once for each pair.

    Without make_game, a function at the top of a module, the config's own game is built.
    """
    return prepared


@pytest.fixture(scope="session")
def tiny() -> RunConfig:
    """The canonical small shape: vary it as little as a test allows, for each variation compiles for seconds."""
    from sparring.learn.config import PPOConfig
    from sparring.nets.config import NetConfig
    from sparring.setup.config import EvalConfig, PlayConfig, RunConfig

    return RunConfig(
        total_steps=10_000,
        evaluation=EvalConfig(eval_games=32),
        play=PlayConfig(worlds=4, steps=4),
        net=NetConfig(hidden=(8,)),
        ppo=PPOConfig(epochs=2, minibatches=2),
    )
