"""Results of games in one SQLite file: what was played, by whom, and how it ended. Ratings are derived, never stored.

One process writes; any number read, without disturbing it (write-ahead log). Each append is one transaction that is on
the disk when it returns (synchronous = FULL).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from math import nan
from pathlib import Path
from typing import NamedTuple, Self

from sparring.core.errors import RunError

FORMAT_VERSION = 2
NO_ID = -1
"""Of an opponent that no league knows."""


class ResultRow(NamedTuple):
    """Games of one player on one side against one opponent, summed over an iteration."""

    iteration: int
    seed: int
    kind: str
    """What the games were for: training, evaluation, a tournament."""
    side: int
    player: str
    opponent: str
    games: int
    wins: int
    draws: int
    losses: int
    return_sum: float
    return_square_sum: float
    """With `return_sum`: mean and spread of the return without the single games."""
    length_sum: int
    opponent_id: int = NO_ID
    """In a league, who it is for good: guests that came one after the other may have had the same name."""
    weakened: int = 0
    """1 where noise was added to the opponent's choices: such games say nothing of the player that it is."""


_CONVERT: tuple[type, ...] = tuple(ResultRow.__annotations__.values())  # sqlite3 takes no numbers of NumPy
_SQL_TYPES = {int: "INTEGER NOT NULL", str: "TEXT NOT NULL", float: "REAL"}  # SQLite keeps nan as NULL
_COLUMNS = ", ".join(ResultRow._fields)
_TABLE = ", ".join(f"{name} {_SQL_TYPES[kind]}" for name, kind in zip(ResultRow._fields, _CONVERT, strict=True))


class Results:
    """The one writer of a results file, which is made if it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        with _sentences(self.path):
            self._connection = sqlite3.connect(self.path)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def append(self, rows: Sequence[ResultRow]) -> None:
        """Add all rows or none."""
        plain = [[convert(value) for convert, value in zip(_CONVERT, row, strict=True)] for row in rows]
        marks = ", ".join("?" * len(_CONVERT))
        with _sentences(self.path), self._connection:
            self._connection.executemany(f"INSERT INTO results ({_COLUMNS}) VALUES ({marks})", plain)

    def rows(self, kind: str | None = None) -> list[ResultRow]:
        """Rows by iteration, in the order in which they were added."""
        with _sentences(self.path):
            return _select(self._connection, kind)

    def forget_from(self, iteration: int) -> None:
        """Delete what a resumed run will play again: rows from this iteration on. Proves the file whole first."""
        with _sentences(self.path), self._connection:
            damage = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise sqlite3.DatabaseError(damage)
            self._connection.execute("DELETE FROM results WHERE iteration >= ?", (int(iteration),))

    def forget_last_evaluation(self, iteration: int) -> None:
        """Delete the evaluation after this iteration; one before it, of an untrained learner, was added earlier."""
        added_later = "rowid > coalesce((SELECT max(rowid) FROM results WHERE kind != 'eval'), 0)"
        with _sentences(self.path), self._connection:
            self._connection.execute(
                f"DELETE FROM results WHERE kind = 'eval' AND iteration >= ? AND {added_later}", (int(iteration),)
            )

    def close(self) -> None:
        with _sentences(self.path):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self) -> None:
        connection = self._connection
        version = _checked_version(self.path, connection)
        connection.execute("PRAGMA journal_mode = WAL")  # stays as it was where the file system cannot share memory
        connection.execute("PRAGMA synchronous = FULL")
        with connection:
            connection.execute(f"CREATE TABLE IF NOT EXISTS results ({_TABLE})")
            connection.execute("CREATE INDEX IF NOT EXISTS results_by_iteration ON results (iteration)")
            if version < FORMAT_VERSION:
                connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def read_results(path: Path, kind: str | None = None) -> list[ResultRow]:
    """Rows of a results file, also while its writer runs. Never writes, not even the write-ahead log."""
    path = Path(path)
    if not path.is_file():
        raise RunError(
            f"No results at {path}: the run has not finished an iteration, or this is not a run. Check the path."
        )
    with _sentences(path):
        rows = _read_at_rest(path, kind)
        return _read(path, kind, "mode=ro") if rows is None else rows


def _read_at_rest(path: Path, kind: str | None) -> list[ResultRow] | None:
    """Rows of a file that nobody is writing; None if somebody is.

    A reader of a write-ahead log makes files beside it, which stay and which a read-only disk refuses. Without a log
    the file can be read as it stands, provided that it is the same afterwards.
    """
    with path.open("rb") as file:
        logged = file.read(20)[18:] == b"\x02\x02"  # sqlite.org/fileformat.html: versions 2 mean a write-ahead log
    before = _rest(path)
    if not logged or before is None:
        return None
    try:
        rows = _read(path, kind, "mode=ro&immutable=1")
    except sqlite3.DatabaseError:
        if _rest(path) == before:
            raise
        return None
    return rows if _rest(path) == before else None


def _rest(path: Path) -> tuple[int, int] | None:
    """Age and size of a file without a log; None if it has one."""
    if path.with_name(path.name + "-wal").exists():
        return None
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _read(path: Path, kind: str | None, options: str) -> list[ResultRow]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True)) as connection:
        _checked_version(path, connection)
        begun = connection.execute(
            "SELECT 1 FROM sqlite_master"
        ).fetchone()  # the writer may only just have made the file
        return _select(connection, kind) if begun else []


def _select(connection: sqlite3.Connection, kind: str | None) -> list[ResultRow]:
    where, values = ("", ()) if kind is None else ("WHERE kind = ?", (kind,))
    found = connection.execute(f"SELECT rowid, {_COLUMNS} FROM results {where} ORDER BY iteration, rowid", values)
    return [_row(number, values) for number, *values in found]


def _row(number: int, values: Sequence[object]) -> ResultRow:
    """A row as it was appended. SQLite keeps a text where a number was declared, if a stranger wrote one."""
    for name, kind, value in zip(ResultRow._fields, _CONVERT, values, strict=True):
        if not isinstance(value, kind) and not (kind is float and (value is None or isinstance(value, int))):
            raise sqlite3.DatabaseError(f"row {number} has {str(value)[:40]!r} for {name}, expected {kind.__name__}")
    row = ResultRow._make(nan if value is None else value for value in values)
    if row.games < 1:
        raise sqlite3.DatabaseError(f"row {number} has {row.games} games, expected 1 or more")
    return row


def _checked_version(path: Path, connection: sqlite3.Connection) -> int:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > FORMAT_VERSION:
        raise RunError(f"{path} has format {version}, expected {FORMAT_VERSION}. Update sparring to read it.")
    if 0 < version < FORMAT_VERSION:  # 0: only just made
        raise RunError(
            f"{path} has format {version}, from an earlier version of sparring; this one reads {FORMAT_VERSION}. "
            "Read it with that version, or train the run again."
        )
    return version


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into what happened and what to do."""
    try:
        yield
    except sqlite3.ProgrammingError:  # a fault of the caller, such as a closed connection
        raise
    except OSError as error:
        raise RunError(f"Cannot open {path}: {error.strerror}; make it readable.") from error
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        resume = f"`sparring resume {path.parent}`"
        if name == "SQLITE_FULL":
            sentence = f"The disk is full: {path} cannot grow; free some space, then {resume}."
        elif name.startswith("SQLITE_IOERR"):
            sentence = f"Cannot read or write {path}: {error}; check the disk and its free space, then {resume}."
        elif name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            sentence = f"Another process is writing {path}; wait until it ends, then {resume}."
        elif name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
            sentence = f"Cannot open {path}: {error}; check that the folder exists and is writable."
        elif name == "SQLITE_NOTADB":
            sentence = f"{path} is not a database of results; move it away, or restore it from a copy."
        else:
            sentence = f"{path} is damaged: {error}; restore it from a copy, or move it away."
        raise RunError(sentence) from error
