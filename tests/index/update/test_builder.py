"""The processes that build segments: how far they are, and how they end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.errors import Cancelled
from flashgrep.index.update.builders import MODULE, Builders, BuildFailed, BuildJob
from flashgrep.index.watch.tracker import Tracker
from flashgrep.workspace.scope import Scope
from tests.warm import STARTED

WALL = 60
FILES = 400


class Site:
    """Files in a directory, and what builds segments of them."""

    def __init__(self, top: Path) -> None:
        work = top / "work"
        work.mkdir()
        self.names = [f"f{number:03}" for number in range(FILES)]
        for name in self.names:
            (work / name).write_text(f"{name} and some more\n" * 50, encoding="ascii")
        self.out = top / "out"
        self.out.mkdir()
        self.scope = Scope(str(work))
        self.stopping = threading.Event()
        self.builders = Builders(Tracker(self.scope, self.scope.workdir), self.stopping.is_set)
        self.told: list[float] = []

    def build(self, segments: int = 1) -> list[str]:
        """Build so many segments, each of an equal share."""
        share = FILES // segments
        jobs = [
            BuildJob(self.names[at * share : (at + 1) * share], str(self.out / f"{at}.seg"), {})
            for at in range(segments)
        ]
        built = self.builders.build(jobs, self.told.append)
        return [name for part in built for name in part.left_out]

    def signal_a_builder(self, number: int) -> None:
        """Send a signal to the first process that has begun to build."""
        limit = time.monotonic() + WALL
        while not any(self.out.iterdir()):
            assert time.monotonic() < limit
            time.sleep(0.001)
        os.kill(_children()[0], number)


def _children() -> list[int]:
    """The building processes of this one."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                status = Path("/proc", entry, "stat").read_text(encoding="ascii", errors="replace")
            except OSError:
                continue
            parent = int(status.rpartition(")")[2].split()[1])
            if parent == os.getpid() and MODULE in STARTED.get(int(entry), ()):
                found.append(int(entry))
    return found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.scope.close()


def test_progress_is_reported_while_a_segment_is_read(site: Site) -> None:
    """One segment for all files: without reports in between, a bar would not move."""
    assert site.build() == []
    assert len(site.told) > 10
    assert all(step > 0 for step in site.told)
    assert sum(site.told) == FILES
    assert sum(site.told[:-1]) == FILES / 2


@pytest.mark.thorough
def test_a_signal_to_the_whole_group_does_not_end_a_build(site: Site) -> None:
    """The server gets it too, and decides."""
    site.builders.count = 1  # of two, the other may still be starting
    for number in (signal.SIGTERM, signal.SIGINT):
        sender = threading.Thread(target=site.signal_a_builder, args=(number,))
        sender.start()
        assert site.build(segments=200) == []
        sender.join()
        for path in site.out.iterdir():
            path.unlink()


def test_a_process_that_was_killed_is_reported_with_the_signal(site: Site) -> None:
    sender = threading.Thread(target=site.signal_a_builder, args=(signal.SIGKILL,))
    sender.start()
    with pytest.raises(BuildFailed, match="a building process was ended by SIGKILL; is there"):
        site.build(segments=200)
    sender.join()


def test_a_build_that_is_stopped_is_no_failure(site: Site) -> None:
    """Own promise: what dies on the way to the end is not reported as a defect."""

    def end() -> None:
        site.signal_a_builder(signal.SIGSTOP)
        site.stopping.set()

    sender = threading.Thread(target=end)
    sender.start()
    with pytest.raises(Cancelled):
        site.build(segments=200)
    sender.join()
    assert _children() == []
