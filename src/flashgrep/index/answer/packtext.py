"""A file's text out of a pack, a piece at a time: only those that a page needs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

import numpy as np

from flashgrep.index.format.segment import Numbers, Segment
from flashgrep.search.decode import Region
from flashgrep.search.pattern import Span


class PackText:
    """The text of a file of a segment."""

    def __init__(
        self,
        segment: Segment,
        file: int,
        candidates: Callable[[], Numbers],
        lines: list[Span] | None,
    ) -> None:
        """`candidates` gives the pieces of the segment that could hold a match.

        `lines` are the places in the segment of the lines that match, where they are known.
        """
        self._segment = segment
        self._file = file
        self._candidates = candidates
        self._lines = lines

    def candidates(self) -> Iterator[tuple[int, Region, list[Span] | None]]:
        if self._lines is None:
            for piece in self._candidate_pieces():
                yield *self._region(piece), None
            return
        starts, lines = self._segment.columns[0], self._lines
        first, past = self._pieces
        at = 0
        while at < len(lines):
            piece = bisect_right(starts, lines[at][0], first, past) - 1
            start, behind = starts[piece], bisect_left(lines, (starts[piece + 1],), at)
            own = [(begin - start, end - start) for begin, end in lines[at:behind]]
            yield *self._region(piece), own
            at = behind

    def known(self, first: int, last: int) -> Iterator[tuple[int, bytes]] | None:
        return None if self._lines is None else self._numbered(self._lines[first:last])

    def _numbered(self, lines: list[Span]) -> Iterator[tuple[int, bytes]]:
        """Some lines, counted from the begin of the piece that each is in."""
        segment, buffer, starts = self._segment, self._segment.buffer, self._segment.columns[0]
        first, past = self._pieces
        number = counted = end_of_piece = 0
        for start, end in lines:
            if start >= end_of_piece:
                piece = bisect_right(starts, start, first, past) - 1
                segment.check(piece, piece + 1)
                number, counted = int(segment.lines[piece]), starts[piece]
                end_of_piece = starts[piece + 1]
            number += buffer[counted:start].count(b"\n")
            counted = start
            yield number, buffer[start:end]

    def holding(self, wanted: list[tuple[int, int]]) -> Iterator[tuple[int, Region]]:
        for piece in self._holding(wanted):
            yield self._region(piece)

    def _region(self, piece: int) -> tuple[int, Region]:
        segment, starts = self._segment, self._segment.columns[0]
        segment.check(piece, piece + 1)
        data = segment.buffer[starts[piece] : starts[piece + 1]]
        return int(segment.lines[piece]), (data, 0, len(data))

    def whole(self) -> bytes:
        return self._segment.text(self._file)

    def _candidate_pieces(self) -> list[int]:
        candidates = self._candidates()
        start, end = candidates.searchsorted(self._pieces)
        numbers: list[int] = candidates[start:end].tolist()
        return numbers

    def _holding(self, wanted: list[tuple[int, int]]) -> list[int]:
        first, past = self._pieces
        lines = self._segment.lines[first:past]
        pieces: set[int] = set()
        for low, high in wanted:
            start, end = np.searchsorted(lines, [low, high], "right")
            pieces.update(range(first + max(0, int(start) - 1), first + int(end)))
        return sorted(pieces)

    @property
    def _pieces(self) -> tuple[int, int]:
        return int(self._segment.first[self._file]), int(self._segment.first[self._file + 1])
