"""Matches candidates in processes that can be killed, for patterns that may take long.

The helpers of `index/answer/match_pool.py` are for speed: the thread that asks does a share
itself. Here it only waits, so that a cancelled call ends at once, and the processes are shared out
by connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from flashgrep import limits
from flashgrep.index.answer.match import Hits, Runs, Texts, Work
from flashgrep.index.answer.match_worker import packed
from flashgrep.index.format.segment import Damaged, numbers
from flashgrep.search.cost import bytes_in, seconds_a_byte, seconds_of_matches
from flashgrep.search.scan.fair_queue import Flag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.request import ScanRequest
from flashgrep.search.scan.worker_tasks import run_all


class Gone(Exception):
    """A segment has been replaced on disk: only who has it mapped can still read it."""


class Away:
    """One search's matching, done elsewhere."""

    def __init__(self, request: ScanRequest, pool: Pool) -> None:
        self._request = request
        self._pool = pool

    def match(self, work: Sequence[Work], cancelled: Flag) -> list[Hits]:
        """What was found in some work; a file may be in several of the parts."""
        spec = astuple(self._request.pattern)
        messages = [
            ("match", spec, self._request.counting, False, [packed(part)])
            for each in work
            for part in self._parts(each)
        ]
        return [_hits(answer) for _, answer in run_all(self._pool, messages, cancelled)]

    def _parts(self, work: Work) -> Iterator[Work]:
        """So small that each is done in about a slice, unless it is a single long line."""
        pattern = self._request.pattern
        looks_at_all = pattern.multiline or self._request.counting == "matches"
        price = seconds_of_matches(pattern) if looks_at_all else seconds_a_byte(pattern)
        size = min(limits.INDEX_PORTION_BYTES, bytes_in(limits.SLICE_SECONDS, price)) or 1
        if isinstance(work, Texts):
            return work.portions(size)
        pieces = numbers(work.firsts, work.pasts)
        return Runs(work.segment, pieces, pieces + 1).portions(size)


def _hits(answer: Any) -> Hits:
    kind, *rest = answer
    if kind == "gone":
        raise Gone
    if kind == "damaged":
        raise Damaged(*rest)
    ((files, counts),) = rest[0]
    return np.frombuffer(files, np.int64), np.frombuffer(counts, np.int64)
