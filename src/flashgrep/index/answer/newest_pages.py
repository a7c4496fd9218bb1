"""Matches files newest first, as far as a page needs, and continues from there for the next
page."""

from __future__ import annotations

import sys
import time
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from flashgrep.index.answer.everywhere import INDEX_SHARED_SECONDS
from flashgrep.index.answer.sharing import Numbered, Sharing, stop
from flashgrep.index.answer.sought import Sought
from flashgrep.index.answer.walk_pages import INDEX_INLINE_BYTES
from flashgrep.index.format.segment import Numbers, Segment
from flashgrep.index.format.segment_set import Work
from flashgrep.search.at_once import may_wait
from flashgrep.search.match_count import Counter
from flashgrep.search.pattern import UNANCHORED
from flashgrep.search.scan.fair_queue import CancelFlag

FIRST_FILES: Final = 64
"""Candidates of the first step…"""
_GROWTH: Final = 4
"""…and each further step has so many times as many, if that many are likely to be needed."""
_LOOK: Final = 1024
"""Files of the order that are looked through for candidates at a time, at first."""
_MARGIN: Final = 1.3
"""The margin in a step that should be the last; it ends once there is enough."""
_SHARE: Final = 0.8
"""The share of what is likely to be needed that a step with helpers takes: it is matched to its
end."""
_LONGEST: Final = 64
"""Pieces that are matched in one call: RE2 cannot be cancelled."""


class NewestPages:
    """One search for files, matched newest first until enough are found."""

    def __init__(self, sought: Sought, counter: Counter, sharing: Sharing) -> None:
        self._sought = sought
        self._counter = counter
        self._sharing = sharing
        self._order = sought.snapshot.newest_first
        self._at = 0
        """Where in the order the unchecked files begin."""
        self._waiting: Numbers = np.empty(0, np.int64)
        """Candidates that were taken from the order and not matched yet."""
        self._matched = 0
        """How many were."""
        self.found: list[int] = []
        """Files numbered through, the newest first."""
        self.matched_bytes = 0
        self.most_bytes = sys.maxsize
        """How much of it may be matched before the search has to wait for a thread."""
        self.is_whole = False

    def reach(self, wanted: int, cancelled: CancelFlag) -> None:
        """Match until so many files are found; others help with a step that would take long."""
        count, seconds_a_file = FIRST_FILES, 0.0
        while len(self.found) < wanted and not self.is_whole:
            stop(cancelled)
            files, begun = self._next(count), time.perf_counter()
            if not len(files):
                self.is_whole = True
                return
            if self._sharing.is_away or seconds_a_file * len(files) > INDEX_SHARED_SECONDS:
                may_wait()
                files = files[: self._likely(wanted, _SHARE)]
                self._by_others(files, cancelled)
                done = len(files)
            else:
                done = self._here(files, wanted)
            self._waiting = self._waiting[done:]
            self._matched += done
            seconds_a_file = (time.perf_counter() - begun) / done
            count = min(_GROWTH * count, self._likely(wanted, _MARGIN))
            if self.matched_bytes > self.most_bytes and len(self.found) < wanted:
                may_wait()

    def _likely(self, wanted: int, share: float) -> int:
        """A share of the candidates that are likely to be needed for what is missing."""
        missing, found = wanted - len(self.found), len(self.found)
        if not found:
            return sys.maxsize
        return max(FIRST_FILES, int(share * missing * self._matched / found))

    def _next(self, count: int) -> Numbers:
        """The next candidates, so many if there are; they stay in line until they are matched."""
        look = max(_LOOK, count)
        while len(self._waiting) < count and self._at < len(self._order):
            some = self._order[self._at : self._at + look]
            self._at, look = self._at + look, 2 * look
            named = self._sought.named_files(self._sought.possible(some))
            self._waiting = np.concatenate((self._waiting, named)) if len(self._waiting) else named
        return self._waiting[:count]

    # ── here ────────────────────────────────────────────────────────────────────────────────────

    def _here(self, files: Numbers, wanted: int) -> int:
        """Match files one by one until enough are found; how many were matched."""
        segment_set, is_text = self._sought.segment_set, self._sought.is_text
        firsts: list[int] = segment_set.file_firsts.tolist()
        spans = segment_set.piece_firsts
        rows = zip(files.tolist(), spans[files].tolist(), spans[files + 1].tolist(), strict=True)
        for at, (file, first, past) in enumerate(rows, 1):
            number = bisect_right(firsts, file) - 1
            segment, base = segment_set.segments[number], segment_set.pieces[number][0]
            if is_text:
                is_found = self._text_matches(segment, file - firsts[number])
            else:
                is_found = any(
                    self._lines_match(segment, begin - base, end - base)
                    for begin, end in self._stretches(first, past)
                )
            if is_found:
                self.found.append(file)
                if len(self.found) >= wanted:
                    return at
            if self.matched_bytes > self.most_bytes:
                return at
        return len(files)

    def _text_matches(self, segment: Segment, file: int) -> bool:
        text = segment.text(file)
        self.matched_bytes += len(text)
        return bool(self._counter.in_text(text))

    def _stretches(self, first: int, past: int) -> Iterator[tuple[int, int]]:
        """The candidates among the pieces of a file, neighbours together."""
        is_candidate = self._sought.is_candidate
        if is_candidate is None:
            for at in range(first, past, _LONGEST):
                yield at, min(past, at + _LONGEST)
            return
        at = first
        while at < past:
            end = at
            while end < past and end - at < _LONGEST and is_candidate(end):
                end += 1
            if end > at:
                yield at, end
            at = max(end, at + 1)

    def _lines_match(self, segment: Segment, first: int, past: int) -> bool:
        segment.check(first, past)
        starts, plain = segment.columns[0], self._counter.plain
        start, end = starts[first], starts[past]
        self.matched_bytes += end - start
        if plain is not None:
            return bool(-1 < plain(UNANCHORED, segment.buffer, start, end)[0][0] < end)
        return self._counter.find(segment.buffer, start, end)[0] >= 0

    # ── by others ───────────────────────────────────────────────────────────────────────────────

    def _by_others(self, files: Numbers, cancelled: CancelFlag) -> None:
        """Match files with the help of others."""
        work = [*self._work(np.sort(files))]
        self.matched_bytes += sum(portion.size for _, portion in work)
        bases = self._sought.segment_set.file_firsts
        found = [
            bases[number] + hits[0] for number, hits in self._sharing.match(work, cancelled)
        ] or [np.empty(0, np.int64)]
        self.found += files[np.isin(files, np.concatenate(found))].tolist()

    def _work(self, files: Numbers) -> Iterator[Numbered]:
        sought = self._sought
        parts: dict[int, Any] = {}
        if sought.is_text:
            parts |= sought.texts(files)
        else:
            parts |= sought.segment_set.runs(sought.pieces_of(files))
        for number, work in parts.items():
            portions: Iterator[Work] = work.portions(INDEX_INLINE_BYTES)
            for portion in portions:
                yield number, portion
