"""Locks between processes: `flock`, which the kernel releases whenever the process ends.

A lock belongs to an open descriptor, of a lock file or of the protected file itself.
"""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_PAUSE_SECONDS: Final = 0.001


def open_lock_file(path: str | os.PathLike[str], *, create: bool = True) -> int:
    """A descriptor of a lock file, for us alone; not locked yet."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags | (os.O_CREAT if create else 0), 0o600)


def lock(descriptor: int) -> None:
    """Wait for the lock, and hold it until the descriptor is closed."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def try_lock(descriptor: int) -> bool:
    """Take the lock, if it is free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether the lock of a lock file is held; False where there is no such file.

    Looking takes a shared lock for a moment, so a `try_lock` may fail beside it and is tried again.
    """
    try:
        descriptor = open_lock_file(path, create=False)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def locked(descriptor: int, seconds: float = math.inf) -> Iterator[None]:
    """Hold the lock in the block.

    With a limit of `seconds` it is only tried: after that, and where the file system has no locks,
    the block runs without.
    """
    held = True
    if seconds < math.inf:
        held = _try_for(descriptor, seconds)
    else:
        lock(descriptor)
    try:
        yield
    finally:
        if held:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _try_for(descriptor: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if try_lock(descriptor):
                return True
        except OSError:
            return False  # no locks on this file system
        time.sleep(_PAUSE_SECONDS)
    return False
