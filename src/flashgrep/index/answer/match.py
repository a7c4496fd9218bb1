"""Matches stretches of a pack: one call into RE2 for many files, and on to the next file.

Where nearly every file matches it is the other way round: a call for each, and nothing else. What
is to be matched is plain data, so that another process that maps the same segment can do it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from flashgrep import limits
from flashgrep.index.format.segment import Columns, Numbers, Segment, numbers
from flashgrep.search.match_count import Counter
from flashgrep.search.match_dense import Dense, dense_literal
from flashgrep.search.pattern import UNANCHORED, Span

_MOST_DENSE: Final = 2 * limits.INDEX_PORTION_BYTES
"""More than a portion has is one very long line, and would keep all other threads waiting."""

Hits = tuple[Numbers, Numbers]
"""Files of a segment, and the count of each."""


@dataclass(frozen=True)
class Runs:
    """Stretches of neighbouring pieces: first piece and one past the last of each."""

    segment: Segment
    firsts: Numbers
    pasts: Numbers

    @cached_property
    def size(self) -> int:
        """Bytes."""
        if not len(self.firsts):
            return 0
        ends, starts = self.segment.ends[self.pasts - 1], self.segment.starts[self.firsts]
        return int((ends - starts).sum())

    @property
    def by_file(self) -> tuple[list[int], list[int], list[int]]:
        """The stretches cut where files begin: the file, the start and the end of each."""
        segment, pieces = self.segment, numbers(self.firsts, self.pasts)
        owners = segment.owners[pieces]
        begins = np.ones(len(pieces), bool)
        np.logical_or(np.diff(owners) != 0, np.diff(pieces) != 1, out=begins[1:])
        firsts = np.flatnonzero(begins)
        lasts = np.append(firsts, len(pieces))[1:] - 1
        starts, ends = segment.starts[pieces[firsts]], segment.ends[pieces[lasts]]
        return owners[firsts].tolist(), starts.tolist(), ends.tolist()

    def portions(self, size: int) -> Iterator[Runs]:
        """The stretches in portions of about `size` bytes, in order; a half more is not cut."""
        if self.size <= size * 3 // 2:
            if self.size:
                yield self
            return
        ends = np.cumsum(self.segment.ends[self.pasts - 1] - self.segment.starts[self.firsts])
        cuts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], size)))
        for first, past in zip(cuts, np.append(cuts[1:], len(ends)), strict=True):
            yield Runs(self.segment, self.firsts[first:past], self.pasts[first:past])

    def cut(self, size: int) -> tuple[Runs, Runs]:
        """Pieces from the middle, of about `size` bytes, and the rest, which may be none."""
        middle = len(self.firsts) // 2
        first, past = int(self.firsts[middle]), int(self.pasts[middle])
        at = int(self.segment.ends.searchsorted(self.segment.starts[first] + size)) + 1
        taken = Runs(self.segment, np.array([first]), np.array([min(at, past)]))
        firsts = self.firsts.copy()
        firsts[middle] = at
        left = firsts < self.pasts
        return taken, Runs(self.segment, firsts[left], self.pasts[left])

    @property
    def columns(self) -> Columns:
        """Those of the segment, for a loop over many."""
        return self.segment.lists

    def checked(self) -> Iterable[tuple[int, int]]:
        """First piece and one past the last of each stretch; they are what was written."""
        self.segment.check_all(self.firsts, self.pasts)
        return zip(self.firsts.tolist(), self.pasts.tolist(), strict=True)


class Stretch(NamedTuple):
    """A single run: for a few of them arrays take longer than matching does."""

    segment: Segment
    number: int
    """That of the segment."""
    first: int
    past: int
    alternatives: int
    """Those of the pattern's that it may hold, as bits; 0 for any."""

    @property
    def size(self) -> int:
        """Bytes."""
        starts = self.segment.columns[0]
        return starts[self.past] - starts[self.first]

    @property
    def columns(self) -> Columns:
        """Those of the segment, for a loop over few."""
        return self.segment.columns

    def checked(self) -> Iterable[tuple[int, int]]:
        """As that of `Runs`."""
        self.segment.check(self.first, self.past)
        return ((self.first, self.past),)


Pieces = Runs | Stretch


@dataclass(frozen=True)
class Texts:
    """Whole files, for multiline."""

    segment: Segment
    files: Numbers

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return sum(end - start for start, end in map(self.segment.span, self.files.tolist()))

    def portions(self, size: int) -> Iterator[Texts]:
        """The files in portions of at least `size` bytes, in order."""
        begin = held = 0
        for at, (start, end) in enumerate(map(self.segment.span, self.files.tolist())):
            held += end - start
            if held >= size:
                yield Texts(self.segment, self.files[begin : at + 1])
                begin, held = at + 1, 0
        if begin < len(self.files):
            yield Texts(self.segment, self.files[begin:])


Work = Runs | Texts


def matched(counter: Counter, work: Work, is_dense: bool) -> Hits:
    """What of some work matches; `is_dense` says that nearly every file or line will."""
    if isinstance(work, Runs) and is_dense and counter.plain and counter.counting == "files":
        files = np.unique(np.array(match_each(counter.plain, work), np.int64))
        return files, np.ones(len(files), np.int64)
    if isinstance(work, Runs) and is_dense and counter.counting == "lines":
        literal = dense_literal(counter.spec)
        if literal is not None and work.size <= _MOST_DENSE:
            return count_densely(literal, work)
    found: dict[int, int] = {}
    if isinstance(work, Texts):
        found = match_texts(counter, work.segment, work.files.tolist())
    else:
        match_runs(counter, work, found, 0)
    return as_hits(found)


def as_hits(found: dict[int, int]) -> Hits:
    """Counts by file, as columns."""
    count = len(found)
    return np.fromiter(found.keys(), np.int64, count), np.fromiter(found.values(), np.int64, count)


def match_each(match: Any, runs: Runs) -> list[int]:
    """The files in some stretches that match; for patterns that are in nearly every one."""
    segment, buffer = runs.segment, runs.segment.buffer
    segment.check_all(runs.firsts, runs.pasts)
    return [
        file
        for file, start, end in zip(*runs.by_file, strict=True)
        if -1 < match(UNANCHORED, buffer, start, end)[0][0] < end
    ]


def count_densely(literal: Dense, runs: Runs) -> Hits:
    """Count the lines of a literal, in several files at once."""
    segment, buffer = runs.segment, runs.segment.buffer
    segment.check_all(runs.firsts, runs.pasts)
    owners: list[Numbers] = [np.empty(0, np.int64)]
    counts: list[int] = []
    for first, past in _steps(runs, limits.DENSE_STEP):
        starts, end = segment.starts[first:past], int(segment.ends[past - 1])
        owners.append(segment.owners[first:past])
        counts += literal.counts(buffer, int(starts[0]), end, starts - starts[0])
    files, places = np.unique(np.concatenate(owners), return_inverse=True)
    totals = np.bincount(places, counts, len(files)).astype(np.int64)
    return files[totals > 0].astype(np.int64), totals[totals > 0]


def _steps(runs: Runs, size: int) -> Iterator[tuple[int, int]]:
    """The pieces of some stretches, so many at a time as have at most `size` bytes together."""
    starts, ends = runs.segment.starts, runs.segment.ends
    for first, past in zip(runs.firsts.tolist(), runs.pasts.tolist(), strict=True):
        while first < past:
            reached = int(ends.searchsorted(starts[first] + size, "right"))
            step = min(max(reached, first + 1), past)
            yield first, step
            first = step


def match_lines(counter: Counter, work: Pieces, found: dict[int, list[Span]], wanted: int) -> None:
    """Find the matching lines of the files in some stretches, until `wanted` if that is not 0."""
    segment = work.segment
    buffer, (starts, owners, _) = segment.buffer, work.columns
    left = wanted or -1
    for first, past in work.checked():
        lines = counter.lines(buffer, starts[first], starts[past])
        if past - first == 1:
            own = [*(lines if left < 0 else islice(lines, left))]
            if own:
                found.setdefault(owners[first], []).extend(own)
                left -= len(own)
                if left == 0:
                    return
            continue
        for line in lines:
            file = owners[bisect_right(starts, line[0], first, past) - 1]
            found.setdefault(file, []).append(line)
            left -= 1
            if left == 0:
                return


def match_runs(counter: Counter, work: Pieces, found: dict[int, int], wanted: int) -> None:
    """Add up the counts of the files in some stretches, until `wanted` if that is not 0."""
    if counter.plain is not None and counter.counting == "files":
        _match_plainly(counter.plain, work, found)
        return
    segment = work.segment
    find, in_lines, only_files = counter.find, counter.in_lines, counter.counting == "files"
    buffer, starts, owners, ends = segment.buffer, *work.columns
    total = 0
    for first_piece, past in work.checked():
        at, end = starts[first_piece], starts[past]
        while at < end:
            first = find(buffer, at, end)[0]
            if first < 0:
                break
            file = owners[bisect_right(starts, first, first_piece, past) - 1]
            stop = min(end, ends[file])
            if only_files:
                found[file] = 1
            else:
                line = buffer.rfind(b"\n", at, first) + 1 or at
                count = in_lines(buffer, line, stop, wanted)
                found[file] = found.get(file, 0) + count
                total += count
                if wanted and total >= wanted:
                    return
            at = stop


def _match_plainly(match: Any, work: Pieces, found: dict[int, int]) -> None:
    """As `match_runs`, for files alone: fewer calls, for patterns that half a tree holds."""
    segment = work.segment
    buffer, starts, owners, ends = segment.buffer, *work.columns
    for first_piece, past in work.checked():
        at, end = starts[first_piece], starts[past]
        while at < end:
            first = match(UNANCHORED, buffer, at, end)[0][0]
            if first < 0 or first >= end:
                break
            file = owners[bisect_right(starts, first, first_piece, past) - 1]
            found[file] = 1
            at = ends[file]


def match_texts(counter: Counter, segment: Segment, files: list[int]) -> dict[int, int]:
    """The counts of whole texts, for multiline."""
    counts = ((file, counter.in_text(segment.text(file))) for file in files)
    return {file: count for file, count in counts if count}
