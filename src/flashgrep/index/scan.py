"""A search answered from the index: candidates from the postings, matches from the packs.

What the index does not know for certain is searched on disk by the same scanner that works without
an index, and both answers are one. RE2 decides every match, so the index can make a search fast
but not wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.candidates import Candidates
from flashgrep.index.listing import identity
from flashgrep.index.matching import Runs, match_runs, match_texts, runs_of
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
        self._candidates = Candidates(plan(request.pattern))
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
        later = range(snapshot.base, len(snapshot.segments))
        for number in later:
            self._in_segment(number, 0, executor, cancelled)
        self._under_other_names(wanted)
        counted = 0
        for number in range(snapshot.base):
            left = wanted - counted if wanted else 0
            counted += self._in_segment(number, left, executor, cancelled)
            if wanted and counted >= wanted:
                return

    def _in_segment(self, number: int, wanted: int, executor: Executor, cancelled: Flag) -> int:
        """Search one segment; how much was counted."""
        if self.request.pattern.multiline:
            found = self._texts(number, executor, cancelled)
        else:
            found = self._lines(number, wanted, executor, cancelled)
        counted = sum(found.values())
        if self.request.counting == "files":
            times = self._view.snapshot.segments[number].status[:, 1]
            found = dict(zip(found, times[list(found)].tolist(), strict=True))
        self._table.add(number, found)
        return counted

    def _lines(
        self, number: int, wanted: int, executor: Executor, cancelled: Flag
    ) -> dict[int, int]:
        segment = self._view.snapshot.segments[number]
        pieces = self._candidates.pieces(segment)
        if not len(pieces):
            return {}
        pieces = pieces[self._overlay.in_scope(number)[segment.owners[pieces]]]
        if self.request.filters:
            owners = segment.owners[pieces]
            pieces = pieces[self._overlay.kept(number, set(owners.tolist()))[owners]]
        runs = runs_of(segment, pieces)
        self.matched_bytes += runs.size
        found: dict[int, int] = {}
        if wanted:
            for portion in runs.portions(limits.INDEX_INLINE_BYTES):
                _stop(cancelled)
                match_runs(self.scanner.counter, portion, found, wanted)
                if sum(found.values()) >= wanted:
                    return found
            return found
        return _together(self._match(runs, executor, cancelled))

    def _match(self, runs: Runs, executor: Executor, cancelled: Flag) -> Iterator[dict[int, int]]:
        counter = self.scanner.counter

        def match(portion: Runs) -> dict[int, int]:
            _stop(cancelled)
            found: dict[int, int] = {}
            match_runs(counter, portion, found, 0)
            return found

        portions = runs.portions(limits.INDEX_PORTION_BYTES)
        first = next(portions, None)
        if first is None:
            return
        found = match(first)
        yield found
        # Threads help where RE2 is at work for long. Where it comes back every few kilobytes they
        # only pass the interpreter to and fro; and a little is done before it is handed over.
        is_short = runs.size <= limits.INDEX_INLINE_BYTES
        is_dense = len(found) * limits.INDEX_DENSE_BYTES > first.size
        yield from map(match, portions) if is_short or is_dense else executor.map(match, portions)

    def _texts(self, number: int, executor: Executor, cancelled: Flag) -> dict[int, int]:
        segment = self._view.snapshot.segments[number]
        mask = self._candidates.files(segment) & self._overlay.in_scope(number)
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
                pieces = self._candidates.pieces(segment)
                start, end = np.searchsorted(pieces, segment.first[file : file + 2])
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
        return PackText(segment, place.file, self._candidates)

    def confirm(self, shown: Sequence[str]) -> list[str]:
        """Those of some found files that are not on disk what they are in the index.

        A write through a memory map raises no event; at least nothing of it is shown wrong.
        """
        return [name for name in shown if not self._is_as_known(name)]

    def _place(self, shown: str) -> Place | None:
        return self._table.places.get(shown) or self._overlay.alias(shown)

    def _is_as_known(self, shown: str) -> bool:
        place = self._place(shown)
        if place is None:
            return True
        segment = self._view.snapshot.segments[place.segment]
        status = self._tracker.status(segment.name(place.file))
        known = tuple(segment.status[place.file].tolist())
        return status is not None and identity(status) == known


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
