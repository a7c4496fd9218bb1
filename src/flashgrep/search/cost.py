r"""How long matching may take at worst, and so where it may be done.

RE2 cannot be stopped in the middle of a match. Most patterns run as an automaton at half a
gigabyte a second whatever the text, but some (`a.{500}z`) need so many states that RE2 falls back
to trying every one of them at every byte: a thousand times as long, seconds for one long line. So
the server itself matches such a pattern only where that is over in a moment. What could take
longer raises `TooLong`, and whoever asked hands it to a process that can be killed.

A pattern is tame if few of its places are ambiguous, which bounds the states of its automaton:

    \w+_register        1   `_` is one of `\w`
    [0-9a-f]{8}-        0   the two sets share nothing
    a.{500}z          500   `.` may be the `a` that something begins with

The figures are measured: with thousands of places RE2 needs 1.4 ns a byte and step of its program,
with few of them half a microsecond a byte.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

from flashgrep import limits
from flashgrep.search.pattern import PatternSpec, compiled
from flashgrep.search.syntax import (
    Alt,
    Cat,
    Char,
    Choice,
    Edge,
    Node,
    PatternNotUnderstood,
    Repeat,
    Unknown,
    parse,
)

_AMBIGUOUS_PLACES: Final = 10
"""With so many an automaton has a thousand states, which are made in a few milliseconds."""
_TAME_SECONDS: Final = 2.5e-9
_WILD_SECONDS: Final = 5e-7
_STEP_SECONDS: Final = 1.4e-9
_MATCH_SECONDS: Final = 2e-6
"""What one match costs in Python's own loops."""
_MATCHES_A_LOOK: Final = 256
_FOREVER: Final = float("inf")

_place = threading.local()
_is_killable = False


class TooLong(Exception):
    """Matching this could take long, and nothing could stop it here."""


def may_take_long() -> None:
    """Declare this process one that is killed when it takes too long: it matches everything."""
    global _is_killable
    _is_killable = True


class briefly:  # a generator would cost every search more
    """In this block, wild patterns are matched for a moment only; then `TooLong` is raised."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before: float = getattr(_place, "deadline", _FOREVER)
        _place.deadline = min(self._before, time.perf_counter() + limits.BRIEF_SECONDS)

    def __exit__(self, *_: object) -> None:
        _place.deadline = self._before


@lru_cache(limits.REMEMBERED_PATTERNS)
def is_tame(spec: PatternSpec) -> bool:
    """Whether the pattern's automaton stays small, whatever the text."""
    tree = _tree(spec)
    if tree is None:
        return False
    return _ambiguous(tree, _ambiguous_sets(tree)) <= _AMBIGUOUS_PLACES


@lru_cache(limits.REMEMBERED_PATTERNS)
def seconds_a_byte(spec: PatternSpec) -> float:
    """How long RE2 may take at worst for a byte of text."""
    if is_tame(spec):
        return _TAME_SECONDS
    return _WILD_SECONDS + _STEP_SECONDS * int(compiled(spec.flagged).ProgramSize())


@lru_cache(limits.REMEMBERED_PATTERNS)
def seconds_of_matches(spec: PatternSpec) -> float:
    """The same where every match is looked at, not only the first of a line."""
    return seconds_a_byte(spec) + _MATCH_SECONDS / _shortest_match(spec)


def bytes_in(seconds: float, a_byte: float) -> int:
    """How much text is sure to be matched in so long."""
    return int(seconds / a_byte)


def bounded(regex: Any, spec: PatternSpec, within_lines: bool = False) -> Any:
    """An RE2 object of a pattern, in a guise that raises `TooLong` in place of a long match.

    What is said to match `within_lines` is matched in stretches of whole lines.
    """
    if _is_killable or is_tame(spec):
        return regex
    most = bytes_in(limits.HERE_SECONDS, seconds_a_byte(spec))
    return (_BoundedLines if within_lines else _Bounded)(regex, most)


class Watch:
    """Looks at the clock now and then while every match of a text is gone through."""

    def __init__(self, may_take_long: bool = False) -> None:
        self._count = 0
        self._deadline = _FOREVER
        if not (may_take_long or _is_killable):
            in_portion: float = getattr(_place, "portion", _FOREVER)
            self._deadline = min(in_portion, time.perf_counter() + limits.HERE_SECONDS)

    def look(self) -> None:
        """Called for each match: raises `TooLong` where so many take long."""
        self._count += 1
        if self._count % _MATCHES_A_LOOK == 0 and time.perf_counter() > self._deadline:
            raise TooLong


@contextmanager
def portion() -> Iterator[None]:
    """In this block, nobody looks whether the caller has withdrawn: it must not take long."""
    _place.portion = time.perf_counter() + limits.PORTION_SECONDS
    try:
        yield
    finally:
        _place.portion = _FOREVER


class _Bounded:
    """The one method of an RE2 object that is used here."""

    def __init__(self, regex: Any, most: int) -> None:
        self._match = regex.Match
        self._most = most

    def Match(self, anchor: Any, text: Any, start: int, end: int) -> Any:
        """As RE2's own, for a text that is short."""
        if end - start > self._most:
            raise TooLong
        if time.perf_counter() > getattr(_place, "deadline", _FOREVER):
            raise TooLong
        return self._match(anchor, text, start, end)


class _BoundedLines(_Bounded):
    """The same for a pattern that stays within lines: a long text is as good as its parts."""

    def Match(self, anchor: Any, text: Any, start: int, end: int) -> Any:
        """As RE2's own, for lines that are short."""
        while end - start > self._most:
            stop = text.rfind(b"\n", start, start + self._most) + 1
            if not stop:
                raise TooLong
            found = super().Match(anchor, text, start, stop)
            if -1 < found[0][0] < stop:  # at its end begins the next line, if any
                return found
            start = stop
        return super().Match(anchor, text, start, end)


@lru_cache(limits.REMEMBERED_PATTERNS)
def stays_in_line(spec: PatternSpec) -> bool:
    """Whether no match of the pattern can hold a newline."""
    tree = _tree(spec)
    return tree is not None and not any(map(_may_be_newline, _atoms(tree)))


@lru_cache(limits.REMEMBERED_PATTERNS)
def never_empty(spec: PatternSpec) -> bool:
    """Whether every match of the pattern holds something."""
    tree = _tree(spec)
    return tree is not None and _shortest(tree) > 0


# ── what the tree says ──────────────────────────────────────────────────────────────────────────


def _shortest_match(spec: PatternSpec) -> int:
    tree = _tree(spec)
    return 1 if tree is None else max(1, _shortest(tree))


def _tree(spec: PatternSpec) -> Node | None:
    try:
        return parse(spec.source, spec.case_insensitive)
    except PatternNotUnderstood:
        return None


def _shortest(node: Node) -> int:
    """Bytes that every match has at least.

    The parser makes `Unknown` of single characters only: `.`, a class, a letter in any case.
    """
    match node:
        case Char() | Choice() | Unknown():
            return 1
        case Cat(parts):
            return sum(map(_shortest, parts))
        case Alt(parts):
            return min(map(_shortest, parts))
        case Repeat(part, low, _):
            return low * _shortest(part)
    return 0


def _may_be_newline(node: Node) -> bool:
    match node:
        case Char(text, _):
            return text == "\n"
        case Choice(members, _):
            return ord("\n") in members
    return isinstance(node, Unknown)


def _atoms(node: Node) -> Iterator[Node]:
    match node:
        case Cat(parts) | Alt(parts):
            for part in parts:
                yield from _atoms(part)
        case Repeat(part, _, _):
            yield from _atoms(part)
        case _:
            yield node


def _ambiguous_sets(tree: Node) -> frozenset[frozenset[int]]:
    """The sets of characters that share some, but not all, with another place of the pattern."""
    atoms = set(_atoms(tree))
    sets = {atom.members for atom in atoms if isinstance(atom, Choice)}
    chars = {
        frozenset(map(ord, {atom.text, atom.text.swapcase()}))
        for atom in atoms
        if isinstance(atom, Char) and atom.text.isascii()
    }
    has_other = any(isinstance(atom, Unknown) for atom in atoms)
    return frozenset(
        one
        for one in sets
        if has_other or any(one != other and one & other for other in (*sets, *chars))
    )


def _ambiguous(node: Node, sets: frozenset[frozenset[int]]) -> int:
    """At how many places the text leaves open where in the pattern it stands."""
    match node:
        case Char() | Edge():
            return 0
        case Choice(members, _):
            return int(members in sets)
        case Cat(parts) | Alt(parts):
            return sum(_ambiguous(part, sets) for part in parts)
        case Repeat(part, low, None):
            own = _ambiguous(part, sets)
            return max(low, 1) * own + (not own and not isinstance(part, (Char, Choice)))
        case Repeat(part, low, int(high)):
            own = _ambiguous(part, sets) or int(isinstance(part, Alt))
            return high * own + (high - low)
    return 1
