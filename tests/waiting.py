"""Notes which test files wait, race or start processes: a pytest plugin of `make flaky`.

It listens to the interpreter's own audit events while the tests run, so what counts is what a test
does, not what it imports. Python reports neither sleeps nor threads before 3.13: these are wrapped.
Each process appends the files it has found to the file that the environment names, one a line.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import wraps
from pathlib import Path

import pytest

VARIABLE = "PYTEST_WAITING_FILES"
"""Names the file the list goes to."""

WAITS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"}
WAITS |= {"socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto"}
"""A process is started, or somebody else is spoken to."""

_HERE = str(Path(__file__).parent)


class Listener:
    """Which file is running, and which have been seen to wait."""

    def __init__(self) -> None:
        self._running = ""
        self._found: set[str] = set()
        sys.addaudithook(self._hear)
        self._wrap_sleep()
        self._wrap_threads()

    def _hear(self, event: str, arguments: object) -> None:
        if event in WAITS:
            self._found.add(self._running)

    def _wrap_sleep(self) -> None:
        sleep = time.sleep

        @wraps(sleep)
        def noted(seconds: float) -> None:
            self._found.add(self._running)
            sleep(seconds)

        time.sleep = noted  # type: ignore[assignment]

    def _wrap_threads(self) -> None:
        """Of threads, those a test starts itself: the program's own answer what they are asked."""
        start = threading.Thread.start

        @wraps(start)
        def noted(thread: threading.Thread) -> None:
            if sys._getframe(1).f_code.co_filename.startswith(_HERE):
                self._found.add(self._running)
            start(thread)

        threading.Thread.start = noted  # type: ignore[method-assign, assignment]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._running = item.nodeid.partition("::")[0]
        return (yield)

    def pytest_sessionfinish(self) -> None:
        text = "".join(f"{file}\n" for file in sorted(self._found - {""}))
        with open(os.environ[VARIABLE], "a", encoding="utf-8") as report:
            report.write(text)


def pytest_configure(config: pytest.Config) -> None:
    if VARIABLE in os.environ:
        config.pluginmanager.register(Listener())
