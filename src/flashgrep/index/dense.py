"""Counts lines of a literal that stands in every other line: by arrays, not by a call for each.

A call into RE2 for each matching line is the fastest way while they are few. `if` stands in every
sixth line of C, `e` at the end of a word in every third: there the text is compared with the
literal as a whole, a character of it at a time, four times as fast.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from flashgrep.search.pattern import PatternSpec

_NEWLINE: Final = 0x0A
_LONGEST: Final = 4
"""Each character of the literal is a pass over the text; what is longer is seldom so common."""
_PLAIN: Final = re.compile(r"(\\b)?([\w ,;:=<>!@#%&~'\"/-]+)(\\b)?", re.ASCII)
"""Characters that stand for themselves, with a word's border on either side or none."""


@dataclass(frozen=True)
class DenseLiteral:
    """A literal, and whether a word must begin or end where it does."""

    text: bytes
    has_border_before: bool
    has_border_after: bool

    def first_hits(self, text: Any) -> Any:
        """Where the first match of each matching line begins, in an array of whole lines."""
        hits = self._hits(text)
        newlines = text == _NEWLINE
        events = newlines.copy()
        events[: len(hits)] |= hits
        places = np.flatnonzero(events)
        is_hit = ~newlines[places]
        is_first = is_hit.copy()
        is_first[1:] &= ~is_hit[:-1]
        return places[is_first]

    def _hits(self, text: Any) -> Any:
        """Whether a match begins at each place; those too near to the end are left out.

        The last character is a newline, and no literal holds one.
        """
        size = len(self.text)
        count = max(0, len(text) - size)
        hits = text[:count] == self.text[0]
        for at in range(1, size):
            hits &= text[at : at + count] == self.text[at]
        if self.has_border_before or self.has_border_after:
            self._keep_borders(hits, _are_word(text), count)
        return hits

    def _keep_borders(self, hits: Any, is_word: Any, count: int) -> None:
        size = len(self.text)
        if self.has_border_after:
            hits &= is_word[size - 1 : size - 1 + count] != is_word[size : size + count]
        if self.has_border_before and count:
            hits[1:] &= is_word[: count - 1] != is_word[1:count]
            hits[0] &= is_word[0]  # before a line there is no word


def _are_word(text: Any) -> Any:
    """Which characters belong to words, as `\\b` has it: ASCII letters, digits, the underscore."""
    found = ((text | 0x20) - 0x61) < 26  # of bytes: what is less than 0 is large
    found |= (text - 0x30) < 10
    found |= text == 0x5F
    return found


@lru_cache(64)
def dense_literal(spec: PatternSpec) -> DenseLiteral | None:
    """The literal of a pattern that is one, and short; None for any other."""
    found = None if spec.multiline or spec.case_insensitive else _PLAIN.fullmatch(spec.source)
    if found is None or len(found[2]) > _LONGEST:
        return None
    return DenseLiteral(found[2].encode(), found[1] is not None, found[3] is not None)
