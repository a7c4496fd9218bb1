"""A search answered from the index: candidates from the postings, matches from the packs.

Whatever the index does not know for certain is searched on disk, by the same scanner that works
without an index, and the two answers are merged. RE2 decides every match, so the index can make a
search fast but not wrong. A page is matched until its contents are certain (`walk_pages`,
`newest_pages`), and the next one continues from there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from flashgrep import limits
from flashgrep.index.answer.everywhere import Everywhere
from flashgrep.index.answer.match import LineFinder, match_runs, match_texts
from flashgrep.index.answer.match_pool import Matchers
from flashgrep.index.answer.newest_pages import NewestPages
from flashgrep.index.answer.rows import PackText, Table
from flashgrep.index.answer.sharing import Sharing, stop
from flashgrep.index.answer.sought import EVERYTHING, Sought, Until
from flashgrep.index.answer.view import ROOM, IndexView, SearchOverlay
from flashgrep.index.answer.walk_pages import WalkPages
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.segment_set import FileLocation, Texts, Work
from flashgrep.index.watch.changes import Identity, identity, joined
from flashgrep.index.watch.tracker import Tracker
from flashgrep.search.at_once import (
    AT_ONCE_BYTES,
    AT_ONCE_PAGE_BYTES,
    NotAtOnce,
    is_tried,
    may_wait,
)
from flashgrep.search.excerpts import Text
from flashgrep.search.pattern import TooLong, briefly
from flashgrep.search.result import (
    FoundFile,
    Line,
    Order,
    Page,
    Report,
    ScanRequest,
    SearchQuestion,
)
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.scan import Scan, read_lines
from flashgrep.search.scan.scanner import Scanner

_ALL: Final = sys.maxsize

CONFIRMED_FILES: Final = 250
"""Files of an answer that are compared with the disk once more: 5 µs each, and a page is read."""

_BRIEF_BYTES: Final = 1 * limits.MIB
"""A whole search that has matched no more than this is as quickly made again."""

_KEPT_LINE_BYTES: Final = 200
_KEPT_FILE_BYTES: Final = 300
"""About what the place of a line takes, and what a file that was found does."""


def _most_bytes(matched: int) -> int:
    """How much a search may match before it has to wait, given how much has matched so far."""
    return matched + AT_ONCE_PAGE_BYTES if is_tried() else _ALL


class IndexedScan:
    """One search of a directory that the view covers."""

    def __init__(
        self,
        request: ScanRequest,
        question: SearchQuestion,
        view: IndexView,
        tracker: Tracker,
        root: str,
        pool: Pool,
        matchers: Matchers,
        damaged: Callable[[DamagedSegment], None],
        changed: Callable[[set[str]], None],
        keep: Callable[[IndexedScan], None],
    ) -> None:
        """`damaged` takes a segment that cannot be used, `changed` the files (as names of the tree)
        that are not what the segments have, and `keep` this search when it was answered."""
        self.request = request
        self.view = view
        self.scanner = Scanner(request, tracker.scope)
        self.skipped: list[tuple[str, str]] = []
        self.remarks: list[str] = []
        self.matched_bytes = 0
        self._scanned = 0
        """Files that were searched on disk."""
        self._on_disk: list[FoundFile] = []
        self._question = question
        self._tracker = tracker
        self._root = root
        self._pool = pool
        self._cancelled: CancelFlag = False
        self._damaged = damaged
        self._changed = changed
        self._keep = keep
        self._overlay = SearchOverlay(view, tracker, root, self.scanner)
        self._sought = Sought(request, view, self._overlay)
        self._sharing = Sharing(request, self.scanner, matchers, pool)
        self._begin()

    def _begin(self) -> None:
        self._finder = LineFinder(self.request, self.scanner)
        self._pages: WalkPages | NewestPages | None = None
        """As far as pages were asked for."""
        self._aliases: dict[str, int] = {}
        """What was found under other names."""
        self._table = self._new_table()
        self._is_whole = False
        """Whether no candidates are left."""

    def run(self, wanted: int, cancelled: CancelFlag, report: Report) -> None:
        """Search until so many results are known; 0 = all.

        What was found in segments before stays: the view is the same. What is on disk is looked at
        again.
        """
        self._cancelled = cancelled
        self._search_disk(report)
        self._is_whole = False
        try:
            self.reach(wanted)
        except NotAtOnce:
            self._table.close()  # it may be kept for the thread that goes on
            raise

    def reach(self, wanted: int) -> None:
        if self._is_whole:
            return
        try:
            with briefly():
                self._in_segments(wanted)
        except TooLong:
            may_wait()
            # What was matched here is matched again, in processes that can be killed.
            self._sharing.is_away = True
            self._begin()
            self._in_segments(wanted)
        self._table.add_others(self._on_disk)
        self._table.close()

    @property
    def kept_bytes(self) -> int | None:
        """About what it takes to keep this for a next page; None where that is of no use."""
        is_brief = self._is_whole and self.matched_bytes < _BRIEF_BYTES
        if self._pages is None or is_brief or self._sharing.is_away:
            return None
        arrays = (self._sought.candidates.kept_bytes, self._table.files * _KEPT_FILE_BYTES)
        return sum(arrays) + self._finder.kept_lines * _KEPT_LINE_BYTES

    # ── on disk ─────────────────────────────────────────────────────────────────────────────────

    def _search_disk(self, report: Report) -> None:
        self.skipped, self._scanned, self._on_disk = [], 0, []
        items = self._overlay.items()
        if not items:
            return
        may_wait()
        scan = Scan(self.request, self.scanner.scope, self._pool, self._cancelled, report)
        scan.run(items)
        self.skipped, self._scanned, self._on_disk = scan.skipped, scan.scanned, scan.found

    # ── in the segments ─────────────────────────────────────────────────────────────────────────

    def _in_segments(self, wanted: int) -> None:
        """Match until enough is found, and put what was found so far into a new table."""
        stop(self._cancelled)
        self._table, until = self._new_table(), EVERYTHING
        newest = self._question.order == "newest" and self.request.counting == "files"
        if not wanted and not self._sought.is_few:
            self._everywhere()
        elif newest and not self._sought.is_few:
            until = self._newest_pages(wanted)
        else:
            until = self._walk_pages(wanted)
        self._under_other_names(wanted, until)

    def _everywhere(self) -> None:
        may_wait()
        everywhere = Everywhere(self._sought, self.scanner.counter, self._sharing)
        for number, hits in everywhere.run(self._cancelled).items():
            self._table.add(number, hits)
        self.matched_bytes += everywhere.matched_bytes
        self._pages, self._is_whole = None, True

    def _walk_pages(self, wanted: int) -> Until:
        """Match in walk order; as far as that is sure to have found everything."""
        pages = self._pages
        if not isinstance(pages, WalkPages):
            results = self._question.results
            pages = WalkPages(self._sought, self._finder, self._sharing, results)
        self._pages = pages
        before = pages.matched_bytes
        pages.most_bytes = _most_bytes(before)
        # A few candidates cost less than to know which of them are the newest.
        is_all = not wanted or self._question.order == "newest"
        pages.reach(_ALL if is_all else wanted, self._cancelled)
        if pages.hits:
            for number, hits in pages.found():
                self._table.add(number, hits)
        else:
            self._table.add_few(pages.places())
        self.matched_bytes += pages.matched_bytes - before
        self._is_whole = pages.is_whole
        if is_all or not self._sought.has_aliases:
            return EVERYTHING
        return None, self._table.last_gap(wanted, pages.by_file)

    def _newest_pages(self, wanted: int) -> Until:
        """Match from the newest on; as far as that is sure to have found everything."""
        pages = self._pages
        if not isinstance(pages, NewestPages):
            pages = NewestPages(self._sought, self.scanner.counter, self._sharing)
        self._pages = pages
        before = pages.matched_bytes
        pages.most_bytes = _most_bytes(before)
        pages.reach(wanted, self._cancelled)
        self._table.add_files(pages.found)
        self.matched_bytes += pages.matched_bytes - before
        self._is_whole = pages.is_whole
        if len(pages.found) < wanted:
            return EVERYTHING
        last, snapshot = pages.found[wanted - 1], self._sought.snapshot
        return int(snapshot.modified[last]), int(snapshot.all_ranks[last]) // ROOM

    def _new_table(self) -> Table:
        return Table(self.view.snapshot, self._root, self.request.counting)

    def _under_other_names(self, wanted: int, until: Until) -> None:
        """Links to files of the segments: the same text, shown under the link's name."""
        if self._question.results == "files":
            wanted = 0  # the count of each file is shown
        for shown, place in self._sought.aliases(until):
            total = self._aliases.get(shown)
            if total is None:
                if is_tried() and self._sought.size(place) > AT_ONCE_BYTES:
                    may_wait()
                total = self._in_file(place, wanted)
                if not wanted or total < wanted:  # it was searched to its end
                    self._aliases[shown] = total
            if total:
                row = FoundFile(shown, total)
                if self.request.counting == "files":
                    row = FoundFile(shown, 1, self._sought.modified(place))
                self._table.add_others([row])

    def _in_file(self, place: FileLocation, wanted: int) -> int:
        """How much of one file matches; it may end at `wanted`, if that is not 0."""
        segment, is_text = self.view.snapshot.segments[place.segment], self._sought.is_text
        if self._sharing.is_away:
            work: list[Work] = [*self._sought.runs_of(place)]
            if is_text:
                work = [Texts(segment, np.array([place.file]))]
            numbered = [(place.segment, each) for each in work]
            hits = self._sharing.match(numbered, self._cancelled)
            return sum(int(counts.sum()) for _, (_, counts) in hits)
        if is_text:
            return match_texts(self.scanner.counter, segment, [place.file]).get(place.file, 0)
        found: dict[int, int] = {}
        for runs in self._sought.runs_of(place):
            match_runs(self.scanner.counter, runs, found, wanted)
        return found.get(place.file, 0)

    # ── what was found ──────────────────────────────────────────────────────────────────────────

    @property
    def looked_at(self) -> int | None:
        """The files of the candidates, and those on disk; not counted where some were left out."""
        return self._scanned + self._sought.count_files() if self._is_whole else None

    def files(self, order: Order = "walk") -> Sequence[FoundFile]:
        return self._table.in_order(order)

    def lines(self, page: Page) -> list[tuple[str, list[Line]]]:
        return read_lines(page, self.scanner, self._pool, self._cancelled, self._text)

    def _text(self, shown: str) -> Text | None:
        """The text of a found file, if it is in a segment."""
        place = self._table.place(shown)
        # Under its own name a file may be matched in part: that says nothing of a link to it.
        lines = None if place is None else self._finder.lines(place)
        place = place or self._overlay.alias(shown)
        if place is None:
            return None
        segment = self.view.snapshot.segments[place.segment]
        try:
            segment.check(int(segment.first[place.file]), int(segment.first[place.file + 1]))
        except DamagedSegment as error:
            self._damaged(error)
            return None
        pieces = partial(self._sought.candidates.pieces_of, place.segment)
        return PackText(segment, place.file, pieces, lines)

    def stale(self, paths: Sequence[str]) -> list[str]:
        """Those of some found files that are not on disk what they are in the index.

        A write through a memory map raises no event; at least nothing of it is shown wrong. Of a
        list of tens of thousands the first are looked at: the rest would take longer than the
        search, and has the bound that such writes have anyway.
        """
        if not paths:
            return []
        names = paths[:CONFIRMED_FILES]
        known = zip(names, self._table.identities(names), strict=True)
        stale = [name for name, identity in known if not self._is_as_known(name, identity)]
        if stale:
            self._changed({joined(self._root, name) for name in stale})
        return stale

    def answered(self) -> None:
        self._keep(self)

    def _is_as_known(self, shown: str, known: Identity | None) -> bool:
        path = joined(self._root, shown)
        if known is None:
            place = self._overlay.alias(shown)
            if place is None:
                return True  # it was found on disk
            segment = self.view.snapshot.segments[place.segment]
            path, known = segment.name(place.file), segment.identity(place.file)
        status = self._tracker.status(path)
        return status is not None and identity(status) == known
