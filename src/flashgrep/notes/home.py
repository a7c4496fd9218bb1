"""The directory of a knowledge base, and the one process that owns it.

    PATH/             0700
        lock          held (flock) by the owner, who writes its process id into it
        notes.db      catalogue, journal, decisions and tables (see `catalogue`, `sqlite_journal`,
                      `decision_log`, `tables`), and beside it, while it is open, notes.db-wal and
                      notes.db-shm, which belong to it
        notes.db.format-N    the database as it was before it was brought to a later format than N
                      (see `migrating`); ours to remove when the next format comes, yours before
        attachments/  files that are no notes, under their paths
        agents/       secrets of the tokens that `serve` prints (see `agenttoken`)
        kb.sock       where the owner listens for others that want these notes

A backup is such a directory too, without lock and socket.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from flashgrep.errors import Conflict, FlashgrepError, NotFound, Unavailable, from_os_error
from flashgrep.notes import migrating, tables
from flashgrep.notes.review import decision_log
from flashgrep.notes.store import catalogue, sqlite_journal
from flashgrep.notes.store.database import Database
from flashgrep.system.lock import open_lock_file, try_lock

DATABASE: Final = "notes.db"
ATTACHMENTS: Final = "attachments"
SOCKET: Final = "kb.sock"
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
            raise NotFound(
                f"no knowledge base in {path}; make one with: flashgrep kb init --kb {path}"
            )
        _check(path)

    @classmethod
    def create(cls, path: Path) -> Home:
        """Make an empty knowledge base in a directory that is new or empty."""
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise Conflict(f"{path} is not empty; name a new directory")
            _check(path)
            (path / ATTACHMENTS).mkdir(mode=0o700)
            schemas = (catalogue.SCHEMA, sqlite_journal.SCHEMA, decision_log.SCHEMA, tables.SCHEMA)
            Database.create(path / DATABASE, *schemas)
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
        return migrating.opened(self.database)

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
        owner = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(descriptor)
        return Owned(
            f"{self.path} is open in another process (pid {owner}); use that one, or end it"
        )

    def disown(self) -> None:
        """Let another process have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _check(path: Path) -> None:
    """Refuse a directory that others could put notes into."""
    status = os.stat(path)
    if status.st_uid != os.geteuid():
        raise Unavailable(f"{path} belongs to another user (uid {status.st_uid})")
    if stat.S_IMODE(status.st_mode) & 0o022:
        raise Unavailable(f"{path} can be written by others; run chmod go-w {path}")
