"""A package comes back as it was written; whatever is not one is refused with a sentence, and runs nothing."""

import json
import pickle
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from sparring.core.errors import RunError
from sparring.store.packages import FORMAT, PlayerMeta, has_checksum, read_package, write_package

META = PlayerMeta(
    game="kuhn", options=("cards=3",), net={"hidden": [8]}, player="learner", sides=(0, 1), steps=640, run="first"
)
ARRAYS = {
    "trunk.weight_IO": np.arange(6, dtype=np.float32).reshape(2, 3),
    "trunk.count": np.asarray(7, np.int32),
    "trunk.on": np.asarray([True, False]),
}


def written(path: Path, *, arrays=None, header=None, **meta) -> Path:
    """A file as `write_package` would never write it."""
    told = {"format": FORMAT, "version": "1", "player": json.dumps({**asdict(META), **meta})}
    path.write_bytes(save(ARRAYS if arrays is None else arrays, {**told, **(header or {})}))
    return path


def refused(path: Path) -> str:
    with pytest.raises(RunError) as caught:
        read_package(path)
    sentence = str(caught.value)
    assert str(path) in sentence and sentence.endswith(".") and "\n" not in sentence
    return sentence


def test_a_package_comes_back_as_it_was_written_shapes_and_types_included(tmp_path):
    path = write_package(tmp_path / "players" / "one.safetensors", ARRAYS, META)
    arrays, meta = read_package(path)
    assert meta == META
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert (arrays[name].shape, arrays[name].dtype) == (array.shape, array.dtype)
        np.testing.assert_array_equal(arrays[name], array)
    assert [file.name for file in path.parent.iterdir()] == ["one.safetensors"]


def test_a_file_that_was_written_by_hand_in_the_same_format_is_read(tmp_path):
    assert read_package(written(tmp_path / "a.safetensors"))[1] == META


class Bomb:
    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


@pytest.mark.parametrize("name", ["weights.pt", "weights.pkl", "weights.safetensors"])
def test_a_pickle_is_refused_under_any_name_and_never_run(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
    assert "expected a sparring-player file" in refused(tmp_path / name)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 8 + b"{}", b"PK\x03\x04" + bytes(100), bytes(64)])
def test_files_of_other_kinds_are_refused(tmp_path, content):
    (tmp_path / "x.safetensors").write_bytes(content)
    assert "no safetensors header" in refused(tmp_path / "x.safetensors")


def test_a_header_of_absurd_size_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "x.safetensors"
    with path.open("wb") as file:
        file.write((2**33).to_bytes(8, "little"))
        file.truncate(2**34)  # sparse: reading it would take all memory
    assert "no safetensors header" in refused(path)


@pytest.mark.parametrize("cut", [1, 20, 100])
def test_a_package_that_is_cut_short_is_refused(tmp_path, cut):
    path = write_package(tmp_path / "x.safetensors", ARRAYS, META)
    path.write_bytes(path.read_bytes()[:-cut])
    refused(path)


def test_every_single_flipped_bit_is_noticed(tmp_path):
    path = write_package(tmp_path / "x.safetensors", ARRAYS, META)
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        refused(path)
    path.write_bytes(content)
    assert has_checksum(path) and read_package(path)[1] == META


def test_a_weight_that_changed_is_told_as_damage_with_what_to_do(tmp_path):
    path = write_package(tmp_path / "x.safetensors", ARRAYS, META)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert refused(path) == (f"{path} is damaged: its checksum does not match. Get another copy, or write it again.")


def test_a_package_from_before_checksums_is_read_and_says_that_it_has_none(tmp_path):
    path = written(tmp_path / "x.safetensors")
    assert read_package(path)[1] == META and not has_checksum(path)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"header": {"format": "sparring-run"}}, "header does not say so"),
        ({"header": {"player": "no json"}}, "a header without game"),
        ({"header": {"player": "[" * 100_000}}, "a header without game"),
        ({"header": {"player": "{}"}}, "a header without game"),
        ({"extra": 1}, "a header without game"),
        ({"options": "x=1"}, "a header without game"),
        ({"steps": -1}, "not whole numbers"),
        ({"steps": True}, "not whole numbers"),
        ({"sides": [0.5]}, "not whole numbers"),
        ({"player": ""}, "not plain texts"),
        ({"player": "\x1b[2J"}, "not plain texts"),
        ({"run": "x" * 201}, "not plain texts"),
        ({"game": 3}, "not plain texts"),
        ({"options": [3]}, "not plain texts"),
        ({"net": [8]}, "not a table of settings"),
        ({"arrays": {}}, "no arrays"),
        ({"arrays": {"w": np.zeros(2, np.float64)}}, "of type float64"),
        ({"arrays": {"w": np.zeros(2, np.int8)}}, "of type int8"),
        ({"arrays": {"w": np.asarray([1.0, np.nan], np.float32)}}, "not finite"),
        ({"arrays": {"w": np.asarray([np.inf], np.float32)}}, "not finite"),
    ],
)
def test_a_header_or_an_array_that_cannot_be_is_named(tmp_path, changes, told):
    assert told in refused(written(tmp_path / "x.safetensors", **changes))


def test_a_package_of_another_version_asks_for_an_update(tmp_path):
    sentence = refused(written(tmp_path / "x.safetensors", header={"version": "3"}))
    assert "version '3'" in sentence and "expected 1 or 2" in sentence and "Update sparring" in sentence


def test_arrays_without_our_header_are_no_player(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(save(ARRAYS))
    assert "header does not say so" in refused(tmp_path / "x.safetensors")


def test_a_file_that_is_not_there_and_a_folder_are_no_packages(tmp_path):
    assert "No player package at" in refused(tmp_path / "none.safetensors")
    assert "No player package at" in refused(tmp_path)


@pytest.mark.parametrize(
    ("name", "arrays", "meta"),
    [
        ("x.pkl", ARRAYS, META),
        ("x.safetensors", {"w": np.asarray([np.nan], np.float32)}, META),
        ("x.safetensors", {"w": np.zeros(1)}, META),
        ("x.safetensors", {}, META),
        ("x.safetensors", ARRAYS, replace(META, player="a\nb")),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path, name, arrays, meta):
    with pytest.raises(RunError):
        write_package(tmp_path / name, arrays, meta)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_package_that_was_there(tmp_path):
    path = write_package(tmp_path / "x.safetensors", ARRAYS, META)
    before = path.read_bytes()
    with pytest.raises(RunError):
        write_package(path, {"w": np.zeros(1)}, META)
    assert path.read_bytes() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="Cannot write"):
        write_package(tmp_path / "file" / "x.safetensors", ARRAYS, META)
