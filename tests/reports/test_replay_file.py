"""Replays as files: what is written is read back the same, and everything else is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sparring.core.errors import GameError, RunError
from sparring.core.scene import Body, Line, Scene, Wall
from sparring.evaluation.ending import Ending
from sparring.reports.replay import Replay, read_replay, write_replay

REPLAY = Replay(
    game="dogfight",
    sides=("blue", "red"),
    players=("learned", "chase"),
    ending=Ending(steps=1, finished=True, outcome_K=(1.0, -1.0), cause_K=("gun", "gun"), return_K=(1.0, -1.0)),
    fps=10.0,
    scenes=(
        Scene(bodies=(Body(name="blue", at=(0.5, -2.0, 3.0), side=0, shape="aircraft", towards=(1.0, 0.0, 0.0)),)),
        Scene(
            bodies=(Body(name="blue", at=(1.5, 0.0, 3.0), side=0, shape="aircraft", level=0.25, gone=True, label="F"),),
            lines=(Line(start=(0.0, 0.0, 1.0), end=(0.0, 0.0, 2.0), side=1),),
            walls=(Wall((-1.0, 0.5), (2.0, 1.5)),),
            low=(-5.0, -5.0, 0.0),
            caption="time 1 s",
        ),
    ),
)


@pytest.fixture
def file(tmp_path) -> Path:
    write_replay(REPLAY, tmp_path / "new" / "a.jsonl")
    return tmp_path / "new" / "a.jsonl"


def test_what_is_written_is_read_back_the_same(file):
    assert read_replay(file) == REPLAY
    header, *scenes = [json.loads(line) for line in file.read_text().splitlines()]
    assert (header["format"], header["frames"], header["players"]) == ("sparring-replay", 2, ["learned", "chase"])
    assert "scenes" not in header and [scene["caption"] for scene in scenes] == ["", "time 1 s"]


def test_files_from_before_there_were_walls_and_labels_are_read(file):
    header, *scenes = [json.loads(line) for line in file.read_text().splitlines()]
    for scene in scenes:
        del scene["walls"]
        for body in scene["bodies"]:
            del body["label"]
    file.write_text("".join(json.dumps(line) + "\n" for line in (header, *scenes)))
    read = read_replay(file).scenes[1]
    assert read.walls == () and read.bodies[0].label == ""
    assert read.lines == REPLAY.scenes[1].lines


def test_six_digits_of_a_number_are_kept(tmp_path):
    (scene, _) = REPLAY.scenes
    body = replace(scene.bodies[0], at=(12345.678, 0.1 + 2**-30, -1e-9 / 3))
    write_replay(replace(REPLAY, scenes=(replace(scene, bodies=(body,)),)), tmp_path / "a.jsonl")
    assert read_replay(tmp_path / "a.jsonl").scenes[0].bodies[0].at == (12345.7, 0.1, -3.33333e-10)


def test_a_scene_that_is_not_finite_is_the_fault_of_its_game(tmp_path):
    (scene, _) = REPLAY.scenes
    broken = replace(scene, bodies=(replace(scene.bodies[0], at=(float("nan"), 0.0, 0.0)),))
    with pytest.raises(GameError, match="A scene of dogfight has a number that is not finite"):
        write_replay(replace(REPLAY, scenes=(scene, broken)), tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


def edited(file: Path, line: int, **changes: object) -> None:
    lines = [json.loads(text) for text in file.read_text().splitlines()]
    lines[line] = {**lines[line], **changes}
    file.write_text("".join(json.dumps(text) + "\n" for text in lines))


@pytest.mark.parametrize(
    ("line", "changes", "told"),
    [
        (0, {"format": "other"}, "is not a replay"),
        (0, {"format_version": 2}, "has format 2, expected 1. Update sparring"),
        (0, {"frames": 3}, "is not whole: expected 3 scenes, found 2"),
        (0, {"author": "me"}, "is damaged: line 1: unknown setting 'author'"),
        (0, {"players": ["learned"]}, "a player for each side"),
        (0, {"fps": 0}, "a positive fps, found 0"),
        (0, {"fps": "fast"}, "line 1: fps must be a number"),
        (0, {"ending": {"steps": 1}}, "line 1: ending.finished is missing"),
        (1, {"bodies": 3}, "line 2: bodies must be a list"),
        (2, {"bodies": [{"name": "a"}]}, "line 3: bodies[0].at is missing"),
        (2, {"bodies": [{"name": "a", "at": [1, 2, 3], "shape": "boat"}]}, "bodies[0].shape must be one of"),
        (2, {"bodies": [{"name": "a", "at": [1, 2]}]}, "two coordinates, or all with three, found [2, 3]"),
        (2, {"bodies": [{"name": "a", "at": [1, 2, 3], "up": [0, 1]}]}, "found [2, 3]"),
        (1, {"lines": [{"start": [0, 0], "end": [1, 1]}]}, "found [2, 3]"),
        (1, {"walls": [{"low": [0, 0], "high": [1, 1, 1]}]}, "corners of two coordinates, found [2, 3]"),
        (1, {"walls": [{"low": [0, 0]}]}, "line 2: walls[0].high is missing"),
        (2, {"bodies": [{"name": "a", "at": [1, 2, float("nan")]}]}, "line 3 is not a JSON object"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_with_what_is_wrong(file, line, changes, told):
    edited(file, line, **changes)
    with pytest.raises(RunError) as refusal:
        read_replay(file)
    assert told in str(refusal.value) and str(file) in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is not a replay"),
        (b"\x89PNG\xff\xfe", "it is not text"),
        (b"[1, 2]\n", "is not a replay"),
        (b"[" * 100_000, "is not a replay"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, content, told):
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(RunError, match=told):
        read_replay(tmp_path / "a.jsonl")


def test_a_file_that_was_cut_short_is_refused(file):
    whole = file.read_bytes()
    for length in (len(whole) - 20, whole.rindex(b"\n", 0, -1) + 1, whole.index(b"\n") + 1):
        file.write_bytes(whole[:length])
        with pytest.raises(RunError, match=r"is not whole|is damaged"):
            read_replay(file)
    file.write_bytes(whole.replace(b"3.0]", b"1e999]"))
    with pytest.raises(RunError, match="line 2 is not a JSON object"):
        read_replay(file)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RunError, match=r"Cannot read the replay .*none\.jsonl: No such file"):
        read_replay(tmp_path / "none.jsonl")
