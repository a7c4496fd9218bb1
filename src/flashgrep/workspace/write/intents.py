"""Records of what a write is about to do, so that the next start can clean up after a kill.

One file per write, in the state directory, removed when the write is over:

    <16 hex>.intent   a JSON line, then for a write in place the old bytes and the new ones,
                      for a batch of files a table and the old bytes of each
    <16 hex>.new      an intent still being written; it promises nothing yet
    <16 hex>.kept     the old bytes of a file that someone else changed after a kill

The writer holds a lock on its intent while it lives, which tells a live server's intents from a
dead one's without a clock. The record of a temporary file is not synced: it survives a kill, and
after a power cut the worst is a stray file. The record of a write in place is synced, because it
holds the target's only good copy.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple

from flashgrep.system import atomic
from flashgrep.system.atomic import make_private, write_all
from flashgrep.system.lock import lock, try_lock

SUFFIX: Final = b".intent"
UNFINISHED: Final = b".new"
KEPT: Final = b".kept"
_HEADER_BYTES: Final = 1024 * 1024  # the longest path argument, each character escaped, fits


@dataclass(frozen=True)
class IntentRecord:
    """What an intent says: the directory and the names in it, with undecodable bytes as
    surrogates."""

    directory: str
    name: str
    temporary: str = ""
    target_inode: int = 0
    old_size: int = 0
    new_size: int = 0
    table_size: int = 0
    """Set for a batch of files: the bytes of its table."""


class Intent:
    """A record on disk, locked by its writer."""

    def __init__(self, recovery_dir: bytes, note: IntentRecord) -> None:
        make_private(os.fsdecode(recovery_dir))
        self._directory = recovery_dir
        self.fd, self._stem = _made_and_locked(recovery_dir)
        self._path = self._stem + UNFINISHED
        try:
            write_all(self.fd, json.dumps(asdict(note)).encode() + b"\n")
        except BaseException:
            self.remove()
            raise

    def publish(self, durable: bool) -> None:
        """Make the note count; a durable one survives a power cut from here on."""
        if durable:
            os.fsync(self.fd)
        os.rename(self._path, self._stem + SUFFIX)
        self._path = self._stem + SUFFIX
        if durable:
            sync_directory(self._directory)

    def remove(self) -> None:
        """Remove the note, and its lock with it."""
        try:
            os.unlink(self._path)
        finally:
            os.close(self.fd)


def _made_and_locked(recovery_dir: bytes) -> tuple[int, bytes]:
    """A new file; one that a starting server removed before we locked it is useless."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        stem = os.path.join(recovery_dir, secrets.token_hex(8).encode())
        fd = os.open(stem + UNFINISHED, flags, 0o600)
        lock(fd)
        if os.fstat(fd).st_nlink:
            return fd, stem
        os.close(fd)


def abandoned(recovery_dir: bytes) -> Iterator[tuple[bytes, int, IntentRecord | None]]:
    """Each intent with a dead writer: its path, a descriptor past the header, the record."""
    for name in sorted(_listed(recovery_dir)):
        if not name.endswith((SUFFIX, UNFINISHED)):
            continue
        path = os.path.join(recovery_dir, name)
        fd = _locked(path)
        if fd is None:
            continue
        try:
            yield path, fd, _read_note(fd) if name.endswith(SUFFIX) else None
        finally:
            os.close(fd)


def _listed(recovery_dir: bytes) -> list[bytes]:
    try:
        return os.listdir(recovery_dir)
    except FileNotFoundError:
        return []


def _locked(path: bytes) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if try_lock(fd) and os.fstat(fd).st_nlink:  # or else its writer is alive
        return fd
    os.close(fd)
    return None


def _read_note(fd: int) -> IntentRecord | None:
    head = os.pread(fd, _HEADER_BYTES, 0)
    line, end, _ = head.partition(b"\n")
    try:
        note = IntentRecord(**json.loads(line))
    except (ValueError, TypeError):
        return None
    os.lseek(fd, len(line) + len(end), os.SEEK_SET)
    return note


def sync_directory(path: bytes | int) -> None:
    """Make a directory's entries durable, where the file system can."""
    with suppress(OSError):  # some cannot sync a directory; the rename is still atomic
        atomic.sync_directory(path)


# ── batches of files ─────────────────────────────────────────────────────────────────────────────
# Several files replaced together: all of them, or, after a kill too, none.
#
# Each file is replaced as `replace` does it. Before the first one an intent is made durable that
# holds the old bytes of all; after the last one it is removed, durably, and only then is the batch
# acknowledged. So a start that finds such an intent knows that no success was reported, and undoes
# the batch. After the intent's header follow
#
#     the table     JSON, `table_size` bytes: a row [directory, name, old size, old hash, new hash]
#                   for each file
#     the old bytes of each file, in the order of the table


class FileChange(NamedTuple):
    """One file of a batch: its real path, what it held, what it is to hold."""

    path: bytes
    old: bytes
    new: bytes


class BatchEntry(NamedTuple):
    """A row of the table; undecodable bytes in names are surrogates."""

    directory: str
    name: str
    old_size: int
    old_hash: str
    new_hash: str


@dataclass
class BatchRecord:
    """The intent of a batch in progress."""

    is_kept: bool = False
    """Set where some file could not be put back: the next start tries again."""


@contextmanager
def promised(recovery_dir: bytes, changes: Sequence[FileChange]) -> Iterator[BatchRecord]:
    """Keep the old bytes of all files safe until the block ends."""
    table = json.dumps([_entry(change) for change in changes]).encode()
    intent = Intent(recovery_dir, IntentRecord("", "", table_size=len(table)))
    promise = BatchRecord()
    try:
        write_all(intent.fd, table)
        for change in changes:
            write_all(intent.fd, change.old)
        intent.publish(durable=True)
        yield promise
    finally:
        if promise.is_kept:
            os.close(intent.fd)
        else:
            intent.remove()
            sync_directory(recovery_dir)


def _entry(change: FileChange) -> BatchEntry:
    directory, name = map(os.fsdecode, os.path.split(change.path))
    return BatchEntry(
        directory=directory,
        name=name,
        old_size=len(change.old),
        old_hash=_hash(change.old),
        new_hash=_hash(change.new),
    )


def entries_of(fd: int, note: IntentRecord) -> Iterator[tuple[BatchEntry, int]]:
    """The files of a batch's intent, and where the old bytes of each begin."""
    start = os.lseek(fd, 0, os.SEEK_CUR)
    at = start + note.table_size
    for row in json.loads(os.pread(fd, note.table_size, start)):
        entry = BatchEntry(*row)
        yield entry, at
        at += entry.old_size


def blank_hash() -> hashlib.blake2b:
    """The hash of a batch's table, of nothing yet."""
    return hashlib.blake2b(digest_size=16)


def _hash(data: bytes) -> str:
    digest = blank_hash()
    digest.update(data)
    return digest.hexdigest()
