"""The lines a page of results shows: matches, the lines around them, long ones cut.

Two passes over a file, each in windows: the first finds which line numbers the page holds, the
second fetches those lines. Memory stays bounded whatever the file's size.
"""

from __future__ import annotations

import codecs
import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.search.decode import Region, TooSparse, searchable, windows
from flashgrep.search.match_count import TextMatcher, TooLargeForMultiline, line_starts, whole_text
from flashgrep.search.match_lines import line_matcher
from flashgrep.search.pattern import Span
from flashgrep.search.result import Line, Page

if TYPE_CHECKING:
    from flashgrep.search.pattern import PatternSpec
    from flashgrep.search.scan.scanner import Scanner


# ── long lines ───────────────────────────────────────────────────────────────────────────────────
# Lines over 2,000 characters, cut so that one minified line does not fill an answer.
#
# The line may be a gigabyte long: only what is shown is decoded at once, the rest is counted in
# pieces.


_PIECE = 1 << 20
_WIDEST = 4  # bytes of the widest UTF-8 character


def context_line(buffer: Any, start: int, stop: int) -> str:
    """A line as view shows it: its first 2,000 characters."""
    most = limits.SHOWN_LINE_CHARS
    if stop - start <= most:
        return bytes(buffer[start:stop]).decode("utf-8", "replace")
    total = count_characters(buffer, start, stop)
    if total <= most:
        return bytes(buffer[start:stop]).decode("utf-8", "replace")
    head = bytes(buffer[start : start + (most + 1) * _WIDEST]).decode("utf-8", "replace")[:most]
    return f"{head}... [truncated, {total} chars total]"


def match_line(buffer: Any, start: int, stop: int, span: tuple[int, int]) -> str:
    """A matching line: if it is long, a window around its first match, with the column."""
    total = count_characters(buffer, start, stop)
    if total <= limits.SHOWN_LINE_CHARS:
        return bytes(buffer[start:stop]).decode("utf-8", "replace")
    first, last = span if span[0] >= 0 else (start, start)
    window = limits.MATCH_WINDOW_CHARS
    before = _tail(buffer, start, first, window)
    match = _head(buffer, first, last, window)
    after = _head(buffer, last, stop, window)
    column = count_characters(buffer, start, first) + 1
    return (
        ("..." if len(before) < column - 1 else "")
        + before
        + match
        + ("..." if len(match) < count_characters(buffer, first, last) else "")
        + after
        + ("..." if len(after) < count_characters(buffer, last, stop) else "")
        + f" [column {column}, {total} chars total]"
    )


def count_characters(buffer: Any, start: int, stop: int) -> int:
    """How many characters a stretch of UTF-8 shows, an invalid byte being one U+FFFD."""
    if stop - start <= _PIECE:
        return len(bytes(buffer[start:stop]).decode("utf-8", "replace"))
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    total = 0
    for at in range(start, stop, _PIECE):
        piece = bytes(buffer[at : min(at + _PIECE, stop)])
        total += len(decoder.decode(piece, at + _PIECE >= stop))
    return total


def _head(buffer: Any, start: int, stop: int, most: int) -> str:
    piece = bytes(buffer[start : min(stop, start + most * _WIDEST)])
    return piece.decode("utf-8", "replace")[:most]


def _tail(buffer: Any, start: int, stop: int, most: int) -> str:
    at = max(start, stop - most * _WIDEST)
    while at > start and 0x80 <= buffer[at] < 0xC0:
        at -= 1
    return bytes(buffer[at:stop]).decode("utf-8", "replace")[-most:] if stop > at else ""


# ── excerpts ─────────────────────────────────────────────────────────────────────────────────────


class NeedsWorker(Exception):
    """A file of the page is too large for the server's own thread."""


class Text(Protocol):
    """A file's text as excerpts are taken from it: whole lines in order, region by region, each
    with the 0-based number of its first line."""

    def candidates(self) -> Iterator[tuple[int, Region, list[Span] | None]]:
        """All that could match; with the places of its matching lines where they are known."""
        ...

    def known(self, first: int, last: int) -> Iterator[tuple[int, bytes]] | None:
        """Its matching lines from `first` to `last`, each with its 0-based number; None where it
        is not known which they are."""
        ...

    def holding(self, wanted: list[tuple[int, int]]) -> Iterator[tuple[int, Region]]:
        """All that holds lines which are wanted by their numbers."""
        ...

    def whole(self) -> bytes:
        """All of it, for multiline."""
        ...


class UnsearchedText(ABC):
    """A text with its matches still unknown."""

    def candidates(self) -> Iterator[tuple[int, Region, list[Span] | None]]:
        for number, region in self.holding([]):
            yield number, region, None

    def known(self, first: int, last: int) -> None:
        return None

    @abstractmethod
    def holding(self, wanted: list[tuple[int, int]]) -> Iterator[tuple[int, Region]]: ...


class MemoryText(UnsearchedText):
    """A text in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def holding(self, wanted: list[tuple[int, int]]) -> Iterator[tuple[int, Region]]:
        data = self._data
        if data and not data.endswith(b"\n"):
            data += b"\n"
        yield 0, (data, 0, len(data))

    def whole(self) -> bytes:
        return self._data


class FileText(UnsearchedText):
    """The text of an open file."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def holding(self, wanted: list[tuple[int, int]]) -> Iterator[tuple[int, Region]]:
        number = 0
        for buffer, start, end in windows(self._fd):
            yield number, (searchable(buffer, start, end), start, end)
            number += newlines(buffer, start, end)

    def whole(self) -> bytes:
        return whole_text(self._fd)


Source = Callable[[str], Text | None]
"""A file's text from elsewhere than the disk; None where it has to be read."""


class Excerpts:
    """Fetches the lines of a page from texts that are in memory."""

    def __init__(self, spec: PatternSpec, source: Source) -> None:
        self._spec = spec
        self._matcher = line_matcher(spec)
        self._source = source

    def page(self, request: Page) -> list[tuple[str, list[Line]]]:
        """The lines to show of each file, in order; a file that has gone is left out."""
        shown = []
        left = request.budget
        for name, first, last in request.files:
            lines = self._lines_of(name, first, last, request)
            if lines:
                shown.append((name, lines))
            if request.budget:
                left -= sum(len(name) + len(text) + 8 for _, _, text in lines)
                if left < 0:
                    break
        return shown

    def _lines_of(self, name: str, first: int, last: int, request: Page) -> list[Line]:
        text = self._source(name)
        return [] if text is None else list(self._lines(text, first, last, request))

    def _lines(self, text: Text, first: int, last: int, request: Page) -> Iterable[Line]:
        if self._spec.multiline:
            return self._in_text(text.whole(), first, last, request)
        if request.only_matching:
            return self._matches_only(text, first, last)
        if not request.before and not request.after:
            return self._matching(text, first, last, request.budget)
        numbers = [number for number, _, _ in islice(self._walk(text), first, last)]
        wanted = intervals(numbers, request.before, request.after)
        return self._fetch(text, set(numbers), wanted, request.budget)

    def _walk(self, text: Text) -> Iterator[tuple[int, Region, tuple[int, int]]]:
        """Each matching line: its 0-based number, the region it is in, its place there."""
        for number, region, lines in text.candidates():
            buffer, counted, _ = region
            for start, stop in self._matcher.lines(*region) if lines is None else lines:
                number += newlines(buffer, counted, start)
                counted = start
                yield number, region, (start, stop)

    def _matching(self, text: Text, first: int, last: int, budget: int) -> list[Line]:
        """Matching lines alone, shown as they are found."""
        known = text.known(first, last)
        if known is None:
            lines: Iterable[Line] = self._found(text, first, last)
        else:
            lines = self._shown(known)
        return _filled(lines, budget) if budget else list(lines)

    def _found(self, text: Text, first: int, last: int) -> Iterator[Line]:
        for number, (buffer, _, _), (start, stop) in islice(self._walk(text), first, last):
            yield number + 1, True, self._text(buffer, start, stop, True)

    def _shown(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[Line]:
        for number, line in lines:
            if len(line) <= limits.SHOWN_LINE_CHARS:
                yield number + 1, True, line.decode("utf-8", "replace")
            else:
                yield number + 1, True, self._text(line + b"\n", 0, len(line), True)

    def _matches_only(self, text: Text, first: int, last: int) -> Iterator[Line]:
        at = 0
        for number, (buffer, _, _), (start, stop) in self._walk(text):
            for begin, end in self._matcher.spans_in_line(buffer, start, stop):
                if first <= at < last:
                    yield number + 1, True, context_line(buffer, begin, end)
                at += 1
                if at >= last:
                    return

    def _fetch(
        self, text: Text, matching: set[int], wanted: list[tuple[int, int]], budget: int
    ) -> Iterator[Line]:
        queue, left = list(reversed(wanted)), budget
        for number, (buffer, start, end) in text.holding(wanted):
            while start < end and queue:
                low, high = queue[-1]
                stop = buffer.find(b"\n", start, end)
                if number >= low:
                    line = self._text(buffer, start, stop, number in matching)
                    yield number + 1, number in matching, line
                    if budget and left < 0:
                        return  # one line more than fits: it shows the caller that some are left
                    left -= len(line)
                if number == high:
                    queue.pop()
                number, start = number + 1, stop + 1
            if not queue:
                return

    def _text(self, buffer: Any, start: int, stop: int, matches: bool) -> str:
        if not matches:
            return context_line(buffer, start, stop)
        if stop - start <= limits.SHOWN_LINE_CHARS:
            return bytes(buffer[start:stop]).decode("utf-8", "replace")
        return match_line(buffer, start, stop, self._matcher.find(buffer, start, stop + 1))

    # ── multiline ───────────────────────────────────────────────────────────────────────────────

    def _in_text(self, text: bytes, first: int, last: int, request: Page) -> Iterator[Line]:
        starts = line_starts(text)
        matcher = TextMatcher(self._spec)
        if request.only_matching:
            spans = islice(matcher.parts(text), first, last)
            yield from _whole_matches(text, starts, list(spans))
            return
        reached = matcher.reached(text, starts, last)
        numbers = sorted(reached)[first:last]
        matching = set(numbers)
        for low, high in intervals(numbers, request.before, request.after):
            for number in range(low, min(high, len(starts) - 1) + 1):
                start = starts[number]
                stop = starts[number + 1] - 1 if number + 1 < len(starts) else len(text)
                stop -= text.endswith(b"\n", start, stop)
                if number in matching:
                    begin, end = reached[number]
                    if stop - start > limits.SHOWN_LINE_CHARS:
                        begin, end = matcher.first_reaching(text, (begin, end), start)
                    span = min(max(begin, start), stop), min(end, stop)
                    yield number + 1, True, match_line(text, start, stop, span)
                else:
                    yield number + 1, False, context_line(text, start, stop)


class FileExcerpts(Excerpts):
    """Fetches them from the files of a search, where they are not in memory."""

    def __init__(self, scanner: Scanner, source: Source = lambda _: None) -> None:
        super().__init__(scanner.request.pattern, source)
        self._scope = scanner.scope
        self._root = scanner.request.root

    def _lines_of(self, name: str, first: int, last: int, request: Page) -> list[Line]:
        text = self._source(name)
        if text is not None:
            return list(self._lines(text, first, last, request))
        try:
            place = self._scope.follow(self._root.rstrip(b"/") + b"/" + os.fsencode(name))
            fd, status = self._scope.open_regular(place)
        except FlashgrepError:
            return []
        try:
            if request.largest and status.st_size > request.largest:
                raise NeedsWorker
            return list(self._lines(FileText(fd), first, last, request))
        except (OSError, TooLargeForMultiline, TooSparse):
            return []
        finally:
            os.close(fd)


def _filled(lines: Iterable[Line], budget: int) -> list[Line]:
    """As many lines as fit, and one more: by that one the caller sees that some are left."""
    found: list[Line] = []
    for line in lines:
        found.append(line)
        if budget < 0:
            break
        budget -= len(line[2])
    return found


def _whole_matches(text: bytes, starts: list[int], spans: list[tuple[int, int]]) -> Iterator[Line]:
    for first, last in spans:
        yield bisect_right(starts, first), True, text[first:last].decode("utf-8", "replace")


def newlines(buffer: Any, start: int, end: int) -> int:
    """How many there are in a part of a region."""
    if isinstance(buffer, bytes):
        return buffer.count(b"\n", start, end)
    if hasattr(buffer, "count"):
        return int(buffer.count(b"\n", start, end))
    # A mapped region is one long line (see `decode`): its newline is its last byte.
    return int(end == len(buffer))


def intervals(numbers: list[int], before: int, after: int) -> list[tuple[int, int]]:
    """The line ranges to show around matching lines, touching ones joined."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        low, high = max(0, number - before), number + after
        if ranges and low <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(high, ranges[-1][1]))
        else:
            ranges.append((low, high))
    return ranges
