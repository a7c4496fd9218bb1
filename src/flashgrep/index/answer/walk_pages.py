"""Matches candidates in walk order, as far as a page needs, and continues there for the next page.

The base holds the tree in walk order, and the files of every later segment come between the base's.
So each segment is a separate part: once every part has as many results as wanted, or no more
candidates, the first results overall are among them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from flashgrep import limits
from flashgrep.index.answer.everywhere import INDEX_SHARED_SECONDS
from flashgrep.index.answer.match import Hits, LineFinder, as_hits, match_texts
from flashgrep.index.answer.sharing import FoundThere, Numbered, Sharing, stop
from flashgrep.index.answer.sought import Sought
from flashgrep.index.format.segment import Numbers
from flashgrep.index.format.segment_set import FileLocation, Runs, Stretch, Texts
from flashgrep.search.at_once import may_wait
from flashgrep.search.result import Unit
from flashgrep.search.scan.fair_queue import CancelFlag

INDEX_INLINE_BYTES: Final = 1 * limits.MIB
"""Less than this is matched by the thread that asks: handing it over costs more."""

FIRST_PIECES: Final = 32
FIRST_TEXTS: Final = 16
"""How many candidates the first step of a page looks at; every further step takes twice as many,
but no more than are likely to be needed."""
_MARGIN: Final = 1.3
"""The share of that in a step with helpers: it is matched to its end."""

_Step = Sequence[tuple[int, Runs | Stretch | Texts]]
"""What is matched before checking whether it was enough, with the numbers of the segments."""


class WalkPages:
    """One search, matched in walk order until enough is found."""

    def __init__(self, sought: Sought, finder: LineFinder, sharing: Sharing, results: Unit) -> None:
        self.finder, self.sharing = finder, sharing
        self.by_file = results == "files" or sought.request.counting == "files"
        self.hits: dict[int, list[Hits]] = {}
        """What other processes found, by segment."""
        self.own: dict[int, dict[int, int]] = {}
        """What was found here: counts by segment and file."""
        self.matched_bytes = 0
        self.most_bytes = sys.maxsize
        """How much of it may be matched before the search has to wait for a thread."""
        self._parts = [_WalkPart(self, queue) for queue in _queues(sought, sharing.is_away)]

    @property
    def is_whole(self) -> bool:
        """Whether no candidates are left."""
        return all(part.is_done for part in self._parts)

    def reach(self, wanted: int, cancelled: CancelFlag) -> None:
        """Match until every part has so many results."""
        for part in self._parts:
            part.reach(wanted, cancelled)

    def found(self) -> Iterator[tuple[int, list[Hits]]]:
        """What was found so far, by segment; a file may be in several of the lists."""
        for number in {*self.hits, *self.own}:
            own = self.own.get(number)
            yield number, self.hits.get(number, []) + ([as_hits(own)] if own else [])

    def places(self) -> dict[FileLocation, int]:
        """The same where nobody helped: counts by place."""
        return {
            FileLocation(number, file): count
            for number, own in self.own.items()
            for file, count in own.items()
        }

    def matched_here(self, step: _Step) -> Iterator[tuple[int, int, int]]:
        """Match a step as it is read: the segment, the file and the count of each thing found."""
        for number, work in step:
            own = self.own.setdefault(number, {})
            for file, count in self._matched(number, work):
                own[file] = own.get(file, 0) + count
                yield number, file, count

    def _matched(self, number: int, work: Runs | Stretch | Texts) -> Iterable[tuple[int, int]]:
        if isinstance(work, Texts):
            return match_texts(self.finder.counter, work.segment, work.files.tolist()).items()
        return self.finder.found(number, work, self.by_file)

    def matched_by_others(self, step: _Step, cancelled: CancelFlag) -> list[FoundThere]:
        """Match a step with the help of others."""
        found = self.sharing.match([*_portions(step)], cancelled)
        for number, hits in found:
            self.finder.found_by_others(number, hits[0].tolist())
            self.hits.setdefault(number, []).append(hits)
        return found


class _WalkPart:
    """Candidates in walk order among themselves, and how far they have been matched."""

    def __init__(self, pages: WalkPages, queue: _Queue) -> None:
        self._pages = pages
        self._queue = queue
        self._step = queue.first
        """How many candidates the next step may take."""
        self._begun: Iterator[tuple[int, int, int]] | None = None
        """The step that is being matched here."""
        self._next: _Step | None = None
        """One that was taken and could not be begun."""
        self._size = 0
        self._seconds = 0.0
        """Of that step, so far."""
        self._speed: float | None = None
        """Seconds a byte of the step before."""
        self._count = 0
        self._files = set[tuple[int, int]]()
        """The files that were found, where those are counted: one may be in two steps."""
        self.is_done = False

    def reach(self, wanted: int, cancelled: CancelFlag) -> None:
        while self._total < wanted and not self.is_done:
            stop(cancelled)
            if self._begun is None:
                self._begin(wanted, cancelled)
            else:
                self._go_on(self._begun, wanted)

    @property
    def _total(self) -> int:
        return len(self._files) if self._pages.by_file else self._count

    def _next_step(self, wanted: int) -> _Step | None:
        """Twice as many candidates as in the step before, or what is likely to be needed.

        Whichever page came to a step of half of all that was matched would pay for the next ten.
        """
        if self._next is not None:
            return self._next
        count, total = self._step, self._total
        if total:
            likely = int(_MARGIN * (wanted - total) * self._queue.taken / total)
            count = min(count, max(self._queue.first, likely))
        self._step = 2 * count
        return self._queue.take(count)

    def _begin(self, wanted: int, cancelled: CancelFlag) -> None:
        """Take the next step; others help with one that would take long."""
        if self._pages.matched_bytes > self._pages.most_bytes:
            may_wait()
        step = self._next_step(wanted)
        if step is None:
            self.is_done = True
            return
        self._size = sum(work.size for _, work in step)
        is_slow = self._speed is not None and self._speed * self._size > INDEX_SHARED_SECONDS
        is_few = bool(step) and isinstance(step[0][1], Stretch)
        is_here = is_few or not (is_slow or self._pages.sharing.is_away)
        if not is_here:
            self._next = step
            may_wait()
        self._next = None
        self._pages.matched_bytes += self._size
        if is_here:
            self._begun, self._seconds = self._pages.matched_here(step), 0.0
            return
        begun = time.perf_counter()
        for number, (files, counts) in self._pages.matched_by_others(step, cancelled):
            self._files.update((number, file) for file in files.tolist())
            self._count += int(counts.sum())
        self._speed = (time.perf_counter() - begun) / max(1, self._size)

    def _go_on(self, step: Iterator[tuple[int, int, int]], wanted: int) -> None:
        """Match on in the step that was begun, until there is enough or nothing is left of it."""
        begun, by_file = time.perf_counter(), self._pages.by_file
        for number, file, count in step:
            # Of files the last one may be incomplete, and is not shown.
            self._count += count
            if by_file:
                self._files.add((number, file))
            if self._total >= wanted:
                break
        else:
            self._begun = None
        self._seconds += time.perf_counter() - begun
        if self._begun is None:
            self._speed = self._seconds / max(1, self._size)


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


class _Queue:
    """The candidates of one part, in walk order, from which steps are taken."""

    def __init__(self, sought: Sought, own: Numbers, few: bool) -> None:
        """`few` are one step: they are matched one by one."""
        self.first = FIRST_TEXTS if sought.is_text else FIRST_PIECES
        self.taken = 0
        self._sought = sought
        self._own = own
        self._few = few

    def take(self, count: int) -> _Step | None:
        """The next candidates, as many as are asked for if there are; None at the end."""
        own = self._own[self.taken :] if self._few else self._own[self.taken : self.taken + count]
        if not len(own):
            return None
        self.taken += len(own)
        if self._few:
            named = self._sought.named(own)
            return [(stretch.number, stretch) for stretch in self._sought.stretches(named)]
        if self._sought.is_text:
            return [*self._sought.texts(self._sought.named_files(own)).items()]
        return [*self._sought.segment_set.runs(self._sought.named(own)).items()]


def _queues(sought: Sought, is_away: bool) -> Iterator[_Queue]:
    """The candidates of each part; those of the base last."""
    segment_set, base = sought.segment_set, sought.snapshot.base
    numbers = range(base, len(segment_set.segments))
    ends = segment_set.files if sought.is_text else segment_set.pieces
    spans = [*(ends[number] for number in numbers), *([(0, ends[base - 1][1])] if base else [])]
    candidates = sought.candidate_files if sought.is_text else sought.scoped
    few = not is_away and not sought.is_text and sought.is_few
    for low, high in spans:
        first, past = candidates.searchsorted((low, high)).tolist()
        if first < past:
            yield _Queue(sought, candidates[first:past], few)


def _portions(step: _Step) -> Iterator[Numbered]:
    for number, work in step:
        assert not isinstance(work, Stretch)  # noqa: S101 - those are matched here
        for portion in work.portions(INDEX_INLINE_BYTES):
            yield number, portion
