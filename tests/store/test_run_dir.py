import json
import os
import subprocess
import sys

import numpy as np
import pytest

from sparring.core.errors import RunError
from sparring.store.results import ResultRow, Results, read_results
from sparring.store.run_dir import RunDir

AT = [{"kind": "event", "iteration": iteration} for iteration in range(4)]
CLOCK = {"iteration": 0, "seconds": 0.5, "steps_per_second": 100.0}


@pytest.fixture
def run(tmp_path):
    return RunDir.create(tmp_path / "runs" / "duel")


def test_a_new_run_can_be_opened_at_once_and_has_fixed_names(run):
    assert RunDir.open(run.path) == run
    assert [path.name for path in run.path.iterdir()] == ["manifest.json"]
    assert run.config_path == run.path / "config.toml"
    assert run.checkpoints_path == run.path / "checkpoints"


def test_a_run_that_is_there_is_not_replaced_without_force(run):
    (run.path / "config.toml").write_text("precious")
    with pytest.raises(RunError, match=r"There is a run at .*--name.*--force.*sparring resume"):
        RunDir.create(run.path)
    assert (run.path / "config.toml").read_text() == "precious"
    RunDir.create(run.path, force=True)
    assert [path.name for path in run.path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("manifest", [None, "{}", "[]", "not json", '{"format": "other"}'])
def test_a_foreign_directory_is_never_deleted_or_opened(tmp_path, manifest):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat.jpg").write_bytes(b"cat")
    if manifest is not None:
        (folder / "manifest.json").write_text(manifest)
    for force in (False, True):
        with pytest.raises(RunError, match="not a sparring run"):
            RunDir.create(folder, force=force)
    with pytest.raises(RunError, match="is not a run"):
        RunDir.open(folder)
    assert (folder / "cat.jpg").read_bytes() == b"cat"


def test_an_empty_directory_is_used_and_a_file_or_a_link_is_not(tmp_path, run):
    (tmp_path / "empty").mkdir()
    assert RunDir.open(RunDir.create(tmp_path / "empty").path).path == tmp_path / "empty"
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(run.path)
    for name in ("file", "link"):
        with pytest.raises(RunError, match="found a file or a link"):
            RunDir.create(tmp_path / name, force=True)
    assert RunDir.open(run.path) == run


def test_a_missing_run_names_the_nearest_that_is_a_run(run):
    (run.path.parent / "duet").mkdir()
    with pytest.raises(RunError, match=r"No run at .*duel2.*Did you mean .*duel\?"):
        RunDir.open(run.path.parent / "duel2")
    with pytest.raises(RunError, match=r"Runs in .*: duel$"):
        RunDir.open(run.path.parent / "zzz")
    with pytest.raises(RunError, match="has no runs"):
        RunDir.open(run.path / "nowhere" / "x")


def test_a_newer_format_is_refused(run):
    run.manifest_path.write_text('{"format": "sparring-run", "format_version": 2}')
    with pytest.raises(RunError, match=r"has format 2, expected 1 or less. Update"):
        RunDir.open(run.path)


def test_the_manifest_is_replaced_whole_and_keeps_its_format(run):
    run.write_manifest({"seed": np.int64(7), "format": "other", "loss": float("nan")})
    assert run.read_manifest() == {"format": "sparring-run", "format_version": 1, "seed": 7, "loss": None}
    assert [path.name for path in run.path.iterdir()] == ["manifest.json"]


def test_an_error_while_the_manifest_is_replaced_leaves_the_old_one(run, monkeypatch):
    run.write_manifest({"seed": 1})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(RunError, match=r"The disk is full: .*manifest\.json needs"):
            run.write_manifest({"seed": 2})
    assert run.read_manifest()["seed"] == 1
    assert [path.name for path in run.path.iterdir()] == ["manifest.json"]


def test_a_lost_manifest_is_a_sentence(run):
    run.manifest_path.unlink()
    with pytest.raises(RunError, match="cannot be read as the manifest"):
        run.read_manifest()


def test_metrics_keep_every_digit_and_write_null_for_what_json_lacks(run):
    third = 1 / 3
    run.append_metrics([{**AT[0], "loss": third, "kl": float("nan"), "ratio": float("inf")}])
    run.append_metrics([{**AT[1], "loss": np.float32(0.1), "shares": np.array([0.5, np.nan]), "count": np.int32(3)}])
    assert run.metrics_path.read_text().splitlines()[0] == (
        '{"kind": "event", "iteration": 0, "loss": 0.3333333333333333, "kl": null, "ratio": null}'
    )
    first, second = run.metrics()
    assert first["loss"] == third
    assert second == {**AT[1], "loss": float(np.float32(0.1)), "shares": [0.5, None], "count": 3}


@pytest.mark.parametrize("torn", ["{", '{"iteration": 2, "loss": 0.', '{"iteration": 2}', "x" * 10_000])
def test_a_torn_last_line_is_left_out_and_cut_off_by_the_next_write(run, torn):
    run.append_metrics(AT[:2])
    with run.metrics_path.open("a") as file:
        file.write(torn)
    assert run.metrics() == AT[:2]
    run.append_metrics(AT[2:3])
    assert run.metrics_path.read_text() == "".join(json.dumps(line) + "\n" for line in AT[:3])


def test_a_file_of_one_torn_line_becomes_empty(run):
    run.timing_path.write_text('{"iter')
    assert run.timing() == []
    run.append_timing(CLOCK)
    assert run.timing() == [CLOCK]


def test_damage_inside_the_file_is_a_sentence_with_the_line(run):
    run.append_metrics(AT[:1])
    run.metrics_path.write_text(run.metrics_path.read_text() + "rubbish\n{}\n")
    with pytest.raises(RunError, match=r"Line 2 of .*metrics.jsonl is damaged"):
        run.metrics()


TRAIN = {"kind": "train", "iteration": 0, "seed": 0, "steps": 40}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ([], "expected a JSON object"),
        ([["kind", "train"]], "expected a JSON object"),
        ("train", "expected a JSON object"),
        ({}, "'kind' must be a text, found null"),
        ({"kind": ["train"], "iteration": 0}, "'kind' must be a text"),
        ({"kind": "event", "iteration": "0"}, "'iteration' must be a whole number, found \"0\""),
        ({"kind": "event", "iteration": True}, "'iteration' must be a whole number, found true"),
        ({**TRAIN, "steps": 4.5}, "'steps' must be a whole number, found 4.5"),
        ({**TRAIN, "seed": 10**400}, "'seed' must be a whole number"),
        ({**TRAIN, "learner/entropy": "high"}, "'learner/entropy' must be a number, found \"high\""),
        ({**TRAIN, "learner/entropy": [1.0]}, "'learner/entropy' must be a number, found [1.0]"),
        ({**TRAIN, "kind": "eval", "return/a": {}}, "'return/a' must be a number, found {}"),
        ({"kind": "notice", "iteration": 0, "seed": 0, "learner": 3, "notice": "kl", "text": ""}, "'learner' must be"),
    ],
)
def test_a_line_of_a_wrong_type_is_named_with_its_number_and_what_is_wrong(run, line, told):
    run.metrics_path.write_text(f"{json.dumps(TRAIN)}\n{json.dumps(line)}\n")
    for read in (run.metrics, lambda: run.forget_from(1)):
        with pytest.raises(RunError, match=r"Line 2 of .*metrics.jsonl is damaged: .* Remove that line.") as caught:
            read()
        assert told in str(caught.value)


def test_a_line_of_timing_needs_its_numbers(run):
    run.timing_path.write_text(json.dumps({**CLOCK, "seconds": "fast"}) + "\n")
    with pytest.raises(RunError, match=r"Line 1 of .*timing.jsonl is damaged: 'seconds' must be a number"):
        run.timing()


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"seeds": "2"}, "'seeds' must be a whole number, found '2'"),
        ({"iterations": None}, "'iterations' must be a whole number"),
        ({"sides": "ab"}, "'sides' must be a list of texts"),
        ({"learners": [1]}, "'learners' must be a list of texts"),
        ({"packages": []}, "'packages' must be an object"),
        ({"alike": "no"}, "'alike' must be true or false"),
    ],
)
def test_a_fact_of_a_wrong_type_is_named_with_the_manifest(run, facts, told):
    run.write_manifest(facts)
    with pytest.raises(RunError, match=r"manifest.json is damaged: .* Restore it from a copy.") as caught:
        run.read_manifest()
    assert told in str(caught.value)


def test_a_fact_that_is_not_there_is_told_when_it_is_asked_for(run):
    assert run.read_manifest().get("sides") is None
    with pytest.raises(RunError, match=r"manifest.json does not say the 'sides' of the run"):
        run.read_manifest()["sides"]


def test_a_run_without_metrics_has_none(run):
    assert run.metrics() == []
    assert run.timing() == []


def test_a_resumed_run_forgets_lines_and_results_and_keeps_the_bytes_of_the_rest(run):
    run.append_metrics([{**line, "loss": 0.1 * line["iteration"]} for line in AT])
    kept = run.metrics_path.read_bytes().splitlines(keepends=True)[:2]
    run.append_timing(CLOCK)
    run.append_timing({**CLOCK, "iteration": 2})
    with Results(run.results_path) as results:
        results.append([ResultRow(at, 0, "k", 0, "a", "b", 1, 1, 0, 0, 0.0, 0.0, 1) for at in range(4)])
    run.forget_from(2)
    assert run.metrics_path.read_bytes() == b"".join(kept)
    assert run.timing() == [CLOCK]
    assert [row.iteration for row in read_results(run.results_path)] == [0, 1]
    run.forget_from(2)
    assert len(run.metrics()) == 2


def test_one_process_writes_and_a_second_gets_a_sentence_until_the_first_is_killed(run):
    code = (
        "import sys, time; from sparring.store.run_dir import RunDir\n"
        "with RunDir.open(sys.argv[1]).writing(): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(run.path)], stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "held\n"
            with pytest.raises(RunError, match=rf"Process {writer.pid} is writing the run"), run.writing():
                pass
            with pytest.raises(RunError, match="is writing the run"):
                RunDir.create(run.path, force=True)
            assert run.read_manifest()["format"] == "sparring-run"
        finally:
            writer.kill()
    with run.writing():
        assert (run.path / "writer.lock").read_text() == str(os.getpid())


def test_two_writers_in_one_process_exclude_each_other_and_an_error_frees_the_lock(run):
    with run.writing(), pytest.raises(RunError, match=f"Process {os.getpid()}"), run.writing():
        pass
    with pytest.raises(ZeroDivisionError), run.writing():
        _ = 1 / 0
    with run.writing():
        pass


def test_an_error_of_the_system_inside_writing_is_not_taken_for_an_error_of_the_lock(run):
    with pytest.raises(FileNotFoundError), run.writing():
        raise FileNotFoundError("somebody else's")


FULL_DISK = """
import resource, sys
from sparring.core.errors import RunError
from sparring.store.run_dir import RunDir

run = RunDir.create(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    for iteration in range(1000):
        run.append_metrics([{"iteration": iteration, "seat": seat} for seat in range(3)])
except RunError as error:
    print(iteration, error)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on the size of files")
def test_a_full_disk_is_a_sentence_and_leaves_whole_iterations_only(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path / "run")], capture_output=True, text=True)
    assert done.stderr == ""
    count, sentence = done.stdout.split(maxsplit=1)
    assert sentence.startswith("The disk is full: ")
    assert "metrics.jsonl needs" in sentence
    text = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert text.endswith("\n")
    assert [json.loads(line)["seat"] for line in text.splitlines()] == [0, 1, 2] * int(count)
