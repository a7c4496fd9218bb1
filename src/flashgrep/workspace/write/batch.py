"""Several files replaced together: all of them, or, after a kill too, none.

Each file is replaced as `replace` does it. Before the first one an intent is made durable that
holds the old bytes of all; when the last one is down it is taken away, durably, and only then is
the batch acknowledged. So a start that finds such an intent knows that nobody was told of success,
and undoes the batch. After the intent's header stands

    the table     JSON, `table_size` bytes: a row [directory, name, old size, old hash, new hash]
                  for each file
    the old bytes of each file, in the order of the table

Only a file that holds exactly the new bytes is put back: anything else is someone's later work.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

from flashgrep.system.atomic import write_all
from flashgrep.workspace.safe_open import REGULAR, open_in
from flashgrep.workspace.write.intents import Intent, IntentRecord, sync_directory
from flashgrep.workspace.write.replace import ReplaceTarget, replace_bytes


class FileChange(NamedTuple):
    """One file of a batch: its real path, what it held, what it is to hold."""

    path: bytes
    old: bytes
    new: bytes


class BatchEntry(NamedTuple):
    """A row of the table; names with undecodable bytes as surrogates."""

    directory: str
    name: str
    old_size: int
    old_hash: str
    new_hash: str


@dataclass
class BatchRecord:
    """The intent of a batch under way."""

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


def state_of(target: ReplaceTarget, entry: BatchEntry) -> Literal["old", "new", "foreign"]:
    """Whether a file holds its bytes before or after the batch, or others."""
    try:
        fd = open_in(target.name, REGULAR, dir_fd=target.parent_fd)
    except OSError:
        return "foreign"
    with os.fdopen(fd, "rb") as file:
        digest = hashlib.file_digest(file, _blank).hexdigest()
    if digest == entry.old_hash:
        return "old"
    return "new" if digest == entry.new_hash else "foreign"


def put_old(target: ReplaceTarget, entry: BatchEntry, old: bytes) -> None:
    """Replace the new bytes by the old ones."""
    status = os.stat(target.name, dir_fd=target.parent_fd, follow_symlinks=False)
    replace_bytes(target, old, status, lambda: state_of(target, entry) == "new")


def _blank() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def _hash(data: bytes) -> str:
    digest = _blank()
    digest.update(data)
    return digest.hexdigest()
