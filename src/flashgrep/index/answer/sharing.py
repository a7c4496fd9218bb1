"""Hands candidates to other processes: to helpers, or to those that can be killed."""

from __future__ import annotations

from collections.abc import Sequence

from flashgrep.errors import Cancelled
from flashgrep.index.answer.match import Hits
from flashgrep.index.answer.match_pool import KillableMatching, Matchers
from flashgrep.index.format.segment_set import Work
from flashgrep.search.pattern import TooLong, is_predictable
from flashgrep.search.result import ScanRequest
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.scanner import Scanner

Numbered = tuple[int, Work]
"""Some work, and the number of its segment."""
FoundThere = tuple[int, Hits]
"""What was found in a segment, by its number."""


class Sharing:
    """Shares one search's candidates with other processes."""

    def __init__(
        self, request: ScanRequest, scanner: Scanner, matchers: Matchers, pool: Pool
    ) -> None:
        self._request = request
        self._scanner = scanner
        self._matchers = matchers
        self._pool = pool
        self.is_away = False
        """Whether the pattern may take so long that processes which can be killed match it all."""

    def match(
        self, work: Sequence[Numbered], cancelled: CancelFlag, is_dense: bool = False
    ) -> list[FoundThere]:
        """What was found in some work; a file may be in several of the parts."""
        if self.is_away:
            away = KillableMatching(self._request, self._pool, cancelled)
            return [(number, hits) for number, each in work for hits in away.match([each])]
        if not is_predictable(self._request.pattern):
            raise TooLong  # what may take long would have to be killed there
        numbers, parts = [number for number, _ in work], [each for _, each in work]
        pattern, counter = self._request.pattern, self._scanner.counter
        found = self._matchers.match(pattern, counter, is_dense, parts, cancelled)
        return list(zip(numbers, found, strict=True))


def stop(cancelled: CancelFlag) -> None:
    """Raise `Cancelled` where the caller has."""
    if cancelled:
        raise Cancelled("The search was cancelled")
