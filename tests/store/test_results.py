import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from math import isnan, nan

import numpy as np
import pytest

from sparring.core.errors import RunError
from sparring.store.results import ResultRow, Results, read_results


def row(iteration: int, kind: str = "training", **changes: object) -> ResultRow:
    first = ResultRow(iteration, 7, kind, 1, "main", "past/3", 10, 5, 2, 3, 2.5, 12.25, 400)
    return first._replace(**changes)


@pytest.fixture
def results(tmp_path):
    with Results(tmp_path / "results.db") as opened:
        yield opened


def test_rows_come_back_by_iteration_in_the_order_they_were_added(results):
    results.append([row(2, side=1), row(2, side=0)])
    results.append([row(1, kind="evaluation")])
    assert results.rows() == [row(1, kind="evaluation"), row(2, side=1), row(2, side=0)]
    assert results.rows("training") == [row(2, side=1), row(2, side=0)]
    assert results.rows("tournament") == []


def test_a_reader_sees_what_is_committed_while_the_writer_is_open_and_after(results):
    results.append([row(1)])
    assert read_results(results.path) == [row(1)]
    results.append([row(2, kind="evaluation")])
    assert read_results(results.path, "evaluation") == [row(2, kind="evaluation")]
    results.close()
    assert read_results(results.path) == [row(1), row(2, kind="evaluation")]
    assert list(results.path.parent.iterdir()) == [results.path]  # reading a finished run leaves nothing behind


def test_the_file_stays_readable_without_its_writer_having_closed_it(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from sparring.store.results import *\n"
        "Results(Path(sys.argv[1])).append([ResultRow(1, 7, 'k', 0, 'a', 'b', 1, 1, 0, 0, 1.0, 1.0, 9)]); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "results.db")], check=False)
    assert [found.player for found in read_results(tmp_path / "results.db")] == ["a"]
    with Results(tmp_path / "results.db") as results:
        assert [found.opponent for found in results.rows()] == ["b"]


WRITER = """
import sys
from pathlib import Path
from sparring.store.results import ResultRow, Results
for batch in range(int(sys.argv[2])):
    with Results(Path(sys.argv[1])) as results:
        results.append([ResultRow(batch, 7, 'k', 0, 'a', 'b', 1, 1, 0, 0, 1.0, 1.0, 9)] * 100)
"""


def test_a_reader_beside_a_writer_that_opens_and_closes_sees_whole_batches_only(tmp_path):
    path = tmp_path / "results.db"
    with Results(path) as results:
        results.append([row(0)] * 20_000)  # so many that the writer comes back while they are read
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path), "40"]) as writer:
        counts = [20_000]
        while writer.poll() is None:
            counts.append(len(read_results(path)))
    assert writer.returncode == 0
    assert all(count % 100 == 0 for count in counts)
    assert counts == sorted(counts)
    assert len(read_results(path)) == 24_000


def test_numbers_of_numpy_come_back_as_plain_numbers_and_nan_as_nan(results):
    results.append([row(1, games=np.int32(10), return_sum=np.float32(0.5), return_square_sum=nan)])
    found = results.rows()[0]
    assert (found.games, type(found.games)) == (10, int)
    assert (found.return_sum, type(found.return_sum)) == (0.5, float)
    assert isnan(found.return_square_sum)


def test_a_batch_of_which_one_row_fails_adds_none(results):
    with pytest.raises(TypeError):
        results.append([row(1), row(2, games=None)])
    refuse = "CREATE TRIGGER refuse BEFORE INSERT ON results WHEN NEW.iteration = 4 BEGIN SELECT RAISE(FAIL, 'no'); END"
    results._connection.execute(refuse)  # FAIL keeps the rows before it: only the transaction can take them back
    with pytest.raises(RunError):
        results.append([row(3), row(4)])
    assert results.rows() == []


def test_a_resumed_run_forgets_its_iteration_and_later_ones(results):
    results.append([row(iteration) for iteration in range(5)])
    results.forget_from(3)
    assert [found.iteration for found in results.rows()] == [0, 1, 2]


def test_each_commit_waits_for_the_disk_and_readers_do_not_wait(results):
    assert results._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert results._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_a_foreign_file_a_missing_file_and_a_missing_folder_are_sentences(tmp_path):
    (tmp_path / "foreign.db").write_bytes(b"something else entirely" * 100)
    for use in (Results, read_results):
        with pytest.raises(RunError, match="not a database of results"):
            use(tmp_path / "foreign.db")
    with pytest.raises(RunError, match="No results at"):
        read_results(tmp_path / "absent.db")
    with pytest.raises(RunError, match="Cannot open"):
        Results(tmp_path / "absent" / "results.db")


def test_a_damaged_database_is_a_sentence(tmp_path):
    path = tmp_path / "results.db"
    with Results(path) as results:
        results.append([row(iteration) for iteration in range(2000)])
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(RunError, match="is damaged"):
        read_results(path)
    with Results(path) as results, pytest.raises(RunError, match="is damaged"):
        results.forget_from(3000)


def test_a_newer_format_is_refused_by_writer_and_reader(tmp_path):
    with Results(tmp_path / "results.db") as results:
        results._connection.execute("PRAGMA user_version = 3")
    for use in (Results, read_results):
        with pytest.raises(RunError, match=r"has format 3.*Update sparring"):
            use(tmp_path / "results.db")


def test_a_file_of_an_earlier_version_is_refused_by_writer_and_reader_and_left_as_it_is(tmp_path):
    path = tmp_path / "results.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE results (iteration INTEGER NOT NULL)")
        connection.execute("PRAGMA user_version = 1")
    before = path.read_bytes()
    for use in (Results, read_results):
        with pytest.raises(RunError, match=r"format 1, from an earlier version.*Read it with that version, or train"):
            use(path)
    assert path.read_bytes() == before


def test_a_file_that_its_writer_has_only_just_made_has_no_rows(tmp_path):
    (tmp_path / "results.db").touch()
    assert read_results(tmp_path / "results.db") == []


def test_a_second_writer_that_cannot_wait_longer_gets_a_sentence(results):
    with Results(results.path) as second:
        second._connection.execute("PRAGMA busy_timeout = 10")
        results._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(RunError, match="Another process is writing"):
            second.append([row(1)])
        results._connection.rollback()


def test_the_use_of_closed_results_is_a_fault_of_the_caller_and_not_of_the_file(results):
    results.close()
    with pytest.raises(sqlite3.ProgrammingError):
        results.rows()


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on the size of files")
def test_a_disk_without_room_is_a_sentence_and_what_was_committed_stays(tmp_path):
    code = (
        "import resource, sys; from pathlib import Path; from sparring.store.results import *\n"
        "one = ResultRow(1, 7, 'k', 0, 'a', 'b', 1, 1, 0, 0, 1.0, 1.0, 9)\n"
        "results = Results(Path(sys.argv[1])); results.append([one])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: results.append([one] * 10_000)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "results.db")], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith("RunError ")
    assert "free space" in done.stdout
    assert len(read_results(tmp_path / "results.db")) == 1


def test_a_full_database_says_that_the_disk_is_full(results):
    results._connection.execute("PRAGMA max_page_count = 4")
    with pytest.raises(RunError, match=r"The disk is full: .*results\.db.*sparring resume"):
        results.append([row(1)] * 1000)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("games = 'many'", "'many' for games, expected int"),
        ("games = 0", "0 games, expected 1"),
        ("player = x'00'", "for player, expected str"),
    ],
)
def test_a_row_that_could_not_have_been_appended_is_named(tmp_path, change, told):
    path = tmp_path / "results.db"
    with Results(path) as results:
        results.append([row(0), row(1)])
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE results SET {change} WHERE iteration = 1")
    connection.close()
    with pytest.raises(RunError, match=r"results.db is damaged: row 2 has .* move it away") as caught:
        read_results(path)
    assert told in str(caught.value)
