"""What the kernel says of processes: children, life, memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.warm import SOURCES

Value = TypeVar("Value")
_PATIENCE_SECONDS = 120.0
_SAMPLE_SECONDS = 0.005
_LOOK_SECONDS = 0.002


def children(pid: int) -> list[int]:
    """The processes that a process has started, of whatever thread."""
    found: list[int] = []
    for task in _listed(f"/proc/{pid}/task"):
        found += map(int, _text(f"/proc/{pid}/task/{task}/children").split())
    return found


def own_children() -> set[int]:
    """The processes that a test, or what it tests, has started in this process."""
    return set(children(os.getpid())) - SOURCES


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits to be collected does not."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return bool(fields) and fields[0] not in ("Z", "X")


def command_line(pid: int) -> str:
    """The words a process was started with; empty where it is gone."""
    return _text(f"/proc/{pid}/cmdline").replace("\0", " ")


def wait_until(condition: Callable[[], Value], what: str) -> Value:
    """The first truth a condition gives."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(_LOOK_SECONDS)
    raise AssertionError(f"no {what} within {_PATIENCE_SECONDS} seconds")


def wait_until_gone(pids: Iterable[int]) -> None:
    """Wait until every process has ended."""
    wait_until(lambda: not any(map(is_alive, pids)), f"end of the processes {pids}")


@dataclass
class Memory:
    """Bytes that belong to a server and its workers alone: now, and at most so far."""

    start: int = 0
    peak: int = 0
    start_anonymous: int = 0
    peak_anonymous: int = 0

    @property
    def added(self) -> int:
        return self.peak - self.start

    @property
    def added_anonymous(self) -> int:
        return self.peak_anonymous - self.start_anonymous


@contextmanager
def watched(pid: int) -> Iterator[Memory]:
    """Sample the private memory of a process and its children while the block runs."""
    private, anonymous = private_bytes(pid)
    memory = Memory(private, private, anonymous, anonymous)
    over = threading.Event()

    def sample() -> None:
        while not over.wait(_SAMPLE_SECONDS):
            now, alone = private_bytes(pid)
            memory.peak = max(memory.peak, now)
            memory.peak_anonymous = max(memory.peak_anonymous, alone)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield memory
    finally:
        over.set()
        thread.join()


def private_bytes(pid: int) -> tuple[int, int]:
    """Private memory of a process and its children, and the part of it that no file backs.

    A private file that is mapped counts in the first number while its pages are in use, though
    the kernel can take them back at any time; the second number is what cannot be taken back.
    """
    private = anonymous = 0
    for process in (pid, *children(pid)):
        for line in _text(f"/proc/{process}/smaps_rollup").splitlines():
            name, _, rest = line.partition(":")
            if name in ("Private_Clean", "Private_Dirty"):
                private += int(rest.split()[0]) * 1024
            elif name == "Anonymous":
                anonymous += int(rest.split()[0]) * 1024
    return private, anonymous


def _listed(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
