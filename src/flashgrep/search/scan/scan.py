"""One search from start to end: a first slice right here, then workers on every core.

A small tree is answered in the server's own thread within a few milliseconds. What is left after
that goes to worker processes in walk order, slice by slice. Links that lead out of the search root
are entered when everything else is done, first in walk order first, each directory once.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from typing import Any

from flashgrep import limits
from flashgrep.errors import Cancelled, IOFailure
from flashgrep.search.cost import TooLong, briefly, is_tame, portion
from flashgrep.search.excerpts import FileExcerpts, NeedsWorker, Source
from flashgrep.search.result import FoundFile, Line, Order, Page, Report
from flashgrep.search.scan.fair_queue import HERE, CancelFlag
from flashgrep.search.scan.pool import Pool, Worker
from flashgrep.search.scan.request import Item, ScanRequest, SliceResult, walk_key
from flashgrep.search.scan.scanner import INLINE, Scanner
from flashgrep.search.scan.worker_tasks import DIED, WorkerTasks, run_one
from flashgrep.workspace.scope import Scope, is_within

_ITEMS = 64  # directories handed over at once


class Scan:
    """One search over the disk, and what it found."""

    def __init__(
        self,
        request: ScanRequest,
        scope: Scope,
        pool: Pool,
        cancelled: CancelFlag,
        report: Report,
        may_be_partial: bool = False,
    ) -> None:
        """What `may_be_partial` says how far it came when its time is over."""
        self.may_be_partial = may_be_partial
        self.request = request
        self.pool = pool
        self.cancelled = cancelled
        self.number = pool.number()
        self.scanner = Scanner(request, scope)
        self.found: list[FoundFile] = []
        self.skipped: list[tuple[str, str]] = []
        self.remarks: list[str] = []
        self.scanned = 0
        self.is_partial = False
        """Whether its time was over before everything was searched."""
        self.wanted = 0
        """Matching lines after which, counted in walk order, the rest is not looked at; 0 = all."""
        self._pending: list[tuple[str, int, Item]] = []
        self._links: list[tuple[str, int, Item]] = []
        self._entered = {request.root}
        self._order = 0
        self._crew = WorkerTasks[list[Item]](pool, cancelled, is_tame(request.pattern))
        self._report = report
        self._reported = time.monotonic()
        self._deaths = 0

    def run(self, items: list[Item]) -> None:
        """Search `items` and everything below them."""
        self.begin(items)
        self.go_on(lambda: False)

    def go_on(self, has_better: Callable[[], bool]) -> bool:
        """Search what is left; False where `has_better` ended it before, and it may go on again."""
        try:
            while self._has_more() and not self._has_enough():
                if self.cancelled:
                    self._end_early()
                    break
                if has_better():
                    return False
                self._feed()
                self._collect()
                self._tell()
        finally:
            self._release()
        return True

    def _end_early(self) -> None:
        """Raise `Cancelled`, unless what was found so far may be told."""
        has_expired = bool(getattr(self.cancelled, "has_expired", False))
        if not (has_expired and self.may_be_partial and self.found):
            raise Cancelled("The search was cancelled")
        self.is_partial = True

    def begin(self, items: list[Item]) -> None:
        """Search as much of `items` as is done in a moment; `go_on` does the rest."""
        self._queue(items)
        self._first_slice(items)

    def _first_slice(self, items: list[Item]) -> None:
        try:
            with HERE.turn(self.cancelled), briefly(), portion():
                outcome = self.scanner.run(items, frozenset(self._entered), INLINE)
        except TooLong:
            return  # workers begin anew, and can be stopped
        self._take(outcome, items)

    # ── what was found ──────────────────────────────────────────────────────────────────────────

    def files(self, order: Order = "walk") -> Sequence[FoundFile]:
        in_walk_order = sorted(self.found, key=lambda file: walk_key(file.path))
        if order == "walk":
            return in_walk_order
        return sorted(in_walk_order, key=lambda file: -file.modified)

    def lines(self, page: Page) -> list[tuple[str, list[Line]]]:
        return read_lines(page, self.scanner, self.number, self.pool, self.cancelled)

    def stale(self, paths: Sequence[str]) -> list[str]:
        return []  # it was searched on disk just now

    # ── handing out ─────────────────────────────────────────────────────────────────────────────

    def _queue(self, items: list[Item]) -> None:
        for item in items:
            self._order += 1
            heapq.heappush(self._pending, (item.key, self._order, item))

    def _has_more(self) -> bool:
        while not self._pending and not self._crew.tasks and self._links:
            item = heapq.heappop(self._links)[2]
            if not any(is_within(item.real, root) for root in self._entered):
                self._entered.add(item.real)
                self._queue([item])
        return bool(self._pending or self._crew.tasks)

    def _feed(self) -> None:
        while self._crew.overlong and (worker := self._crew.worker_apart()):
            self._send(worker, self._crew.overlong.pop(0))
        while self._pending and (not self._crew or not self.pool.has_waiters):
            worker = self._crew.worker()
            if worker is None:
                return
            self._send(worker, self._share())

    def _share(self) -> list[Item]:
        # One item at first, so that every core gets some; more when there is plenty.
        count = max(1, min(_ITEMS, len(self._pending) // (2 * self.pool.size)))
        share: list[Item] = []
        files = 0
        while len(share) < count and files < limits.SLICE_FILES:
            share.append(heapq.heappop(self._pending)[2])
            files += len(share[-1].names or ())
        return share

    def _send(self, worker: Worker, share: list[Item]) -> None:
        items = [tuple(item) for item in share]
        message = ("scan", self.number, items, list(self._entered))
        if not self._crew.send(worker, share, message, (self.number, self.request.packed())):
            self._bury(share)

    # ── taking in ───────────────────────────────────────────────────────────────────────────────

    def _collect(self) -> None:
        for share, answer in self._crew.collect():
            if answer is DIED:
                self._bury(share)
            else:
                self._answered(answer, share)

    def _answered(self, answer: Any, share: list[Item]) -> None:
        kind, body = answer
        if kind == "failed":
            self.skipped.extend((item.shown or ".", str(body)) for item in share)
            return
        found, pending, links, skipped, scanned = body
        self._take(
            SliceResult(
                [FoundFile(*file) for file in found],
                [Item(*item) for item in pending],
                [Item(*item) for item in links],
                skipped,
                scanned,
            ),
            [],
        )

    def _take(self, outcome: SliceResult, done: list[Item]) -> None:
        if done:
            self._pending.clear()
        self.found.extend(outcome.found)
        self.skipped.extend(outcome.skipped)
        self.scanned += outcome.scanned
        self._queue(outcome.pending)
        for item in outcome.links:
            self._order += 1
            heapq.heappush(self._links, (item.key, self._order, item))

    def _bury(self, share: list[Item]) -> None:
        """A worker died: its share is tried again, but not for ever."""
        self._deaths += 1
        if self._deaths > 2 * self.pool.size + 2:
            raise IOFailure("The search processes keep dying; is there enough memory?")
        if self._deaths > self.pool.size:
            self.skipped.extend((item.shown or ".", "a search process died here") for item in share)
        else:
            self._queue(share)

    # ── ends ────────────────────────────────────────────────────────────────────────────────────

    def _has_enough(self) -> bool:
        """Whether all that comes first in walk order is there, and it is what was wanted."""
        if not self.wanted:
            return False
        open_keys = [entry[0] for entry in (*self._pending[:1], *self._links[:1])]
        open_keys += [item.key for share in self._crew.tasks for item in share]
        first_open = min(open_keys, default=None)
        before = (
            file.count
            for file in self.found
            if first_open is None or walk_key(file.path) < first_open
        )
        return sum(before) >= self.wanted

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._reported > limits.PROGRESS_SECONDS:
            self._reported = now
            self._report(self.scanned, None, f"searched {self.scanned:,} files")

    def _release(self) -> None:
        """Give the workers back; what they did not end waits, should the search go on."""
        for share, answer in self._crew.release():
            if answer is DIED:
                self._queue(share)
            else:
                self._answered(answer, share)


def read_lines(
    page: Page,
    scanner: Scanner,
    number: int,
    pool: Pool,
    cancelled: CancelFlag,
    source: Source = lambda _: None,
) -> list[tuple[str, list[Line]]]:
    """The lines of a page of files: read here if the files are small, else in a worker.

    `source` has the texts that are in memory; `number` is the search the workers know it by.
    """
    try:
        with briefly():
            return FileExcerpts(scanner, source).page(
                page._replace(largest=limits.INLINE_FILE_BYTES)
            )
    except (NeedsWorker, TooLong):
        begin = (number, scanner.request.packed())
        is_short = is_tame(scanner.request.pattern)
        lines: list[tuple[str, list[Line]]]
        _, lines = run_one(pool, ("page", number, tuple(page)), cancelled, begin, is_short)
        return lines
