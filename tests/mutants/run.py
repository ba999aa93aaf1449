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
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from queue import Queue

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import conftest  # noqa: F401  its environment must be there before JAX is
from mutants import ROOT, SOURCE, Mutant, read_mutants  # the folder of this file is no package

PASSED, FAILED, NOTHING_SHOWN = 0, 1, 3
"""How pytest ends; whatever else it says, such as that a test is not there, shows nothing about the mutant."""
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
        shares = [tests[number :: wanted.workers] for number in range(wanted.workers)]
        for code, said in pool.map(lambda share: outcome(SOURCE.parent, share) if share else (PASSED, ""), shares):
            if code != PASSED:
                print(said, "The tests do not pass as the source is: mend that first.", sep="\n")
                return 1
        print(f"{len(tests)} tests pass as the source is, {time.monotonic() - began:.0f} s", flush=True)
        verdicts = list(pool.map(lambda one: tell(one, judged(one, copies)), mutants))
    caught = verdicts.count("caught")
    print(f"{caught} of {len(mutants)} mutants caught, {len(mutants) - caught} not, {time.monotonic() - began:.0f} s")
    return 0 if caught == len(mutants) else 1


def judged(mutant: Mutant, copies: Queue[Path]) -> str:
    """caught, missed, or why neither is known. The copy of the source is whole again afterwards."""
    copy = copies.get()
    path = copy / mutant.path.relative_to(SOURCE.parent)
    try:
        path.write_text(mutant.applied())
        code, said = outcome(copy, mutant.tests, limit=LIMIT)
    except ValueError as error:
        return str(error)
    finally:
        shutil.copy2(mutant.path, path)
        copies.put(copy)
    return {PASSED: "missed", FAILED: "caught"}.get(code, f"pytest ended with code {code}:\n{said}")


def outcome(source: Path, tests: Iterable[str], limit: float | None = None) -> tuple[int | None, str]:
    """How pytest ends with this source, and what it says; ended by a signal, the code is negative."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        process = PROCESSES.Process(target=run_tests, args=(source, tuple(tests), said))
        process.start()
        process.join(limit)
        process.kill()
        process.join()
        return process.exitcode, said.read_text()[-4000:]


def run_tests(source: Path, tests: Iterable[str], said: Path) -> None:
    """In a process of its own."""
    import pytest

    with said.open("w") as file:
        for place in (1, 2):
            os.dup2(file.fileno(), place)
    if "sparring" in sys.modules:
        print("Sparring was loaded before its mutant could be: no test would see it.")
        sys.exit(NOTHING_SHOWN)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(source)  # for processes that tests start
    sys.path.insert(0, str(source))
    # A mutant that only compiles more programs than its file is allowed is not caught.
    words = ["-x", "--tb=short", "--durations=0", "-p", "no:cacheprovider", "-p", "no:compilations"]
    sys.exit(pytest.main([*words, *(f"tests/{test}" for test in tests)]))


def tell(mutant: Mutant, verdict: str) -> str:
    lines = mutant.new.strip().splitlines() or [f"without {mutant.old.strip()}"]
    print(f"{verdict:7} {mutant.file}: {lines[0]}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
