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


def test_a_run_whose_checkpoints_are_gone_is_refused_and_stays_as_it_was(own_run, sparring):
    shutil.rmtree(own_run / "checkpoints")
    lines = (own_run / "metrics.jsonl").read_bytes()
    for words in (["resume", own_run], ["doctor", own_run]):
        said = sparring(*words).sentence()
        assert "The checkpoints are gone" in said and "10 iterations" in said and "from a copy" in said
    assert (own_run / "metrics.jsonl").read_bytes() == lines
    (own_run / "metrics.jsonl").unlink()  # the report still shows that the run came to an end
    (own_run / "timing.jsonl").unlink()
    assert "The checkpoints are gone" in sparring("resume", own_run).sentence()


def test_a_run_that_was_stopped_before_its_first_checkpoint_begins_again_and_says_so(own_run, sparring):
    shutil.rmtree(own_run / "checkpoints")
    for name in ("report.html", "curves.png", "timing.jsonl"):
        (own_run / name).unlink()
    lines = (own_run / "metrics.jsonl").read_text().splitlines(keepends=True)
    fourth = [i for i, line in enumerate(lines) if json.loads(line)["kind"] == "train"][3]
    (own_run / "metrics.jsonl").write_text("".join(lines[: fourth + 1]))  # the first checkpoint came after it
    said = sparring("resume", own_run)
    assert said.code == ReachedError.exit_code and "before its first checkpoint: it begins again" in said.err


@pytest.mark.parametrize(("name", "lost"), [("metrics.jsonl", "evaluations"), ("timing.jsonl", "how long they took")])
def test_lines_that_are_gone_are_told_by_doctor_and_by_resume_and_kept_in_mind(own_run, sparring, name, lost):
    (own_run / name).unlink()
    assert name in (said := sparring("doctor", own_run).sentence()) and "lacks 10 of the 10 iterations" in said
    said = sparring("resume", own_run, "--total-steps", 3200, "--quiet")
    assert said.code == ReachedError.exit_code and f"{name} lacks 10" in said.err and lost in said.err
    run = RunDir.open(own_run)
    assert run.read_manifest()["lines_from"] == 10
    (text,) = (line["text"] for line in run.metrics() if line.get("notice") == "lost")
    assert text.startswith(str(own_run / name))
    assert sparring("doctor", own_run).code == 0
    again = sparring("resume", own_run, "--total-steps", 3200, "--quiet")
    assert "lacks" not in again.err


def test_one_line_too_few_is_one_iteration(own_run, sparring):
    lines = (own_run / "metrics.jsonl").read_text().splitlines(keepends=True)
    gone = next(line for line in lines if json.loads(line)["kind"] == "train" and json.loads(line)["iteration"] == 3)
    (own_run / "metrics.jsonl").write_text("".join(line for line in lines if line != gone))
    assert "lacks 1 of the 10 iterations" in sparring("doctor", own_run).sentence()


def test_results_that_are_gone_are_told_also_where_no_league_needs_them(own_run, sparring):
    (own_run / "results.db").unlink()
    assert "results.db is gone: the games before iteration 10" in sparring("doctor", own_run).sentence()
