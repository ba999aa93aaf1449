"""Signals are heard while the main thread runs no Python, as in a compilation. A slow hash stands for one here."""

import os
import signal
import sys
from collections.abc import Iterator
from time import sleep

import pytest

from sparring.cli.main import INTERRUPTED, STOPPED
from sparring.cli.signals import ONE_WISH

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")

SLOW = """
import hashlib, sys
from sparring.cli.main import STOPPED
from sparring.cli.signals import heard

rounds, words = int(sys.argv[1]), sys.argv[2:]
with heard(as_json="json" in words) as wishes:
    if "begun" in words:
        wishes.stop()
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)
    open(words[0], "w").write(f"{wishes.stop()} {wishes.save()} {wishes.save()}")
assert "jax" not in sys.modules
sys.exit(STOPPED if wishes.stopping else 0)
"""
FOR_EVER, A_SECOND = 10**9, 10**6


@pytest.fixture(autouse=True)
def a_terminal() -> Iterator[None]:
    """Who runs the tests by nohup ignores SIGHUP, and processes inherit that: here they do not."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def slow(launch, tmp_path):
    """slow(rounds, word, ...) starts the process and waits until its handlers are there."""

    def start(rounds: int, *words: str):
        process = launch(rounds, tmp_path / "after", *words, python=SLOW)
        assert process.stdout.readline() == "ready\n"
        return process

    return start


def ends(process, code: int) -> str:
    out, err = process.communicate(timeout=20)
    assert process.returncode == code, (out, err)
    return out + err


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_first_signal_is_answered_at_once_and_the_second_ends_the_process(slow, tmp_path, name):
    process = slow(FOR_EVER, "begun")
    process.send_signal(getattr(signal, name))
    said = process.stderr.readline()
    assert said == f"{name}: stopping after this iteration; again to stop now, at the last checkpoint\n"
    assert process.poll() is None
    sleep(ONE_WISH)
    process.send_signal(signal.SIGINT)
    assert ends(process, INTERRUPTED) == "sparring: SIGINT: stopped at once, at the last checkpoint\n"
    assert not (tmp_path / "after").exists()


def test_a_signal_that_arrives_twice_is_one_wish(slow, tmp_path):
    """From the terminal, and from a program between that passes it on."""
    process = slow(A_SECOND, "begun")
    process.send_signal(signal.SIGINT)
    assert "again to stop now" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert ends(process, STOPPED) == ""
    assert (tmp_path / "after").read_text() == "True False False"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_before_the_first_iteration_one_signal_is_enough(slow, name):
    process = slow(FOR_EVER, "json")
    process.send_signal(getattr(signal, name))
    said = ends(process, STOPPED)
    assert f"sparring: {name}: stopped before the first iteration; nothing is lost" in said
    assert f'"exit_code": {STOPPED}' in said


def test_a_signal_to_save_is_told_to_the_loop_once_and_stops_nothing(slow, tmp_path):
    process = slow(A_SECOND, "begun")
    process.send_signal(signal.SIGUSR1)
    assert "SIGUSR1: saving a checkpoint after this iteration, then going on" in ends(process, 0)
    assert (tmp_path / "after").read_text() == "False True False"


def test_a_hang_up_that_is_ignored_stays_ignored(launch, tmp_path):
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"  # as nohup does
    process = launch(A_SECOND, tmp_path / "after", "begun", python=ignoring + SLOW)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGHUP)
    assert ends(process, 0) == ""


def test_a_terminal_that_is_gone_does_not_keep_a_run_from_saving(tmp_path):
    import pty
    from subprocess import PIPE, Popen

    ours, theirs = pty.openpty()
    script = SLOW.replace("    open(", "    print('a line of progress', file=sys.stderr, flush=True)\n    open(")
    words = [sys.executable, "-c", script, str(A_SECOND), str(tmp_path / "after"), "begun"]
    with Popen(words, stdin=theirs, stderr=theirs, stdout=PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        os.close(theirs)
        os.close(ours)  # whoever writes to the terminal now fails
        process.send_signal(signal.SIGHUP)
        assert process.wait(20) == STOPPED
    assert (tmp_path / "after").read_text() == "True False False"


def test_handlers_are_as_they_were_afterwards():
    from sparring.cli.signals import heard

    before = signal.getsignal(signal.SIGTERM)
    with heard() as wishes:
        assert signal.getsignal(signal.SIGTERM) != before and not wishes.stop()
    assert signal.getsignal(signal.SIGTERM) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_command_that_has_nothing_to_save_ends_at_once(launch):
    script = SLOW.replace("import heard", "import Interruptions, listening").replace(
        'heard(as_json="json" in words)', "listening(Interruptions(), [2])"
    )
    process = launch(FOR_EVER, "nowhere", python=script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert ends(process, INTERRUPTED) == "sparring: interrupted\n"
