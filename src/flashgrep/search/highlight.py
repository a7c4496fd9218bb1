"""Where a pattern matches in the lines that a page shows.

A search says which lines match; what is drawn inside them is looked for once more, in the text as
it is shown. Places are offsets in UTF-16, as JavaScript slices, and matches that touch are one:

    pattern o+   text "😀foo"   spans [[3, 5]]

A line that grep cuts holds a window and says in which column its first match is (`excerpts`); that
match begins at a known place of the window. In multiline the lines that follow each other are
looked at together, and each has the part of a match that is on it; a match that begins or ends
outside of what is shown is not found there, and its lines are drawn whole.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.search.pattern import (
    UNANCHORED,
    PatternSpec,
    Span,
    TooLong,
    bounded,
    briefly,
    compiled,
    never_empty,
)
from flashgrep.search.result import Line
from flashgrep.search.scan.fair_queue import CancelFlag

Spans = list[list[int]]
"""Pairs of offsets, left to right."""

_SECONDS: Final = 0.5
"""What drawing a page may take; the lines that are left are then drawn without."""

_MATCHES_A_LOOK: Final = 64
"""Matches after which the clock and the caller are looked at."""

_MOST: Final = 500
"""Spans of one line: it has 2,000 characters at most."""

_WINDOW: Final = re.compile(r" \[column (\d{1,18}), (\d{1,18}) chars total\]\Z")
"""How a line ends that grep has cut."""

_ELLIPSIS: Final = "..."


class Highlighter:
    """Finds which parts of a search's lines to highlight."""

    def __init__(self, spec: PatternSpec, cancelled: CancelFlag) -> None:
        self._spec = spec
        self._cancelled = cancelled
        pattern = spec.flagged
        if never_empty(spec) and len(pattern) <= limits.QUOTED_CHARS:
            # Matches that follow each other in one go; see `match_count` for why they are the same.
            pattern = f"(?:{pattern})+"
        self._match = bounded(compiled(pattern), spec).Match
        self._deadline = time.perf_counter() + _SECONDS
        self.is_cut = False
        """Whether some lines are left without, because it took too long."""

    def spans(self, lines: Sequence[Line]) -> list[Spans]:
        """The spans of each line of a file; none of a line that is context."""
        if self._spec.multiline:
            blocks = (list(rows) for _, rows in groupby(enumerate(lines), lambda r: r[1][0] - r[0]))
            return [spans for rows in blocks for spans in self._block([row for _, row in rows])]
        return [self._line(text) if matches else [] for _, matches, text in lines]

    def _line(self, text: str) -> Spans:
        first, end = _window(text) or (0, len(text))
        data = text.encode()
        if len(data) == len(text):
            return _merged(self._found(data, first, end))
        start, stop = len(text[:first].encode()), len(text[:end].encode())
        return _in_utf16(data, _merged(self._found(data, start, stop)))

    def _found(self, data: bytes, at: int, end: int) -> Iterator[Span]:
        """The matches from a place on; none where that takes too long."""
        if self.is_cut:
            return
        try:
            with briefly():
                for count in itertools.count():
                    if count % _MATCHES_A_LOOK == 0:
                        self._look()
                    first, last = self._match(UNANCHORED, data, at, end)[0]
                    if first < 0:
                        return
                    if last > first:
                        yield first, last
                    at = last if last > first else _next_character(data, last)
                    if at > end:
                        return
        except TooLong:
            self.is_cut = True

    def _look(self) -> None:
        if self._cancelled:
            raise Cancelled("The search was cancelled")
        if time.perf_counter() > self._deadline:
            raise TooLong

    # ── multiline ───────────────────────────────────────────────────────────────────────────────

    def _block(self, lines: list[Line]) -> list[Spans]:
        """The same for lines that follow each other, of a pattern that may span them."""
        texts = [text.encode() for _, _, text in lines]
        data = b"\n".join(texts)
        # With a newline at the end, as the line has in its file; without, for `$` where it is last.
        found = self._parts(texts, data + b"\n")
        if any(matches and not spans for spans, (_, matches, _) in zip(found, lines, strict=True)):
            others = self._parts(texts, data)
            found = [one or other for one, other in zip(found, others, strict=True)]
        return [
            self._part(text, data, spans) if matches else []
            for spans, data, (_, matches, text) in zip(found, texts, lines, strict=True)
        ]

    def _parts(self, texts: list[bytes], data: bytes) -> list[list[Span]]:
        """The parts of matches in joined texts that fall on each text."""
        parts: list[list[Span]] = [[] for _ in texts]
        at, start = 0, 0
        for first, last in self._found(data, 0, len(data)):
            while at < len(texts) and start + len(texts[at]) < first:
                start, at = start + len(texts[at]) + 1, at + 1
            line, begins = at, start
            while line < len(texts) and begins < last:
                part = max(first - begins, 0), min(last - begins, len(texts[line]))
                if part[0] < part[1]:
                    parts[line].append(part)
                begins, line = begins + len(texts[line]) + 1, line + 1
        return parts

    def _part(self, text: str, data: bytes, spans: list[Span]) -> Spans:
        window = _window(text)
        first, end = window or (0, len(text))
        if self.is_cut or not text:
            return []
        if window is not None or not spans:
            return [[_utf16(text[:first]), _utf16(text[:end])]]
        merged = _merged(spans)
        return merged if len(data) == len(text) else _in_utf16(data, merged)


def column(text: str) -> int | None:
    """In which column of the whole line its first match begins, of a line that grep has cut."""
    found = _WINDOW.search(text) if _window(text) else None
    return int(found[1]) if found else None


def _window(text: str) -> tuple[int, int] | None:
    """Where the first match begins in a line that grep has cut, and where the window ends."""
    found = _WINDOW.search(text) if text.endswith("]") else None
    if found is None or int(found[2]) <= limits.SHOWN_LINE_CHARS:
        return None
    before = int(found[1]) - 1
    shown = min(before, limits.MATCH_WINDOW_CHARS)
    first = shown + (len(_ELLIPSIS) if shown < before else 0)
    end = found.start()
    end -= len(_ELLIPSIS) if text.endswith(_ELLIPSIS, 0, end) else 0
    return (first, end) if first <= end else None


def _merged(spans: Iterator[Span] | list[Span]) -> Spans:
    merged: Spans = []
    for first, last in spans:
        if merged and first <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], last)
        elif len(merged) == _MOST:
            break
        else:
            merged.append([first, last])
    return merged


def _in_utf16(data: bytes, spans: Spans) -> Spans:
    """Offsets of bytes as offsets in UTF-16."""
    at = units = 0
    placed: list[int] = []
    for place in (place for span in spans for place in span):
        units += _utf16(data[at:place].decode("utf-8", "replace"))
        at = place
        placed.append(units)
    return [[placed[n], placed[n + 1]] for n in range(0, len(placed), 2)]


def _utf16(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _next_character(data: Any, at: int) -> int:
    at += 1
    while at < len(data) and 0x80 <= data[at] < 0xC0:
        at += 1
    return at
