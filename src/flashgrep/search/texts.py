"""Texts in memory, matched together as small files are: UTF-8, lines ended by `\\n` alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.search.batch import matched
from flashgrep.search.counting import Counter
from flashgrep.search.haystack import Region
from flashgrep.search.pattern import Span
from flashgrep.search.request import Found
from flashgrep.search.scan import Flag

Named = tuple[str, bytes]
"""A text's path, and all of it."""


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


def search(
    counter: Counter, texts: Iterable[Named], wanted: int, cancelled: Flag
) -> Iterator[Found]:
    """The texts that match, in order, with their counts; it may end when they make `wanted`."""
    total = 0
    for together in _batches(texts):
        if cancelled:
            raise Cancelled("The search was cancelled")
        for number, value in _matched(counter, together):
            yield Found(together[number][0], value)
            total += value
            if wanted and total >= wanted:
                return


def _batches(texts: Iterable[Named]) -> Iterator[list[Named]]:
    together: list[Named] = []
    size = 0
    for named in texts:
        together.append(named)
        size += len(named[1])
        if size >= limits.BATCH_BYTES:
            yield together
            together, size = [], 0
    if together:
        yield together


def _matched(counter: Counter, together: list[Named]) -> Iterator[tuple[int, int]]:
    if counter.multiline:
        counts = ((at, counter.in_text(data)) for at, (_, data) in enumerate(together))
        return ((at, value) for at, value in counts if value)
    starts, end, pieces = [], 0, []
    for _, data in together:
        starts.append(end)
        pieces.append(data)
        end += len(data)
        if data and not data.endswith(b"\n"):
            pieces.append(b"\n")
            end += 1
    return matched(counter, b"".join(pieces), starts, end)
