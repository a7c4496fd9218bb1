"""The files that an indexed search found; names and texts are read only for the few shown."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, overload

import numpy as np

from flashgrep.index.answer.match import Hits
from flashgrep.index.answer.view import ROOM, IndexSnapshot
from flashgrep.index.format.segment import Numbers, Segment, path_key
from flashgrep.index.format.segment_set import FileLocation
from flashgrep.index.watch.changes import Identity
from flashgrep.search.decode import Region
from flashgrep.search.pattern import Span
from flashgrep.search.result import Counting, FoundFile, Order

_AT_ONCE: Final = 4096
_FEW: Final = 64
"""Up to so many rows get their names one by one: all names of a segment take a new process 300
µs."""


class Rows(Sequence[FoundFile]):
    """Found files in an order."""

    def __init__(self, table: Table, order: Any) -> None:
        self._table = table
        self._order = order
        self._made: list[FoundFile] | None = None
        """All of them, if few: an answer goes through them several times."""

    @property
    def counts(self) -> list[int]:
        """The count of each."""
        found: list[int] = self._table.count[self._order].tolist()
        return found

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> FoundFile: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[FoundFile]: ...
    def __getitem__(self, at: int | slice) -> FoundFile | Sequence[FoundFile]:
        if isinstance(at, slice):
            return Rows(self._table, self._order[at])
        return self._table.row(int(self._order[at]))

    def __iter__(self) -> Iterator[FoundFile]:
        if len(self._order) <= _AT_ONCE:
            if self._made is None:
                self._made = self._table.rows(self._order)
            return iter(self._made)
        return self._portions()

    def _portions(self) -> Iterator[FoundFile]:
        for at in range(0, len(self._order), _AT_ONCE):
            yield from self._table.rows(self._order[at : at + _AT_ONCE])


_NOTHING: Final = np.empty(0, np.int64)


class Table:
    """Found files as columns: those of the segments first, then those found on disk."""

    def __init__(self, snapshot: IndexSnapshot, root: str, counting: Counting) -> None:
        self._snapshot = snapshot
        self._root = root + "/" if root else ""
        self._has_times = counting == "files"
        self._columns: list[tuple[Any, Any, Any]] = []
        """Segment, file and count of what was found in segments."""
        self._others: list[FoundFile] = []
        self._seen: dict[str, int] = {}
        """The rows of the segments that were looked at, by name."""

    def add(self, number: int, parts: list[Hits]) -> None:
        """Take in what was found in a segment; a large file may be in two portions."""
        if not parts:
            return
        files = np.concatenate([files for files, _ in parts])
        counts = np.concatenate([counts for _, counts in parts])
        if len(parts) > 1:
            files, places = np.unique(files, return_inverse=True)
            counts = np.bincount(places, counts, len(files)).astype(np.int64)
        self._columns.append((np.full(len(files), number), files, counts))

    def add_few(self, found: dict[FileLocation, int]) -> None:
        """The same of a few files, by place."""
        if found:
            segment, file = np.array([*found], np.int64).T
            self._columns.append((segment, file, np.array([*found.values()], np.int64)))

    def add_files(self, files: Sequence[int]) -> None:
        """Add files by overall number, of which nothing is known but that they match."""
        numbers, firsts = np.array(files, np.int64), self._snapshot.segment_set.file_firsts
        segment = firsts.searchsorted(numbers, "right") - 1
        self._columns.append((segment, numbers - firsts[segment], np.ones_like(numbers)))

    def add_others(self, found: Sequence[FoundFile]) -> None:
        """Take in what was found on disk, or under another name."""
        self._others.extend(found)

    def close(self) -> None:
        """Everything is there."""
        if not self._columns and not self._others:
            # Most often nothing is found, and that takes less time than arrays of nothing.
            self.segment = self.file = self.count = self.modified = self.rank = _NOTHING
            return
        counts, modified = np.array([row[1:] for row in self._others], np.int64).reshape(-1, 2).T
        columns = zip(*self._columns, (_NOTHING, _NOTHING, counts), strict=True)
        self.segment, self.file, self.count = map(np.concatenate, columns)
        snapshot = self._snapshot
        numbers = snapshot.segment_set.file_firsts[self.segment] + self.file
        if self._has_times:
            self.count = np.ones_like(self.count)
            self.modified = np.append(snapshot.modified[numbers], modified)
        else:
            self.modified = np.zeros_like(self.count)
        self.rank = self._ranked(snapshot.all_ranks[numbers])

    @property
    def files(self) -> int:
        """How many were found."""
        return len(self.count)

    def _ranked(self, ranks: Any) -> Any:
        """Ranks of all rows; those between files of the base are ranked together."""
        if not self._others:
            return ranks
        later = np.flatnonzero(self.segment >= self._snapshot.base).tolist()
        rows = [*later, *range(len(ranks), len(ranks) + len(self._others))]
        places = [(self._gap(row, ranks), path_key(self._name(row)), row) for row in rows]
        ranks = np.append(ranks, np.zeros(len(self._others), np.int64))
        for step, (gap, _, row) in enumerate(sorted(places)):
            ranks[row] = gap * ROOM + step
        return ranks

    def _gap(self, row: int, ranks: Any) -> int:
        if row < len(ranks):
            return int(ranks[row]) // ROOM
        return self._snapshot.orders.gap(self._snapshot, self._name(row))

    def _name(self, row: int) -> str:
        """The path of a row, as names of the tree."""
        own = len(self.segment)
        if row >= own:
            return self._root + self._others[row - own].path
        return self._snapshot.segments[int(self.segment[row])].name(int(self.file[row]))

    def last_gap(self, wanted: int, by_file: bool) -> int | None:
        """Before which file of the base the last of so many results is, of those in segments.

        In walk order; None where there are fewer.
        """
        if not self._columns:
            return None
        segment, file, count = map(np.concatenate, zip(*self._columns, strict=True))
        ranks = self._snapshot.all_ranks[self._snapshot.segment_set.file_firsts[segment] + file]
        order = np.argsort(ranks)
        ends = np.arange(1, len(order) + 1) if by_file else np.cumsum(count[order])
        at = int(ends.searchsorted(wanted))
        return None if at >= len(order) else int(ranks[order[at]]) // ROOM

    def row(self, at: int) -> FoundFile:
        """One found file."""
        return self.rows(np.array([at]))[0]

    def rows(self, order: Any) -> list[FoundFile]:
        """Some found files."""
        own = len(self.segment)
        if len(order) and order.max() >= own:
            known = iter(self.rows(order[order < own]))
            return [next(known) if at < own else self._others[at - own] for at in order.tolist()]
        shown = self._few_names(order) if len(order) <= _FEW else self._names(order)
        self._seen.update(zip(shown, order.tolist(), strict=True))
        return list(
            map(FoundFile, shown, self.count[order].tolist(), self.modified[order].tolist())
        )

    def _few_names(self, order: Any) -> list[str]:
        segments = map(self._snapshot.segments.__getitem__, self.segment[order].tolist())
        cut, files = len(self._root), self.file[order].tolist()
        return [segment.name(file)[cut:] for segment, file in zip(segments, files, strict=True)]

    def _names(self, order: Any) -> list[str]:
        paths = [segment.paths for segment in self._snapshot.segments]
        in_segments = map(paths.__getitem__, self.segment[order].tolist())
        cut, files = len(self._root), self.file[order].tolist()
        return [
            text[starts[file] + cut : starts[file + 1]]
            for (text, starts), file in zip(in_segments, files, strict=True)
        ]

    def place(self, shown: str) -> FileLocation | None:
        """Where a file that was looked at is in the segments."""
        at = self._seen.get(shown)
        return None if at is None else FileLocation(int(self.segment[at]), int(self.file[at]))

    def identities(self, shown: Sequence[str]) -> list[Identity | None]:
        """What the segments know of files that were looked at; None for those found elsewhere."""
        rows = [self._seen.get(name, -1) for name in shown]
        own = np.array([row for row in rows if row >= 0], np.int64)
        segments = map(self._snapshot.segments.__getitem__, self.segment[own].tolist())
        known = map(Segment.identity, segments, self.file[own].tolist())
        return [next(known) if row >= 0 else None for row in rows]

    def in_order(self, order: Order) -> Sequence[FoundFile]:
        """All of them; names are made at once where they are few."""
        if not len(self.count):
            return []
        if order == "walk":
            rows = np.argsort(self.rank, kind="stable")
        else:
            rows = np.lexsort((self.rank, -self.modified))
        return self.rows(rows) if len(rows) <= _FEW else Rows(self, rows)


# ── texts ────────────────────────────────────────────────────────────────────────────────────────
# A file's text out of a pack, a piece at a time: only those that a page needs.


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
            start, past_lines = starts[piece], bisect_left(lines, (starts[piece + 1],), at)
            own = [(begin - start, end - start) for begin, end in lines[at:past_lines]]
            yield *self._region(piece), own
            at = past_lines

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
