"""Matches stretches of a pack: one call into RE2 for many files.

Where nearly every file matches, each gets its own call instead. A request to match is plain data,
so that another process that maps the same segment can serve it.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from flashgrep import limits
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.segment import Numbers, Segment
from flashgrep.index.format.segment_set import FileLocation, Pieces, Runs, Stretch, Texts, Work
from flashgrep.search.match_count import Counter
from flashgrep.search.match_dense import Dense, dense_literal
from flashgrep.search.pattern import UNANCHORED, PatternSpec, Span, may_take_long
from flashgrep.search.result import ScanRequest
from flashgrep.system.child import serve

if TYPE_CHECKING:
    from flashgrep.search.scan.scanner import Scanner

INDEX_PORTION_BYTES: Final = 4 * limits.MIB
"""Candidate text that is matched before a cancel is looked for."""

_MOST_DENSE: Final = 2 * INDEX_PORTION_BYTES
"""More than a portion has is one very long line, and would keep all other threads waiting."""

Hits = tuple[Numbers, Numbers]
"""Files of a segment, and the count of each."""


def matched(counter: Counter, work: Work, is_dense: bool) -> Hits:
    """The matches in some work; `is_dense` says that nearly every file or line will match."""
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


def matching_lines(counter: Counter, work: Pieces) -> Iterator[tuple[int, Span]]:
    """The matching lines in some stretches with the file of each, matched as they are read."""
    segment = work.segment
    buffer, (starts, owners, _) = segment.buffer, work.columns
    for first, past in work.checked():
        lines = counter.lines(buffer, starts[first], starts[past])
        if past - first == 1:
            file = owners[first]
            for line in lines:
                yield file, line
            continue
        for line in lines:
            yield owners[bisect_right(starts, line[0], first, past) - 1], line


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


# ── lines ────────────────────────────────────────────────────────────────────────────────────────
# Matches portions of candidates one after the other, and keeps where lines are, to show them.


class LineFinder:
    """Matches for one search in the asking thread."""

    def __init__(self, request: ScanRequest, scanner: Scanner) -> None:
        self._request = request
        self._scanner = scanner
        self._by_alternatives: dict[int, Counter] = {}
        self._lines: dict[FileLocation, list[Span]] = {}
        """Where matching lines were found, if lines were asked for."""
        self._incomplete: set[FileLocation] = set()
        """Files in which other processes have found lines."""

    @property
    def counter(self) -> Counter:
        """What counts where every alternative may be."""
        return self._scanner.counter

    def found(self, number: int, portion: Pieces, by_file: bool) -> Iterator[tuple[int, int]]:
        """Files and counts, matched as they are read: of a line at a time or, `by_file`, of all.

        The places of lines are kept, where lines are counted one by one.
        """
        counter = self._counter_of(portion)
        if by_file:
            found: dict[int, int] = {}
            match_runs(counter, portion, found, 0)
            yield from found.items()
        elif self._request.counting == "lines":
            kept = self._lines
            for file, line in matching_lines(counter, portion):
                kept.setdefault(FileLocation(number, file), []).append(line)
                yield file, 1
        else:
            buffer = portion.segment.buffer
            for file, line in matching_lines(counter, portion):
                if count := counter.in_line(buffer, line):
                    yield file, count

    @property
    def kept_lines(self) -> int:
        """How many places of lines are kept."""
        return sum(map(len, self._lines.values()))

    def lines(self, place: FileLocation) -> list[Span] | None:
        """The places of a file's matching lines; None where they are not known, or not all."""
        return None if place in self._incomplete else self._lines.get(place)

    def found_by_others(self, number: int, files: Iterable[int]) -> None:
        """Other processes have found lines of these files, and did not say where."""
        self._incomplete.update(FileLocation(number, file) for file in files)

    def _counter_of(self, portion: Pieces) -> Counter:
        """The counter of the alternatives that a portion may hold."""
        alternatives = portion.alternatives if isinstance(portion, Stretch) else 0
        if not alternatives:
            return self.counter
        known = self._by_alternatives.get(alternatives)
        if known is None:
            known = Counter(self._request.pattern, self._request.counting, alternatives)
            self._by_alternatives[alternatives] = known
        return known


# ── the process ──────────────────────────────────────────────────────────────────────────────────
# A process that matches what the server hands it out of segments that it maps itself: a loop over
# files that match holds the interpreter, so a thread would only take turns with it.
#
#     ("match", pattern, counting, is_dense, [(segment, kind, numbers, numbers), …])
#         → ("matched", [(files, counts), …])    columns of int64
#         → ("damaged", segment, what)
#     ("release",)    lets mapped pages go; no answer
#     ("hello",)      → ("hello",)


Packed = tuple[str, str, bytes, bytes]


def packed(work: Work) -> Packed:
    """Some work as a message holds it."""
    if isinstance(work, Texts):
        return work.segment.path, "texts", work.files.astype(np.int64).tobytes(), b""
    firsts, pasts = work.firsts.astype(np.int64), work.pasts.astype(np.int64)
    return work.segment.path, "runs", firsts.tobytes(), pasts.tobytes()


class MatchJobs:
    """The segments that this process has mapped, and the matching it does in them."""

    def __init__(self) -> None:
        self._segments: dict[str, Segment] = {}

    def handle(self, message: Any) -> Any:
        if message[0] == "hello":
            return message
        if message[0] == "release":
            for segment in self._segments.values():
                segment.release()
            return None
        _, pattern, counting, is_dense, shares = message
        counter = Counter(PatternSpec(*pattern), counting)
        try:
            hits = [matched(counter, self._work(share), is_dense) for share in shares]
        except DamagedSegment as error:
            self._segments.pop(error.path, None)
            return "damaged", error.path, error.what
        except OSError:
            return ("gone",)  # the writer has replaced it; the server still has it mapped
        return "matched", [(files.tobytes(), counts.tobytes()) for files, counts in hits]

    def _work(self, share: Packed) -> Work:
        path, kind, first, second = share
        segment = self._segment(path)
        if kind == "texts":
            return Texts(segment, np.frombuffer(first, np.int64))
        return Runs(segment, np.frombuffer(first, np.int64), np.frombuffer(second, np.int64))

    def _segment(self, path: str) -> Segment:
        if path not in self._segments:
            # A segment that was dropped must not keep its place on the disk because of us.
            for gone in [known for known in self._segments if not os.path.exists(known)]:
                del self._segments[gone]
            self._segments[path] = Segment(path, is_checked=True)
        return self._segments[path]


def main() -> None:
    """Match for the server until it is gone."""
    may_take_long()
    serve(MatchJobs().handle)


if __name__ == "__main__":
    main()
