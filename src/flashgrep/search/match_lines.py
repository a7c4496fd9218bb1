r"""Finds the matching lines of a buffer without visiting every line.

A buffer here is a run of whole lines, each ended by `\n` alone, in which bytes that are not valid
UTF-8 are hidden (see `decode`). Four ways give the same answer, and tests hold each against
`pattern.matching_lines`:

- whole buffer: `(?m)` and `never_nl` make RE2 treat the buffer as its lines. Equal to the
  definition for every pattern that does not say `\A`, `\z` or switch `m` off.
- literal first: where every match holds a literal, find that at memory speed and try the pattern
  on its line only. Given up for a stretch in which the literal is common (see `LiteralFirst`).
- line start: a pattern that begins with `^` is looked for after newlines (see `LineStart`).
- line by line: the definition itself, for whatever is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from itertools import groupby, islice
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import InvalidPattern
from flashgrep.search.pattern import (
    NOTHING,
    UNANCHORED,
    PatternSpec,
    Span,
    Watch,
    bounded,
    compiled,
)
from flashgrep.search.syntax import (
    Alt,
    Cat,
    Char,
    Choice,
    Edge,
    Node,
    Repeat,
    literal_alternatives,
    literal_prefix,
    required_literals,
)

# ── by a literal, or by the start of a line ──────────────────────────────────────────────────────
# Finds lines by a literal that every match holds, or by the start of a line.
#
# A literal is found at memory speed, but each line that holds one costs as much as RE2 needs for a
# kilobyte of text, whether it matches or not. So the two are weighed as the text goes by: each hit
# adds what it costs and takes off what was skipped to get there. Where hits have cost more than
# they saved, the next stretch is RE2's alone; then the literals are tried again. The balance is
# kept from call to call, since a call often ends at its first match. It decides about time only, so
# threads may share it.


# ── the start of a line ──────────────────────────────────────────────────────────────────────────
# Finds lines by patterns that begin with `^`: where a line begins is a newline to look for.
#
# For `(?m)^…` RE2 asks at every byte whether a line begins there. The same pattern after `\n`
# begins with a character that it finds by memchr, so that it reads little more than the begin of
# most lines: twice the speed. `\n…` must not run on into the next line, and RE2 forbids that only
# to patterns without any newline; so it is spelled from the tree of the pattern, with newlines
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
    tree = spec.tree
    if not isinstance(tree, Cat) or tree.parts[:1] != (Edge("start"),):
        return None
    try:
        behind = compiled("\\n" + "".join(map(_spelled, tree.parts[1:])))
    except (_CannotSpell, InvalidPattern):
        return None
    return LineStart(whole, bounded(behind, spec, may_take_long))


class _CannotSpell(Exception):
    """A tree says less than its pattern."""


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
    raise _CannotSpell


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
        # An empty match after the last newline is on no line.
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


# ── match lines ──────────────────────────────────────────────────────────────────────────────────


# Text that might be \A, \z or a group that switches m off; a false alarm only costs speed.
_OWN_ENDS: Final = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
_TAIL_MISSES: Final = 24
"""Tails in a row without what belongs before them, until the whole literal is looked for."""
_COMMON: Final = 'EA2/"1w>=kx.y-bvg;()h,0fm*pu_cldsnrioate\t '
"""Characters of source code, the commonest last."""
_SHORTEST_TAIL: Final = 4


@lru_cache(limits.REMEMBERED_PATTERNS)
def line_matcher(spec: PatternSpec) -> LineMatcher:
    """The matcher of a pattern; remembered, because agents page."""
    return LineMatcher(spec)


class LineMatcher:
    """Finds lines that match a pattern; it holds no state of a search but what speeds the next."""

    def __init__(self, spec: PatternSpec, may_take_long: bool = False) -> None:
        """What may not take long raises `TooLong` (see `pattern`)."""
        self.spec = spec
        self._may_take_long = may_take_long
        self._by_line = bounded(compiled(spec.flagged), spec, may_take_long)
        self._whole = None
        self._by_literal: LiteralFirst | None = None
        self._by_start: LineStart | None = None
        self._exact: list[_Literal] = []
        """The pattern's alternatives, where each is nothing but a literal."""
        self._among: dict[int, LineMatcher] = {}
        if not _OWN_ENDS.search(spec.source):
            whole = compiled("(?m)" + spec.flagged, never_newline=True)
            self._whole = bounded(whole, spec, may_take_long, within_lines=True)
            literals = [] if spec.case_insensitive else _literals(spec.source)
            self._by_start = line_start(spec, self._whole, may_take_long)
            if literals:
                self._by_literal = LiteralFirst(self._whole, literals, self._by_start)
                self._exact = _exact_literals(spec.source)
        is_helped = self._by_literal is not None or self._by_start is not None
        self.plain = None if self._whole is None or is_helped else self._whole.Match
        """RE2's own search, where it is all there is to `find`: for loops that run a million times.

        A match after the last newline, at `end`, is on no line.
        """

    def among(self, alternatives: int) -> LineMatcher:
        """The matcher for text that can contain only the alternatives with their bits set."""
        known = self._among.get(alternatives)
        if known is None:
            known = self._among[alternatives] = self._chosen(alternatives)
        return known

    def _chosen(self, alternatives: int) -> LineMatcher:
        chosen = [exact for at, exact in enumerate(self._exact) if alternatives >> at & 1]
        if not chosen or len(chosen) == len(self._exact):
            return self
        other = copy(self)
        other._exact, other._among = chosen, {}
        return other

    def find(self, buffer: Any, start: int, end: int) -> Span:
        """The first match in whole lines `start..end`, or NOTHING; it stays within its line."""
        if start >= end:
            return NOTHING
        if self._whole is None:
            return self._find_by_line(buffer, start, end)
        if self._exact:
            return self._find_exact(buffer, start, end)
        if self._by_literal:
            return self._by_literal.find(buffer, start, end)
        if self._by_start:
            return self._by_start.find(buffer, start, end)
        span: Span = self._whole.Match(UNANCHORED, buffer, start, end)[0]
        # An empty match after the last newline is on no line.
        return span if span[0] < end else NOTHING

    def count(self, buffer: Any, start: int, end: int, most: int = 0) -> int:
        """How many of whole lines match; it may end at `most`, if that is not 0."""
        if self.plain is not None and not most:
            return count_alone(self.plain, buffer, start, end)
        if self._by_literal and not self._exact and not most:
            return self._by_literal.count(buffer, start, end)
        if self._by_start and not most:
            return self._by_start.count(buffer, start, end)
        lines = self.lines(buffer, start, end)
        return sum(1 for _ in (islice(lines, most) if most else lines))

    def lines(self, buffer: Any, start: int, end: int) -> Iterator[Span]:
        """Start and end of each matching line of a region of whole lines."""
        if len(self._exact) > 1:
            return self._lines_by_literals(buffer, start, end)
        if self._exact:
            return _lines_by_literal(self._exact[0], buffer, start, end)
        return self._lines_by_find(buffer, start, end)

    def _lines_by_find(self, buffer: Any, start: int, end: int) -> Iterator[Span]:
        find, newline = self.find, buffer.find
        while start < end:
            first, last = find(buffer, start, end)
            if first < 0:
                return
            line_end = newline(b"\n", last, end)
            yield buffer.rfind(b"\n", start, first) + 1 or start, line_end
            start = line_end + 1

    def _lines_by_literals(self, buffer: Any, start: int, end: int) -> Iterator[Span]:
        """As `lines`, where each literal is a match: none is looked for twice in the same place."""
        hits = [-1] * len(self._exact)
        while start < end:
            for number, literal in enumerate(self._exact):
                if hits[number] < start:
                    hit = literal.find(buffer, start, end)
                    hits[number] = end if hit < 0 else hit
            first = min(hits)
            if first >= end:
                return
            line_end = buffer.find(b"\n", first, end)
            yield buffer.rfind(b"\n", start, first) + 1 or start, line_end
            start = line_end + 1

    def _find_exact(self, buffer: Any, start: int, end: int) -> Span:
        """Find the first of the literals; of several at one place, the first of the pattern."""
        best = NOTHING
        for literal in self._exact:
            hit = literal.find(buffer, start, end)
            if hit >= 0 and (best == NOTHING or hit < best[0]):
                best = hit, hit + len(literal.text)
                # A later one is of interest only where it begins before this.
                end = buffer.find(b"\n", hit, end) + 1
        return best

    def _find_by_line(self, buffer: Any, start: int, end: int) -> Span:
        while start < end:
            line_end = buffer.find(b"\n", start, end)
            # A slice: \A and \z must see nothing outside the line; a view: it may be a gigabyte.
            with memoryview(buffer) as whole, whole[start:line_end] as line:
                found: Span = self._by_line.Match(UNANCHORED, line, 0, len(line))[0]
            if found[0] >= 0:
                return start + found[0], start + found[1]
            start = line_end + 1
        return NOTHING

    def spans_in_line(
        self, buffer: Any, start: int, end: int, with_empty: bool = False
    ) -> Iterator[Span]:
        """Every non-empty match in one line, left to right: what `only_matching` prints.

        Or the empty ones too, except directly after another. Of a view, one by one: a line may be
        a gigabyte long and match at every byte.
        """
        with memoryview(buffer) as whole, whole[start:end] as line:
            at, previous, watch = 0, -1, Watch(self._may_take_long)
            while at <= len(line):
                watch.look()
                first, last = self._by_line.Match(UNANCHORED, line, at, len(line))[0]
                if first < 0:
                    return
                if last > first or (with_empty and first != previous):
                    yield start + first, start + last
                previous = last
                at = last if last > first else _after_character(line, last)


def _lines_by_literal(literal: _Literal, buffer: Any, start: int, end: int) -> Iterator[Span]:
    """As `lines`, where the pattern is a literal: fewer calls."""
    while (hit := literal.find(buffer, start, end)) >= 0:
        line_end = buffer.find(b"\n", hit, end)
        yield buffer.rfind(b"\n", start, hit) + 1 or start, line_end
        start = line_end + 1


def _literals(source: str) -> list[str]:
    """What to look for first: of each literal that is required, its tail."""
    literals = required_literals(source)
    if not literals or any(b"\n" in text or len(text) < 2 for text in literals):
        return []
    texts = sorted(text.decode("utf-8") for text in literals)
    tails = [_rare_tail(text) for text in texts]
    prefix = literal_prefix(source)
    if texts == [prefix] and (
        tails == texts or not (literal_alternatives(source) == texts or prefix[0] in "_ \t")
    ):
        return []  # what a pattern begins with, RE2 looks for by itself, at the same speed
    return tails


def _exact_literals(source: str) -> list[_Literal]:
    """The alternatives of a pattern that is literals and nothing else, in its order."""
    return [_Literal(text) for text in literal_alternatives(source)]


class _Literal:
    """Finds a literal by its tail from the rarest character on."""

    def __init__(self, text: str) -> None:
        tail = _rare_tail(text)
        self.text = text.encode("utf-8")
        self._offset = len(self.text) - len(tail.encode("utf-8"))
        self._tail = compiled(quoted(tail)).Match
        self._whole = compiled(quoted(text)).Match

    def find(self, buffer: Any, start: int, end: int) -> int:
        """Its first place between two others, or -1."""
        text, offset, tail = self.text, self._offset, self._tail
        for _ in range(_TAIL_MISSES):
            if start + offset >= end:
                return -1
            hit: int = tail(UNANCHORED, buffer, start + offset, end)[0][0]
            if hit < 0 or not offset:
                return hit
            start = hit - offset
            if buffer[start:hit] == text[:offset]:
                return start
            start += 1
        found: int = self._whole(UNANCHORED, buffer, start, end)[0][0]
        return found


@lru_cache(limits.REMEMBERED_PATTERNS)
def _rare_tail(text: str) -> str:
    """The end of a literal from its rarest character on: RE2 looks for the first one by memchr.

    `_SUSPEND` is found at 1.9 GB/s in C sources, where `_` is everywhere, `SUSPEND` at twice that.
    """
    shortest = max(_SHORTEST_TAIL, (len(text) + 1) // 2)
    starts = range(max(1, len(text) - shortest + 1))
    # rfind gives -1 for a character that is not common, and more the commoner it is.
    return text[min(starts, key=[*map(_COMMON.rfind, text)].__getitem__) :]


def _after_character(line: memoryview, at: int) -> int:
    at += 1
    while at < len(line) and 0x80 <= line[at] < 0xC0:
        at += 1
    return at
