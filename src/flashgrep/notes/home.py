"""The directory of a knowledge base, the process that owns it, and upgrades from older formats.

    PATH/             0700
        lock          held (flock) by the owner, who writes its process id into it
        wanted        held (flock) by a server that waits to be the owner: no other one tries
        notes.db      catalogue, journal, decisions, outcomes, comments and tables (see
                      `catalogue`, `journal`, `decision_log`, `outcomes`, `comment_table`,
                      `tables`, `kept_texts`), and beside it, while it is open, notes.db-wal
                      and notes.db-shm, which belong to it
        notes.db.format-N    the database as it was before it was brought to a later format than N
                      (see below); we remove it when the next format comes, you may do so earlier
        attachments/  files that are not notes, under their paths
        agents/       secrets of the tokens that `serve` prints (see `tokens`)
        sign-in/      links by which people sign in, and
        serving/      where a server has the notes open (see `web.sign_in_links`)
        kb.sock       where the owner listens for others that want these notes

A backup is such a directory too, without the locks and the socket.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from flashgrep.errors import (
    Conflict,
    FlashgrepError,
    InvalidParams,
    NotFound,
    Unavailable,
    from_os_error,
)
from flashgrep.notes import comment_table, tables
from flashgrep.notes.review import decision_log
from flashgrep.notes.store import catalogue, journal
from flashgrep.notes.store.database import FORMAT, Database
from flashgrep.notes.suggestions import outcomes, pending_table
from flashgrep.system.atomic import open_own
from flashgrep.system.lock import open_lock_file, try_lock
from flashgrep.system.program import own_line

log = logging.getLogger(__name__)


# ── older formats ────────────────────────────────────────────────────────────────────────────────
# A knowledge base of an older format becomes one of ours.
#
# Before anything is changed, the database is copied to `notes.db.format-N`, N being its format.
# Then all steps to our format are one transaction: a process that is killed on the way leaves the
# database in the old format or in the new one, never between the two, and the next start goes on
# from there.
#
# The copy stays. It is replaced where the same format is left a second time (the first attempt was
# cut short, or a backup was put back), and removed when a later migration has succeeded: of all
# copies only the one of the latest migration is kept. Nothing else is ever removed.
#
#     1 → 2   the tables of `tables`, empty: all notes are behind, and are looked at in turns
#     2 → 3   reasons and texts of decisions, what became of suggestions, and comments
#
# A new knowledge base takes the same steps, so that what is made is described once.


STEPS: Final = {
    1: tables.SCHEMA,
    2: "".join(
        (
            decision_log.GAINED,
            pending_table.PENDING_GAINED,
            outcomes.SCHEMA,
            comment_table.SCHEMA,
            outcomes.FROM_DECISIONS,
        )
    ),
}
"""By the format that is left: what makes the next one of it."""
OLDEST: Final = min(STEPS)
_COPY: Final = re.compile(r"\.format-(\d{1,9})")


def opened_database(path: Path) -> Database:
    """The database at a path, in our format; the caller is the only one who has it open."""
    database = Database(path, OLDEST)
    try:
        _bring_up(database)
    except BaseException:
        database.close()
        raise
    return database


def _bring_up(database: Database) -> None:
    before = database.format
    if before == FORMAT:
        return
    copy = _copy_of(database.path, before)
    database.backup(copy)
    with database.transaction():
        for step in range(before, FORMAT):
            for statement in _statements(STEPS[step]):
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {FORMAT}")
    log.warning(
        "%s was brought from format %d to %d; as it was, it is kept in %s",
        database.path,
        before,
        FORMAT,
        copy.name,
    )
    _remove_older(database.path, before)


def _copy_of(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.format-{number}")


def _remove_older(path: Path, number: int) -> None:
    """Remove the copies that earlier migrations made."""
    for other in path.parent.iterdir():
        found = _COPY.fullmatch(other.name.removeprefix(path.name))
        if found and other.name.startswith(path.name) and int(found[1]) < number:
            with suppress(OSError):
                other.unlink()


def _statements(schema: str) -> Iterator[str]:
    """The statements of a script; `executescript` would end the transaction."""
    statement = ""
    for line in schema.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


# ── home ─────────────────────────────────────────────────────────────────────────────────────────


DATABASE: Final = "notes.db"
ATTACHMENTS: Final = "attachments"
SOCKET: Final = "kb.sock"
WANTED: Final = "wanted"
_LOCK: Final = "lock"


class Owned(Unavailable):
    """Another process has these notes open."""


class Home:
    """The directory of a knowledge base."""

    def __init__(self, path: Path) -> None:
        """One that is there; `create` makes one."""
        self.path = path
        self._lock: int | None = None
        if not self.database.is_file():
            check_no_file(path)
            raise NotFound(f"no knowledge base in {path}; {_remedy(path)}")
        _check(path)

    @classmethod
    def create(cls, path: Path) -> Home:
        """Make an empty knowledge base in a directory that is new or empty."""
        check_no_file(path)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise Conflict(f"{path} is not empty; {_remedy(path)}")
            _check(path)
            (path / ATTACHMENTS).mkdir(mode=0o700)
            first = (catalogue.SCHEMA, journal.SCHEMA, decision_log.SCHEMA)
            Database.create(path / DATABASE, *first, *STEPS.values())
        except OSError as error:
            raise from_os_error(error, str(path)) from None
        return cls(path)

    @property
    def database(self) -> Path:
        return self.path / DATABASE

    @property
    def attachments(self) -> Path:
        return self.path / ATTACHMENTS

    @property
    def socket(self) -> Path:
        return self.path / SOCKET

    def opened(self) -> Database:
        """The database, in our format; for the owner alone, since an older one is changed."""
        return opened_database(self.database)

    def own(self) -> None:
        """Become the owner, or say who is."""
        try:
            descriptor = open_lock_file(self.path / _LOCK)
        except OSError as error:
            raise from_os_error(error, str(self.path / _LOCK)) from None
        if not try_lock(descriptor):
            raise self._owned(descriptor)
        os.truncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())
        self._lock = descriptor

    def _owned(self, descriptor: int) -> FlashgrepError:
        os.close(descriptor)
        return Owned(
            f"{self.path} is open in another process (pid {owner_of(self.path)}); use that one, "
            "or end it"
        )

    def disown(self) -> None:
        """Let another process have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def owner_of(path: Path) -> str:
    """The process id that the owner of a knowledge base wrote into its lock file."""
    try:
        with open_own(path / _LOCK) as file:
            return file.read(32).decode("ascii", "replace").strip() or "unknown"
    except OSError:
        return "unknown"


def is_knowledge_base(path: str) -> bool:
    """Whether a directory is a knowledge base, or a backup of one."""
    return Database.is_at(Path(path, DATABASE))


def check_no_file(path: Path) -> None:
    """Refuse a file where a directory is to be."""
    if path.is_file():
        raise InvalidParams(f"{path} is a file; name a directory")


def _remedy(path: Path) -> str:
    """How to get a knowledge base where there is none; what is in a directory is imported."""
    if _is_free(path):
        return f"make one with: {own_line('kb', 'init', '--kb', str(path))}"
    new = next(
        beside
        for number in count(1)
        if not (beside := path.parent / f"{path.name}-kb{number if number > 1 else ''}").exists()
    )
    return (
        f"make one in a new directory with: {own_line('kb', 'init', '--kb', str(new))}, and import "
        f"this one with: {own_line('kb', 'import', str(path), '--kb', str(new))}"
    )


def _is_free(path: Path) -> bool:
    """Whether a knowledge base can be made there."""
    try:
        return not path.is_dir() or not any(path.iterdir())
    except OSError:
        return False


def _check(path: Path) -> None:
    """Refuse a directory that others could put notes into."""
    status = os.stat(path)
    if status.st_uid != os.geteuid():
        raise Unavailable(f"{path} belongs to another user (uid {status.st_uid})")
    if stat.S_IMODE(status.st_mode) & 0o022:
        mend = shlex.join(["chmod", "go-w", str(path)])
        raise Unavailable(f"{path} can be written by others; run {mend}")
