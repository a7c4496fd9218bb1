"""One search from start to end: a first slice right here, then workers on every core.

A small tree is answered in the server's own thread within a few milliseconds. What is left after
that goes to worker processes in walk order, slice by slice. Links that lead out of the search root
are entered when everything else is done, first in walk order first, each directory once.
"""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from flashgrep import limits
from flashgrep.errors import Cancelled, IOFailure
from flashgrep.search.excerpt import Text
from flashgrep.search.pool import NoWorker, Pool, Worker, WorkerDied
from flashgrep.search.request import Found, Item, Outcome, ScanRequest, walk_key
from flashgrep.search.scanner import INLINE, Scanner
from flashgrep.workspace.scope import Scope, is_within

_TURN_SECONDS = 0.05
_ITEMS = 64  # directories handed over at once


class Flag(Protocol):
    """Whether the caller has withdrawn."""

    def __bool__(self) -> bool: ...


Report = Callable[[float, float | None, str], None]


class Search(Protocol):
    """A search that has been done, over the disk or with an index."""

    request: ScanRequest
    scanner: Scanner
    number: int
    skipped: list[tuple[str, str]]
    """Files that could not be searched, with the reason."""
    notes: list[str]
    """What else the answer should say of this search."""

    def in_walk_order(self) -> Sequence[Found]:
        """What was found, depth first, entries by bytes."""
        ...

    def newest_first(self) -> Sequence[Found]:
        """What was found, the file changed last first, ties in walk order."""
        ...

    def text(self, shown: str) -> Text | None:
        """The text of a found file from elsewhere than the disk."""
        ...

    def confirm(self, shown: Sequence[str]) -> list[str]:
        """Those of some found files that are no longer what was searched."""
        ...


class Scan:
    """The state of one search over the disk."""

    def __init__(
        self, request: ScanRequest, scope: Scope, pool: Pool, cancelled: Flag, report: Report
    ) -> None:
        self.request = request
        self.pool = pool
        self.cancelled = cancelled
        self.number = pool.number()
        self.scanner = Scanner(request, scope)
        self.found: list[Found] = []
        self.skipped: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.scanned = 0
        self.wanted = 0
        """Matching lines after which, counted in walk order, the rest is not looked at; 0 = all."""
        self._pending: list[tuple[str, int, Item]] = []
        self._links: list[tuple[str, int, Item]] = []
        self._entered = {request.root}
        self._order = 0
        self._busy: dict[int, tuple[Worker, list[Item]]] = {}
        self._report = report
        self._reported = time.monotonic()
        self._deaths = 0

    def run(self, items: list[Item]) -> None:
        """Search `items` and everything below them."""
        self._queue(items)
        self._take(self.scanner.run(items, frozenset(self._entered), INLINE), items)
        try:
            while self._has_more() and not self._has_enough():
                if self.cancelled:
                    raise Cancelled("The search was cancelled")
                self._feed()
                self._collect()
                self._tell()
        finally:
            self._release()

    def in_walk_order(self) -> Sequence[Found]:
        return sorted(self.found, key=lambda file: walk_key("", file.shown))

    def newest_first(self) -> Sequence[Found]:
        return sorted(self.in_walk_order(), key=lambda file: -file.value)

    def text(self, shown: str) -> Text | None:
        return None

    def confirm(self, shown: Sequence[str]) -> list[str]:
        return []

    # ── handing out ─────────────────────────────────────────────────────────────────────────────

    def _queue(self, items: list[Item]) -> None:
        for item in items:
            self._order += 1
            heapq.heappush(self._pending, (item.key, self._order, item))

    def _has_more(self) -> bool:
        while not self._pending and not self._busy and self._links:
            item = heapq.heappop(self._links)[2]
            if not any(is_within(item.real, root) for root in self._entered):
                self._entered.add(item.real)
                self._queue([item])
        return bool(self._pending or self._busy)

    def _feed(self) -> None:
        while self._pending and (not self._busy or not self.pool.has_waiters):
            worker = self._worker()
            if worker is None:
                return
            share = self._share()
            self._busy[worker.out] = (worker, share)
            self._send(worker, share)

    def _worker(self) -> Worker | None:
        try:
            return self.pool.borrow(0 if self._busy else _TURN_SECONDS)
        except NoWorker:
            if self._busy:  # it takes longer, but goes on with those it has
                return None
            raise

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
        try:
            worker.begin(self.number, self.request.packed())
            items = [tuple(item) for item in share]
            worker.send(("scan", self.number, items, list(self._entered)))
        except WorkerDied:
            self._bury(worker)

    # ── taking in ───────────────────────────────────────────────────────────────────────────────

    def _collect(self) -> None:
        if not self._busy:
            return
        for out in _readable(self._busy, _TURN_SECONDS):
            worker, share = self._busy[out]
            try:
                answer = worker.receive()
            except WorkerDied:
                self._bury(worker)
                continue
            del self._busy[out]
            self._return(worker)
            self._answered(answer, share)

    def _answered(self, answer: Any, share: list[Item]) -> None:
        kind, body = answer
        if kind == "failed":
            self.skipped.extend((item.shown or ".", str(body)) for item in share)
            return
        found, pending, links, skipped, scanned = body
        self._take(
            Outcome(
                [Found(*file) for file in found],
                [Item(*item) for item in pending],
                [Item(*item) for item in links],
                skipped,
                scanned,
            ),
            [],
        )

    def _take(self, outcome: Outcome, done: list[Item]) -> None:
        if done:
            self._pending.clear()
        self.found.extend(outcome.found)
        self.skipped.extend(outcome.skipped)
        self.scanned += outcome.scanned
        self._queue(outcome.pending)
        for item in outcome.links:
            self._order += 1
            heapq.heappush(self._links, (item.key, self._order, item))

    def _return(self, worker: Worker) -> None:
        self.pool.give_back(worker)

    def _bury(self, worker: Worker) -> None:
        """A worker died: its share is tried again, but not for ever."""
        _, share = self._busy.pop(worker.out)
        self.pool.discard(worker)
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
        open_keys += [item.key for _, share in self._busy.values() for item in share]
        first_open = min(open_keys, default=None)
        before = (
            file.value
            for file in self.found
            if first_open is None or walk_key("", file.shown) < first_open
        )
        return sum(before) >= self.wanted

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._reported > limits.PROGRESS_SECONDS:
            self._reported = now
            self._report(self.scanned, None, f"searched {self.scanned:,} files")

    def _release(self) -> None:
        """Give the workers back; one that is lost in a long match is killed."""
        deadline = time.monotonic() + limits.CANCEL_SECONDS
        while self._busy:
            wait = max(0.0, deadline - time.monotonic())
            ready = _readable(self._busy, wait)
            for out in ready or list(self._busy):
                worker, _ = self._busy.pop(out)
                try:
                    if not ready:
                        raise WorkerDied
                    worker.receive()
                    self._return(worker)
                except WorkerDied:
                    self.pool.discard(worker)


def _readable(busy: Iterable[int], seconds: float) -> list[int]:
    # poll, not select: a server with many clients has descriptors above 1,024.
    poll = select.poll()
    for out in busy:
        poll.register(out, select.POLLIN)
    return [out for out, _ in poll.poll(seconds * 1000)]
