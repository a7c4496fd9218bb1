"""Processes that match segments: some help a search, some can be killed.

They start a moment after the first search that could use them, so as not to slow the next one down,
and sleep between searches. A search takes the idle ones, gives each a share, and does one itself;
if none is idle it does everything. One that does not return after a cancel is killed and replaced.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any, Final

import numpy as np

from flashgrep import limits
from flashgrep.errors import Cancelled, IOFailure
from flashgrep.index.answer.match import INDEX_PORTION_BYTES, Hits, matched, packed
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.segment import numbers
from flashgrep.index.format.segment_set import Runs, Texts, Work
from flashgrep.search.match_count import Counter
from flashgrep.search.pattern import (
    PatternSpec,
    bytes_in,
    portion,
    seconds_a_byte,
    seconds_of_matches,
)
from flashgrep.search.result import ScanRequest
from flashgrep.search.scan.fair_queue import HERE, CancelFlag
from flashgrep.search.scan.pool import Pool, run_all
from flashgrep.system.child import Child, ChildDied, readable

MATCHERS_REST_SECONDS: Final = 1.0
"""After the first search that could use further processes, until they are started: that takes
200 ms of a core each, and an agent's next search often comes at once."""

log = logging.getLogger(__name__)


_MODULE: Final = "flashgrep.index.answer.match"
_OWN_SHARE: Final = 1.1
"""What a search matches itself, in shares of the others."""


class Matchers:
    """Matching processes, handed out to one search at a time."""

    def __init__(self, count: int | None = None) -> None:
        cores = min(len(os.sched_getaffinity(0)), limits.BUILDERS)
        self._count = cores - 1 if count is None else count
        self._lock = threading.Lock()
        self._starting: list[Child] = []
        self._idle: list[Child] = []
        self._closed = False
        self._has_started = False
        self._later: threading.Timer | None = None

    def _want(self) -> None:
        """Start the first processes when the search at hand is over, and further ones at once."""
        if self._has_started:
            self.start()
            return
        with self._lock:
            if self._later is None and self._count > 0 and not self._closed:
                self._later = threading.Timer(MATCHERS_REST_SECONDS, self.start)
                self._later.daemon = True
                self._later.start()

    def start(self) -> None:
        """Start the processes; they are used once they have said that they are there."""
        with self._lock:
            self._has_started = True
            while not self._closed and self._count > 0 and self._begin():
                self._count -= 1

    def close(self) -> None:
        """End those that are idle; one at work ends when it comes back."""
        with self._lock:
            self._closed = True
            if self._later is not None:
                self._later.cancel()
            idle, self._idle, self._starting = self._idle + self._starting, [], []
        for worker in idle:
            worker.stop()

    def release(self) -> None:
        """Let idle ones give their mapped pages back."""
        with self.some() as workers:
            for worker in list(workers):
                try:
                    worker.send(("release",))
                except ChildDied:
                    self._replace(workers, worker)

    def match(
        self,
        pattern: PatternSpec,
        counter: Counter,
        is_dense: bool,
        work: Sequence[Work],
        cancelled: CancelFlag,
    ) -> list[Hits]:
        """Match everything, in shares; what each of `work` found, in order."""
        self._want()
        with self.some() as workers:
            shares = _shares(work, len(workers) + 1)
            asked: list[tuple[Child, Sequence[Work]]] = []
            try:
                for worker, share in zip(list(workers), shares[1:], strict=True):
                    order = [packed(each) for each in share]
                    asked.append((worker, share))
                    worker.send(("match", astuple(pattern), counter.counting, is_dense, order))
                hits = list(matched_here(counter, is_dense, shares[0], cancelled))
                while asked:
                    worker, share = asked[0]
                    found = _received(worker, lambda: bool(cancelled))
                    asked.pop(0)
                    if found is None:
                        found = list(matched_here(counter, is_dense, share, cancelled))
                    hits += found
            except ChildDied:
                hits = list(matched_here(counter, is_dense, work, cancelled))
            finally:
                for worker, _ in asked:
                    self._replace(workers, worker)
        return hits

    @contextmanager
    def some(self) -> Iterator[list[Child]]:
        """The processes that are idle; those left in the list are idle again afterwards."""
        with self._lock:
            self._welcome()
            taken, self._idle = self._idle, []
        try:
            yield taken
        finally:
            with self._lock:
                self._idle += [] if self._closed else taken
            if self._closed:
                for worker in taken:
                    worker.stop()

    def _replace(self, workers: list[Child], worker: Child) -> None:
        workers.remove(worker)
        worker.stop(kill=True)
        with self._lock:
            if not self._closed and not self._begin():
                self._count += 1

    def _begin(self) -> bool:
        """Start a process; False where that cannot be, and another search tries again."""
        try:
            worker = Child(_MODULE)
        except OSError as error:  # no more processes, no memory: this search does without
            log.warning("no process to match with: %s", error)
            return False
        try:
            worker.send(("hello",))
        except ChildDied:
            worker.stop(kill=True)
            return False
        self._starting.append(worker)
        return True

    def _welcome(self) -> None:
        """Take in the processes that have started meanwhile."""
        for worker in [each for each in self._starting if readable((each.out,), 0)]:
            self._starting.remove(worker)
            try:
                worker.receive()
                self._idle.append(worker)
            except ChildDied:
                worker.stop(kill=True)
                self._count += 1  # the next search that could use one starts another


def _shares(work: Sequence[Work], count: int) -> list[Sequence[Work]]:
    """The work cut into so many stretches of about the same size, the first a little larger.

    The thread that asks keeps that one, and begins while the processes are still being asked.
    """
    ends = np.cumsum([0, *(each.size for each in work)])
    parts = (_OWN_SHARE + np.arange(count - 1)) / (_OWN_SHARE + count - 1)
    cuts = [int(np.abs(ends - ends[-1] * part).argmin()) for part in parts]
    return [work[first:past] for first, past in zip([0, *cuts], [*cuts, len(work)], strict=True)]


def matched_here(
    counter: Counter, is_dense: bool, work: Sequence[Work], cancelled: CancelFlag
) -> Iterator[Hits]:
    """Match everything in this thread."""
    for each in work:
        if cancelled:
            raise Cancelled("The search was cancelled")
        with HERE.turn(cancelled), portion():
            hits = matched(counter, each, is_dense)
        yield hits


def _received(worker: Child, stopped: Callable[[], bool]) -> list[Hits] | None:
    """What a process found; None where it cannot open what it should look through."""
    answer = worker.receive_unless(stopped)
    if answer is None:
        raise Cancelled("The search was cancelled")
    try:
        return _hits(answer)
    except SnapshotGone:
        return None


class SnapshotGone(Exception):
    """A segment was replaced on disk: only a process that has it mapped can still read it."""


def _hits(answer: Any) -> list[Hits]:
    """What an answer of a process says was found."""
    kind, *rest = answer
    if kind == "gone":
        raise SnapshotGone
    if kind == "damaged":
        raise DamagedSegment(*rest)
    if kind == "failed":
        raise IOFailure(f"A part of the index could not be searched: {rest[0]}")
    return [
        (np.frombuffer(files, np.int64), np.frombuffer(counts, np.int64))
        for files, counts in rest[0]
    ]


# ── processes that can be killed ─────────────────────────────────────────────────────────────────
# Matches candidates in processes that can be killed, for patterns that may take long.
#
# The processes of `Matchers` are for speed: the thread that asks does a share itself. Here it only
# waits, so that a cancelled call ends at once, and the processes are shared out by connection.


class KillableMatching:
    """Matches for one search in a process that can be killed."""

    def __init__(self, request: ScanRequest, pool: Pool, cancelled: CancelFlag) -> None:
        self._request = request
        self._pool = pool
        self._cancelled = cancelled

    def match(self, work: Sequence[Work]) -> list[Hits]:
        """What was found in some work; a file may be in several of the parts."""
        spec = astuple(self._request.pattern)
        messages = [
            ("match", spec, self._request.counting, False, [packed(part)])
            for each in work
            for part in self._parts(each)
        ]
        answers = (answer for _, answer in run_all(self._pool, messages, self._cancelled))
        return [hits for answer in answers for hits in _hits(answer)]

    def _parts(self, work: Work) -> Iterator[Work]:
        """So small that each is done in about a slice, unless it is a single long line."""
        pattern = self._request.pattern
        looks_at_all = pattern.multiline or self._request.counting in ("matches", "parts")
        price = seconds_of_matches(pattern) if looks_at_all else seconds_a_byte(pattern)
        size = min(INDEX_PORTION_BYTES, bytes_in(limits.SLICE_SECONDS, price)) or 1
        if isinstance(work, Texts):
            return work.portions(size)
        pieces = numbers(work.firsts, work.pasts)
        return Runs(work.segment, pieces, pieces + 1).portions(size)
