"""Runs that do not reach their end in one go: signals, kill -9, full disks. Nothing is lost or different."""

import json
import signal
import time
from pathlib import Path
from subprocess import Popen

import pytest

from sparring.cli.main import STOPPED
from sparring.store.run_dir import RunDir

resource = pytest.importorskip("resource", reason="limits and signals of POSIX")

KILLED_AT_SEVEN = """
import os, signal, sys
from sparring.cli.main import main
from sparring.cli.watch import Watch
show = Watch.__call__
def die(self, moment):
    show(self, moment)
    if moment.iteration == 7:
        os.kill(os.getpid(), signal.SIGKILL)
Watch.__call__ = die
sys.exit(main(sys.argv[1:]))
"""


def wait_for_iterations(run: Path, process: Popen, count: int) -> None:
    """Until so many iterations are recorded; compiling may take its time."""
    metrics, until = run / "metrics.jsonl", time.monotonic() + 120
    while not metrics.exists() or metrics.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)


def wait_for_checkpoint(run: Path, process: Popen) -> int:
    """Until one is there; the iterations done by then."""
    until = time.monotonic() + 120
    while True:
        if found := [int(path.name) for path in (run / "checkpoints").glob("0*")]:
            return found[0]
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)


def same_run(one: Path, other: Path) -> bool:
    """The same metrics, byte for byte, and the same results of all games."""
    from sparring.store.results import read_results

    same_lines = (one / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    return same_lines and read_results(one / "results.db") == read_results(other / "results.db")


def test_a_run_killed_and_resumed_ends_like_one_that_never_stopped(sparring, launch, train_words, tmp_path, trained):
    run = tmp_path / "runs" / "new"
    process = launch(*train_words, python=KILLED_AT_SEVEN)
    process.communicate(timeout=200)
    assert process.returncode == -signal.SIGKILL
    assert not same_run(run, trained)
    said = sparring("resume", run)
    assert said.code == 0
    assert "Going on after iteration 4 of 10." in said.err
    assert "iteration 5/10" in said.err and "iteration 4/10" not in said.err, "from the checkpoint of iteration 4"
    assert same_run(run, trained)


def test_a_run_without_evaluation_says_how_to_have_one_and_resume_plays_it(sparring, train_words, tmp_path, trained):
    run = tmp_path / "runs" / "new"
    said = sparring(*train_words, "--quiet", "--eval-games", 0)
    assert said.code == 0 and "Not evaluated yet." in said.out and f"sparring eval {run}" in said.out
    assert "against" not in said.out, "no table"
    assert f'<code class="command">sparring eval {run}</code>' in (run / "report.html").read_text()
    assert not same_run(run, trained)
    said = sparring("resume", run, "--eval-games", 8)
    assert said.code == 0 and "only the final evaluation is left" in said.err and "random" in said.out
    assert RunDir.open(run).metrics()[-1] == RunDir.open(trained).metrics()[-1], "the same evaluation"
    assert "has done 1,600 steps" in sparring("resume", run).sentence()


def test_a_signal_stops_a_run_soon_cleanly_and_with_advice(sparring, launch, train_words, tmp_path):
    """One for all: test_signals.py shows that others are heard alike."""
    run = tmp_path / "runs" / "new"
    process = launch(*train_words, "--total-steps", 10**9, "--checkpoint-every", 10**6, "--quiet")
    wait_for_iterations(run, process, 3)
    process.send_signal(signal.SIGUSR1)
    saved = wait_for_checkpoint(run, process)
    wait_for_iterations(run, process, saved + 2)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == STOPPED, err
    assert time.monotonic() - began < 30, "seconds on a quiet machine"
    advice = f"exit code {STOPPED}; nothing is lost. Go on: sparring resume {run}"
    assert "SIGTERM" in err and advice in out.splitlines()[-1]
    done = RunDir.open(run).metrics()[-1]["iteration"] + 1
    assert (run / "checkpoints" / f"{done:06d}").is_dir(), "the checkpoint is of the last iteration"
    assert "stopped before its first evaluation" in (run / "report.html").read_text()
    told = json.loads(sparring("resume", run, "--total-steps", (done + 2) * 160, "--json").out)
    assert (told.get("iteration"), told.get("finished")) == (done + 2, True), told


@pytest.fixture
def full_disk_after():
    """full_disk_after("module.Class.method", calls): from that call on no file grows, until what it returns is called.

    The limit raises what a full disk raises (EFBIG in place of ENOSPC), and only for this process.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler, patch = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), pytest.MonkeyPatch()

    def free() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        patch.undo()

    def fill(place: str, calls: int):
        from pkgutil import resolve_name

        owner, _, name = place.rpartition(".")
        original, count = getattr(resolve_name(owner), name), 0

        def limited(*arguments, **options):
            nonlocal count
            count += 1
            if count >= calls:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
            return original(*arguments, **options)

        patch.setattr(place, limited)
        return free

    yield fill
    free()
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize(
    ("place", "calls"),
    [
        ("sparring.training.train.save", 2),
        ("sparring.store.run_dir.RunDir.append_metrics", 7),
        ("sparring.store.run_dir.RunDir.append_timing", 1),
        ("sparring.store.results.Results.append", 2),
    ],
)
def test_a_full_disk_is_named_and_once_freed_the_run_ends_as_it_would_have(
    sparring, full_disk_after, train_words, tmp_path, trained, place, calls
):
    run = tmp_path / "runs" / "new"
    free = full_disk_after(place, calls)
    said = sparring(*train_words, "--quiet")
    free()
    assert said.code == 3
    assert "disk" in said.sentence() and f"`sparring resume {run}`" in said.sentence()
    assert not list(run.rglob(".tmp-*")), "nothing half written"
    assert sparring("resume", run, "--quiet").code == 0
    assert same_run(run, trained)


def test_a_disk_that_is_full_for_the_report_does_not_lose_the_run(sparring, full_disk_after, train_words, tmp_path):
    run = tmp_path / "runs" / "new"
    free = full_disk_after("sparring.reports.page.replace_file", 1)
    said = sparring(*train_words, "--quiet")
    free()
    assert said.code == 3 and f"`sparring eval {run}`" in said.sentence()
    assert not (run / "curves.png").exists() and not list(run.rglob(".tmp-*"))
    assert sparring("eval", run, "--games", 8).code == 0


def test_a_full_disk_ends_a_process_of_its_own_with_code_3(launch, train_words):
    process = launch(
        4000,
        *train_words,
        python="import resource, sys; limit = int(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
        "from sparring.cli.main import main; sys.exit(main(sys.argv[2:]))",
    )
    out, err = process.communicate(timeout=200)
    assert (process.returncode, out) == (3, "")
    assert "Traceback" not in err and "free some space" in err.splitlines()[-1]
