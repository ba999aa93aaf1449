"""Shows that the tests bite: every mutant, a careless edit of the source, must make a test named with it fail.

    make mutants                                  all of them
    .venv/bin/python tests/mutants/run.py losses  those whose file or test has this word in it

First the tests must pass as the source is, or their failing would show nothing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

sys.path.insert(0, str(Path(__file__).parent))

from mutants import ROOT, SOURCE, Mutant, read_mutants  # the folder of this file is no package

PASSED, FAILED = 0, 1
"""How pytest ends; whatever else it says, such as that a test is not there, shows nothing about the mutant."""
LIMIT = 300


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("words", nargs="*", help="only mutants whose file or test has one of these words in it")
    asked.add_argument("--workers", type=int, default=2)
    wanted = asked.parse_args()
    words = wanted.words or [""]
    mutants = [one for one in read_mutants() if any(word in f"{one.file} {one.tests}" for word in words)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(wanted.workers) as pool:
        copies: Queue[Path] = Queue()
        for number in range(wanted.workers):
            copies.put(Path(shutil.copytree(SOURCE.parent, Path(folder) / str(number))))
        tests = sorted({test for one in mutants for test in one.tests})
        shares = [tests[number :: wanted.workers] for number in range(wanted.workers)]
        for code, said in pool.map(lambda share: pytest(SOURCE.parent, share) if share else (PASSED, ""), shares):
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
        code, said = pytest(copy, mutant.tests)
    except (ValueError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        shutil.copy2(mutant.path, path)
        copies.put(copy)
    return {PASSED: "missed", FAILED: "caught"}.get(code, f"pytest ended with code {code}:\n{said}")


def pytest(source: Path, tests: Iterable[str]) -> tuple[int, str]:
    # No bytecode is written: that of a mutant could be taken for that of the source.
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["-x", "--tb=short", "--durations=0", "-p", "no:cacheprovider", *(f"tests/{test}" for test in tests)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=LIMIT,
    )  # fmt: skip
    return done.returncode, done.stdout[-3000:] + done.stderr[-1000:]


def tell(mutant: Mutant, verdict: str) -> str:
    lines = mutant.new.strip().splitlines() or [f"without {mutant.old.strip()}"]
    print(f"{verdict:7} {mutant.file}: {lines[0]}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
