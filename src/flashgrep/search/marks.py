"""Where a pattern is found in one text: for previews, which show the best of it."""

from __future__ import annotations

from itertools import islice
from typing import Final

from flashgrep.search.matcher import line_matcher
from flashgrep.search.multiline import TextMatcher
from flashgrep.search.pattern import PatternSpec

_MOST: Final = 20_000


def marks(spec: PatternSpec, text: bytes) -> list[int]:
    """Where the lines that match do so first; in multiline, where matches begin."""
    if spec.multiline:
        spans = TextMatcher(spec).spans(text, len(text))
        return [start for start, _ in islice(spans, _MOST)]
    matcher = line_matcher(spec)
    found: list[int] = []
    at = 0
    while len(found) < _MOST:
        start, _ = matcher.find(text, at, len(text))
        if start < 0:
            break
        found.append(start)
        at = text.find(b"\n", start) + 1
    return found
