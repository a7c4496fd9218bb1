"""The segments of an index at one moment, and which of their files still stand for the disk.

The first segments are the base: together they hold the tree in walk order. Later ones hold what
changed since; a file there is dead in the segments before. Each segment on its own is in walk
order, so a subtree is one stretch of files in each. A snapshot never changes; `without` gives
another one, which shares all it can.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from flashgrep.index.format.segment import Mask, Segment
from flashgrep.index.plan.segment_set import SegmentSet, segment_set
from flashgrep.search.scan.request import walk_key
from flashgrep.workspace.find import FoundEntry

NO_SEGMENTS: Final = segment_set(())
ROOM: Final = 1 << 20
"""Files of later segments that fit between two files of the base."""


class FileLocation(NamedTuple):
    """A file of a segment."""

    segment: int
    file: int


class _Keys(Sequence[str]):
    """A segment's names as walk keys, made as they are looked at."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def __len__(self) -> int:
        return self._segment.files

    def __getitem__(self, file: Any) -> Any:
        return self._segment.key(file)


@dataclass(frozen=True)
class IndexSnapshot:
    """What queries read."""

    segments: tuple[Segment, ...]
    base: int
    """How many of the segments are the base."""
    alive: tuple[Mask, ...]
    ranks: tuple[Any, ...]
    """Per segment and file, a number that sorts all files in walk order."""
    segment_set: SegmentSet = NO_SEGMENTS

    @cached_property
    def all_alive(self) -> Mask:
        """Which of all files, numbered through, stand for the disk."""
        return np.concatenate([np.zeros(0, bool), *self.alive])

    @cached_property
    def all_ranks(self) -> Any:
        """The ranks of all files, numbered through."""
        return np.concatenate([np.zeros(0, np.int64), *self.ranks])

    def find(self, name: str) -> Iterable[FileLocation]:
        """Every place a name has in the segments, dead ones included."""
        key = walk_key(name)
        for number, segment in enumerate(self.segments):
            if not segment.bounds[0] <= key <= segment.bounds[1]:
                continue
            file = bisect_left(_Keys(segment), key)
            if file < segment.files and segment.name(file) == name:
                yield FileLocation(number, file)

    def stretch(self, number: int, directory: str) -> tuple[int, int]:
        """The files of a segment that lie below a directory."""
        segment = self.segments[number]
        if not directory:
            return 0, segment.files
        keys = _Keys(segment)
        key = walk_key(directory)
        return bisect_left(keys, key + "\0"), bisect_left(keys, key + "\1")

    def without(self, names: Collection[str], subtrees: Collection[str]) -> IndexSnapshot:
        """The snapshot with some files dead; a directory that was may be a file by now."""
        alive = list(self.alive)
        fresh: set[int] = set()

        def kill(number: int, first: int, past: int) -> None:
            if alive[number][first:past].any():
                if number not in fresh:
                    alive[number] = alive[number].copy()
                    fresh.add(number)
                alive[number][first:past] = False

        for name in (*names, *subtrees):
            for number, file in self.find(name):
                kill(number, file, file + 1)
        for subtree in subtrees:
            for number in range(len(self.segments)):
                kill(number, *self.stretch(number, subtree))
        return replace(self, alive=tuple(alive)) if fresh else self

    def rank(self, name: str) -> int:
        """Where a file that is in no segment stands among those that are; ties by walk key."""
        key = walk_key(name)
        before = 0
        for segment in self.segments[: self.base]:
            # A name lies in one segment of the base at most; the others are passed by whole.
            if segment.bounds[1] < key:
                before += segment.files
            else:
                return (before + bisect_left(_Keys(segment), key)) * ROOM
        return before * ROOM

    def entries(self, directory: str) -> Iterator[FoundEntry]:
        """The files alive below a directory, by their paths from there, with size and time."""
        cut = len(directory) + 1 if directory else 0
        for number, segment in enumerate(self.segments):
            first, past = self.stretch(number, directory)
            files = (np.flatnonzero(self.alive[number][first:past]) + first).tolist()
            names, rows = segment.all_names(), segment.status[:, :2].tolist()
            for file in files:
                yield FoundEntry(names[file][cut:], *rows[file])

    @property
    def files(self) -> int:
        """Files alive."""
        return sum(int(np.count_nonzero(mask)) for mask in self.alive)


EMPTY: Final = IndexSnapshot(segments=(), base=0, alive=(), ranks=())


def snapshot(segments: Sequence[Segment], base: int, alive: Sequence[Mask]) -> IndexSnapshot:
    """Put segments together; files are ranked once, here."""
    draft = IndexSnapshot(
        segments=tuple(segments),
        base=base,
        alive=tuple(alive),
        ranks=(),
        segment_set=segment_set(segments),
    )
    ranks: list[Any] = []
    before = 0
    for segment in segments[:base]:
        ranks.append((np.arange(before, before + segment.files, dtype=np.int64) + 1) * ROOM - 1)
        before += segment.files
    return replace(draft, ranks=(*ranks, *_later_ranks(draft, segments[base:])))


def _later_ranks(draft: IndexSnapshot, later: Sequence[Segment]) -> list[Any]:
    """Ranks between those of the base: by place, then by walk key."""
    entries = [
        (draft.rank(name), walk_key(name), number, file)
        for number, segment in enumerate(later)
        for file, name in enumerate(segment.all_names())
    ]
    ranks = [np.zeros(segment.files, np.int64) for segment in later]
    previous, step = -1, 0
    for place, _, number, file in sorted(entries):
        step = step + 1 if place == previous else 1
        previous = place
        ranks[number][file] = place + step - 1
    return ranks
