"""Finds lines by literals that every match holds, or by the pattern alone where that is cheaper.

A literal is found at memory speed, but each line that holds one costs as much as RE2 needs for
a kilobyte of text, whether it matches or not. So the two are weighed as the text goes by:
each hit adds what it costs and takes off what was skipped to get there. Where hits have cost more
than they saved, the next stretch is RE2's alone; then the literals are tried again. The balance is
kept from call to call, since a call often ends at its first match. It decides about time only, so
threads may share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flashgrep.search.line_start import LineStart
from flashgrep.search.pattern import NOTHING, UNANCHORED, Span, compiled

_HIT_BYTES: Final = 1_500
"""What RE2 reads in the time that one hit takes; measured in C and in prose."""
_HIT_BYTES_BY_START: Final = 4_500
"""The same where lines are found by their begin."""
_STRETCH: Final = 64 * 1024
"""Given to RE2 alone when hits have cost so much more than they saved."""
_WINDOW: Final = 4 * 1024
"""In which several literals are looked for together, before one of them is further on."""


class LiteralFirst:
    """One pattern, which stays within lines, and its literals."""

    def __init__(self, whole: Any, literals: Sequence[str], start: LineStart | None = None) -> None:
        """`start` takes the place of RE2 alone, for a pattern that begins with `^`."""
        self._match = whole.Match
        self._start = start
        self._literals = [compiled(quoted(text)).Match for text in literals]
        self._overlap = max(len(text.encode("utf-8")) for text in literals) - 1
        price = _HIT_BYTES if start is None else _HIT_BYTES_BY_START
        self._price = price * (1 + len(literals)) // 2
        self._most_loss = 12 * price
        self._loss = 0
        self._alone = 0
        """Bytes still to be left to RE2."""

    def find(self, buffer: Any, start: int, end: int) -> Span:
        """The first match in whole lines `start..end`, or NOTHING."""
        while start < end:
            if (alone := self._alone) > 0:
                stop = _line_end(buffer, start + alone, end)
                find = self._start.find if self._start else self._find_alone
                span = find(buffer, start, stop)
                self._alone -= (stop if span == NOTHING else span[1]) - start
                if span != NOTHING:
                    return span
                start = stop
                continue
            hit = self._next_literal(buffer, start, end)
            if hit < 0:
                self._loss = max(self._loss - (end - start), 0)
                return NOTHING
            self._weigh(hit - start)
            line_start = buffer.rfind(b"\n", start, hit) + 1 or start
            line_end = buffer.find(b"\n", hit, end) + 1
            span = self._find_alone(buffer, line_start, line_end)
            if span != NOTHING:
                return span
            start = line_end
        return NOTHING

    def count(self, buffer: Any, start: int, end: int) -> int:
        """How many of whole lines match."""
        total = 0
        while start < end:
            if (alone := self._alone) > 0:
                stop = _line_end(buffer, start + alone, end)
                if self._start:
                    total += self._start.count(buffer, start, stop)
                else:
                    total += count_alone(self._match, buffer, start, stop)
                self._alone -= stop - start
                start = stop
                continue
            first, last = self.find(buffer, start, end)
            if first < 0:
                break
            total += 1
            start = buffer.find(b"\n", last, end) + 1
        return total

    def _find_alone(self, buffer: Any, start: int, end: int) -> Span:
        span: Span = self._match(UNANCHORED, buffer, start, end)[0]
        # An empty match behind the last newline stands on no line.
        return span if span[0] < end else NOTHING

    def _weigh(self, skipped: int) -> None:
        loss = self._loss + self._price - skipped
        if loss > self._most_loss:
            self._alone, loss = _STRETCH, self._most_loss // 2
        self._loss = max(loss, 0)

    def _next_literal(self, buffer: Any, start: int, end: int) -> int:
        if len(self._literals) == 1:
            hit: int = self._literals[0](UNANCHORED, buffer, start, end)[0][0]
            return hit
        window = _WINDOW
        while start < end:
            best = self._first_of(buffer, start, min(start + window + self._overlap, end))
            if best >= 0:
                return best
            start, window = start + window, 2 * window
        return -1

    def _first_of(self, buffer: Any, start: int, end: int) -> int:
        best = -1
        for match in self._literals:
            hit: int = match(UNANCHORED, buffer, start, end)[0][0]
            if hit >= 0:
                best = end = hit if best < 0 else min(hit, best)
                end += 1
        return best


def _line_end(buffer: Any, place: int, end: int) -> int:
    stop: int = buffer.find(b"\n", min(place, end - 1), end) + 1
    return stop


def count_alone(match: Any, buffer: Any, start: int, end: int) -> int:
    """How many of whole lines match, by RE2's own search."""
    total, newline = 0, buffer.find
    while start < end:
        first, last = match(UNANCHORED, buffer, start, end)[0]
        if first < 0 or first >= end:
            break
        total += 1
        start = newline(b"\n", last, end) + 1
    return total


def quoted(text: str) -> str:
    """A pattern that matches a text and nothing else."""
    return "".join(
        c if c.isalnum() or c in " _" or not c.isascii() else f"\\x{ord(c):02x}" for c in text
    )
