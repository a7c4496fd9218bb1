"""A search answered from the index: candidates from the postings, matches from the packs.

What the index does not know for certain is searched on disk by the same scanner that works without
an index, and both answers are one. RE2 decides every match, so the index can make a search fast
but not wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.candidates import Candidates
from flashgrep.index.listing import identity
from flashgrep.index.matching import Runs, match_each, match_runs, match_texts, runs_of
from flashgrep.index.overlay import Overlay
from flashgrep.index.packtext import PackText
from flashgrep.index.planner import plan
from flashgrep.index.rows import Rows, Table
from flashgrep.index.segment import Damaged
from flashgrep.index.snapshot import Place
from flashgrep.index.tracker import Tracker
from flashgrep.index.view import View
from flashgrep.search.excerpt import Text
from flashgrep.search.pool import Pool
from flashgrep.search.request import Found, ScanRequest
from flashgrep.search.scan import Flag, Report, Scan
from flashgrep.search.scanner import Scanner


class IndexedScan:
    """One search of a directory that the view covers; has the face of `search.scan.Scan`."""

    def __init__(
        self,
        request: ScanRequest,
        view: View,
        tracker: Tracker,
        root: str,
        pool: Pool,
        damaged: Callable[[Damaged], None],
    ) -> None:
        self.request = request
        self.number = pool.number()
        self.scanner = Scanner(request, tracker.scope)
        self.skipped: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.matched_bytes = 0
        self._view = view
        self._tracker = tracker
        self._root = root
        self._pool = pool
        self._damaged = damaged
        self._table = Table(view.snapshot, root)
        self._candidates = Candidates(plan(request.pattern), view.snapshot.segments)
        self._overlay = Overlay(view, tracker, root, self.scanner)

    def run(self, wanted: int, executor: Executor, cancelled: Flag, report: Report) -> None:
        """Search; with `wanted`, the rest may be left out once so many lines are found."""
        self._on_disk(cancelled, report)
        self._in_segments(wanted, executor, cancelled)
        self._table.close()

    def in_walk_order(self) -> Rows:
        """What was found, depth first, entries by bytes."""
        return self._table.in_walk_order

    def newest_first(self) -> Rows:
        """What was found, the file changed last first."""
        return self._table.newest_first

    # ── on disk ─────────────────────────────────────────────────────────────────────────────────

    def _on_disk(self, cancelled: Flag, report: Report) -> None:
        items = self._overlay.items()
        if not items:
            return
        scan = Scan(self.request, self.scanner.scope, self._pool, cancelled, report)
        scan.run(items)
        self.skipped.extend(scan.skipped)
        self._table.add_others(scan.found)

    # ── in the segments ─────────────────────────────────────────────────────────────────────────

    def _in_segments(self, wanted: int, executor: Executor, cancelled: Flag) -> None:
        snapshot = self._view.snapshot
        # What is not in the base first: it stands between the base's files, and is little.
        order = [*range(snapshot.base, len(snapshot.segments)), *range(snapshot.base)]
        if self.request.pattern.multiline:
            for number in order:
                self._add(number, self._texts(number, executor, cancelled))
        elif wanted:
            self._until(wanted, order, cancelled)
        else:
            self._everywhere(order, executor, cancelled)
        self._under_other_names(wanted)

    def _add(self, number: int, found: dict[int, int]) -> None:
        if found and self.request.counting == "files":
            times = self._view.snapshot.segments[number].status[:, 1]
            found = dict(zip(found, times[list(found)].tolist(), strict=True))
        self._table.add(number, found)

    def _until(self, wanted: int, order: list[int], cancelled: Flag) -> None:
        """Match lines in the order of the walk until enough are found."""
        left = wanted
        for number in order:
            found: dict[int, int] = {}
            is_base = number < self._view.snapshot.base
            for portion in self._runs(number).portions(limits.INDEX_INLINE_BYTES):
                _stop(cancelled)
                match_runs(self.scanner.counter, portion, found, left if is_base else 0)
                if is_base and sum(found.values()) >= left:
                    break
            self._add(number, found)
            left -= sum(found.values()) if is_base else 0
            if left <= 0:
                return

    def _everywhere(self, order: list[int], executor: Executor, cancelled: Flag) -> None:
        """Match all candidates of all segments."""
        runs = {number: self._runs(number) for number in order}
        portions = [
            (number, portion)
            for number in order
            for portion in runs[number].portions(limits.INDEX_PORTION_BYTES)
        ]
        by_segment: dict[int, list[dict[int, int]]] = {number: [] for number in order}
        for number, found in self._matched(portions, executor, cancelled):
            by_segment[number].append(found)
        for number, parts in by_segment.items():
            self._add(number, _together(parts))

    def _runs(self, number: int) -> Runs:
        """The candidates of a segment."""
        segment = self._view.snapshot.segments[number]
        pieces = self._candidates.pieces(number)
        if len(pieces):
            pieces = pieces[self._overlay.in_scope(number)[segment.owners[pieces]]]
        if len(pieces) and self.request.filters:
            owners = segment.owners[pieces]
            pieces = pieces[self._overlay.kept(number, set(owners.tolist()))[owners]]
        runs = runs_of(segment, pieces)
        self.matched_bytes += runs.size
        return runs

    def _matched(
        self, portions: list[tuple[int, Runs]], executor: Executor, cancelled: Flag
    ) -> Iterator[tuple[int, dict[int, int]]]:
        counter = self.scanner.counter

        def match(portion: tuple[int, Runs]) -> tuple[int, dict[int, int]]:
            _stop(cancelled)
            found: dict[int, int] = {}
            match_runs(counter, portion[1], found, 0)
            return portion[0], found

        def match_densely(portion: tuple[int, Runs]) -> tuple[int, dict[int, int]]:
            _stop(cancelled)
            return portion[0], dict.fromkeys(match_each(counter.plain, portion[1]), 1)

        if not portions:
            return
        begun = time.perf_counter()
        number, found = match(portions[0])
        took = time.perf_counter() - begun
        yield number, found
        first = portions[0][1]
        is_in_each = first.size < limits.INDEX_EACH_BYTES * len(found)
        if is_in_each and counter.plain and counter.counting == "files":
            yield from map(match_densely, portions[1:])
        elif took > limits.INDEX_CALL_SECONDS * (len(first.firsts) + len(found)):
            # Threads help where RE2 is at work for long. Where it comes back every few microseconds
            # they only pass the interpreter to and fro: two took twice as long as one.
            yield from executor.map(match, portions[1:])
        else:
            yield from map(match, portions[1:])

    def _texts(self, number: int, executor: Executor, cancelled: Flag) -> dict[int, int]:
        segment = self._view.snapshot.segments[number]
        mask = self._candidates.files(number) & self._overlay.in_scope(number)
        files = mask.nonzero()[0].tolist()
        if self.request.filters:
            kept = self._overlay.kept(number, set(files))
            files = [file for file in files if kept[file]]

        def match(portion: list[int]) -> dict[int, int]:
            _stop(cancelled)
            return match_texts(self.scanner.counter, segment, portion)

        portions = [files[at : at + 64] for at in range(0, len(files), 64)]
        return _together(executor.map(match, portions))

    def _under_other_names(self, wanted: int) -> None:
        """Links to files of the segments: the same text, shown under the link's name."""
        for shown, (number, file) in self._overlay.aliases():
            segment = self._view.snapshot.segments[number]
            counter, found = self.scanner.counter, {}
            if self.request.pattern.multiline:
                found = match_texts(counter, segment, [file])
            else:
                pieces = self._candidates.pieces(number)
                start, end = pieces.searchsorted(segment.first[file : file + 2])
                if start < end:
                    match_runs(counter, runs_of(segment, pieces[start:end]), found, wanted)
            if found and self.request.counting == "files":
                found = {file: int(segment.status[file, 1])}
            self._table.add_others([Found(shown, value) for value in found.values()])

    # ── showing ─────────────────────────────────────────────────────────────────────────────────

    def text(self, shown: str) -> Text | None:
        """The text of a found file, if it is in a segment."""
        place = self._place(shown)
        if place is None:
            return None
        segment = self._view.snapshot.segments[place.segment]
        try:
            segment.check(int(segment.first[place.file]), int(segment.first[place.file + 1]))
        except Damaged as error:
            self._damaged(error)
            return None
        return PackText(segment, place.file, self._candidates.pieces(place.segment))

    def confirm(self, shown: Sequence[str]) -> list[str]:
        """Those of some found files that are not on disk what they are in the index.

        A write through a memory map raises no event; at least nothing of it is shown wrong. Of a
        list of tens of thousands the first are looked at: the rest would take longer than the
        search, and has the bound that such writes have anyway.
        """
        first = shown[: limits.CONFIRMED_FILES]
        return [name for name in first if not self._is_as_known(name)]

    def _place(self, shown: str) -> Place | None:
        return self._table.place(shown) or self._overlay.alias(shown)

    def _is_as_known(self, shown: str) -> bool:
        place = self._place(shown)
        if place is None:
            return True
        segment = self._view.snapshot.segments[place.segment]
        status = self._tracker.status(segment.name(place.file))
        return status is not None and [*identity(status)] == segment.status[place.file].tolist()


def _stop(cancelled: Flag) -> None:
    if cancelled:
        raise Cancelled("The search was cancelled")


def _together(parts: Any) -> dict[int, int]:
    """Counts of files joined; a large file may be in two portions."""
    found: dict[int, int] = {}
    for part in parts:
        if not found.keys() & part.keys():
            found.update(part)
            continue
        for file, value in part.items():
            found[file] = found.get(file, 0) + value
    return found
