"""Puts a file of our own in place: the whole new one or the whole old one, after a crash too.

What we keep is for us alone, whatever the umask: each file and directory is made with its mode.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put_in_place(target: Path, data: Iterable[bytes], draft: Path) -> None:
    """Write a file, for us alone to read, under the name of a draft beside it, and rename it."""
    try:
        with os.fdopen(os.open(draft, _NEW, 0o600), "wb") as file:
            for piece in data:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft)
        raise
    sync_directory(target.parent)


def make_private(path: Path) -> None:
    """Make a directory, and those above it that are missing, for us alone; there may be one."""
    if not os.path.lexists(path):
        if path.parent != path:
            make_private(path.parent)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)


def private_opener(path: str, flags: int) -> int:
    """For `open`: a file that is made is for us alone."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
