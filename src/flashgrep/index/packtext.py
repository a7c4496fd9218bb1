"""A file's text out of a pack, a piece at a time: only those that a page needs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flashgrep.index.segment import Numbers, Segment
from flashgrep.search.haystack import Region


class PackText:
    """The text of a file of a segment."""

    def __init__(self, segment: Segment, file: int, candidates: Numbers) -> None:
        """`candidates` are the pieces of the segment that could hold a match."""
        self._segment = segment
        self._file = file
        self._candidates = candidates

    def regions(self, wanted: list[tuple[int, int]] | None) -> Iterator[tuple[int, Region]]:
        segment = self._segment
        for piece in self._candidate_pieces() if wanted is None else self._holding(wanted):
            segment.check(piece, piece + 1)
            data = segment.buffer[int(segment.starts[piece]) : int(segment.ends[piece])]
            yield int(segment.lines[piece]), (data, 0, len(data))

    def whole(self) -> bytes:
        return self._segment.text(self._file)

    def _candidate_pieces(self) -> list[int]:
        start, end = self._candidates.searchsorted(self._pieces)
        numbers: list[int] = self._candidates[start:end].tolist()
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
