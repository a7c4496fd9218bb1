"""Moments in which the operating system gives nothing: no descriptors, no threads."""

from __future__ import annotations

import itertools
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def no_more_files() -> Iterator[None]:
    """Nothing can be opened, and so no process started; what is open stays so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def few_more_files(count: int) -> Iterator[None]:
    """So many can be opened, and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = set(map(int, os.listdir("/proc/self/fd")))
    free = (number for number in itertools.count() if number not in taken)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(itertools.islice(free, count, None)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def no_more_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads fail to start as they do at a container's limit, to which root is not bound."""

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        yield
