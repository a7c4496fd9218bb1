"""Files of our own, each replaced as a whole: the new one or the old one, after a crash too.

A draft is written beside the target and renamed over it. Our files are private whatever the umask:
each file and directory is made with its mode. Replacing a user's own file, with its attributes,
hard links and concurrent writers, is another matter: see `workspace.write.replace`.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final

from flashgrep import limits

_CLOSED: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSED
_PRIVATE: Final = 0o600

Name = str | os.PathLike[str]


# ── replacing ───────────────────────────────────────────────────────────────────────────────────


@contextmanager
def replacing(
    target: Name,
    draft: Name | None = None,
    *,
    directory: int | None = None,
    mode: int = _PRIVATE,
    is_durable: bool = True,
) -> Iterator[IO[bytes]]:
    """A new file that takes the target's place when the block ends well, and else disappears.

    Names are relative to `directory`, an open one, if it is given. A draft that a killed process
    has left under a fixed name is overwritten. Without `is_durable` nothing is synced: after a
    power cut the file may be cut short, after a kill it is whole.
    """
    path = os.fspath(target)
    beside = random_draft(path) if draft is None else os.fspath(draft)
    try:
        with os.fdopen(_new(beside, mode, directory), "wb") as file:
            yield file
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        os.rename(beside, path, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException as error:
        _remove(beside, directory)
        if isinstance(error, OSError) and error.filename == beside:
            error.filename = path  # whoever asked knows no other name
        raise
    if is_durable:
        sync_directory(os.path.dirname(path) or "." if directory is None else directory)


def _new(draft: str, mode: int, directory: int | None) -> int:
    try:
        return os.open(draft, _NEW, mode, dir_fd=directory)
    except FileExistsError:  # left by a killed process: drafts that may meet have random names
        os.unlink(draft, dir_fd=directory)
        return os.open(draft, _NEW, mode, dir_fd=directory)


def replace_file(target: Name, data: Iterable[bytes], draft: Name | None = None) -> None:
    """Put a file with these bytes in place, durably."""
    with replacing(target, draft) as file:
        file.writelines(data)


def random_draft(path: str) -> str:
    """A unique name beside a file."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{os.urandom(8).hex()}")


def create_first(target: Name, data: bytes) -> None:
    """Put a complete file in place, unless there is one: of several that try, one wins."""
    draft = random_draft(os.fspath(target))
    try:
        with os.fdopen(os.open(draft, _NEW, _PRIVATE), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, target)
    finally:
        _remove(draft)


def put_in_place(draft: Name, target: Name, *, is_durable: bool = True) -> None:
    """Give a finished file or directory its name: for one that another process wrote."""
    if is_durable:
        _sync(draft, os.O_RDONLY)
    os.rename(draft, target)
    if is_durable:
        sync_directory(os.path.dirname(target) or ".")


def _remove(path: str, directory: int | None = None) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path, dir_fd=directory)


def append(target: Name, data: bytes, directory: int | None = None) -> None:
    """Add to a file of ours, made if need be; a kill leaves all of it, or cuts it short."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | _CLOSED
    descriptor = os.open(target, flags, _PRIVATE, dir_fd=directory)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


# ── private files ───────────────────────────────────────────────────────────────────────────────


def make_private(path: Name) -> None:
    """Make a directory, and those above it that are missing, for us alone; there may be one."""
    if not os.path.lexists(path):
        if parent := os.path.dirname(path):
            make_private(parent)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)


def open_private(path: Name) -> IO[bytes]:
    """Open a file of ours to overwrite it; no other process reads it before it is complete."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _CLOSED
    return os.fdopen(os.open(path, flags, _PRIVATE), "wb")


def open_own(path: Name) -> IO[bytes]:
    """Open a file of ours to read; a link is refused. The caller checks who may write it."""
    return os.fdopen(os.open(path, os.O_RDONLY | _CLOSED), "rb")


def is_ours_alone(status: os.stat_result, others: int = 0o022) -> bool:
    """Whether a file is our user's, and others lack these permissions: by default, to write."""
    return status.st_uid == os.geteuid() and not status.st_mode & others


def checksums(directory: str, names: Iterable[str]) -> list[list[int]]:
    """Size and crc32 of files of ours; OSError where one is a link, or others can write it."""
    found = []
    for name in names:
        size = crc = 0
        with open_own(os.path.join(directory, name)) as file:
            if not is_ours_alone(os.fstat(file.fileno())):
                raise PermissionError(errno.EPERM, "not ours alone", name)
            while piece := file.read(limits.WINDOW_BYTES):
                size += len(piece)
                crc = zlib.crc32(piece, crc)
        found.append([size, crc])
    return found


# ── descriptors ─────────────────────────────────────────────────────────────────────────────────


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write every byte, however often the kernel takes only some."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_directory(directory: Name | bytes | int) -> None:
    """Make the names in a directory durable."""
    if isinstance(directory, int):
        os.fsync(directory)
    else:
        _sync(directory, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Name | bytes, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
