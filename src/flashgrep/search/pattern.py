r"""What a pattern means, and how long matching it may take.

The definition is line by line: split the text at `\n`, drop one trailing `\r`, test each line
alone. So `\s` never matches a newline, and `^`, `$`, `\A`, `\z` are the line's own ends. With
`multiline` the whole text is one subject, and `.` matches newlines too. A byte that is not valid
UTF-8 matches no character.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from re2 import _re2

from flashgrep import limits
from flashgrep.errors import InvalidPattern
from flashgrep.search.syntax import (
    UNKNOWN,
    Alt,
    Cat,
    Char,
    Choice,
    Edge,
    Node,
    Repeat,
    Unknown,
    atoms,
    is_plain_text,
    needs_newline,
    tree_of,
)

HERE_SECONDS: Final = 0.025
"""The longest that one call into RE2, which nothing can stop, may take in the server itself; a
process that can be killed does anything longer."""

PORTION_SECONDS: Final = 0.1
"""How long the server itself may iterate over the matches of one portion, since it checks for a
cancel only between portions; a process continues what takes longer."""

BRIEF_SECONDS: Final = 0.06
"""How long a pattern that may run long is tried in the server itself, before a process does it:
twice what a search without workers may take."""

_PATTERN_CHECK_BYTES: Final = 4 * limits.MIB
"""RE2's budget when it is tried whether a pattern with repetitions is small enough: with that it
gives up soon above so many steps."""

_PARTS: Final = re.compile(
    r"""\\Q.*?(?:\\E|\Z)                                      # quoted
    |   \\.                                                   # escaped
    |   \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]               # a class
    |   \(\?(?P<flags>[a-zA-Z-]*)[:)]                         # flags
    |   (?P<anchor>[\^$])
    """,
    re.VERBOSE | re.DOTALL,
)
"""Tells an anchor from the same character elsewhere."""

UNANCHORED: Final = _re2.RE2.Anchor.UNANCHORED
NO_MATCH: Final = -1
Span = tuple[int, int]
NOTHING: Final[Span] = (NO_MATCH, NO_MATCH)
_TOO_LARGE: Final = "pattern too large"
_SHORT_CHARS: Final = 1_000


@dataclass(frozen=True)
class PatternSpec:
    """A pattern as it was asked for; plain data, so that it can cross to a worker."""

    source: str
    case_insensitive: bool = False
    multiline: bool = False

    @property
    def flagged(self) -> str:
        """The pattern with the flags of the parameters."""
        flags = "(?i)" if self.case_insensitive else ""
        return flags + ("(?s)" if self.multiline else "") + self.source

    @property
    def is_plain(self) -> bool:
        """Whether it is a text, spelled as it is."""
        return not self.case_insensitive and is_plain_text(self.source)

    @property
    def tree(self) -> Node | None:
        """The pattern's tree, or None where it is not understood."""
        return tree_of(self.source, self.case_insensitive)

    @property
    def needs_newline(self) -> bool:
        """Whether every match holds a newline, so that no single line can match."""
        return needs_newline(self.source)


@lru_cache(maxsize=limits.REMEMBERED_PATTERNS)
def compiled(pattern: str, *, never_newline: bool = False) -> Any:
    """An RE2 object; `InvalidPattern` with RE2's own words where it does not compile.

    Remembered, because agents page; it may be used by several threads.
    """
    return _compiled(pattern, never_newline, limits.RE2_BYTES)


def _compiled(pattern: str, never_newline: bool, most_bytes: int) -> Any:
    options = _re2.RE2.Options()
    options.log_errors = False  # RE2 would write to stderr on its own
    options.never_capture = True
    options.never_nl = never_newline
    options.max_mem = most_bytes
    regex = _re2.RE2(pattern.encode("utf-8"), options)
    if regex.ok():
        return regex
    reason = regex.error().decode("utf-8", "replace")
    if reason.startswith(_TOO_LARGE):
        raise InvalidPattern(
            "Invalid regex pattern: it is too large when compiled, over "
            f"{limits.PATTERN_STEPS:,} steps; "
            "use smaller repetition counts ({n,m} writes its part out m times, \\pL has 1,200)"
        )
    raise InvalidPattern(f"Invalid regex pattern: {_remedied(reason, pattern)}")


def _remedied(reason: str, pattern: str) -> str:
    """RE2's words; of what other engines have and RE2 has not, what to do instead."""
    sign = reason.rpartition(": ")[2]
    if sign in ("(?=", "(?!", "(?<=", "(?<!"):
        return (
            f"{sign} is look-around, which RE2 does not have; match what is around too, "
            "or search for one part and look through its lines"
        )
    is_named = sign == "(?P" and "(?P=" in pattern
    if is_named or (reason.startswith("invalid escape") and re.fullmatch(r"\\[1-9kg]", sign)):
        return (
            f"{'(?P=' if is_named else sign} is a backreference, which RE2 does not have; "
            "write the text out, or search for the part that comes first"
        )
    if reason.startswith("invalid repetition size"):
        return (
            f"{reason}; at most 1,000, repetitions in repetitions multiplied. "
            "The syntax is RE2 (as in Go)"
        )
    return f"{reason}. The syntax is RE2 (as in Go)"


def check(spec: PatternSpec) -> None:
    """Refuse a pattern that cannot be searched for, with the reason."""
    if not spec.source:
        raise InvalidPattern("pattern must not be empty")
    if len(spec.source) > limits.PATTERN_CHARS:
        raise InvalidPattern(
            f"pattern has {len(spec.source):,} characters; at most {limits.PATTERN_CHARS:,}"
        )
    if uses_single_byte(spec.source):
        raise InvalidPattern(
            "Invalid regex pattern: \\C (any byte) is not supported; use . instead"
        )
    if _can_be_large(spec.source):
        # Compiled for nothing but its size, with so little memory that RE2 gives up early.
        regex = _compiled(spec.flagged, False, _PATTERN_CHECK_BYTES)
        if regex.ProgramSize() > limits.PATTERN_STEPS:
            raise InvalidPattern(
                f"Invalid regex pattern: it has {regex.ProgramSize():,} steps when compiled; at "
                f"most {limits.PATTERN_STEPS:,}: use smaller repetition counts"
            )
    compiled(spec.flagged)


def _can_be_large(source: str) -> bool:
    """Whether a pattern may compile to many more steps than it has characters."""
    return "{" in source or "\\p" in source or "\\P" in source or len(source) > _SHORT_CHARS


def uses_single_byte(source: str) -> bool:
    """Whether a pattern holds `\\C`: it can match half a character, or a newline."""
    at = 0
    while (at := source.find("\\", at)) >= 0:
        escape = source[at + 1 : at + 2]
        if escape == "C":
            return True
        end = source.find("\\E", at + 2) if escape == "Q" else -1
        if escape == "Q" and end < 0:
            return False
        at = end + 2 if escape == "Q" else at + 2
    return False


def has_angle_escapes(source: str) -> bool:
    """Whether a pattern holds `\\<` or `\\>`, in other engines the borders of a word."""
    return any(pair[1] in "<>" for pair in re.findall(r"\\.", source, re.DOTALL))


def has_line_anchors(source: str) -> bool:
    """Whether a pattern has `^` or `$` as an anchor, and no `(?m)` makes them line ends."""
    found = False
    for part in _PARTS.finditer(source):
        if part["flags"] is not None and "m" in part["flags"].partition("-")[0]:
            return False
        found = found or part["anchor"] is not None
    return found


def matching_lines(spec: PatternSpec, text: bytes) -> list[int]:
    """The definition: 0-based numbers of the lines that match. Slow, obvious, the oracle."""
    regex = compiled(spec.flagged)
    found = []
    for number, line in enumerate(split_lines(characters_alone(text))):
        if regex.Match(UNANCHORED, line, 0, len(line))[0][0] != NO_MATCH:
            found.append(number)
    return found


def characters_alone(text: bytes) -> bytes:
    """A text with every byte that is not valid UTF-8 replaced by FF, which RE2 never matches."""
    decoded = text.decode("utf-8", "surrogateescape")  # one lone surrogate for each such byte
    invalid = dict.fromkeys(range(0xDC80, 0xDD00), "\udcff")
    return decoded.translate(invalid).encode("utf-8", "surrogateescape")


def split_lines(text: bytes) -> list[bytes]:
    """The lines of a text: cut at `\\n`, one trailing `\\r` dropped, none after the last."""
    lines = text.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


# ── how long matching may take ───────────────────────────────────────────────────────────────────
# How long matching may take at worst, and so where it may be done.
#
# RE2 cannot be stopped in the middle of a match. Most patterns run as an automaton at half a
# gigabyte a second whatever the text, but some (`a.{500}z`) need so many states that RE2 falls back
# to trying every one of them at every byte: a thousand times as long, seconds for one long line. So
# the server itself matches such a pattern only where that is over in a moment. What could take
# longer raises `TooLong`, and the caller hands it to a process that can be killed.
#
# A pattern is predictable if few of its places are ambiguous: that bounds its automaton's states.
#
#     \w+_register        1   `_` is one of `\w`
#     [0-9a-f]{8}-        0   the two sets share nothing
#     a.{500}z          500   `.` may be the `a` that something begins with
#
# The figures are measured: with thousands of places RE2 needs 1.4 ns a byte and step of its
# program, with few of them half a microsecond a byte.


_AMBIGUOUS_PLACES: Final = 10
"""With so many an automaton has a thousand states, which are made in a few milliseconds."""
_PREDICTABLE_SECONDS: Final = 2.5e-9
_OTHER_SECONDS: Final = 5e-7
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
    """In this block, unpredictable patterns are matched for a moment, then `TooLong` is raised."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before: float = getattr(_place, "deadline", _FOREVER)
        _place.deadline = min(self._before, time.perf_counter() + BRIEF_SECONDS)

    def __exit__(self, *_: object) -> None:
        _place.deadline = self._before


@lru_cache(limits.REMEMBERED_PATTERNS)
def is_predictable(spec: PatternSpec) -> bool:
    """Whether the pattern's automaton stays small, whatever the text."""
    if spec.is_plain:
        return True
    tree = spec.tree
    return tree is not None and _ambiguous(tree, _ambiguous_sets(tree)) <= _AMBIGUOUS_PLACES


@lru_cache(limits.REMEMBERED_PATTERNS)
def seconds_a_byte(spec: PatternSpec) -> float:
    """How long RE2 may take at worst for a byte of text."""
    if is_predictable(spec):
        return _PREDICTABLE_SECONDS
    return _OTHER_SECONDS + _STEP_SECONDS * int(compiled(spec.flagged).ProgramSize())


@lru_cache(limits.REMEMBERED_PATTERNS)
def seconds_of_matches(spec: PatternSpec) -> float:
    """The same where every match is looked at, not only the first of a line."""
    shortest = _shortest(spec.tree) if spec.tree else 1
    return seconds_a_byte(spec) + _MATCH_SECONDS / max(1, shortest)


def bytes_in(seconds: float, a_byte: float) -> int:
    """How much text is sure to be matched in so long."""
    return int(seconds / a_byte)


def bytes_here(spec: PatternSpec) -> int:
    """How much text one call into RE2 may match in the server itself."""
    return bytes_in(HERE_SECONDS, seconds_a_byte(spec))


def bounded(
    regex: Any, spec: PatternSpec, may_take_long: bool = False, within_lines: bool = False
) -> Any:
    """An RE2 object of a pattern that raises `TooLong` in place of a long match.

    What is said to match `within_lines` is matched in stretches of whole lines.
    """
    if may_take_long or _is_killable or is_predictable(spec):
        return regex
    return (_BoundedLines if within_lines else _Bounded)(regex, bytes_here(spec))


class Watch:
    """Looks at the clock now and then in a loop over every match of a text."""

    def __init__(self, may_take_long: bool = False) -> None:
        self._count = 0
        self._deadline = _FOREVER
        if not (may_take_long or _is_killable):
            in_portion: float = getattr(_place, "portion", _FOREVER)
            self._deadline = min(in_portion, time.perf_counter() + HERE_SECONDS)

    def look(self) -> None:
        """Called for each match: raises `TooLong` where so many take long."""
        self._count += 1
        if self._count % _MATCHES_A_LOOK == 0 and time.perf_counter() > self._deadline:
            raise TooLong


@contextmanager
def portion() -> Iterator[None]:
    """In this block, no cancel is looked for: it must not take long."""
    _place.portion = time.perf_counter() + PORTION_SECONDS
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
    return spec.tree is not None and not any(map(_may_be_newline, atoms(spec.tree)))


@lru_cache(limits.REMEMBERED_PATTERNS)
def never_empty(spec: PatternSpec) -> bool:
    """Whether every match of the pattern holds something."""
    return spec.tree is not None and _shortest(spec.tree) > 0


@lru_cache(limits.REMEMBERED_PATTERNS)
def needs_care(spec: PatternSpec) -> bool:
    """Whether a pattern can match bytes that are not a character: it has an `Unknown` part."""
    if spec.is_plain:
        return False
    return spec.tree is None or UNKNOWN in atoms(spec.tree)


# ── what the tree says ──────────────────────────────────────────────────────────────────────────


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


def _ambiguous_sets(tree: Node) -> frozenset[frozenset[int]]:
    """The sets of characters that share some, but not all, with another place of the pattern."""
    found = set(atoms(tree))
    sets = {atom.members for atom in found if isinstance(atom, Choice)}
    chars = {
        frozenset(map(ord, {atom.text, atom.text.swapcase()}))
        for atom in found
        if isinstance(atom, Char) and atom.text.isascii()
    }
    has_other = UNKNOWN in found
    return frozenset(
        one
        for one in sets
        if has_other or any(one != other and one & other for other in (*sets, *chars))
    )


def _ambiguous(node: Node, sets: frozenset[frozenset[int]]) -> int:
    """At how many places the text leaves open where in the pattern it is."""
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
