import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sparring.core.errors import RunError
from sparring.store import checkpoints
from sparring.store.checkpoints import load, newest_first, save

ARRAYS = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "key": np.array([1, 2], np.uint32)}
META = {"league": {"names": ["a", "b"], "score": 0.1}, "none": None}


def write(folder: Path, iteration: int, keep: int = 3) -> Path:
    return save(folder, iteration, {"weights": np.full(4, iteration, np.float32)}, {"at": iteration}, keep=keep)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3)])
def test_arrays_of_every_dtype_and_shape_come_back_bit_by_bit(tmp_path, shape):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    chance = np.random.default_rng(0)
    arrays = {}
    for dtype in [*map(np.dtype, DTYPES), np.dtype(ml_dtypes.bfloat16)]:
        words = chance.integers(0, 2 if dtype.kind == "b" else 256, size=(*shape, dtype.itemsize), dtype=np.uint8)
        arrays[f"a/{dtype.name}"] = np.frombuffer(words.tobytes(), dtype).reshape(shape)
    save(tmp_path / "checkpoints", 1, arrays, {}, keep=1)
    loaded = load(tmp_path / "checkpoints").arrays
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (loaded[name].dtype, loaded[name].shape) == (array.dtype, array.shape), name
        assert loaded[name].tobytes() == array.tobytes(), name  # also the payload of nan


def test_strided_and_big_endian_arrays_keep_their_values(tmp_path):
    grid = np.arange(12, dtype=np.int32).reshape(3, 4)
    save(tmp_path, 1, {"turned": grid.T[::2], "big": grid.astype(">i4"), "wide": grid.astype(">c16")}, {}, keep=1)
    loaded = load(tmp_path).arrays
    np.testing.assert_array_equal(loaded["turned"], grid.T[::2])
    np.testing.assert_array_equal(loaded["big"], grid)
    np.testing.assert_array_equal(loaded["wide"], grid)


def test_what_is_no_array_of_numbers_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(TypeError, match="'x' of dtype object"):
        save(tmp_path / "checkpoints", 1, {"x": np.array([None])}, {}, keep=1)
    with pytest.raises(TypeError, match="JSON"):
        save(tmp_path / "checkpoints", 1, {}, {"x": object()}, keep=1)
    assert not (tmp_path / "checkpoints").exists()


def test_meta_iteration_and_path_come_back(tmp_path):
    path = save(tmp_path / "checkpoints", 123, ARRAYS, META, keep=2)
    checkpoint = load(tmp_path / "checkpoints")
    assert path == checkpoint.path == tmp_path / "checkpoints" / "000123"
    assert (checkpoint.iteration, checkpoint.meta, checkpoint.skipped) == (123, META, ())


def test_only_the_newest_are_kept_also_beyond_six_digits(tmp_path):
    for iteration in [8, 9, 10, 999_999, 1_000_000]:
        write(tmp_path, iteration, keep=3)
    assert names(tmp_path) == ["000010", "1000000", "999999"]
    assert load(tmp_path).iteration == 1_000_000


def test_a_run_that_went_back_leaves_its_later_checkpoints_behind(tmp_path):
    for iteration in [10, 20, 30]:
        write(tmp_path, iteration)
    write(tmp_path, 15, keep=2)
    assert names(tmp_path) == ["000010", "000015"]


def test_what_earlier_crashes_left_is_removed_and_what_is_not_ours_stays(tmp_path):
    (tmp_path / ".tmp-000003").mkdir()
    (tmp_path / ".tmp-000003" / "arrays.safetensors").write_bytes(b"half")
    (tmp_path / "notes").mkdir()
    write(tmp_path, 4, keep=1)
    assert names(tmp_path) == ["000004", "notes"]


@pytest.mark.parametrize("file", ["arrays.safetensors", "checkpoint.json"])
def test_every_single_flipped_bit_is_noticed_and_the_one_before_is_taken(tmp_path, file):
    write(tmp_path, 1)
    path = save(tmp_path, 2, ARRAYS, META, keep=3) / file
    content = path.read_bytes()
    unnoticed = []
    with path.open("r+b", buffering=0) as file:
        for place, byte in enumerate(content):
            for bit in range(8):
                file.seek(place)
                file.write(bytes([byte ^ 1 << bit]))
                checkpoint = load(tmp_path)
                if checkpoint.iteration != 1 or len(checkpoint.skipped) != 1:
                    unnoticed.append((place, bit))
            file.seek(place)
            file.write(bytes([byte]))
    assert unnoticed == []
    assert load(tmp_path).iteration == 2


@pytest.mark.parametrize("file", ["arrays.safetensors", "checkpoint.json"])
def test_every_truncation_a_zeroed_file_and_a_missing_file_are_noticed(tmp_path, file):
    write(tmp_path, 1)
    path = save(tmp_path, 2, ARRAYS, META, keep=3) / file
    content = path.read_bytes()
    damaged = [content[:length] for length in range(len(content))] + [bytes(len(content)), content + b"\0"]
    for wrong in damaged:
        path.write_bytes(wrong)
        assert load(tmp_path).iteration == 1
    path.unlink()
    checkpoint = load(tmp_path)
    assert checkpoint.iteration == 1
    assert "000002 is damaged" in checkpoint.skipped[0]


def forge(path: Path, content: bytes | None = None, **changes: object) -> None:
    """Rewrite a checkpoint with changed fields and checksums that match."""
    record = json.loads((path / "checkpoint.json").read_text()) | changes
    content = (path / "arrays.safetensors").read_bytes() if content is None else content
    (path / "arrays.safetensors").write_bytes(content)
    text = checkpoints._record(record["iteration"], content, record["dtypes"], record["meta"])
    if "format_version" in changes:
        plain = json.loads(text) | {"format_version": changes["format_version"], "record_sha256": "0" * 64}
        blank = json.dumps(plain, indent=1).encode()
        text = blank.replace(b"0" * 64, checkpoints.hashlib.sha256(blank).hexdigest().encode(), 1)
    (path / "checkpoint.json").write_bytes(text)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format_version": 2}, "format 2"),
        ({"content": b""}, "sane header"),
        ({"content": b"\xff" * 8 + b"{}"}, "sane header"),
        ({"content": (2).to_bytes(8, "little") + b"[]"}, "cannot be read"),
        ({"dtypes": {"weights": {"dtype": "object", "shape": [2, 3]}}}, "'object' is not known"),
        ({"dtypes": {"weights": {"dtype": "complex64", "shape": [2, 3]}}}, "cannot be read"),
        ({"dtypes": {"absent": {"dtype": "complex64", "shape": [1]}}}, "cannot be read"),
    ],
)
def test_a_forged_checkpoint_with_right_checksums_is_refused_for_what_is_in_it(tmp_path, changes, reason):
    forge(save(tmp_path, 1, ARRAYS, META, keep=1))
    assert load(tmp_path).iteration == 1  # forging alone changes nothing
    forge(tmp_path / "000001", **changes)
    with pytest.raises(RunError, match=reason):
        load(tmp_path)


def test_without_a_whole_checkpoint_the_error_names_each_and_what_to_do(tmp_path):
    with pytest.raises(RunError, match=r"No checkpoint in .*Train again"):
        load(tmp_path / "absent")
    for iteration in [1, 2]:
        (write(tmp_path, iteration) / "arrays.safetensors").write_bytes(b"")
    with pytest.raises(RunError, match=r"000002 is damaged.*000001 is damaged.*Restore one"):
        load(tmp_path)


def test_what_a_crash_left_of_the_first_save_does_not_count_as_a_checkpoint(tmp_path):
    (tmp_path / ".tmp-000001").mkdir()
    assert newest_first(tmp_path) == newest_first(tmp_path / "absent") == []
    assert newest_first(write(tmp_path, 2).parent) == [tmp_path / "000002"]


def test_an_error_between_write_and_rename_leaves_the_old_one_and_no_rubbish(tmp_path, monkeypatch):
    write(tmp_path, 1)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        with pytest.raises(RunError, match=r"Cannot write .*000002: Permission denied.*sparring resume"):
            write(tmp_path, 2, keep=1)
    assert names(tmp_path) == ["000001"]
    assert load(tmp_path).iteration == 1


# Dies just before the n-th step that touches the disk, for n = 0, 1, ... until a save goes through; a forked child is
# ended without any clean-up, as `kill -9` would.
CRASHES = """
import os, shutil, sys
from pathlib import Path
import numpy as np
from sparring.store import checkpoints
from sparring.store.checkpoints import load, save

root, second = Path(sys.argv[1]), int(sys.argv[2])

def value(mark):
    return {"weights": np.full(1000, mark, np.float32)}

def die_at(step):
    left = [step]
    def count(function):
        def counted(*arguments, **options):
            if left[0] == 0:
                os._exit(9)
            left[0] -= 1
            return function(*arguments, **options)
        return counted
    whole = checkpoints.write_synced
    def in_two_parts(path, data):
        count(Path.write_bytes)(path, data[:len(data) // 2])
        count(whole)(path, data)
    checkpoints.write_synced = in_two_parts
    checkpoints.sync_folder = count(checkpoints.sync_folder)
    shutil.rmtree = count(shutil.rmtree)
    for name in ("mkdir", "replace"):
        setattr(Path, name, count(getattr(Path, name)))

step, ended, seen = 0, False, set()
while not ended:
    folder = root / str(step)
    save(folder, 5, value(1), {"mark": 1}, keep=1)
    child = os.fork()
    if child == 0:
        die_at(step)
        save(folder, second, value(2), {"mark": 2}, keep=1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = status == 0
    assert status in (0, 9), status
    found = load(folder)
    assert found.skipped == (), found.skipped
    assert (found.arrays["weights"] == found.meta["mark"]).all()
    seen.add(found.meta["mark"])
    save(folder, 7, value(3), {"mark": 3}, keep=1)
    assert [path.name for path in folder.iterdir()] == ["000007"], list(folder.iterdir())
    step += 1
print(step, sorted(seen))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("second", [5, 6])
def test_a_kill_at_any_step_of_a_save_leaves_the_old_or_the_new_checkpoint_whole(tmp_path, second):
    done = subprocess.run([sys.executable, "-c", CRASHES, str(tmp_path), str(second)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    steps, seen = done.stdout.split(maxsplit=1)
    assert int(steps) > 8
    assert seen.strip() == "[1, 2]"


FULL_DISK = """
import resource, sys
from pathlib import Path
import numpy as np
from sparring.core.errors import RunError
from sparring.store.checkpoints import save

folder = Path(sys.argv[1])
save(folder, 1, {"weights": np.ones(10)}, {}, keep=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # Python ignores SIGXFSZ: the write fails with EFBIG
try:
    save(folder, 2, {"weights": np.ones(100_000)}, {}, keep=1)
except RunError as error:
    print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on the size of files")
def test_a_full_disk_is_one_sentence_and_the_old_checkpoint_stays(tmp_path):
    folder = tmp_path / "run" / "checkpoints"
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(folder)], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith(f"The disk is full: {folder / '000002'} needs 800,")
    assert done.stdout.endswith(f"free some space, then `sparring resume {tmp_path / 'run'}`.\n")
    assert names(folder) == ["000001"]
    assert load(folder).iteration == 1


def test_a_checkpoint_can_be_moved_to_another_folder(tmp_path):
    write(tmp_path / "here", 3)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    assert load(tmp_path / "there").meta == {"at": 3}


def test_a_folder_with_the_number_of_another_iteration_is_passed_over(tmp_path):
    for iteration in (4, 8):
        write(tmp_path, iteration)
    (tmp_path / "000004").rename(tmp_path / "000012")
    found = load(tmp_path)
    assert found.iteration == 8
    assert found.skipped == (
        f"{tmp_path / '000012'} is damaged: it holds iteration 4, and its folder has another number.",
    )
    with pytest.raises(RunError, match="holds iteration 4"):
        checkpoints.load_one(tmp_path / "000012")
