"""Searches the workspace: from the index where possible, otherwise the disk, on every core.

A small tree is answered in the server's own thread within a few milliseconds. What is left after
that goes to worker processes in walk order, slice by slice. Links that lead out of the search root
are entered when everything else is done, first in walk order first, each directory once.
"""

from __future__ import annotations

import heapq
import logging
import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

from flashgrep import limits
from flashgrep.errors import Cancelled, InvalidParams, IOFailure, NotFound
from flashgrep.search.at_once import may_wait
from flashgrep.search.excerpts import FileExcerpts, NeedsWorker, Source
from flashgrep.search.pattern import TooLong, briefly, check, is_predictable, portion
from flashgrep.search.result import (
    ROOT,
    FoundFile,
    Item,
    Line,
    Order,
    Page,
    Report,
    ScanRequest,
    Searcher,
    SearchQuestion,
    SearchResult,
    SliceResult,
    Unit,
    on_page,
    walk_key,
)
from flashgrep.search.scan.fair_queue import HERE, CancelFlag
from flashgrep.search.scan.pool import DIED, Pool, Worker, WorkerTasks, run_one
from flashgrep.search.scan.scanner import (
    INLINE,
    INLINE_FILE_BYTES,
    SLICE_FILES,
    Scanner,
    file_request,
    scan_request,
)
from flashgrep.workspace.scope import ResolvedPath, Scope, is_within

log = logging.getLogger(__name__)


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
        """A search that `may_be_partial` returns what it has when its time is over."""
        self.may_be_partial = may_be_partial
        self.request = request
        self.pool = pool
        self.cancelled = cancelled
        self.scanner = Scanner(request, scope)
        self.found: list[FoundFile] = []
        self.skipped: list[tuple[str, str]] = []
        self.remarks: list[str] = []
        self.scanned = 0
        self.is_partial = False
        """Whether its time was over before everything was searched."""
        self.wanted = 0
        """Results after which, counted in walk order, the rest is not looked at; 0 = all."""
        self.results: Unit = "matches"
        self._pending: list[tuple[str, int, Item]] = []
        self._links: list[tuple[str, int, Item]] = []
        self._entered = {request.root}
        self._order = 0
        self._report = report
        self._reported = time.monotonic()
        self._deaths = 0
        self._is_done = False
        """Whether the first slice was all of it."""

    @cached_property
    def _crew(self) -> WorkerTasks[list[Item]]:
        return WorkerTasks(self.pool, self.cancelled, is_predictable(self.request.pattern))

    def run(self, items: list[Item]) -> None:
        """Search `items` and everything below them."""
        self.begin(items)
        self.go_on(lambda: False)

    def go_on(self, has_better: Callable[[], bool]) -> bool:
        """Search what is left; False where `has_better` stopped it, and it may continue later."""
        if self._is_done:
            return True
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
        """Raise `Cancelled`, unless a partial result may be returned."""
        has_expired = bool(getattr(self.cancelled, "has_expired", False))
        if not (has_expired and self.may_be_partial and self.found):
            raise Cancelled("The search was cancelled")
        self.is_partial = True
        self.remarks.append(
            f"incomplete: stopped after {getattr(self.cancelled, 'seconds', 0)} seconds "
            f"(--call-seconds), {self.scanned:,} files searched and more were not; narrow it with "
            "path, glob (include) or type, or use a more selective pattern"
        )

    def reach(self, wanted: int) -> None:
        if self.wanted and not self.is_partial:  # else everything was searched
            self.wanted = wanted
            self.go_on(lambda: False)

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
        self._is_done = not self._pending and not self._links

    # ── what was found ──────────────────────────────────────────────────────────────────────────

    @property
    def looked_at(self) -> int:
        return self.scanned

    def files(self, order: Order = "walk") -> Sequence[FoundFile]:
        in_walk_order = sorted(self.found, key=lambda file: walk_key(file.path))
        if order == "walk":
            return in_walk_order
        return sorted(in_walk_order, key=lambda file: -file.modified)

    def lines(self, page: Page) -> list[tuple[str, list[Line]]]:
        return read_lines(page, self.scanner, self.pool, self.cancelled)

    def stale(self, paths: Sequence[str]) -> list[str]:
        return []  # it was searched on disk just now

    def answered(self) -> None:
        pass  # the disk has to be searched again

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
        while len(share) < count and files < SLICE_FILES:
            share.append(heapq.heappop(self._pending)[2])
            files += len(share[-1].names or ())
        return share

    def _send(self, worker: Worker, share: list[Item]) -> None:
        items = [tuple(item) for item in share]
        message = ("scan", self.scanner.number, items, list(self._entered))
        if not self._crew.send(worker, share, message, self.scanner.begin):
            self._bury(share)

    # ── taking in ───────────────────────────────────────────────────────────────────────────────

    def _collect(self) -> None:
        for share, answer in self._crew.collect():
            self._answered(answer, share, self._bury)

    def _answered(self, answer: Any, share: list[Item], died: Callable[[list[Item]], None]) -> None:
        if answer is DIED:
            died(share)
            return
        kind, body = answer
        if kind == "failed":
            self.skipped.extend((item.shown or ".", str(body)) for item in share)
            return
        found, pending, links, skipped, scanned = body
        self._take(
            SliceResult(
                found=[FoundFile(*file) for file in found],
                pending=[Item(*item) for item in pending],
                links=[Item(*item) for item in links],
                skipped=skipped,
                scanned=scanned,
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
        """A worker died: its share is retried, but not forever."""
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
        by_file = self.results == "files"
        before = (
            1 if by_file else file.count
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
        """Give the workers back; what they did not finish waits, in case the search continues."""
        for share, answer in self._crew.release():
            self._answered(answer, share, self._queue)


def read_lines(
    page: Page,
    scanner: Scanner,
    pool: Pool,
    cancelled: CancelFlag,
    source: Source = lambda _: None,
) -> list[tuple[str, list[Line]]]:
    """The lines of a page of files: read here if the files are small, else in a worker.

    `source` has the texts that are in memory.
    """
    try:
        with briefly():
            return FileExcerpts(scanner, source).page(page._replace(largest=INLINE_FILE_BYTES))
    except (NeedsWorker, TooLong):
        may_wait()
        is_short = is_predictable(scanner.request.pattern)
        message = ("page", scanner.number, tuple(page))
        lines: list[tuple[str, list[Line]]]
        _, lines = run_one(pool, message, cancelled, scanner.begin, is_short)
        return lines


# ── the searcher ─────────────────────────────────────────────────────────────────────────────────
# The search over the workspace: by the index where it can, else over the disk.


class SearchIndex(Searcher[ResolvedPath], Protocol):
    """An index, as a search sees it: it answers for directories, or not at all."""

    def is_ready(self) -> bool:
        """Whether it could answer now."""
        ...


class DiskSearcher:
    """Searches the files of a scope: with an index where there is one, and always exactly."""

    def __init__(
        self,
        scope: Scope,
        pool: Pool | None = None,
        index: SearchIndex | None = None,
        verify: bool = False,
    ) -> None:
        self._scope = scope
        self.pool = pool or Pool()
        """The processes for what may take long."""
        self._index = index
        self._verify = verify

    def close(self) -> None:
        """End the worker processes."""
        self.pool.close()

    def search(
        self,
        where: ResolvedPath,
        question: SearchQuestion,
        cancelled: CancelFlag,
        report: Report,
        kind: str | None = None,
    ) -> SearchResult:
        """Search a directory tree, or one file; `kind` says which, if the caller has looked."""
        check(question.pattern)
        kind = kind or self._scope.kind(where)
        if kind is None:
            raise NotFound(f"Path not found: {where.shown}")
        if kind == "other":
            raise InvalidParams(f"{where.shown} is neither a file nor a directory")
        if kind == "file":
            return self._file(where, question, cancelled, report)
        return self._directory(where, question, cancelled, report)

    def _file(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult:
        scan = self._scan(where, question, cancelled, report, is_file=True)
        if scan.scanner.keeps(_name(where)):
            name = os.fsdecode(os.path.basename(where.path))
            scan.run([Item(shown="", real=scan.request.root, ruled=(), names=(name,))])
        return _checked(scan, where)

    def _directory(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult:
        """By the index, if it can; else over the disk, until the index is ready."""
        if self._verify:
            return self._verified(where, question, cancelled, report)
        index = self._index
        if index is not None:
            indexed = index.search(where, question, cancelled, report)
            if indexed is not None:
                return indexed
        scan = self._scan(where, question, cancelled, report)
        scan.begin([Item("", where.path)])
        # An index that is ready was asked, and has declined.
        if index is not None and not index.is_ready():
            is_done = scan.go_on(index.is_ready)
            better = None if is_done else index.search(where, question, cancelled, report)
            if better is not None:
                return better
        scan.go_on(lambda: False)
        return _checked(scan, where)

    def _verified(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult:
        """Over the disk; what the index has, all or a page of it, is compared with that."""
        may_wait()
        index = self._index
        indexed = None if index is None else index.search(where, question, cancelled, report)
        scan = self._scan(where, question, cancelled, report)
        scan.run([Item("", where.path)])
        _checked(scan, where)
        if indexed is not None:
            _compare(indexed, scan, question)
        return scan

    def _scan(
        self,
        where: ResolvedPath,
        question: SearchQuestion,
        cancelled: CancelFlag,
        report: Report,
        is_file: bool = False,
    ) -> Scan:
        may_wait()
        make = file_request if is_file else scan_request
        request = make(self._scope, where, question)
        scan = Scan(request, self._scope, self.pool, cancelled, report, question.may_be_partial)
        if question.order == "walk":  # which file is the newest is known when all were looked at
            scan.wanted, scan.results = question.wanted, question.results
        return scan


def _checked(scan: Scan, where: ResolvedPath) -> Scan:
    """A root that cannot be read is a failure, not an empty result."""
    for path, reason in scan.skipped:
        if path == ROOT:
            raise IOFailure(f"{where.shown} cannot be searched: {reason}")
    return scan


def _compare(indexed: SearchResult, scan: Scan, question: SearchQuestion) -> None:
    """Say in the answer, and in the log, where an index gave another answer than the disk."""
    by_index, by_scan = (_first(found, question) for found in (indexed, scan))
    if by_index == by_scan:
        return
    different = sorted(set(by_index) ^ set(by_scan))
    first = ", ".join(f"{path}:{when or count}" for path, count, when in different[:3])
    what = f"in {len(different)} files: {first}" if different else "in the order of files"
    scan.remarks.append(f"the index differs from the disk {what}")
    log.error("verify-index: %s for %r", scan.remarks[-1], scan.request.pattern)


def _first(found: SearchResult, question: SearchQuestion) -> list[FoundFile]:
    """The results that were wanted, by file; of the last file perhaps not all was counted."""
    files, wanted = found.files(question.order), question.wanted
    if not wanted:
        return list(files)
    if question.results == "files":
        *whole, last = [*files[:wanted]] or [FoundFile("", 0)]
        return [*whole, last._replace(count=0) if len(whole) == wanted - 1 else last]
    page = {path: last for path, _, last in on_page(files, 0, wanted)}
    return [file._replace(count=page[file.path]) for file in files if file.path in page]


def _name(where: ResolvedPath) -> str:
    """A file's name as it was asked for: that of a link, not of what it leads to."""
    return os.fsdecode(os.path.basename(where.asked or where.path))
