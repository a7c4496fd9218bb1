"""How much of a file matches: whether at all, how many lines, or how many matches."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.search.bordered import bordered_literal
from flashgrep.search.characters import needs_care, searchable
from flashgrep.search.decode import text_of, windows
from flashgrep.search.match_lines import line_matcher
from flashgrep.search.multiline import TextMatcher, line_starts
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import Counting

if TYPE_CHECKING:
    from flashgrep.search.match_dense import Dense


class TooLargeForMultiline(Exception):
    """A file that multiline does not search, because all of it would be in memory."""


class Counter:
    """Counts one search's matches, the same way for small files, large ones and whole texts."""

    def __init__(self, spec: PatternSpec, counting: Counting, alternatives: int = 0) -> None:
        """With `alternatives`, for text that can hold only those of them whose bits are set."""
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
        if "numpy" not in sys.modules and self._dense_bytes < limits.DENSE_AFTER_BYTES:
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
        for line_start, line_end in self._lines.lines(buffer, start, end):
            total += sum(1 for _ in self._lines.spans_in_line(buffer, line_start, line_end))
            if most and total >= most:
                break
        return total

    def in_text(self, text: bytes) -> int:
        """The count in a whole text, for multiline."""
        assert self._text is not None  # noqa: S101 - asked only in multiline
        if self.counting == "files":
            return int(self._text.matches(text, len(text)))
        if self.counting == "matches":
            return sum(1 for _ in self._text.spans(text, len(text)))
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
