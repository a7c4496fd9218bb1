"""Matches all candidates of all segments, for an answer that needs every one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from flashgrep import limits
from flashgrep.index.answer.match import INDEX_PORTION_BYTES, Hits, matched
from flashgrep.index.answer.match_pool import matched_here
from flashgrep.index.answer.sharing import FoundThere, Numbered, Sharing
from flashgrep.index.answer.sought import Sought
from flashgrep.index.format.segment_set import Texts, Work
from flashgrep.search.match_count import Counter, bordered_literal
from flashgrep.search.pattern import portion
from flashgrep.search.scan.fair_queue import CancelFlag

INDEX_SHARED_SECONDS: Final = 4e-3
INDEX_SHARED_BYTES: Final = 2 * limits.MIB
"""Candidate text is shared out among processes if it is more than this and takes longer than that:
handing it over takes a millisecond."""

INDEX_PROBE_BYTES: Final = 128 * limits.KIB
"""Candidate text that is matched first, to see how much of it matches and how long that takes."""

INDEX_EACH_BYTES: Final = 24 * limits.KIB
"""With a file found in each so many bytes, nearly all match, and each is checked separately."""


class Everywhere:
    """Matches every candidate of one search."""

    def __init__(self, sought: Sought, counter: Counter, sharing: Sharing) -> None:
        self._sought = sought
        self._counter = counter
        self._sharing = sharing
        self.matched_bytes = 0

    def run(self, cancelled: CancelFlag) -> dict[int, list[Hits]]:
        """What was found, by segment."""
        candidates = self._sought.work()
        total = sum(part.size for part in candidates.values())
        self.matched_bytes += total
        if self._sharing.is_away:
            return _by_segment(self._sharing.match([*candidates.items()], cancelled))
        work: list[Numbered] = []
        # Those of later segments first: there are few, and they show nothing of the rest.
        base, size = self._sought.snapshot.base, _portion_bytes(total)
        for number in sorted(candidates, key=lambda number: (number < base, number)):
            portions: list[Work] = [*candidates[number].portions(size)]
            if not work:
                portions[:1] = _with_probe(portions[0])
            work += [(number, part) for part in portions]
        return _by_segment(self._matched(work, cancelled)) if work else {}

    def _matched(self, work: Sequence[Numbered], cancelled: CancelFlag) -> list[FoundThere]:
        """What each portion found: a first one shows how fast it goes and how much matches."""
        (number, first), rest = work[0], work[1:]
        hits, is_dense, took = self._probed(first)
        left = sum(part.size for _, part in rest)
        is_slow = took * left > INDEX_SHARED_SECONDS * first.size
        if left > INDEX_SHARED_BYTES and is_slow:
            found = self._sharing.match(rest, cancelled, is_dense)
        else:
            parts = [part for _, part in rest]
            here = matched_here(self._counter, is_dense, parts, cancelled)
            found = list(zip([number for number, _ in rest], here, strict=True))
        return [(number, hits), *found]

    def _probed(self, work: Work) -> tuple[Hits, bool, float]:
        """What some work found, whether the rest is better done in the dense way, and the time."""
        request = self._sought.request
        literal = bordered_literal(request.pattern)
        if request.counting == "lines" and literal is not None:
            # In that way, which takes as long whatever there is; the other may take ten times that.
            hits, took = self._timed(work, is_dense=True)
            if literal.is_dense(int(hits[1].sum()), work.size):
                return hits, True, took
        hits, took = self._timed(work, is_dense=False)
        is_files = request.counting == "files"
        return hits, is_files and work.size < INDEX_EACH_BYTES * len(hits[0]), took

    def _timed(self, work: Work, is_dense: bool) -> tuple[Hits, float]:
        begun = time.perf_counter()
        with portion():
            hits = matched(self._counter, work, is_dense)
        return hits, time.perf_counter() - begun


def _by_segment(found: Sequence[FoundThere]) -> dict[int, list[Hits]]:
    hits: dict[int, list[Hits]] = {}
    for number, part in found:
        hits.setdefault(number, []).append(part)
    return hits


def _portion_bytes(total: int) -> int:
    """The size of a portion that gives each process an equal share."""
    most = INDEX_PORTION_BYTES
    return max(most // 16, min(most, total // 16))


def _with_probe(work: Work) -> list[Work]:
    """The same in two: a little first, which shows the best way for all that is left."""
    if isinstance(work, Texts):
        return [work]
    return [part for part in work.cut(INDEX_PROBE_BYTES) if part.size]
