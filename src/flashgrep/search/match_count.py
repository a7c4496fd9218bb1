r"""How much of a file matches: lines, or matches over the whole text."""

from __future__ import annotations

import itertools
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import InvalidPattern
from flashgrep.search.decode import searchable, text_of, windows
from flashgrep.search.match_lines import line_matcher
from flashgrep.search.pattern import (
    UNANCHORED,
    PatternSpec,
    Watch,
    bounded,
    compiled,
    needs_care,
    never_empty,
    stays_in_line,
)
from flashgrep.search.result import Counting

if TYPE_CHECKING:
    from flashgrep.search.match_dense import Dense

DENSE_AFTER_BYTES: Final = 16 * limits.MIB
"""So many must have been like that for a process to load numpy, which takes 100 ms."""


# ── matches over lines ───────────────────────────────────────────────────────────────────────────
# Matches over a whole text, mapped back to the lines they span.
#
# A pattern may match at every byte, and a loop over five million matches takes many seconds. Which
# lines are reached is found with far fewer:
#
# - A match that cannot hold a newline reaches one line, so the search continues after that line.
# - Matches that directly follow each other, none of them empty, are one match of `(?:…)+`: of
#   several ways to match RE2 takes the first, and that begins with the way the single match takes.


Span = tuple[int, int]

_LOOK_AFTER = 64
"""Matches after which it is decided how the next are looked for."""
_DENSE_BYTES = 32
"""So few from one to the next are matched faster in rows."""


class TextMatcher:
    """Finds every match of a pattern in a whole text."""

    def __init__(self, spec: PatternSpec, may_take_long: bool = False) -> None:
        """What may not take long raises `TooLong` (see `pattern`)."""
        self._spec = spec
        self._may_take_long = may_take_long
        self._needs_care = needs_care(spec)
        self._reached: tuple[Any, Any] = (None, None)
        """The text whose lines were asked for last, as it came and as it is searched."""
        self._match = bounded(compiled(spec.flagged), spec, may_take_long).Match

    def spans(self, text: Any, length: int) -> Iterator[Span]:
        """The matches, left to right, without overlap.

        An empty match directly after another match does not count, as in Go; neither does one
        after the last newline, which is on no line.
        """
        return self._spans(self._searchable(text, length), length)

    def _searchable(self, text: Any, length: int) -> Any:
        return searchable(text, 0, length) if self._needs_care else text

    def _spans(self, text: Any, length: int, at: int = 0) -> Iterator[Span]:
        previous, watch = -1, Watch(self._may_take_long)
        while at <= length:
            watch.look()
            first, last = self._match(UNANCHORED, text, at, length)[0]
            if first < 0:
                return
            if last > first or (first != previous and _stands_on_a_line(text, first, length)):
                yield first, last
            previous = last
            at = last if last > first else _next_character(text, last, length)

    def parts(self, text: Any) -> Iterator[Span]:
        """The matches that are not empty: what `only_matching` shows, here as in lines."""
        return (span for span in self.spans(text, len(text)) if span[1] > span[0])

    def matches(self, text: Any, length: int) -> bool:
        """Whether there is any match."""
        return next(self.spans(text, length), None) is not None

    def reached(self, text: Any, starts: list[int], most: int = 0) -> dict[int, Span]:
        """The 0-based lines that matches reach, in order; of all, or of the first `most`.

        Each with a match that reaches it, or a row of them: `first_reaching` knows the first.
        """
        length = len(text)
        self._reached = text, self._searchable(text, length)
        text = self._reached[1]
        if stays_in_line(self._spec):
            return self._line_by_line(text, length, starts, most)
        rows = self._rows
        if rows is None:
            return spanned_lines(self._spans(text, length), starts, most)
        return spanned_lines(self._in_rows(rows, text, length), starts, most)

    def first_reaching(self, text: Any, row: Span, start: int) -> Span:
        """Of a row of matches, the first one that reaches a line, by where that begins."""
        came, hidden = self._reached  # hidden once, not for every line
        text = hidden if text is came else self._searchable(text, len(text))
        for span in self._spans(text, len(text), row[0]):
            if span[1] > start or span[0] >= start:
                return span
        return row

    @cached_property
    def _rows(self) -> Any:
        """Finds rows of matches; None where that is not the same."""
        if not never_empty(self._spec) or "\\Q" in self._spec.source:
            return None
        flags = self._spec.flagged.removesuffix(self._spec.source)
        try:
            regex = compiled(f"{flags}(?:{self._spec.source})+")
        except InvalidPattern:
            return None
        return bounded(regex, self._spec, self._may_take_long).Match

    def _in_rows(self, rows: Any, text: Any, length: int) -> Iterator[Span]:
        """Matches, left to right, as rows of them where they are dense.

        RE2 looks for what a pattern begins with by memchr, but not for what a row begins with.
        """
        match, watch, at, begun = self._match, Watch(self._may_take_long), 0, 0
        for count in itertools.count(1):
            watch.look()
            first, last = match(UNANCHORED, text, at, length)[0]
            if first < 0:
                return
            yield first, last
            at = last
            if count % _LOOK_AFTER == 0:
                match = rows if at - begun < _LOOK_AFTER * _DENSE_BYTES else self._match
                begun = at
            if at >= length:
                return

    def _line_by_line(
        self, text: Any, length: int, starts: list[int], most: int
    ) -> dict[int, Span]:
        lines: dict[int, Span] = {}
        at, watch = 0, Watch(self._may_take_long)
        while at < length:
            watch.look()
            first, last = self._match(UNANCHORED, text, at, length)[0]
            if first < 0 or not _stands_on_a_line(text, first, length):
                break
            line = bisect_right(starts, first) - 1
            lines[line] = first, last
            if len(lines) == most or line + 1 == len(starts):
                break
            at = starts[line + 1]
        return lines


def _stands_on_a_line(text: Any, at: int, length: int) -> bool:
    return at < length or (length > 0 and text[length - 1] != 0x0A)


def _next_character(text: Any, at: int, length: int) -> int:
    """Where the next character begins; a byte that continues none is one by itself."""
    is_long = at < length and text[at] >= 0xC0
    at += 1
    while is_long and at < length and 0x80 <= text[at] < 0xC0:
        at += 1
    return at


def line_starts(text: bytes) -> list[int]:
    """Where each line of a text begins."""
    starts, at = [0], 0
    while (at := text.find(b"\n", at) + 1) > 0:
        starts.append(at)
    if starts[-1] == len(text):
        starts.pop()
    return starts


def spanned_lines(spans: Iterator[Span], starts: list[int], most: int = 0) -> dict[int, Span]:
    """The 0-based lines that matches span, each with the first match that reaches it."""
    lines: dict[int, Span] = {}
    past = 0
    """Where the lines that are known to be reached end."""
    for first, last in spans:
        if last <= past and first < past:
            continue
        top = bisect_right(starts, first) - 1
        bottom = bisect_right(starts, max(first, last - 1)) - 1
        for line in range(top, bottom + 1):
            lines.setdefault(line, (first, last))
            if len(lines) == most:
                return lines
        past = starts[bottom + 1] if bottom + 1 < len(starts) else past
    return lines


# ── literals between word boundaries ─────────────────────────────────────────────────────────────
# Patterns that are a literal with a word's border on either side or none: `if`, `e\b`.
#
# Told by their text and without numpy, so that a process that searches need not load it to know.


DENSE_BYTES: Final = 6 * limits.KIB
_DENSE_BYTE_BYTES: Final = 2 * limits.KIB
"""A matching line in each so many bytes: then lines of a literal are counted in one go. A single
byte has its own figure, for RE2 looks for that one faster."""
_PLAIN: Final = re.compile(r"(\\b)?([\w ,;:=<>!@#%&~'\"/-]+)(\\b)?", re.ASCII)
"""Characters that stand for themselves; others could be operators."""


class BorderedLiteral(NamedTuple):
    """The literal, and on which sides a word has to end."""

    text: bytes
    before: bool
    after: bool

    def is_dense(self, count: int, size: int) -> bool:
        """Whether so many matching lines in so many bytes are better counted in one go."""
        worth = DENSE_BYTES if len(self.text) > 1 else _DENSE_BYTE_BYTES
        return size < worth * count


@lru_cache(64)
def bordered_literal(spec: PatternSpec) -> BorderedLiteral | None:
    """The literal of a pattern that is one; None for any other."""
    found = None if spec.multiline or spec.case_insensitive else _PLAIN.fullmatch(spec.source)
    if found is None:
        return None
    return BorderedLiteral(found[2].encode("ascii"), found[1] is not None, found[3] is not None)


# ── match count ──────────────────────────────────────────────────────────────────────────────────


class TooLargeForMultiline(Exception):
    """A file that multiline does not search, because all of it would be in memory."""


class Counter:
    """Counts one search's matches, the same way for small files, large ones and whole texts."""

    def __init__(self, spec: PatternSpec, counting: Counting, alternatives: int = 0) -> None:
        """With `alternatives`, for text that can contain only those with their bits set."""
        self.spec = spec
        self.counting = counting
        self.multiline = spec.multiline
        self.needs_care = needs_care(spec)
        self._lines = line_matcher(spec).among(alternatives)
        self._text = TextMatcher(spec) if spec.multiline else None
        self.find = self._lines.find
        self.plain = self._lines.plain
        self.lines = self._lines.lines
        self._scratch = bytearray()
        self._literal = bordered_literal(spec) if counting == "lines" else None
        self._is_dense = False
        self._dense_bytes = 0

    def weigh(self, count: int, size: int) -> None:
        """Learn how many lines of so many bytes matched; the next are counted as is best then."""
        self._is_dense = self._literal is not None and self._literal.is_dense(count, size)
        self._dense_bytes += size if self._is_dense else 0

    def dense(self) -> Dense | None:
        """What counts the lines of texts faster, where many match and the pattern is a literal."""
        if not self._is_dense:
            return None
        if "numpy" not in sys.modules and self._dense_bytes < DENSE_AFTER_BYTES:
            return None
        from flashgrep.search.match_dense import dense_literal  # a process that searches is small

        return dense_literal(self.spec)

    def in_lines(self, buffer: Any, start: int, end: int, most: int = 0) -> int:
        """The count in a region of whole lines; it may end at `most`, if that is not 0."""
        if self.counting == "files":
            return 1 if self.find(buffer, start, end)[0] >= 0 else 0
        if self.counting == "lines":
            return self._lines.count(buffer, start, end, most)
        total = 0
        for line in self._lines.lines(buffer, start, end):
            total += self.in_line(buffer, line)
            if most and total >= most:
                break
        return total

    def in_line(self, buffer: Any, line: Span) -> int:
        """How many matches are in one line."""
        with_empty = self.counting == "matches"
        return sum(1 for _ in self._lines.spans_in_line(buffer, *line, with_empty))

    def in_text(self, text: bytes) -> int:
        """The count in a whole text, for multiline."""
        assert self._text is not None  # noqa: S101 - asked only in multiline
        if self.counting == "files":
            return int(self._text.matches(text, len(text)))
        if self.counting == "matches":
            return sum(1 for _ in self._text.spans(text, len(text)))
        if self.counting == "parts":
            return sum(1 for _ in self._text.parts(text))
        return len(self._text.reached(text, line_starts(text)))

    def in_file(self, fd: int) -> int:
        """The count in an open file of any size."""
        if self.multiline:
            return self.in_text(whole_text(fd))
        total = 0
        if not self._scratch:
            self._scratch = bytearray(2 * limits.WINDOW_BYTES)
        for buffer, start, end in windows(fd, self._scratch):
            total += self._in_window(buffer, start, end)
            if total and self.counting == "files":
                break
        return total

    def _in_window(self, buffer: Any, start: int, end: int) -> int:
        if self.needs_care:
            buffer = searchable(buffer, start, end)
        # A larger one is a single line, which may be of any length.
        dense = self.dense() if end - start <= 2 * limits.WINDOW_BYTES else None
        if dense is not None:
            count = dense.count(buffer, start, end)
        else:
            count = self.in_lines(buffer, start, end)
        self.weigh(count, end - start)
        return count


def whole_text(fd: int) -> bytes:
    """All of a file's text, for multiline."""
    size = os.fstat(fd).st_size
    if size > limits.MULTILINE_BYTES:
        raise TooLargeForMultiline
    os.lseek(fd, 0, os.SEEK_SET)
    pieces = []
    left = limits.MULTILINE_BYTES
    while left > 0 and (piece := os.read(fd, min(left, limits.WINDOW_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return text_of(b"".join(pieces))
