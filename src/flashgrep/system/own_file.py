"""Our own files that say who may do what: whether they have changed, and what is in them.

Such a file counts only if nobody else could have written it. Failures are worded for a person, with
what to do about them.
"""

from __future__ import annotations

import os
from pathlib import Path

from flashgrep.errors import Unavailable, from_os_error
from flashgrep.system.atomic import is_ours_alone, open_own

FileStatus = tuple[int, int, int]
"""Inode, size and time of a file; every replacement makes another."""


def status_of(path: Path) -> FileStatus | None:
    """The status of a file as it is now; None where there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os_error(error, str(path)) from None
    return found.st_ino, found.st_size, found.st_mtime_ns


def read_own(path: Path, remedy: str) -> bytes:
    """All of a file that is ours alone; `remedy` is what to do with one that others can write."""
    try:
        with open_own(path) as file:
            status = os.fstat(file.fileno())
            data = file.read()
    except OSError as error:
        raise from_os_error(error, str(path)) from None
    if not is_ours_alone(status):
        raise Unavailable(f"{path} can be written by others; look who did, then {remedy}")
    return data
