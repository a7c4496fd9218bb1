"""Matches portions of candidates one after the other, and keeps the places of lines for showing."""

from __future__ import annotations

from collections.abc import Iterable

from flashgrep.index.answer.match import Pieces, Stretch, match_lines, match_runs
from flashgrep.index.format.snapshot import FileLocation
from flashgrep.search.match_count import Counter
from flashgrep.search.pattern import Span
from flashgrep.search.scan.request import ScanRequest


class LineFinder:
    """One search's matching in the thread that asks."""

    def __init__(self, request: ScanRequest, counter: Counter) -> None:
        self._request = request
        self._counter = counter
        self._by_alternatives: dict[int, Counter] = {}
        self._lines: dict[FileLocation, list[Span]] = {}
        """Where matching lines were found, as far as anybody asked for lines."""
        self._incomplete: set[FileLocation] = set()
        """Files of which others have found lines."""

    def counted(self, number: int, portion: Pieces, wanted: int) -> dict[int, int]:
        """Counts by file, of about `wanted` at least; the places of lines are kept."""
        counter = self._counter_of(portion)
        if self._request.counting == "lines":
            lines: dict[int, list[Span]] = {}
            match_lines(counter, portion, lines, wanted)
            for file, spans in lines.items():
                self._lines.setdefault(FileLocation(number, file), []).extend(spans)
            return {file: len(spans) for file, spans in lines.items()}
        found: dict[int, int] = {}
        match_runs(counter, portion, found, wanted)
        return found

    def lines(self, place: FileLocation) -> list[Span] | None:
        """The places of a file's matching lines; None where they are not known, or not all."""
        return None if place in self._incomplete else self._lines.get(place)

    def found_by_others(self, number: int, files: Iterable[int]) -> None:
        """Others have found lines of these files, and did not say where."""
        self._incomplete.update(FileLocation(number, file) for file in files)

    def _counter_of(self, portion: Pieces) -> Counter:
        """One for what of the pattern may stand there."""
        alternatives = portion.alternatives if isinstance(portion, Stretch) else 0
        if not alternatives:
            return self._counter
        known = self._by_alternatives.get(alternatives)
        if known is None:
            known = Counter(self._request.pattern, self._request.counting, alternatives)
            self._by_alternatives[alternatives] = known
        return known
