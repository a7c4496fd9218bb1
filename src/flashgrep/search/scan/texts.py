"""Texts in memory, matched together as small files are: UTF-8, lines ended by `\\n` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from flashgrep.search.decode import Region
from flashgrep.search.match_count import Counter
from flashgrep.search.match_lines import line_matcher
from flashgrep.search.multiline import TextMatcher
from flashgrep.search.pattern import PatternSpec, Span
from flashgrep.search.scan.batch import matched

_MOST_MARKS: Final = 20_000


class MemoryText:
    """One of them, as excerpts are taken from it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def candidates(self) -> Iterator[tuple[int, Region, list[Span] | None]]:
        for number, region in self.holding([]):
            yield number, region, None

    def known(self, first: int, last: int) -> None:
        return None

    def holding(self, wanted: list[tuple[int, int]]) -> Iterator[tuple[int, Region]]:
        data = self._data
        if data and not data.endswith(b"\n"):
            data += b"\n"
        yield 0, (data, 0, len(data))

    def whole(self) -> bytes:
        return self._data


def counts(counter: Counter, texts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Which of some texts match: the number of each, and its count."""
    if counter.multiline:
        each = ((at, counter.in_text(data)) for at, data in enumerate(texts))
        return ((at, value) for at, value in each if value)
    starts, end, pieces = [], 0, []
    for data in texts:
        starts.append(end)
        pieces.append(data)
        end += len(data)
        if data and not data.endswith(b"\n"):
            pieces.append(b"\n")
            end += 1
    return matched(counter, b"".join(pieces), starts, end)


def marks(spec: PatternSpec, text: bytes) -> list[int]:
    """Where the lines that match do so first; in multiline, where matches begin. For previews."""
    if spec.multiline:
        spans = TextMatcher(spec).spans(text, len(text))
        return [start for start, _ in islice(spans, _MOST_MARKS)]
    matcher = line_matcher(spec)
    found: list[int] = []
    at = 0
    while len(found) < _MOST_MARKS:
        start, _ = matcher.find(text, at, len(text))
        if start < 0:
            break
        found.append(start)
        at = text.find(b"\n", start) + 1
    return found
