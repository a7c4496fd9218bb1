"""What a file has to show for a pattern: matching lines, the lines around them, the matches' spans.

The tools cut long lines and answers; here every line is whole, and a file is read as it is
printed. Lines are as they were searched: UTF-8 whatever the file's encoding, ended by `\\n` alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from flashgrep import limits
from flashgrep.search.decode import searchable, windows
from flashgrep.search.excerpts import intervals, newlines
from flashgrep.search.match_count import TextMatcher, line_starts, whole_text
from flashgrep.search.match_lines import LineMatcher
from flashgrep.search.pattern import PatternSpec

Span = tuple[int, int]


class Hit(NamedTuple):
    """A line to show; where a match spans lines, all of them."""

    number: int
    """Of its first line, from 1."""
    offset: int
    """Of its first byte in the text that was searched."""
    text: bytes
    """Without the last newline."""
    is_match: bool
    spans: tuple[Span, ...] | None = None
    """The matches in it; None where they have not been looked for."""


class Looking:
    """One pattern and how much around it to show; `most` matching lines a file, 0 = all."""

    def __init__(self, spec: PatternSpec, before: int = 0, after: int = 0, most: int = 0) -> None:
        self.spec = spec
        self._before, self._after, self._most = before, after, most
        # This process is the command itself: Ctrl-C ends it, whatever it is doing.
        self._lines = LineMatcher(spec, may_take_long=True)
        self._text = TextMatcher(spec, may_take_long=True) if spec.multiline else None
        # One file at a time: fresh memory for each would cost more than reading it.
        self._scratch = bytearray(2 * limits.WINDOW_BYTES)

    def hits(self, fd: int) -> Iterator[Hit]:
        """The lines of an open file, in order."""
        if self._text is not None:
            return self._blocks(whole_text(fd), self._text)
        if self._before or self._after:
            return self._around(self._every_line(fd))
        return self._matching(fd)

    def spans(self, hit: Hit) -> tuple[Span, ...]:
        """The matches in a line that are not empty."""
        if hit.spans is not None or not hit.is_match:
            return hit.spans or ()
        text = searchable(hit.text, 0, len(hit.text))
        return tuple(self._lines.spans_in_line(text, 0, len(text)))

    def _matching(self, fd: int) -> Iterator[Hit]:
        number, offset, left = 1, 0, self._most or -1
        for buffer, begin, end in windows(fd, self._scratch):
            counted = begin
            for start, stop in self._lines.lines(searchable(buffer, begin, end), begin, end):
                number += newlines(buffer, counted, start)
                counted = start
                yield Hit(
                    number=number,
                    offset=offset + start - begin,
                    text=bytes(buffer[start:stop]),
                    is_match=True,
                )
                left -= 1
                if not left:
                    return
            number += newlines(buffer, counted, end)
            offset += end - begin

    def _every_line(self, fd: int) -> Iterator[Hit]:
        number, offset = 1, 0
        for buffer, begin, end in windows(fd, self._scratch):
            matching = self._lines.lines(searchable(buffer, begin, end), begin, end)
            following = next(matching, None)
            start = begin
            while start < end:
                stop = buffer.find(b"\n", start, end)
                is_match = following is not None and following[0] == start
                yield Hit(
                    number=number,
                    offset=offset + start - begin,
                    text=bytes(buffer[start:stop]),
                    is_match=is_match,
                )
                if is_match:
                    following = next(matching, None)
                number, start = number + 1, stop + 1
            offset += end - begin

    def _around(self, lines: Iterator[Hit]) -> Iterator[Hit]:
        waiting: deque[Hit] = deque(maxlen=self._before)
        left, following = self._most or -1, 0
        for hit in lines:
            if hit.is_match and left:
                yield from waiting
                waiting.clear()
                yield hit
                left, following = left - 1, self._after
            elif following:
                following -= 1
                yield hit  # behind the last one wanted, a match in its context is still shown so
            elif not left:
                return
            else:
                waiting.append(hit)

    def _blocks(self, text: bytes, matcher: TextMatcher) -> Iterator[Hit]:
        starts = line_starts(text)
        blocks = _joined(matcher.spans(text, len(text)), starts)
        if self._most:
            blocks = blocks[: self._most]
        first = {top: (bottom, spans) for top, bottom, spans in blocks}
        reached = [line for top, bottom, _ in blocks for line in range(top, bottom + 1)]
        for low, high in intervals(reached, self._before, self._after):
            line = low
            while line <= min(high, len(starts) - 1):
                bottom, spans = first.get(line, (line, None))
                yield _block(text, starts, line, bottom, spans)
                line = bottom + 1


Block = tuple[int, int, list[Span]]


def _joined(spans: Iterator[Span], starts: list[int]) -> list[Block]:
    """Matches by the lines they span; those that share a line stand together."""
    blocks: list[Block] = []
    for first, last in spans:
        top = bisect_right(starts, first) - 1
        bottom = bisect_right(starts, max(first, last - 1)) - 1
        if blocks and top <= blocks[-1][1]:
            begun, end, held = blocks[-1]
            held.append((first, last))
            blocks[-1] = (begun, max(end, bottom), held)
        else:
            blocks.append((top, bottom, [(first, last)]))
    return blocks


def _block(text: bytes, starts: list[int], top: int, bottom: int, spans: Any) -> Hit:
    start = starts[top]
    stop = starts[bottom + 1] - 1 if bottom + 1 < len(starts) else len(text)
    stop -= text.endswith(b"\n", start, stop)
    if spans is None:
        return Hit(number=top + 1, offset=start, text=text[start:stop], is_match=False)
    inside = tuple((a - start, b - start) for a, b in spans if b > a)
    return Hit(number=top + 1, offset=start, text=text[start:stop], is_match=True, spans=inside)
