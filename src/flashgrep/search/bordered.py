"""Patterns that are a literal with a word's border on either side or none: `if`, `e\\b`.

Told by their text and without numpy, so that a process that searches need not load it to know.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from flashgrep import limits
from flashgrep.search.pattern import PatternSpec

_PLAIN: Final = re.compile(r"(\\b)?([\w ,;:=<>!@#%&~'\"/-]+)(\\b)?", re.ASCII)
"""Characters that stand for themselves; more would have to be told from operators."""


class BorderedLiteral(NamedTuple):
    """The literal, and on which sides a word has to end."""

    text: bytes
    before: bool
    after: bool

    def is_dense(self, count: int, size: int) -> bool:
        """Whether so many matching lines in so many bytes are better counted in one go."""
        worth = limits.DENSE_BYTES if len(self.text) > 1 else limits.DENSE_BYTE_BYTES
        return size < worth * count


@lru_cache(64)
def bordered_literal(spec: PatternSpec) -> BorderedLiteral | None:
    """The literal of a pattern that is one; None for any other."""
    found = None if spec.multiline or spec.case_insensitive else _PLAIN.fullmatch(spec.source)
    if found is None:
        return None
    return BorderedLiteral(found[2].encode("ascii"), found[1] is not None, found[3] is not None)
