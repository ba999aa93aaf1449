"""Shows that the tests bite: every mutant, a careless edit of the source, must make a test named with it fail.

    make mutants                                  all of them
    .venv/bin/python tests/mutants/run.py losses  those whose file or test has this word in it

First the tests must pass as the source is, or their failing would show nothing.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Container, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import conftest  # noqa: F401  its environment must be there before JAX is
from mutants import ROOT, SOURCE, Mutant, read_mutants  # the folder of this file is no package

PASSED, FAILED, NOTHING_SHOWN, NOT_THERE = 0, 1, 3, 5
"""How pytest ends; whatever else it says, such as that no test is there, shows nothing about the mutant."""
LEFT_OUT = "left out"
LIMIT = 300
PROCESSES = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
"""Every mutant has a process of its own; where processes can be forked, from one that has loaded JAX already."""


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("words", nargs="*", help="only mutants whose file or test has one of these words in it")
    asked.add_argument("--workers", type=int, default=2)
    wanted = asked.parse_args()
    words = wanted.words or [""]
    mutants = [one for one in read_mutants() if any(word in f"{one.file} {one.tests}" for word in words)]
    # No bytecode is written: that of a mutant could be taken for that of the source. Nor are plugins looked for, which
    # would have to be loaded before JAX.
    os.environ.update(PYTHONDONTWRITEBYTECODE="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    PROCESSES.set_forkserver_preload(["numpy", "jax", "equinox", "optax", "pytest"])
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(wanted.workers) as pool:
        copies: Queue[Path] = Queue()
        for number in range(wanted.workers):
            copies.put(Path(shutil.copytree(SOURCE.parent, Path(folder) / str(number))))
        tests = sorted({test for one in mutants for test in one.tests})
        shares = filter(None, [tests[number :: wanted.workers] for number in range(wanted.workers)])
        passed: set[str] = set()
        for found in pool.map(lambda share: outcome(SOURCE.parent, share), shares):
            if found.code not in (PASSED, NOT_THERE):
                print(found.said, "The tests do not pass as the source is: mend that first.", sep="\n")
                return 1
            passed |= found.passed
        print(f"{len(passed)} tests pass as the source is, {time.monotonic() - began:.0f} s", flush=True)
        verdicts = list(pool.map(lambda one: tell(one, judged(one, copies, passed)), mutants))
    caught, out = verdicts.count("caught"), verdicts.count(LEFT_OUT)
    left_out = f", {out} left out, whose tests are skipped here" if out else ""
    missed = len(mutants) - out - caught
    print(f"{caught} of {len(mutants)} mutants caught, {missed} not{left_out}, {time.monotonic() - began:.0f} s")
    return 1 if missed else 0


def judged(mutant: Mutant, copies: Queue[Path], passed: Container[str]) -> str:
    """caught, missed, left out, or why none of it is known. The copy of the source is whole again afterwards."""
    tests = [test for test in mutant.tests if test in passed]
    if not tests:
        return LEFT_OUT
    copy = copies.get()
    path = copy / mutant.path.relative_to(SOURCE.parent)
    try:
        path.write_text(mutant.applied())
        found = outcome(copy, tests, limit=LIMIT)
    except ValueError as error:
        return str(error)
    finally:
        shutil.copy2(mutant.path, path)
        copies.put(copy)
    return {PASSED: "missed", FAILED: "caught"}.get(found.code, f"pytest ended with code {found.code}:\n{found.said}")


class Outcome(NamedTuple):
    code: int | None
    """How pytest ended; ended by a signal, it is negative."""
    said: str
    passed: set[str]


def outcome(source: Path, tests: Iterable[str], limit: float | None = None) -> Outcome:
    """Of these tests with this source."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = PROCESSES.Process(target=run_tests, args=(source, tuple(tests), folder))
        process.start()
        process.join(limit)
        process.kill()
        process.join()
        passed = folder / "passed"
        names = set(passed.read_text().splitlines()) if passed.exists() else set()
        return Outcome(process.exitcode, (folder / "said").read_text()[-4000:], names)


def run_tests(source: Path, tests: Sequence[str], folder: Path) -> None:
    """In a process of its own."""
    import pytest

    with (folder / "said").open("w") as file:
        for place in (1, 2):
            os.dup2(file.fileno(), place)
    if "sparring" in sys.modules:
        print("Sparring was loaded before its mutant could be: no test would see it.")
        sys.exit(NOTHING_SHOWN)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(source)  # for processes that tests start
    sys.path.insert(0, str(source))
    named = Named(tests)
    # A mutant that only compiles more programs than its file is allowed is not caught.
    words = ["-x", "--tb=short", "--durations=0", "-p", "no:cacheprovider", "-p", "no:compilations"]
    code = pytest.main([*words, *sorted({f"tests/{test.partition('::')[0]}" for test in tests})], plugins=[named])
    (folder / "passed").write_text("\n".join(named.passed))
    sys.exit(code)


class Named:
    """Of the files that pytest reads, the tests with these names alone: a file may be left out as a whole, because what
    it needs is not installed, and then a test in it could not be asked for by its name."""

    def __init__(self, tests: Iterable[str]) -> None:
        self.tests, self.passed = frozenset(tests), set[str]()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if name_of(item.nodeid) in self.tests]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(name_of(report.nodeid))


def name_of(node: str) -> str:
    return node.partition("[")[0].removeprefix("tests/")


def tell(mutant: Mutant, verdict: str) -> str:
    lines = mutant.new.strip().splitlines() or [f"without {mutant.old.strip()}"]
    print(f"{verdict:7} {mutant.file}: {lines[0]}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
