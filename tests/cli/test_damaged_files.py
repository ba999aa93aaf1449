"""Whatever a file of a run holds, commands that read it answer with a sentence, never with a fault of ours.

What would be played or trained is left out: a command that comes so far has read all it needs.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparring.cli.main import FAILED, sentence
from sparring.core.errors import SparringError
from sparring.reports.page import write_report
from sparring.store.checkpoints import load, save
from sparring.store.run_dir import RunDir


class ReachedError(SparringError):
    exit_code = 99


@pytest.fixture(autouse=True)
def nothing_is_played(monkeypatch):
    def reached(*_, **__):
        raise ReachedError("All that is needed was read.")

    for place in (
        "sparring.training.runs.train",
        "sparring.training.own_evaluation.examination",
        "sparring.studies.compare.play_pairs",
        "sparring.evaluation.tournament.tournament",
    ):
        monkeypatch.setattr(place, reached)
    monkeypatch.setattr("sparring.cli.doctor.examine", lambda: ({}, []))


def answers(run: Path, sparring) -> Iterator[tuple[str, int, str]]:
    """What every reader of a run says: its name, the exit code and the sentence."""
    for words in (
        ["doctor", run],
        ["eval", run, "--games", 2],
        ["resume", run, "--total-steps", 3200, "--quiet"],
        ["tournament", f"{run}@all", "random"],
    ):
        said = sparring(*words)
        yield words[0], said.code, said.err
    from sparring.studies.compare import compared

    for name, read in (
        ("report", lambda: write_report(RunDir.open(run))),
        ("compare", lambda: compared({"naive": run})),
    ):
        try:
            read()
        except Exception as error:
            told, code = sentence(error)
            yield name, code, told
        else:
            yield name, 0, ""


LINES = ["[]", '"x"', "{}", '{"kind": "train", "iteration": "0"}', '{"kind": "eval", "iteration": 0, "seed": []}']
DAMAGE = {
    "manifest.json": ["[]", '{"format": "sparring-run", "format_version": 1}', "\x00\xff"],
    "metrics.jsonl": [f"{line}\n" for line in LINES],
    "timing.jsonl": ["[]\n", '{"iteration": 0, "seconds": "x"}\n'],
    "config.toml": ["seed = []", "\x00\xff"],
    "results.db": ["", "x" * 5000],
    "checkpoints/000010/checkpoint.json": ["[]", "{}", ""],
}
HARMLESS = [("results.db", "")]
"""Without a league nothing follows from results, and none are no damage."""


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_told_by_every_command_that_reads_it(trained, tmp_path, sparring, name):
    for number, text in enumerate(DAMAGE[name]):
        run = Path(shutil.copytree(trained, tmp_path / str(number)))
        (run / name).write_bytes(text.encode("latin1"))
        told = list(answers(run, sparring))
        assert [one for one in told if one[1] == FAILED or "fault of" in one[2]] == []
        refusals = [one for one in told if one[1] not in (0, ReachedError.exit_code)]
        assert bool(refusals) == ((name, text) not in HARMLESS), (text, told)
        assert all(Path(name).name in one[2] or "not a run" in one[2] for one in refusals), (text, refusals)


WRONG = [
    ("players", [{"name": "../x", "group": 0, "row": 0}]),
    ("players", [{"name": "learner", "group": 7, "row": "first"}]),
    ("seeds", [[0]]),
    ("opposition", {"leagues": 3}),
    ("population", [1]),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_whole_checkpoint_that_no_run_would_have_written_is_told(own_run, sparring, key, value):
    found = load(own_run / "checkpoints")
    meta = json.loads(json.dumps({**found.meta, key: value}))
    save(own_run / "checkpoints", found.iteration, found.arrays, meta, keep=1)
    told = list(answers(own_run, sparring))
    assert [one for one in told if one[1] == FAILED or "fault of" in one[2]] == []
    assert any("not as a run of this version would have written it" in one[2] for one in told), told
