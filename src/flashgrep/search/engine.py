"""The search a server offers over the workspace: scan a place, then show a page of it."""

from __future__ import annotations

import logging
import os
import select
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flashgrep import limits
from flashgrep.errors import Cancelled, InvalidParams, IOFailure, NotFound
from flashgrep.search.excerpt import FileExcerpts, Line, NeedsWorker, PageRequest
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.search.pool import Pool, Worker, WorkerDied
from flashgrep.search.request import ROOT, Counting, Item, Reach, ScanRequest
from flashgrep.search.scan import Flag, Report, Scan, Search
from flashgrep.workspace.scope import Place, Scope
from flashgrep.workspace.walking import parent_rules

log = logging.getLogger(__name__)

Filters = tuple[tuple[str, ...] | str, ...]


@dataclass(frozen=True)
class Question:
    """What is looked for, and where."""

    place: Place
    pattern: PatternSpec
    counting: Counting
    filters: Filters = ()
    wanted: int = 0
    """Matching lines after which the rest need not be looked at; 0 = all."""


class Supplier(Protocol):
    """An index, as a search sees it."""

    def scan(
        self, request: ScanRequest, wanted: int, cancelled: Flag, report: Report
    ) -> Search | None:
        """Search below a directory; None where the disk has to be searched."""
        ...

    def tell_changed(self, root: bytes, shown: list[str]) -> None:
        """Learn that files are not what the index has of them."""
        ...


class Engine:
    """Searches the files of a scope: with an index where there is one, and always exactly."""

    def __init__(
        self,
        scope: Scope,
        pool: Pool | None = None,
        index: Supplier | None = None,
        verify: bool = False,
    ) -> None:
        self._scope = scope
        self._pool = pool or Pool()
        self._index = index
        self._verify = verify

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()

    def scan(self, question: Question, cancelled: Flag, report: Report) -> Search:
        """Search a directory tree, or one file."""
        check(question.pattern)
        kind = self._scope.kind(question.place)
        if kind is None:
            raise NotFound(f"Path not found: {question.place.shown}")
        if kind == "other":
            raise InvalidParams(f"{question.place.shown} is neither a file nor a directory")
        request, item = self._request(question, kind == "file")
        found = None
        if self._index is not None and item.names is None:
            wanted = 0 if self._verify else question.wanted
            found = self._index.scan(request, wanted, cancelled, report)
        if found is not None and not self._verify:
            return found
        scan = Scan(request, self._scope, self._pool, cancelled, report)
        scan.wanted = question.wanted
        if item.names is None or scan.scanner.keeps(_name(question.place)):
            scan.run([item])
        _require_root(scan, question.place)
        if found is not None:
            _compare(found, scan)
        return scan

    def is_current(self, scan: Search, shown: Sequence[str]) -> bool:
        """Whether found files are still what was searched; if not, the next search knows."""
        changed = scan.confirm(shown)
        if changed and self._index is not None:
            self._index.tell_changed(scan.request.root, changed)
        return not changed

    def _request(self, question: Question, is_file: bool) -> tuple[ScanRequest, Item]:
        scope, path = self._scope, question.place.path
        reach = Reach(scope.workdir, scope.allowed, scope.denied, scope.always_denied)
        root, names = path, None
        rules: tuple[tuple[bytes, bytes], ...] = ()
        if is_file:
            root, name = os.path.split(path)
            names = (os.fsdecode(name),)
        else:
            rules = tuple(parent_rules(scope, path))
        request = ScanRequest(
            root, question.pattern, question.counting, reach, question.filters, rules
        )
        return request, Item("", root, (), names)

    def page(
        self, scan: Search, request: PageRequest, cancelled: Flag
    ) -> list[tuple[str, list[Line]]]:
        """The lines of a page: here if its files are small, else in a worker."""
        try:
            small = request._replace(largest=limits.INLINE_FILE_BYTES)
            return FileExcerpts(scan.scanner, scan.text).page(small)
        except NeedsWorker:
            return self._page_in_worker(scan, request, cancelled)

    def _page_in_worker(
        self, scan: Search, request: PageRequest, cancelled: Flag
    ) -> list[tuple[str, list[Line]]]:
        worker = None
        while worker is None:
            if cancelled:
                raise Cancelled("The search was cancelled")
            worker = self._pool.borrow(0.05)
        try:
            worker.begin(scan.number, scan.request.packed())
            worker.send(("page", scan.number, tuple(request)))
            kind, lines = _wait(worker, cancelled)
        except (WorkerDied, Cancelled) as error:
            self._pool.discard(worker)
            if isinstance(error, Cancelled):
                raise
            raise IOFailure("The search process died; is there enough memory?") from None
        self._pool.give_back(worker)
        if kind == "failed":
            raise IOFailure(str(lines))
        return lines


def _require_root(scan: Search, place: Place) -> None:
    """A root that cannot be read is a failure, not an empty result."""
    for shown, reason in scan.skipped:
        if shown == ROOT:
            raise IOFailure(f"{place.shown} cannot be searched: {reason}")


def _compare(indexed: Search, scan: Scan) -> None:
    """Say in the answer, and in the log, where an index gave another answer than the disk."""
    by_index, by_scan = set(indexed.in_walk_order()), set(scan.in_walk_order())
    if by_index == by_scan and scan.wanted == 0:
        return
    different = sorted(by_index ^ by_scan)
    if scan.wanted:
        different = [file for file in different if file in by_scan]
    if different:
        shown = ", ".join(f"{file.shown}:{file.value}" for file in different[:3])
        scan.notes.append(f"the index differs from the disk in {len(different)} files: {shown}")
        log.error("verify-index: %s for %r", scan.notes[-1], scan.request.pattern)


def _name(place: Place) -> str:
    """A file's name as it was asked for: that of a link, not of what it leads to."""
    return os.fsdecode(os.path.basename(place.asked or place.path))


def _wait(worker: Worker, cancelled: Flag) -> tuple[str, list[tuple[str, list[Line]]]]:
    poll = select.poll()
    poll.register(worker.out, select.POLLIN)
    while not poll.poll(50):
        if cancelled:
            raise Cancelled("The search was cancelled")
    kind, lines = worker.receive()
    return kind, lines
