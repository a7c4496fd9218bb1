"""Has other processes build segments, as many at a time as there are cores (see `builder`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.format.segment import path_key
from flashgrep.index.watch.changes import Identity
from flashgrep.index.watch.tracker import Tracker
from flashgrep.system.child import DIED, PROGRESS, run_jobs

SMALL_SEGMENT_BYTES: Final = 8 * limits.MIB
"""A smaller segment is not worth cutting a tree for, even to keep every core busy."""

SEGMENT_FILES: Final = 32_000
"""Files of one segment: blocks are numbered in 16 bits, and a file may begin one."""

SEGMENT_BYTES: Final = 96 * limits.MIB
"""Text of one segment: building one takes about four times as much memory."""

MODULE: Final = "flashgrep.index.update.builder"


class BuildFailed(Exception):
    """The segments could not be written."""


def portions(files: dict[str, Identity], workers: int) -> list[list[str]]:
    """Files in walk order, cut into portions for one segment each."""
    names = sorted(files, key=path_key)
    total = sum(files[name][0] for name in names)
    room = min(SEGMENT_BYTES, max(total // (2 * workers), SMALL_SEGMENT_BYTES))
    cut: list[list[str]] = []
    size = room
    for name in names:
        if size >= room or len(cut[-1]) >= SEGMENT_FILES:
            cut.append([])
            size = 0
        cut[-1].append(name)
        size += files[name][0]
    return cut


def builder_count() -> int:
    """How many processes build at a time."""
    return min(len(os.sched_getaffinity(0)), limits.BUILDERS)


class BuildJob(NamedTuple):
    """A segment to be built."""

    names: list[str]
    path: str
    known: dict[str, list[bytes]]
    """By name the ids of contents that need not be built: a segment has them."""


class Built(NamedTuple):
    """What became of the files of a job; see `writer.Written`."""

    left_out: list[str]
    status: bytes
    racy: bytes
    known: list[tuple[str, bytes, Identity, bool]]


class Builders:
    """Builds segments in as many processes as there are cores."""

    def __init__(
        self, tracker: Tracker, stopped: Callable[[], bool], hash_name: str = "sha1"
    ) -> None:
        self._scope = tracker.scope.packed
        self._tracker = tracker
        self._hash_name = hash_name
        self.stopped = stopped
        self.count = builder_count()

    def build(self, jobs: Sequence[BuildJob], done: Callable[[float], None]) -> list[Built]:
        """Build a segment for each job.

        `done` gets work in files, also in halves: a file that is read is half done.
        """
        messages = (
            (
                self._scope,
                [(name, self._tracker.real(name)) for name in job.names],
                job.path,
                job.known,
                self._hash_name,
            )
            for job in jobs
        )
        built: dict[int, Built] = {}
        reported = [0.0] * len(jobs)
        try:
            with closing(run_jobs(MODULE, messages, self.count, self.stopped)) as answers:
                for job, (kind, body) in answers:
                    if kind == DIED:
                        raise BuildFailed(f"a building process {body}; is there enough memory?")
                    if kind == "failed":
                        raise BuildFailed(body)
                    now = body / 2 if kind == PROGRESS else float(len(jobs[job].names))
                    done(now - reported[job])
                    reported[job] = now
                    if kind != PROGRESS:
                        built[job] = Built(*body)
        except OSError as error:
            raise BuildFailed(f"a building process could not be started: {error}") from None
        if self.stopped():
            raise Cancelled("stopped")
        return [built[number] for number in range(len(jobs))]


class CarriedJob(NamedTuple):
    """A segment to be built of records (see `carried_files`)."""

    spool: str
    path: str
    hash_name: str


def build_carried(jobs: Iterable[CarriedJob], count: int) -> list[str]:
    """Build a segment for each job, while the next is made; the paths of them, in order."""
    given: list[CarriedJob] = []

    def messages() -> Iterator[tuple[str, ...]]:
        for job in jobs:
            given.append(job)
            yield tuple(job)

    with closing(run_jobs(MODULE, messages(), count, lambda: False)) as answers:
        for number, (kind, body) in answers:
            if kind == DIED:
                raise BuildFailed(f"a building process {body}; is there enough memory?")
            if kind == "failed":
                raise BuildFailed(body)
            os.unlink(given[number].spool)
    return [job.path for job in given]
