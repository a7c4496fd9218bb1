"""Cleans up after a server that was killed while writing: no stray files, no torn ones.

A file overwritten in place may hold a mixture. Its old bytes are restored only if every byte is the
old or the new one at its offset. If it is wholly old or wholly new there is nothing to do; if it is
anything else, someone has changed it since: their bytes stay, and the old ones are kept in the
state directory.

A batch of files that was not finished is undone: a file that holds the batch's new bytes gets its
old ones back; anything else is someone's later work. That comes last, once each single file is
whole again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.workspace.safe_open import MOVED, REGULAR, STEP, open_beneath, open_in
from flashgrep.workspace.scope import shown_name
from flashgrep.workspace.write.intents import (
    KEPT,
    SUFFIX,
    BatchEntry,
    IntentRecord,
    abandoned,
    blank_hash,
    entries_of,
)
from flashgrep.workspace.write.replace import ReplaceTarget, locked, put_back, replace_bytes

log = logging.getLogger(__name__)

State = Literal["old", "new", "torn", "foreign"]


@dataclass
class Recovery:
    """What recovery found and did."""

    temporaries: int = 0
    restored: int = 0
    kept: int = 0
    undone: int = 0


def recover(recovery_dir: bytes) -> Recovery:
    """Finish what dead writers left; live ones, here or elsewhere, are left alone."""
    done = Recovery()
    for batches in (False, True):
        for path, fd, note in abandoned(recovery_dir):
            if (note is not None and note.table_size > 0) is not batches:
                continue
            try:
                _recover_one(path, fd, note, done)
            except (OSError, FlashgrepError) as error:
                # One bad note is one bad note; it stays for the next start.
                log.warning("recovery of %s failed: %s", shown_name(path), error)
    return done


def _recover_one(path: bytes, fd: int, note: IntentRecord | None, done: Recovery) -> None:
    if note is not None and note.temporary:
        done.temporaries += _remove_temporary(note)
    elif note is not None and _put_right(path, fd, note, done) == "foreign":
        os.rename(path, path.removesuffix(SUFFIX) + KEPT)
        done.kept += 1
        return
    os.unlink(path)


def _put_right(path: bytes, fd: int, note: IntentRecord, done: Recovery) -> State:
    if note.table_size:
        states = [
            _undo(entry, fd, at, os.path.dirname(path), done) for entry, at in entries_of(fd, note)
        ]
        return "foreign" if "foreign" in states else "old"
    state = _restore(fd, note, done)
    if state == "foreign":
        log.warning("%s was changed after a crash; its old bytes are kept", _shown(note))
    return state


def _undo(entry: BatchEntry, record: int, at: int, recovery_dir: bytes, done: Recovery) -> State:
    """Give one file of an unfinished batch its old bytes back, if it holds the new ones."""
    note = IntentRecord(entry.directory, entry.name)
    with _directory_of(note) as directory:
        if directory is None:
            return "foreign"
        path = os.path.join(os.fsencode(entry.directory), os.fsencode(entry.name))
        target = ReplaceTarget(
            parent_fd=directory,
            name=os.fsencode(entry.name),
            path=path,
            recovery_dir=recovery_dir,
        )
        state = _state_of(target, entry)
        if state == "new":
            status = os.stat(target.name, dir_fd=directory, follow_symlinks=False)
            old = os.pread(record, entry.old_size, at)
            replace_bytes(target, old, status, lambda: _state_of(target, entry) == "new")
            done.undone += 1
            log.warning("%s was part of an unfinished batch; undone", shown_name(path))
        elif state == "foreign":
            log.warning("%s was changed after a crash; its old bytes are kept", _shown(note))
        return state


def _state_of(target: ReplaceTarget, entry: BatchEntry) -> State:
    """Whether a file holds its bytes before or after the batch, or others."""
    try:
        fd = open_in(target.name, REGULAR, dir_fd=target.parent_fd)
    except OSError:
        return "foreign"
    with os.fdopen(fd, "rb") as file:
        digest = hashlib.file_digest(file, blank_hash).hexdigest()
    if digest == entry.old_hash:
        return "old"
    return "new" if digest == entry.new_hash else "foreign"


def _remove_temporary(note: IntentRecord) -> bool:
    """Unlink by the random name: no other file is called so."""
    with _directory_of(note) as directory:
        if directory is None:
            return False
        try:
            os.unlink(os.fsencode(note.temporary), dir_fd=directory)
        except FileNotFoundError:
            return False
        return True


@contextmanager
def _directory_of(note: IntentRecord) -> Iterator[int | None]:
    """The directory of a note through no link and of any depth; None where it is gone or moved."""
    slash = os.open("/", STEP)
    try:
        directory = open_beneath(slash, os.fsencode(note.directory).lstrip(b"/"), STEP)
    except OSError as error:
        if error.errno not in MOVED:
            raise
        directory = None
    finally:
        os.close(slash)
    try:
        yield directory
    finally:
        if directory is not None:
            os.close(directory)


def _restore(fd: int, note: IntentRecord, done: Recovery) -> State:
    target = _open_target(note)
    if target is None:
        return "foreign"
    try:
        with locked(target):
            start = os.lseek(fd, 0, os.SEEK_CUR)
            state = _state(target, fd, start, note)
            if state == "torn":
                put_back(target, fd, start, note.old_size)
                done.restored += 1
                log.warning("%s was half-written when the server died; restored", _shown(note))
            return state
    finally:
        os.close(target)


def _open_target(note: IntentRecord) -> int | None:
    """The file the note is about: by path, and the same inode, since it was written in place."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with _directory_of(note) as directory:
        if directory is None:
            return None
        try:
            fd = os.open(os.fsencode(note.name), flags, dir_fd=directory)
        except OSError as error:
            if error.errno in MOVED:
                return None
            raise
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode) and status.st_ino == note.target_inode:
        return fd
    os.close(fd)
    return None


def _state(target: int, record: int, start: int, note: IntentRecord) -> State:
    size = os.fstat(target).st_size
    if not min(note.old_size, note.new_size) <= size <= max(note.old_size, note.new_size):
        return "foreign"
    is_old, is_new = size == note.old_size, size == note.new_size
    for at in range(0, size, limits.CHUNK_BYTES):
        now = os.pread(target, limits.CHUNK_BYTES, at)
        old = _part(record, start, note.old_size, at, len(now)).ljust(len(now), b"\0")
        new = _part(record, start + note.old_size, note.new_size, at, len(now))
        new += old[len(new) :]
        is_old, is_new = is_old and now == old, is_new and now == new
        if now not in (old, new) and not _is_mixture(now, old, new):
            return "foreign"
    return "old" if is_old else "new" if is_new else "torn"


def _part(record: int, start: int, size: int, at: int, count: int) -> bytes:
    return os.pread(record, max(0, min(count, size - at)), start + at)


def _is_mixture(now: bytes, old: bytes, new: bytes) -> bool:
    return all(n in (a, b) for n, a, b in zip(now, old, new, strict=True))


def _shown(note: IntentRecord) -> str:
    return shown_name(os.path.join(os.fsencode(note.directory), os.fsencode(note.name)))
