"""The SQLite database of a knowledge base, opened and checked, with our own errors.

WAL with synchronous=FULL: a committed transaction survives the death of the process and of the
machine, and a reader (a backup, another program's look) never holds up the writer. `home` upgrades
an older format; a newer one, or another program's file, is refused and left alone. Nothing is ever
moved aside and begun anew.

    application_id   "flkb"
    user_version     the format: 1 notes, journal, decisions; 2 the tables of `tables` as well;
                     3 reasons and texts of decisions, what became of suggestions (`outcomes`),
                     comments (`comment_table`)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from flashgrep.errors import FlashgrepError, IOFailure, Unavailable
from flashgrep.system.atomic import open_own, open_private, put_in_place

_DATABASE_SECONDS: Final = 5.0
"""Waiting for a lock on the notes' database; only a backup by another program holds one."""

APPLICATION: Final = 0x666C6B62
_MARK_AT: Final = 68
_HEADER_BYTES: Final = 72
"""The application's mark, where SQLite has it in every file."""
"""`flkb`, in the file's header."""
FORMAT: Final = 3

_WRITE_AHEAD: Final = "PRAGMA journal_mode = WAL"
_PRAGMAS: Final = (
    _WRITE_AHEAD,
    "PRAGMA synchronous = FULL",
    "PRAGMA trusted_schema = OFF",
)
_UNFINISHED: Final = ("PRAGMA journal_mode = MEMORY", "PRAGMA synchronous = OFF")
"""For a draft: `put_in_place` makes it durable, and one that was not finished is never opened."""
_OUTER: Final = ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
_INNER: Final = ("SAVEPOINT one", "RELEASE one", "ROLLBACK TO one")
_BROKEN: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_PRIMARY: Final = 0xFF
"""The low byte of SQLite's error numbers; the others say where it happened."""


class StorageFull(IOFailure):
    """There is no room for another record; reading still works."""


class Database:
    """One connection, used by one thread."""

    def __init__(self, path: Path, oldest: int = FORMAT) -> None:
        """Open a database that is there; `create` makes one. `oldest` is for `home`."""
        self.path = path
        self._oldest = oldest
        self._depth = 0
        self._lost = False
        self._done: list[Callable[[], None]] = []
        self._undone: list[Callable[[], None]] = []
        with self._translated():
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                isolation_level=None,
                timeout=_DATABASE_SECONDS,
                check_same_thread=False,
            )
        try:
            self._check_version()
            for pragma in _PRAGMAS:
                self.execute(pragma)
        except BaseException:
            self._connection.close()
            raise

    @classmethod
    def create(cls, path: Path, *schemas: str) -> None:
        """Make an empty database with these tables, durable, or leave nothing."""
        draft = _draft(path)
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            for pragma in _UNFINISHED:
                connection.execute(pragma)
            marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
            connection.executescript("\n".join(("BEGIN;", *schemas, marks, "COMMIT;")))
            connection.execute(_WRITE_AHEAD)
        finally:
            connection.close()
        put_in_place(draft, path)

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether there is a file of ours, by its first bytes; nothing is opened that could block.

        They are there from the beginning: a database is made before it writes ahead.
        """
        try:
            if not path.is_file():
                return False
            with open_own(path) as file:
                return file.read(_HEADER_BYTES)[_MARK_AT:] == APPLICATION.to_bytes(4, "big")
        except OSError:
            return False

    def close(self) -> None:
        """Give the file back; what was committed is in it."""
        self._connection.close()

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run a statement; errors are ours."""
        if self._lost:
            raise StorageFull(
                f"{self.path} was full, and all of this was given up; free some space"
            )
        with self._translated():
            return self._connection.execute(statement, values)

    def function(self, name: str, does: Callable[..., Any]) -> None:
        """Give statements a function; what it answers depends on nothing but its arguments."""
        with self._translated():
            self._connection.create_function(name, -1, does, deterministic=True)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """All rows of a question."""
        with self._translated():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing of it; one inside another can be rolled back alone."""
        begin, commit, rollback = _INNER if self._depth else _OUTER
        done, undone = len(self._done), len(self._undone)
        self.execute(begin)
        self._depth += 1
        try:
            yield
            self.execute(commit)
        except BaseException:
            self._depth -= 1
            self._roll_back(rollback)
            del self._done[done:]
            self._run(self._undone, undone)
            raise
        self._depth -= 1
        if not self._depth:
            self._undone.clear()
            self._run(self._done, 0)

    def _roll_back(self, statement: str) -> None:
        with suppress(sqlite3.Error):
            self._connection.execute(statement)
            if self._depth:
                self._connection.execute(_INNER[1])
        # Without room SQLite gives up the whole transaction, not the inner one alone. A caller
        # that continues would write outside of any.
        self._lost = bool(self._depth) and not self._connection.in_transaction

    def when_done(self, action: Callable[[], None]) -> None:
        """Do something once the transaction is durable."""
        self._done.append(action)

    def when_undone(self, action: Callable[[], None]) -> None:
        """Do something when the transaction is rolled back."""
        self._undone.append(action)

    @staticmethod
    def _run(actions: list[Callable[[], None]], start: int) -> None:
        due = actions[start:]
        del actions[start:]
        for action in due:
            action()

    def backup(self, target: Path) -> None:
        """Copy the database as it is now; may be called by any thread, and writers continue."""
        draft = _draft(target)
        with self._translated():
            source = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
            copy = sqlite3.connect(draft)
            try:
                for pragma in _UNFINISHED:
                    copy.execute(pragma)
                source.backup(copy)
                (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
            finally:
                source.close()
                copy.close()
        if verdict != "ok":
            raise IOFailure(f"the copy {draft} is damaged ({verdict}); it was not put in place")
        put_in_place(draft, target)

    @property
    def format(self) -> int:
        """The format it is in."""
        ((version,),) = self.rows("PRAGMA user_version")
        return int(version)

    def _check_version(self) -> None:
        ((application,),) = self.rows("PRAGMA application_id")
        version = self.format
        if application != APPLICATION:
            raise Unavailable(f"{self.path} is not a flashgrep knowledge base; name another --kb")
        if version > FORMAT:
            raise Unavailable(
                f"{self.path} has format {version}, and this flashgrep knows formats up to "
                f"{FORMAT}; use the newer flashgrep that wrote it"
            )
        if version < self._oldest:
            raise Unavailable(
                f"{self.path} has format {version}, and this flashgrep reads formats "
                f"{self._oldest} to {FORMAT}; restore a backup"
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _ours(error, self.path) from error


def _draft(path: Path) -> Path:
    """An empty private file beside the one it is to become."""
    draft = path.with_name(path.name + ".new")
    open_private(draft).close()
    return draft


def _ours(error: sqlite3.Error, path: Path) -> FlashgrepError:
    number = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if number == sqlite3.SQLITE_FULL:
        return StorageFull(
            f"no room left for {path}: nothing was changed, notes can be read; free some space"
        )
    if number in _BROKEN:
        return IOFailure(f"{path} is damaged ({error}); restore a backup")
    return IOFailure(f"{path}: {error}")
