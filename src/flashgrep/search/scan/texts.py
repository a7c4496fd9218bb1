"""Searches texts in memory, here or in processes that can be killed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from itertools import islice
from typing import Final

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.search.excerpts import Excerpts, MemoryText
from flashgrep.search.match_count import Counter, TextMatcher
from flashgrep.search.match_lines import line_matcher
from flashgrep.search.pattern import (
    PatternSpec,
    TooLong,
    briefly,
    bytes_in,
    portion,
    seconds_of_matches,
)
from flashgrep.search.result import Counting, FoundFile, Line, Order, Page, SearchQuestion
from flashgrep.search.scan.batch import BATCH_BYTES, matched
from flashgrep.search.scan.fair_queue import HERE, CancelFlag
from flashgrep.search.scan.pool import Pool, run_all, run_one

_MOST_MARKS: Final = 20_000


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


# ── searching texts ──────────────────────────────────────────────────────────────────────────────
# A search over texts in memory: here, or in processes that can be killed if it may take long.


Named = tuple[str, bytes]
"""A text's path, and all of it."""


class TextSearch:
    """One pattern, looked for in texts."""

    def __init__(self, spec: PatternSpec, pool: Pool, cancelled: CancelFlag) -> None:
        self._spec = spec
        self._pool = pool
        self._cancelled = cancelled
        self._is_away = False
        """Whether it has turned out that the pattern may take long."""

    def search(self, texts: Iterable[Named], counting: Counting) -> Iterator[FoundFile]:
        """The texts that match, in order, with their counts; searched as far as they are read."""
        counter = Counter(self._spec, counting)
        for together in _batches(texts, BATCH_BYTES):
            if self._cancelled:
                raise Cancelled("The search was cancelled")
            for number, value in self._counted(counter, together):
                yield FoundFile(together[number][0], value)

    def _counted(self, counter: Counter, together: Sequence[Named]) -> list[tuple[int, int]]:
        if not self._is_away:
            try:
                with HERE.turn(self._cancelled), briefly(), portion():
                    return list(counts(counter, [data for _, data in together]))
            except TooLong:
                self._is_away = True
        size = bytes_in(limits.SLICE_SECONDS, seconds_of_matches(self._spec)) or 1
        parts = [*_batches(together, size)]
        messages = [
            ("counts", astuple(self._spec), counter.counting, [data for _, data in part])
            for part in parts
        ]
        answers = dict(run_all(self._pool, messages, self._cancelled))
        found: list[tuple[int, int]] = []
        before = 0
        for number, part in enumerate(parts):
            found += [(before + at, value) for at, value in answers[number][1]]
            before += len(part)
        return found

    def lines(self, page: Page, texts: dict[str, bytes]) -> list[tuple[str, list[Line]]]:
        """The lines of a page of what was found."""
        try:
            with briefly():
                return Excerpts(self._spec, lambda name: MemoryText(texts[name])).page(page)
        except TooLong:
            needed = {name: texts[name] for name, _, _ in page.files}
            message = ("excerpts", astuple(self._spec), tuple(page), needed)
            lines: list[tuple[str, list[Line]]]
            _, lines = run_one(self._pool, message, self._cancelled)
            return lines

    def marks(self, text: bytes) -> list[int]:
        """Where the pattern is found in one text."""
        try:
            with briefly():
                return marks(self._spec, text)
        except TooLong:
            found: list[int]
            _, found = run_one(self._pool, ("marks", astuple(self._spec), text), self._cancelled)
            return found


class TextResult:
    """What a search of texts found.

    It keeps the texts: one that changes while its lines are shown is shown as it was searched.
    """

    def __init__(
        self, search: TextSearch, texts: Iterable[Named], question: SearchQuestion
    ) -> None:
        """Search texts, which are in walk order."""
        self.skipped: list[tuple[str, str]] = []
        self.remarks: list[str] = []
        self._search = search
        self._texts: dict[str, bytes] = {}
        self._by_file = question.results == "files"
        self._left = search.search(self._kept(texts), question.counting)
        self._found: list[FoundFile] = []
        self._count = 0
        self.reach(question.wanted)

    def reach(self, wanted: int) -> None:
        while not wanted or self._count < wanted:
            file = next(self._left, None)
            if file is None:
                return
            self._found.append(file)
            self._count += 1 if self._by_file else file.count

    def _kept(self, texts: Iterable[Named]) -> Iterator[Named]:
        for name, text in texts:
            self._texts[name] = text
            yield name, text

    @property
    def looked_at(self) -> int:
        return len(self._texts)

    def files(self, order: Order = "walk") -> Sequence[FoundFile]:
        return self._found  # texts have one order

    def lines(self, page: Page) -> list[tuple[str, list[Line]]]:
        return self._search.lines(page, self._texts)

    def stale(self, paths: Sequence[str]) -> list[str]:
        return []

    def answered(self) -> None:
        pass  # texts may change, and matching them is brief


def _batches(texts: Iterable[Named], most: int) -> Iterator[list[Named]]:
    together: list[Named] = []
    size = 0
    for named in texts:
        together.append(named)
        size += len(named[1])
        if size >= most:
            yield together
            together, size = [], 0
    if together:
        yield together
