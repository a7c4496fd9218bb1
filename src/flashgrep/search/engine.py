"""The search a server offers over the workspace: scan a place, then show a page of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flashgrep import limits
from flashgrep.errors import InvalidParams, IOFailure, NotFound
from flashgrep.search.effort import TooLong, briefly, is_tame
from flashgrep.search.errands import run_one
from flashgrep.search.excerpt import FileExcerpts, Line, NeedsWorker, PageRequest
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.search.pool import Pool
from flashgrep.search.request import ROOT, Counting, Item, Reach, ScanRequest
from flashgrep.search.scan import Report, Scan, Search
from flashgrep.search.turns import Flag
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
    may_be_partial: bool = False
    """Whether the answer tells the notes of the search: then it may end when its time is over."""


class Supplier(Protocol):
    """An index, as a search sees it."""

    def scan(
        self, request: ScanRequest, wanted: int, cancelled: Flag, report: Report
    ) -> Search | None:
        """Search below a directory; None where the disk has to be searched."""
        ...

    def is_ready(self) -> bool:
        """Whether it could answer now."""
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

    @property
    def pool(self) -> Pool:
        """The processes for what may take long."""
        return self._pool

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
        scan = Scan(request, self._scope, self._pool, cancelled, report, question.may_be_partial)
        scan.wanted = question.wanted
        if item.names is None or scan.scanner.keeps(_name(question.place)):
            scan.begin([item])
            better = None
            if item.names is None and not self._verify:
                better = self._overtaken(scan, question, cancelled, report)
            if better is not None:
                return better
            scan.go_on(lambda: False)
        _require_root(scan, question.place)
        if scan.is_partial:
            scan.notes.append(_stopped(scan, cancelled))
        if found is not None:
            _compare(found, scan)
        return scan

    def _overtaken(
        self, scan: Scan, question: Question, cancelled: Flag, report: Report
    ) -> Search | None:
        """Search the disk until the index is ready, and then there; None where it did not help."""
        index = self._index
        if index is None or index.is_ready():  # it was asked, and has declined
            return None
        if scan.go_on(index.is_ready):
            return None
        return index.scan(scan.request, question.wanted, cancelled, report)

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
            with briefly():
                return FileExcerpts(scan.scanner, scan.text).page(small)
        except (NeedsWorker, TooLong):
            message = ("page", scan.number, tuple(request))
            begin = (scan.number, scan.request.packed())
            is_short = is_tame(scan.request.pattern)
            lines: list[tuple[str, list[Line]]]
            _, lines = run_one(self._pool, message, cancelled, begin, is_short)
            return lines


def _require_root(scan: Search, place: Place) -> None:
    """A root that cannot be read is a failure, not an empty result."""
    for shown, reason in scan.skipped:
        if shown == ROOT:
            raise IOFailure(f"{place.shown} cannot be searched: {reason}")


def _stopped(scan: Scan, cancelled: Flag) -> str:
    """What an answer says that ended when its time was over."""
    seconds = getattr(cancelled, "seconds", 0)
    return (
        f"incomplete: stopped after {seconds} seconds (--call-seconds), {scan.scanned:,} files "
        "searched and more were not; narrow it with path, glob (include) or type, or use a more "
        "selective pattern"
    )


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
