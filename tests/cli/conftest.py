"""One tiny configuration for all commands, so that each program compiles once; and one run of it for each worker."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import PIPE, Popen
from typing import NamedTuple

import pytest

from sparring.cli.child import Ended
from sparring.cli.main import main

GAME = "matrix:rock_paper_scissors"
SHAPE = (
    "--worlds", "8", "--steps", "10", "--minibatches", "2", "--hidden", "8", "--eval-games", "8",
    "--self-play", "naive",
)  # fmt: skip
STEPS = 8 * 10 * 2
"""Steps of one iteration: worlds, steps and seats of the game."""
ITERATIONS, EVERY = 10, 4
LENGTH = ("--total-steps", str(ITERATIONS * STEPS), "--checkpoint-every", str(EVERY))


class Said(NamedTuple):
    code: int
    out: str
    err: str

    def sentence(self) -> str:
        """The one sentence of a refusal, which is all that was said but for notes before it."""
        assert self.code != 0 and self.out == "", self
        *notes, last = self.err.splitlines()
        assert all(line.startswith("note: ") for line in notes) and last.startswith("sparring: "), self.err
        assert self.err.endswith("\n") and "Traceback" not in self.err and "fault of" not in self.err, self.err
        return last.removeprefix("sparring: ").strip()


@pytest.fixture(scope="session", autouse=True)
def one_cache():
    """Commands keep compiled programs where the rest of the session does, also those in processes of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARRING_CACHE", os.environ["JAX_COMPILATION_CACHE_DIR"])
        yield


@pytest.fixture(scope="module", autouse=True)
def blank_pictures() -> Iterator[None]:
    """Drawing takes most of a tiny run whose programs are there already, and few tests look: those take `pictures`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparring.reports.page.draw_curves", lambda *_: b"blank")
        yield


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are drawn, as they are for people."""
    from sparring.reports.curves import draw_curves

    monkeypatch.setattr("sparring.reports.page.draw_curves", draw_curves)


@pytest.fixture
def sparring(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """sparring(word, ...) runs a command in this process."""

    def call(*words: object) -> Said:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run. Look, but do not write: take `own_run` for that."""
    runs = tmp_path_factory.mktemp("runs")
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as complaints:
        code = main(["train", GAME, *SHAPE, *LENGTH, "--runs", str(runs), "--name", "trained"])
    assert code == 0, complaints.getvalue()
    return runs / "trained"


@pytest.fixture
def own_run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "own"))


@pytest.fixture
def train_words(tmp_path: Path) -> list[str]:
    """The words of a tiny training command; the run goes to tmp_path/"runs"/"new"."""
    return ["train", GAME, *SHAPE, *LENGTH, "--runs", str(tmp_path / "runs"), "--name", "new"]


@pytest.fixture
def train_here(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """train_here(): from now on a comparison trains in this process, where no signal reaches it: one of its own loads
    everything and traces anew. The seconds that each training is said to have taken."""
    taken = 0.5

    def ended(words: list[str], *, prefix: str, quiet: bool) -> Ended:
        del prefix, quiet
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as told:
            code = main(words)
        *_, last = ["", *told.getvalue().split("\n")[:-1]]
        return Ended(code, last.removeprefix("sparring: "), taken, None, False)

    def start() -> float:
        monkeypatch.setattr("sparring.cli.compare.run_child", ended)
        return taken

    return start


@pytest.fixture
def launch():
    """launch(word, ...) starts a command in a process of its own; python=... runs that text instead, with the words."""
    started: list[Popen[str]] = []

    def start(*words: object, python: str = "") -> Popen[str]:
        command = [sys.executable, *(["-c", python] if python else ["-m", "sparring"]), *map(str, words)]
        started.append(Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
