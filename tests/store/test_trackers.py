"""Trackers hold what metrics.jsonl holds, in the forms of other tools, also after a resume."""

import csv
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparring.core.errors import ConfigError
from sparring.store.event_file import crc32c
from sparring.store.run_dir import RunDir
from sparring.store.trackers import check_trackers, tracking


def line(iteration: int, kind: str = "train", seed: int = 0, **metrics) -> dict:
    return {"kind": kind, "iteration": iteration, "seed": seed, "steps": 100 * (iteration + 1), **metrics}


@pytest.fixture
def run(tmp_path) -> RunDir:
    run = RunDir.create(tmp_path / "run")
    run.write_text(run.config_path, 'game = "kuhn"\nseeds = 2\n')
    return run


def write(run: RunDir, tracker: str, *lines: dict) -> None:
    with tracking(run, (tracker,)) as told:  # pyright: ignore[reportArgumentType]
        for one in lines:
            run.append_metrics([one])
            told([one])


def rows(run: RunDir, kind: str) -> list[dict[str, str]]:
    with (run.path / "tracking" / f"{kind}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_has_a_row_per_line_and_a_column_for_metrics_that_come_later(run):
    write(run, "csv", line(0, loss=0.5), line(0, seed=1, loss=float("nan")), line(1, loss=0.25, kl=0.1))
    write(run, "csv", line(2, loss=0.125), line(2, "eval", score=1.0), {"kind": "event", "iteration": 2, "text": "x"})
    found = rows(run, "train")
    assert [row["steps"] for row in found] == ["100", "100", "200", "300"]
    assert [row["loss"] for row in found] == ["0.5", "", "0.25", "0.125"]
    assert [row["kl"] for row in found] == ["", "", "0.1", ""]
    assert [row["score"] for row in rows(run, "eval")] == ["1.0"]


def test_a_table_of_a_resumed_run_has_each_iteration_once(run):
    write(run, "csv", line(0, loss=0.5), line(1, loss=0.4))
    run.forget_from(1)
    write(run, "csv", line(1, loss=0.3))
    assert [(row["iteration"], row["loss"]) for row in rows(run, "train")] == [("0", "0.5"), ("1", "0.3")]


def records(path: Path) -> list[bytes]:
    """The messages of an event file, each checksum proved."""
    data, found = path.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        for part, begin in ((data[:8], 8), (data[12 : 12 + size], 12 + size)):
            crc = crc32c(part)
            masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
            assert struct.unpack("<I", data[begin : begin + 4]) == (masked,)
        found.append(data[12 : 12 + size])
        data = data[16 + size :]
    return found


def test_event_files_are_those_of_tensorboard(run):
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    write(run, "tensorboard", line(0, loss=0.5), line(0, seed=1, loss=0.5), line(1, "eval", score=0.25, lost=None))
    run.forget_from(1)
    write(run, "tensorboard", line(1, loss=0.125))
    first, second = sorted((run.path / "tracking" / "tensorboard" / "seed_0").iterdir())
    version, began, *values = records(first)
    assert version.endswith(b"brain.Event:2") and began.endswith(b"\x10\x00\x3a\x02\x08\x01")
    # By hand: step 100; summary of 13 bytes { value of 11 bytes { tag "loss", 0.5 as a float } }.
    assert values[0][9:] == b"\x10\x64\x2a\x0d\x0a\x0b\x0a\x04loss\x15" + struct.pack("<f", 0.5)
    assert b"eval/score\x15" + struct.pack("<f", 0.25) in values[1] and b"lost" not in values[1]
    began, last = records(second)[1:]
    assert began[9:].startswith(b"\x10\x65"), "a resumed run takes back what lies beyond step 100"
    assert last[9:].startswith(b"\x10\xc8\x01"), "step 200"


def test_tensorboard_itself_reads_them(run):
    reader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="read by TensorBoard where it is"
    )
    write(run, "tensorboard", line(0, loss=0.5), line(1, loss=0.25))
    run.forget_from(1)
    write(run, "tensorboard", line(1, loss=0.125))
    found = reader.EventAccumulator(str(run.path / "tracking" / "tensorboard" / "seed_0")).Reload()
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(100, 0.5), (200, 0.125)]


def test_weights_and_biases_is_offline_and_told_every_number(run, monkeypatch):
    logged, begun, ended = [], {}, []
    fake = SimpleNamespace(
        log=logged.append, define_metric=lambda *_, **__: None, finish=lambda: ended.append(1)
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=lambda **words: begun.update(words) or fake))
    write(run, "wandb", line(0, loss=0.5), line(0, "eval", seed=1, score=1.0))
    assert begun["mode"] == "offline" and begun["config"]["game"] == "kuhn" and begun["name"] == "run" and ended
    assert logged == [{"steps": 100, "seed_0/loss": 0.5}, {"steps": 100, "seed_1/eval/score": 1.0}]


def test_what_is_not_there_is_refused_before_a_run_begins(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ConfigError, match="needs the package wandb, which is not here"):
        check_trackers(["wandb"])
    with pytest.raises(ConfigError, match="Unknown tracker 'tensorbord'"):
        check_trackers(["tensorbord"])
