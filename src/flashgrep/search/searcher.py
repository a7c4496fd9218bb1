"""The search a server offers over the workspace: by the index where it can, else over the disk."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import Protocol

from flashgrep.errors import InvalidParams, IOFailure, NotFound
from flashgrep.search.pattern import check
from flashgrep.search.result import Report, Searcher, SearchQuestion, SearchResult
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.request import ROOT, Item, file_request, scan_request
from flashgrep.search.scan.scan import Scan
from flashgrep.workspace.scope import ResolvedPath, Scope

log = logging.getLogger(__name__)


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

    def search(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult:
        """Search a directory tree, or one file."""
        check(question.pattern)
        kind = self._scope.kind(where)
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
        return _checked(scan, where, cancelled)

    def _directory(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult:
        """By the index, if it can; else over the disk, until the index is ready."""
        index, indexed = self._index, None
        if index is not None:
            asked = replace(question, wanted=0) if self._verify else question
            indexed = index.search(where, asked, cancelled, report)
            if indexed is not None and not self._verify:
                return indexed
        scan = self._scan(where, question, cancelled, report)
        scan.begin([Item("", where.path)])
        # An index that is ready was asked, and has declined.
        if index is not None and not self._verify and not index.is_ready():
            is_done = scan.go_on(index.is_ready)
            better = None if is_done else index.search(where, question, cancelled, report)
            if better is not None:
                return better
        scan.go_on(lambda: False)
        _checked(scan, where, cancelled)
        if indexed is not None:
            _compare(indexed, scan)
        return scan

    def _scan(
        self,
        where: ResolvedPath,
        question: SearchQuestion,
        cancelled: CancelFlag,
        report: Report,
        is_file: bool = False,
    ) -> Scan:
        make = file_request if is_file else scan_request
        request = make(self._scope, where, question)
        scan = Scan(request, self._scope, self._pool, cancelled, report, question.may_be_partial)
        scan.wanted = question.wanted
        return scan


def _checked(scan: Scan, where: ResolvedPath, cancelled: CancelFlag) -> Scan:
    """A root that cannot be read is a failure, not an empty result; a partial result says so."""
    for path, reason in scan.skipped:
        if path == ROOT:
            raise IOFailure(f"{where.shown} cannot be searched: {reason}")
    if scan.is_partial:
        seconds = getattr(cancelled, "seconds", 0)
        scan.remarks.append(
            f"incomplete: stopped after {seconds} seconds (--call-seconds), {scan.scanned:,} files "
            "searched and more were not; narrow it with path, glob (include) or type, or use a "
            "more selective pattern"
        )
    return scan


def _compare(indexed: SearchResult, scan: Scan) -> None:
    """Say in the answer, and in the log, where an index gave another answer than the disk."""
    by_index, by_scan = set(indexed.files()), set(scan.files())
    if by_index == by_scan and scan.wanted == 0:
        return
    different = sorted(by_index ^ by_scan)
    if scan.wanted:
        different = [file for file in different if file in by_scan]
    if different:
        first = ", ".join(f"{path}:{when or count}" for path, count, when in different[:3])
        scan.remarks.append(f"the index differs from the disk in {len(different)} files: {first}")
        log.error("verify-index: %s for %r", scan.remarks[-1], scan.request.pattern)


def _name(where: ResolvedPath) -> str:
    """A file's name as it was asked for: that of a link, not of what it leads to."""
    return os.fsdecode(os.path.basename(where.asked or where.path))
