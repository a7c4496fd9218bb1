r"""Finds lines by patterns that begin with `^`: where a line begins is a newline to look for.

For `(?m)^…` RE2 asks at every byte whether a line begins there. The same pattern behind `\n` begins
with a character that it finds by memchr, so that it reads little more than the begin of most lines:
twice the speed. `\n…` must not run on into the next line, and RE2 forbids that only to patterns
without any newline; so it is made anew from the tree of the pattern, with newlines taken out of its
sets. Only trees that say all that the pattern says will do.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, Final

from flashgrep.errors import InvalidPattern
from flashgrep.search.cost import bounded
from flashgrep.search.pattern import NOTHING, UNANCHORED, PatternSpec, Span, compiled
from flashgrep.search.syntax import Alt, Cat, Char, Choice, Edge, Node, NotUnderstood, Repeat, parse

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
    except (NotUnderstood, InvalidPattern):
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
    raise NotUnderstood


def _ranges(codes: Iterable[int]) -> str:
    """The inside of a set."""
    runs = groupby(enumerate(codes), lambda pair: pair[1] - pair[0])
    ends = [(run[0][1], run[-1][1]) for _, group in runs if (run := list(group))]
    return "".join(f"{_escaped(low)}-{_escaped(high)}" for low, high in ends)


def _escaped(code: int) -> str:
    return f"\\x{{{code:x}}}"
