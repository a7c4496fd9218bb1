"""Counts lines of a literal that stands in every other line: in one go, not in a call for each.

RE2 finds the next match at memory speed, but each takes a call into it, which is as long as reading
a kilobyte. `if` stands in every sixth line of C, `e` at the end of a word in every third. There it
is faster to look at everything at once, a bit for each byte of the text:

    text       i f ( x ) ⏎ e l s e ⏎ i f ⏎
    hits       1 . . . . . . . . . . 1 . .
    + others   1 1 1 1 1 . 1 1 1 1 . 1 1 .    all but the newlines
    & ends     . . . . . 1 . . . . . . . 1    the newlines of lines that have a hit

All of a text is one number, whose lowest bit is the first byte. Added to ones, a hit carries
through to the end of its line, where there is none, and further hits of that line change nothing.
Arrays of places, and Python's own `re` with a match for each line, took two to four times as long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from flashgrep import limits
from flashgrep.search.pattern import PatternSpec

_PLAIN: Final = re.compile(r"(\\b)?([\w ,;:=<>!@#%&~'\"/-]+)(\\b)?", re.ASCII)
"""Characters that stand for themselves, with a word's border on either side or none."""
_NEWLINE: Final = 0x0A
_BELOW: Final = np.left_shift(1, np.arange(8)).astype(np.uint8) - np.uint8(1)
"""Per bit of a byte the lower ones."""

# glibc's malloc asks the system anew for every array of a size that it has never taken back, and to
# be given each page again takes longer than all the counting. From here on it keeps such arrays.
np.empty(8 * limits.DENSE_STEP, np.uint8)


class DenseLiteral:
    """Plain characters, perhaps with a word's border before or behind them."""

    def __init__(self, text: bytes, has_border_before: bool, has_border_after: bool) -> None:
        self._text = text
        self._before = has_border_before
        self._after = has_border_after

    def counts(self, buffer: Any, start: int, end: int, firsts: Sequence[int]) -> list[int]:
        """How many of whole lines match, of those from each of some places on to the next.

        The places are begins of lines, counted from `start`, the first of all among them.
        """
        text, places = np.frombuffer(buffer, np.uint8, end - start, start), np.asarray(firsts)
        ends = _lines_with(self._hits(text), text == _NEWLINE)
        counts: list[int] = _between(ends, len(text), places).tolist()
        return counts

    def count(self, buffer: Any, start: int, end: int) -> int:
        """How many of whole lines match, a step at a time."""
        total = 0
        while start < end:
            stop = buffer.find(b"\n", min(start + limits.DENSE_STEP, end - 1), end) + 1
            total += self.counts(buffer, start, stop, [0])[0]
            start = stop
        return total

    def _hits(self, text: Any) -> Any:
        """Per byte of some whole lines whether a match begins there."""
        hits, size = np.zeros(len(text), bool), len(self._text)
        if len(text) <= size:
            return hits
        found = hits[: 1 - size or None]
        np.equal(text[: len(found)], self._text[0], out=found)
        if size > 1:
            found &= text[size - 1 :] == self._text[-1]
        if size > 2:
            self._look_inside(text, found)
        if self._before or self._after:
            self._look_around(_are_word(text), hits)
        return hits

    def _look_inside(self, text: Any, found: Any) -> None:
        """Keep those that have the bytes between the first and the last."""
        places = found.nonzero()[0]
        for at in range(1, len(self._text) - 1):
            places = places[text[places + at] == self._text[at]]
        found[:] = False
        found[places] = True

    def _look_around(self, is_word: Any, hits: Any) -> None:
        """Keep those that have their borders: a line's ends are no part of a word."""
        first, last = _are_word(np.frombuffer(self._text, np.uint8))[[0, -1]]
        size = len(self._text)
        if self._before:
            hits[0] &= first
            hits[1:] &= is_word[:-1] != first
        if self._after:  # the last byte is a newline, which is no hit
            hits[:-size] &= is_word[size:] != last


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
def dense_literal(spec: PatternSpec) -> DenseLiteral | None:
    """The literal of a pattern that is one; None for any other."""
    found = None if spec.multiline or spec.case_insensitive else _PLAIN.fullmatch(spec.source)
    if found is None:
        return None
    return DenseLiteral(found[2].encode("ascii"), found[1] is not None, found[3] is not None)
