"""Counts lines of a literal that stands in every other line: in one go, not in a call for each.

RE2 finds the next match at memory speed, but each takes a call into it, which is as long as reading
a kilobyte. `if` stands in every sixth line of C, `e` at the end of a word in every third. There it
is faster to look at everything at once:

- two bytes and more: arrays say where the first and the last byte stand that far apart, and a line
  is counted by its last hit, the one with a newline before the next.
- a single byte stands everywhere, and arrays of all its places cost more than they save. Python's
  own `re` finds each with the rest of its line in one call. Its syntax is not RE2's; it is given
  nothing but literals and the borders of words, about which the two agree.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import numpy as np

from flashgrep import limits
from flashgrep.search.pattern import PatternSpec

_PLAIN: Final = re.compile(r"(\\b)?([\w ,;:=<>!@#%&~'\"/-]+)(\\b)?", re.ASCII)
"""Characters that stand for themselves, with a word's border on either side or none."""
_AT_ONCE: Final = 1 << 20
"""Bytes of one call, in which no other thread of ours runs."""
_NEWLINE: Final = 0x0A
_IS_WORD: Final = np.array([re.match(rb"\w", bytes([octet])) is not None for octet in range(256)])


class DenseByte:
    """A single byte, perhaps with a word's border before or behind it."""

    worth = limits.INDEX_DENSE_BYTE_BYTES
    """Bytes in which there must be a matching line for this to be the faster way."""

    def __init__(self, text: bytes, has_border_before: bool, has_border_after: bool) -> None:
        # The literal first, for that is what `re` looks for fast; then what stood before it. The
        # empty group is what is listed for each match, instead of its text.
        literal = re.escape(text)
        before = rb"(?<=\b%b)" % literal if has_border_before else b""
        after = rb"\b" if has_border_after else b""
        self._all = re.compile(literal + before + after + rb"().*").findall

    def count(self, buffer: Any, start: int, end: int) -> int:
        """How many of whole lines match."""
        total = 0
        while start < end:
            stop = buffer.find(b"\n", min(start + _AT_ONCE, end - 1), end) + 1
            total += len(self._all(buffer, start, stop))
            start = stop
        return total


class DenseLiteral:
    """Two bytes or more, perhaps with a word's border before or behind them."""

    worth = limits.INDEX_DENSE_BYTES

    def __init__(self, text: bytes, has_border_before: bool, has_border_after: bool) -> None:
        self._text = text
        self._before = has_border_before
        self._after = has_border_after

    def hits(self, buffer: Any, start: int, end: int) -> Any:
        """One place on each of whole lines that match, in order, counted from `start`."""
        text, size = np.frombuffer(buffer, np.uint8, end - start, start), len(self._text)
        places = len(text) - size + 1
        if places <= 0:
            return np.empty(0, np.int64)
        mask = text[:places] == self._text[0]
        mask &= text[size - 1 :] == self._text[-1]
        found = mask.nonzero()[0]
        for at in range(1, size - 1):
            found = found[text[found + at] == self._text[at]]
        found = self._bordered(text, found)
        if not len(found):
            return found
        return found[np.logical_or.reduceat(text == _NEWLINE, found)]

    def _bordered(self, text: Any, found: Any) -> Any:
        if self._before:  # what is taken to stand before the first byte is the last: a newline
            before = _IS_WORD[text[found - 1]]
            found = found[before != _IS_WORD[self._text[0]]]
        if self._after:  # a newline at the latest
            after = _IS_WORD[text[found + len(self._text)]]
            found = found[after != _IS_WORD[self._text[-1]]]
        return found


Dense = DenseByte | DenseLiteral


@lru_cache(64)
def dense_literal(spec: PatternSpec) -> Dense | None:
    """The literal of a pattern that is one; None for any other."""
    found = None if spec.multiline or spec.case_insensitive else _PLAIN.fullmatch(spec.source)
    if found is None:
        return None
    text = found[2].encode("ascii")
    kind = DenseByte if len(text) == 1 else DenseLiteral
    return kind(text, found[1] is not None, found[3] is not None)
