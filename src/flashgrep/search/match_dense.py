"""Counts the lines of a very common literal in one go, not with a call for each.

RE2 finds the next match at memory speed, but each takes a call into it, which is as long as reading
a kilobyte. `if` is in every sixth line of C, `e` at the end of a word in every third. There it
is faster to look at everything at once:

- two bytes and more: arrays show where the first and the last byte are that far apart, and a line
  is counted by its last hit, the one with a newline before the next.
- a single byte is everywhere, and arrays of its places take twice as long as bits, one for each
  byte of the text:

    text       e ( x ) ⏎ i f ⏎ e l s e ⏎
    hits       1 . . . . . . . 1 . . 1 .
    + others   1 1 1 1 . 1 1 . 1 1 1 1 .    all but the newlines
    & ends     . . . . 1 . . . . . . . 1    the newlines of lines that have a hit

  All of a text is one number, whose lowest bit is the first byte. Added to ones, a hit carries
  through to the end of its line, where there is none; further hits of that line change nothing.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from flashgrep import limits
from flashgrep.search.match_count import BorderedLiteral, bordered_literal
from flashgrep.search.pattern import PatternSpec

_NEWLINE: Final = 0x0A
_BELOW: Final = np.left_shift(1, np.arange(8)).astype(np.uint8) - np.uint8(1)
"""Per bit of a byte the lower ones."""
_IS_WORD: Final = np.array([re.match(rb"\w", bytes([octet])) is not None for octet in range(256)])

# glibc's malloc asks the system for every array of a size that was never freed before, and to
# be given each page again takes longer than all the counting. From here on it keeps such arrays.
np.empty(8 * limits.DENSE_STEP, np.uint8)


class Dense(ABC):
    """Counts the lines of one literal."""

    def __init__(self, literal: BorderedLiteral) -> None:
        self._text, self._before, self._after = literal

    def counts(self, buffer: Any, start: int, end: int, firsts: Sequence[int]) -> list[int]:
        """How many of whole lines match, of those from each of some places on to the next.

        The places are begins of lines, counted from `start`, the first of all among them.
        """
        text = np.frombuffer(buffer, np.uint8, end - start, start)
        counts: list[int] = self._counted(text, np.asarray(firsts)).tolist()
        return counts

    def count(self, buffer: Any, start: int, end: int) -> int:
        """How many of whole lines match, a step at a time."""
        total = 0
        while start < end:
            stop = buffer.find(b"\n", min(start + limits.DENSE_STEP, end - 1), end) + 1
            total += self.counts(buffer, start, stop, [0])[0]
            start = stop
        return total

    @abstractmethod
    def _counted(self, text: Any, firsts: Any) -> Any:
        """As `counts`, of a text that ends with a newline."""


class DenseLiteral(Dense):
    """Two bytes or more."""

    def _counted(self, text: Any, firsts: Any) -> Any:
        hits = self._hits(text)
        return np.diff(hits.searchsorted(firsts), append=len(hits))

    def _hits(self, text: Any) -> Any:
        """One place on each line that matches, in order."""
        size = len(self._text)
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


class DenseByte(Dense):
    """A single byte."""

    def _counted(self, text: Any, firsts: Any) -> Any:
        hits = text == self._text[0]
        if self._before or self._after:
            self._look_around(_are_word(text), hits)
        return _between(_lines_with(hits, text == _NEWLINE), len(text), firsts)

    def _look_around(self, is_word: Any, hits: Any) -> None:
        """Keep those that have their borders: a line's ends are not part of a word."""
        own = _IS_WORD[self._text[0]]
        if self._before:
            hits[0] &= own
            hits[1:] &= is_word[:-1] != own
        if self._after:  # the last byte is a newline, which is no hit
            hits[:-1] &= is_word[1:] != own


def _are_word(text: Any) -> Any:
    """Which bytes are letters, digits or `_`; a table would take four times as long."""
    found = (text | 0x20) - np.uint8(ord("a")) < 26
    found |= text - np.uint8(ord("0")) < 10
    found |= text == ord("_")
    return found


def _lines_with(hits: Any, newlines: Any) -> int:
    """The ends of those lines that have a hit, as bits."""
    ends = _as_number(newlines)
    others = ((1 << len(newlines)) - 1) ^ ends
    return (_as_number(hits) + others) & ends


def _as_number(bits: Any) -> int:
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _between(number: int, width: int, firsts: Any) -> Any:
    """How many bits are set from each of some places on to the next."""
    octets = np.frombuffer(number.to_bytes(width // 8 + 1, "little"), np.uint8)
    totals = np.cumsum(np.bitwise_count(octets), dtype=np.int64)
    at = firsts >> 3
    before = totals[at] - np.bitwise_count(octets[at] & ~_BELOW[firsts & 7])
    return np.diff(before, append=totals[-1:])


@lru_cache(64)
def dense_literal(spec: PatternSpec) -> Dense | None:
    """What counts the lines of a pattern that is such a literal; None for any other."""
    literal = bordered_literal(spec)
    if literal is None:
        return None
    return DenseByte(literal) if len(literal.text) == 1 else DenseLiteral(literal)
