"""Matches over a whole text, mapped back to the lines they span."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from flashgrep.search.characters import needs_care, searchable
from flashgrep.search.pattern import UNANCHORED, PatternSpec, compiled

Span = tuple[int, int]


class TextMatcher:
    """Finds every match of a pattern in a whole text."""

    def __init__(self, spec: PatternSpec) -> None:
        self._regex = compiled(spec.flagged)
        self._needs_care = needs_care(spec)

    def spans(self, text: Any, length: int) -> Iterator[Span]:
        """The matches, left to right, without overlap.

        An empty match right behind another match is none, as in Go; neither is one behind the
        last newline, for it stands on no line.
        """
        if self._needs_care:
            text = searchable(text, 0, length)
        at, previous = 0, -1
        while at <= length:
            first, last = self._regex.Match(UNANCHORED, text, at, length)[0]
            if first < 0:
                return
            if last > first or (first != previous and _stands_on_a_line(text, first, length)):
                yield first, last
            previous = last
            at = last if last > first else _next_character(text, last, length)

    def matches(self, text: Any, length: int) -> bool:
        """Whether there is any match."""
        return next(self.spans(text, length), None) is not None


def _stands_on_a_line(text: Any, at: int, length: int) -> bool:
    return at < length or (length > 0 and text[length - 1] != 0x0A)


def _next_character(text: Any, at: int, length: int) -> int:
    at += 1
    while at < length and 0x80 <= text[at] < 0xC0:
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


def spanned_lines(spans: Iterator[Span], starts: list[int]) -> dict[int, Span]:
    """The 0-based lines that matches span, each with the first match that reaches it."""
    lines: dict[int, Span] = {}
    for first, last in spans:
        top = bisect_right(starts, first) - 1
        bottom = bisect_right(starts, max(first, last - 1)) - 1
        for line in range(top, bottom + 1):
            lines.setdefault(line, (first, last))
    return lines
