"""Notes which tests wait, race or start processes: a pytest plugin of `make flaky`.

It listens to the interpreter's own audit events while the tests run, so what counts is what a test
does, not what it imports. Python reports neither sleeps nor threads before 3.13: these are wrapped.
What a fixture of a whole file does (it starts the server that the file's tests talk to) counts for
every test that uses it. Each process appends the tests it has found to the file that the
environment names, one a line; with a second variable only the tests in such a file are run.
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

VARIABLE = "PYTEST_WAITING_TESTS"
"""Names the file the list goes to."""

ONLY = "PYTEST_ONLY_TESTS"
"""Names a file with the tests to run; others are left out."""

WAITS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"}
WAITS |= {"socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto"}
"""A process is started, or somebody else is spoken to."""

_HERE = str(Path(__file__).parent)


class Listener:
    """What is running, a test or a fixture, and what has been seen to wait."""

    def __init__(self) -> None:
        self._running: object = ""
        self._found: set[object] = set()
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
        self._running = item.nodeid
        outcome = yield
        if self._found.intersection(_fixtures(item)):
            self._found.add(item.nodeid)
        return outcome

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        outer, self._running = self._running, fixturedef
        try:
            return (yield)
        finally:
            self._running = outer

    def pytest_sessionfinish(self) -> None:
        text = "".join(f"{each}\n" for each in self._found if isinstance(each, str) and each)
        with open(os.environ[VARIABLE], "a", encoding="utf-8") as report:
            report.write(text)


def _fixtures(item: pytest.Item) -> Iterator[object]:
    """Every fixture the test may use, those of its fixtures included."""
    information = getattr(item, "_fixtureinfo", None)
    for fixtures in getattr(information, "name2fixturedefs", {}).values():
        yield from fixtures


class Selection:
    """The tests to run."""

    def __init__(self, file: Path) -> None:
        self._wanted = set(file.read_text(encoding="utf-8").splitlines())

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._wanted]


def pytest_configure(config: pytest.Config) -> None:
    if VARIABLE in os.environ:
        config.pluginmanager.register(Listener())
    if ONLY in os.environ:
        config.pluginmanager.register(Selection(Path(os.environ[ONLY])))
