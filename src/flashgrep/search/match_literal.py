r"""Finds lines by a literal that every match holds, or by the start of a line.

A literal is found at memory speed, but each line that holds one costs as much as RE2 needs for
a kilobyte of text, whether it matches or not. So the two are weighed as the text goes by:
each hit adds what it costs and takes off what was skipped to get there. Where hits have cost more
than they saved, the next stretch is RE2's alone; then the literals are tried again. The balance is
kept from call to call, since a call often ends at its first match. It decides about time only, so
threads may share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from flashgrep.errors import InvalidPattern
from flashgrep.search.cost import bounded
from flashgrep.search.pattern import NOTHING, UNANCHORED, PatternSpec, Span, compiled
from flashgrep.search.syntax import (
    Alt,
    Cat,
    Char,
    Choice,
    Edge,
    Node,
    PatternNotUnderstood,
    Repeat,
    parse,
)

# ── the start of a line ──────────────────────────────────────────────────────────────────────────
# Finds lines by patterns that begin with `^`: where a line begins is a newline to look for.
#
# For `(?m)^…` RE2 asks at every byte whether a line begins there. The same pattern behind `\n`
# begins with a character that it finds by memchr, so that it reads little more than the begin of
# most lines: twice the speed. `\n…` must not run on into the next line, and RE2 forbids that only
# to patterns without any newline; so it is made anew from the tree of the pattern, with newlines
# taken out of its sets. Only trees that say all that the pattern says will do.


_NEWLINE: Final = 0x0A


class LineStart:
    """One pattern that begins with `^`, as the whole of it and as what follows a newline."""

    def __init__(self, whole: Any, behind: Any) -> None:
        self._whole = whole.Match
        self._behind = behind.Match

    def find(self, buffer: Any, start: int, end: int) -> Span:
        """The first match in whole lines `start..end`, or NOTHING."""
        line = self._first(buffer, start, end)
        if line < 0:
            return NOTHING
        # The tree does not know which of several matches RE2 prefers.
        span: Span = self._whole(UNANCHORED, buffer, line, buffer.find(b"\n", line, end) + 1)[0]
        return span

    def count(self, buffer: Any, start: int, end: int) -> int:
        """How many of whole lines match."""
        total, newline, match = 0, buffer.find, self._behind
        line = self._first(buffer, start, end)
        while line >= 0:
            total += 1
            at = newline(b"\n", line, end)
            line = match(UNANCHORED, buffer, at, end)[0][0] + 1 or -1
            if line >= end:
                break
        return total

    def _first(self, buffer: Any, start: int, end: int) -> int:
        """Where the first line that matches begins, or -1."""
        if start >= end:
            return -1
        if not start:  # any other line has a newline before it
            stop = buffer.find(b"\n", start, end) + 1
            if -1 < self._whole(UNANCHORED, buffer, start, stop)[0][0] < stop:
                return start
            start = stop
        hit: int = self._behind(UNANCHORED, buffer, start - 1, end)[0][0]
        return hit + 1 if -1 < hit < end - 1 else -1


def line_start(spec: PatternSpec, whole: Any, may_take_long: bool = False) -> LineStart | None:
    """The finder of a pattern that begins with `^` and is understood; None for any other."""
    try:
        tree = parse(spec.source, spec.case_insensitive)
        if not isinstance(tree, Cat) or tree.parts[:1] != (Edge("start"),):
            return None
        behind = compiled("\\n" + "".join(map(_spelled, tree.parts[1:])))
        return LineStart(whole, behind if may_take_long else bounded(behind, spec))
    except (PatternNotUnderstood, InvalidPattern):
        return None


def _spelled(node: Node) -> str:
    """A pattern for a tree, which matches within lines only."""
    match node:
        case Char(text, folded) if text != "\n":
            return f"(?i:{_escaped(ord(text))})" if folded else _escaped(ord(text))
        case Choice(members, folded) if members - {_NEWLINE}:
            choice = f"[{_ranges(sorted(members - {_NEWLINE}))}]"
            return f"(?i:{choice})" if folded else choice
        case Edge("start" | "end" as kind):
            return "(?m:^)" if kind == "start" else "(?m:$)"
        case Cat(parts):
            return f"(?:{''.join(map(_spelled, parts))})"
        case Alt(parts):
            return f"(?:{'|'.join(map(_spelled, parts))})"
        case Repeat(part, low, high):
            return f"(?:{_spelled(part)}){{{low},{'' if high is None else high}}}"
    raise PatternNotUnderstood


def _ranges(codes: Iterable[int]) -> str:
    """The inside of a set."""
    runs = groupby(enumerate(codes), lambda pair: pair[1] - pair[0])
    ends = [(run[0][1], run[-1][1]) for _, group in runs if (run := list(group))]
    return "".join(f"{_escaped(low)}-{_escaped(high)}" for low, high in ends)


def _escaped(code: int) -> str:
    return f"\\x{{{code:x}}}"


# ── match literal ────────────────────────────────────────────────────────────────────────────────


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
