"""A search answered from the index: candidates from the postings, matches from the packs.

What the index does not know for certain is searched on disk by the same scanner that works without
an index, and both answers are one. RE2 decides every match, so the index can make a search fast
but not wrong.
"""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Final

import numpy as np

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.answer.match import (
    INDEX_PORTION_BYTES,
    Hits,
    LineFinder,
    as_hits,
    match_runs,
    match_texts,
    matched,
)
from flashgrep.index.answer.match_pool import KillableMatching, Matchers, matched_here
from flashgrep.index.answer.rows import PackText, Table
from flashgrep.index.answer.view import IndexView, SearchOverlay
from flashgrep.index.format.segment import DamagedSegment, Numbers
from flashgrep.index.format.segment_set import FileLocation, Runs, Stretch, Texts, Work
from flashgrep.index.plan.lookup import Candidates
from flashgrep.index.watch.changes import Identity, identity, joined
from flashgrep.index.watch.tracker import Tracker
from flashgrep.search.excerpts import Text
from flashgrep.search.match_count import bordered_literal
from flashgrep.search.pattern import TooLong, briefly, is_predictable, portion
from flashgrep.search.result import FoundFile, Line, Order, Page, Report, ScanRequest
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.scan import Scan, read_lines
from flashgrep.search.scan.scanner import Scanner

INDEX_SHARED_SECONDS: Final = 4e-3
INDEX_SHARED_BYTES: Final = 2 * limits.MIB
"""Candidate text is shared out among processes if it is more than this and takes longer than that:
handing it over takes a millisecond."""

INDEX_PROBE_BYTES: Final = 128 * limits.KIB
"""Candidate text that is matched first, to see how much of it matches and how long that takes."""

INDEX_INLINE_BYTES: Final = 1 * limits.MIB
"""Less than this is matched by the thread that asks: handing it over costs more."""

INDEX_FEW_PIECES: Final = 128
"""Candidates, of some 16 KiB each, that are matched one by one: sorting them out by segment, in
arrays, would take as long."""

INDEX_EACH_BYTES: Final = 24 * limits.KIB
"""A file found in each so many bytes: then nearly all match, and each is asked by itself."""

CONFIRMED_FILES: Final = 250
"""Files of an answer that are compared with the disk once more: 5 µs each, and a page is read."""


class IndexedScan:
    """One search of a directory that the view covers."""

    def __init__(
        self,
        request: ScanRequest,
        view: IndexView,
        tracker: Tracker,
        root: str,
        pool: Pool,
        matchers: Matchers,
        cancelled: CancelFlag,
        damaged: Callable[[DamagedSegment], None],
        changed: Callable[[set[str]], None],
    ) -> None:
        """`damaged` takes a segment that cannot be used, `changed` the files (as names of the tree)
        that are not what the segments have."""
        self.request = request
        self.scanner = Scanner(request, tracker.scope)
        self.skipped: list[tuple[str, str]] = []
        self.remarks: list[str] = []
        self.matched_bytes = 0
        self._scanned = 0
        """Files that were searched on disk."""
        self._is_cut_short = False
        """Whether some candidates were left out, because enough was found."""
        self._finder = LineFinder(request, self.scanner.counter)
        self._view = view
        self._tracker = tracker
        self._root = root
        self._pool = pool
        self._matchers = matchers
        self._cancelled = cancelled
        self._damaged = damaged
        self._changed = changed
        self._away: KillableMatching | None = None
        """Set where the pattern may take so long that other processes match all of it."""
        self._table = Table(view.snapshot, root, request.counting)
        self._candidates = Candidates(request.pattern, view.snapshot.segment_set)
        self._overlay = SearchOverlay(view, tracker, root, self.scanner)

    def run(self, wanted: int, report: Report) -> None:
        """Search; with `wanted`, the rest may be left out once so many lines are found."""
        on_disk = self._on_disk(report)
        try:
            with briefly():
                self._in_segments(wanted)
        except TooLong:
            self._begin_away()
            self._in_segments(wanted)
        self._table.add_others(on_disk)
        self._table.close()

    def _begin_away(self) -> None:
        """Discard what was matched here, and match it again in processes that can be killed."""
        self._away = KillableMatching(self.request, self._pool, self._cancelled)
        self._finder = LineFinder(self.request, self.scanner.counter)
        self._table = Table(self._view.snapshot, self._root, self.request.counting)
        self.matched_bytes = 0

    # ── on disk ─────────────────────────────────────────────────────────────────────────────────

    def _on_disk(self, report: Report) -> list[FoundFile]:
        items = self._overlay.items()
        if not items:
            return []
        scan = Scan(self.request, self.scanner.scope, self._pool, self._cancelled, report)
        scan.run(items)
        self.skipped.extend(scan.skipped)
        self._scanned = scan.scanned
        return scan.found

    # ── in the segments ─────────────────────────────────────────────────────────────────────────

    def _in_segments(self, wanted: int) -> None:
        snapshot = self._view.snapshot
        others = range(snapshot.base, len(snapshot.segments))
        if self._is_few and self._away is None:
            self._one_by_one(wanted)
        elif wanted and not self.request.pattern.multiline:
            # As much as a page holds of the base, and of every other segment: the files of those
            # come between the base's.
            for part in ([number] for number in others):
                self._until(wanted, part)
            self._until(wanted, range(snapshot.base))
        else:
            self._everywhere([*others, *range(snapshot.base)])
        self._under_other_names(wanted)

    @property
    def _is_few(self) -> bool:
        is_text = self.request.pattern.multiline
        return not is_text and len(self._pieces) <= INDEX_FEW_PIECES

    def _one_by_one(self, wanted: int) -> None:
        """Match a few candidates without sorting them first; those of the base last."""
        last = self._view.snapshot.base - 1
        found: dict[FileLocation, int] = {}
        totals = Tally[int]()
        for stretch in self._stretches:
            number = stretch.number
            part = max(last, number)  # the base is one part
            if wanted and totals[part] >= wanted:
                self._is_cut_short = True
                continue
            _stop(self._cancelled)
            self.matched_bytes += stretch.size
            counts = self._finder.counted(number, stretch, wanted and wanted - totals[part])
            for file, count in counts.items():
                place = FileLocation(number, file)  # neighbours may be of one file
                found[place] = found.get(place, 0) + count
                totals[part] += count
        self._table.add_few(found)

    @property
    def _stretches(self) -> list[Stretch]:
        """The candidates one by one, in the order of the walk, those of the base last."""
        snapshot, pieces = self._view.snapshot, self._pieces
        found = snapshot.segment_set.stretches(pieces, self._candidates.alternatives(pieces))
        return sorted(found, key=lambda stretch: stretch.number < snapshot.base)

    def _until(self, wanted: int, part: Iterable[int]) -> None:
        """Match some segments in the order of the walk until enough is found, in growing steps.

        Others help with a step that would take long. It may turn out to have been more than was
        needed, but never more than twice what came before.
        """
        runs, left, count, speed = self._runs, wanted, 1, 0.0
        for number in part:
            portions = runs[number].portions(INDEX_INLINE_BYTES) if number in runs else ()
            waiting, hits = list(portions), list[Hits]()
            while waiting and left > 0:
                _stop(self._cancelled)
                step, waiting = waiting[:count], waiting[count:]
                size, begun = sum(portion.size for portion in step), time.perf_counter()
                if self._away is not None:
                    found = self._by_others(number, self._away.match(step))
                elif len(step) > 1 and speed * size > INDEX_SHARED_SECONDS:
                    found = self._by_all(number, step)
                else:
                    found = self._by_one(number, step, left)
                self.matched_bytes += size
                speed, count = (time.perf_counter() - begun) / size, 2 * count
                left -= sum(int(counts.sum()) for _, counts in found)
                hits += found
            if hits:
                self._table.add(number, hits)
        self._is_cut_short = self._is_cut_short or left <= 0

    def _by_one(self, number: int, step: Sequence[Runs], wanted: int) -> list[Hits]:
        """Match here, until `wanted` are found."""
        hits: list[Hits] = []
        for part in step:
            counts = self._finder.counted(number, part, wanted)
            hits.append(as_hits(counts))
            wanted -= sum(counts.values())
            if wanted <= 0:
                break
        return hits

    def _by_all(self, number: int, step: Sequence[Runs]) -> list[Hits]:
        """Match with the help of others."""
        return self._by_others(number, self._shared(step, is_dense=False))

    def _shared(self, work: Sequence[Work], is_dense: bool) -> list[Hits]:
        """What was found in some work, with the help of other processes."""
        if not is_predictable(self.request.pattern):
            raise TooLong  # what may take long would have to be killed there
        counter, pattern = self.scanner.counter, self.request.pattern
        return self._matchers.match(pattern, counter, is_dense, work, self._cancelled)

    def _by_others(self, number: int, hits: list[Hits]) -> list[Hits]:
        for files, _ in hits:
            self._finder.found_by_others(number, files.tolist())
        return hits

    def _everywhere(self, order: list[int]) -> None:
        """Match all candidates of all segments."""
        work: list[Work] = []
        numbers: list[int] = []
        is_text = self.request.pattern.multiline
        candidates: Mapping[int, Work] = self._texts() if is_text else self._runs
        if self._away is not None:
            for number in order:
                if number in candidates:
                    self.matched_bytes += candidates[number].size
                    self._table.add(number, self._away.match([candidates[number]]))
            return
        size = _portion_bytes(sum(part.size for part in candidates.values()))
        for number in order:
            if number in candidates:
                portions: list[Work] = [*candidates[number].portions(size)]
                if not work:
                    portions[:1] = _with_probe(portions[0])
                work += portions
                numbers += [number] * len(portions)
        hits: dict[int, list[Hits]] = {}
        for number, part in zip(numbers, self._matched(work), strict=True):
            hits.setdefault(number, []).append(part)
        for number, parts in hits.items():
            self._table.add(number, parts)

    def _matched(self, work: list[Work]) -> list[Hits]:
        """What each portion found: a first one shows how fast it goes and how much matches."""
        if not work:
            return []
        first = work[0]
        hits, is_dense, took = self._probed(first)
        left = sum(portion.size for portion in work[1:])
        self.matched_bytes += first.size + left
        is_slow = took * left > INDEX_SHARED_SECONDS * first.size
        if left > INDEX_SHARED_BYTES and is_slow:
            rest = self._shared(work[1:], is_dense)
        else:
            rest = list(matched_here(self.scanner.counter, is_dense, work[1:], self._cancelled))
        return [hits, *rest]

    def _probed(self, work: Work) -> tuple[Hits, bool, float]:
        """What some work found, whether the rest is better done in the dense way, and the time."""
        literal = bordered_literal(self.request.pattern)
        if self.request.counting == "lines" and literal is not None:
            # In that way, which takes as long whatever there is; the other may take ten times that.
            hits, took = self._timed(work, is_dense=True)
            if literal.is_dense(int(hits[1].sum()), work.size):
                return hits, True, took
        hits, took = self._timed(work, is_dense=False)
        is_files = self.request.counting == "files"
        return hits, is_files and work.size < INDEX_EACH_BYTES * len(hits[0]), took

    def _timed(self, work: Work, is_dense: bool) -> tuple[Hits, float]:
        begun = time.perf_counter()
        with portion():
            hits = matched(self.scanner.counter, work, is_dense)
        return hits, time.perf_counter() - begun

    @cached_property
    def _runs(self) -> Mapping[int, Runs]:
        """The candidates by segment, where lines are matched."""
        return self._view.snapshot.segment_set.runs(self._pieces)

    @cached_property
    def _pieces(self) -> Numbers:
        """The candidates that are asked for, where lines are matched."""
        segment_set, pieces = self._view.snapshot.segment_set, self._candidates.pieces
        owners = segment_set.owners[pieces]
        kept = self._overlay.in_scope[owners]
        if self.request.filters:
            files = np.unique(owners[kept])
            passed = np.zeros(segment_set.file_count, bool)
            passed[files[self._overlay.kept(files)]] = True
            kept = passed[owners]
        found: Numbers = pieces[kept]
        return found

    def _texts(self) -> Mapping[int, Texts]:
        """The candidates by segment, where whole texts are matched."""
        segment_set = self._view.snapshot.segment_set
        files = np.flatnonzero(self._candidates.files & self._overlay.in_scope)
        if self.request.filters:
            files = files[self._overlay.kept(files)]
        cuts = [*files.searchsorted(segment_set.file_firsts).tolist(), len(files)]
        return {
            number: Texts(segment, files[at:past] - segment_set.files[number][0])
            for number, (segment, (at, past)) in enumerate(
                zip(segment_set.segments, pairwise(cuts), strict=True)
            )
            if at < past
        }

    def _under_other_names(self, wanted: int) -> None:
        """Links to files of the segments: the same text, shown under the link's name."""
        for shown, (number, file) in self._candidate_aliases():
            segment = self._view.snapshot.segments[number]
            found: dict[int, int] = {}
            if self._away is not None:
                work: list[Work] = [*self._runs_of(number, file)]
                if self.request.pattern.multiline:
                    work = [Texts(segment, np.array([file]))]
                total = sum(int(counts.sum()) for _, counts in self._away.match(work))
                found = {file: total} if total else {}
            elif self.request.pattern.multiline:
                found = match_texts(self.scanner.counter, segment, [file])
            else:
                for runs in self._runs_of(number, file):
                    match_runs(self.scanner.counter, runs, found, wanted)
            if not found:
                continue
            row = FoundFile(shown, found[file])
            if self.request.counting == "files":
                row = FoundFile(shown, 1, segment.identity(file)[1])
            self._table.add_others([row])

    def _candidate_aliases(self) -> list[tuple[str, FileLocation]]:
        """Links to files that could hold a match; asked together, for a tree may have many."""
        links, spans = self._view.alias_spans
        if self.request.pattern.multiline or not links:
            return list(self._overlay.aliases())
        first, past = (self._candidates.pieces.searchsorted(ends) for ends in spans)
        near = {links[at] for at in (first < past).nonzero()[0].tolist()}
        return list(self._overlay.aliases(near)) if near else []

    def _runs_of(self, number: int, file: int) -> Iterable[Runs]:
        """The candidates of one file."""
        pieces = self._candidates.pieces
        segment_set = self._view.snapshot.segment_set
        start, end = pieces.searchsorted(segment_set.span(number, file))
        return segment_set.runs(pieces[start:end]).values()

    # ── what was found ──────────────────────────────────────────────────────────────────────────

    @property
    def looked_at(self) -> int | None:
        """The files of the candidates, and those on disk; not counted where some were left out."""
        if self._is_cut_short:
            return None
        if self.request.pattern.multiline:
            return self._scanned + sum(len(texts.files) for texts in self._texts().values())
        owners = self._view.snapshot.segment_set.owners[self._pieces]
        files = int(np.count_nonzero(owners[1:] != owners[:-1])) + 1 if len(owners) else 0
        return self._scanned + files

    def files(self, order: Order = "walk") -> Sequence[FoundFile]:
        return self._table.in_order(order)

    def lines(self, page: Page) -> list[tuple[str, list[Line]]]:
        return read_lines(page, self.scanner, self._pool, self._cancelled, self._text)

    def _text(self, shown: str) -> Text | None:
        """The text of a found file, if it is in a segment."""
        place = self._place(shown)
        if place is None:
            return None
        segment, lines = self._view.snapshot.segments[place.segment], self._finder.lines(place)
        try:
            segment.check(int(segment.first[place.file]), int(segment.first[place.file + 1]))
        except DamagedSegment as error:
            self._damaged(error)
            return None
        pieces = partial(self._candidates.pieces_of, place.segment)
        return PackText(segment, place.file, pieces, lines)

    def stale(self, paths: Sequence[str]) -> list[str]:
        """Those of some found files that are not on disk what they are in the index.

        A write through a memory map raises no event; at least nothing of it is shown wrong. Of a
        list of tens of thousands the first are looked at: the rest would take longer than the
        search, and has the bound that such writes have anyway.
        """
        names = paths[:CONFIRMED_FILES]
        known = zip(names, self._table.identities(names), strict=True)
        stale = [name for name, identity in known if not self._is_as_known(name, identity)]
        if stale:
            self._changed({joined(self._root, name) for name in stale})
        return stale

    def _place(self, shown: str) -> FileLocation | None:
        return self._table.place(shown) or self._overlay.alias(shown)

    def _is_as_known(self, shown: str, known: Identity | None) -> bool:
        path = joined(self._root, shown)
        if known is None:
            place = self._overlay.alias(shown)
            if place is None:
                return True  # it was found on disk
            segment = self._view.snapshot.segments[place.segment]
            path, known = segment.name(place.file), segment.identity(place.file)
        status = self._tracker.status(path)
        return status is not None and identity(status) == known


def _portion_bytes(total: int) -> int:
    """The size of a portion that gives each process an equal share."""
    most = INDEX_PORTION_BYTES
    return max(most // 16, min(most, total // 16))


def _with_probe(work: Work) -> list[Work]:
    """The same in two: a little first, which shows the best way for all that is left."""
    if isinstance(work, Texts):
        return [work]
    return [part for part in work.cut(INDEX_PROBE_BYTES) if part.size]


def _stop(cancelled: CancelFlag) -> None:
    if cancelled:
        raise Cancelled("The search was cancelled")
