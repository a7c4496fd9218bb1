"""The segments of a snapshot numbered through: blocks, pieces and files as if there were but one.

What a query of the index costs is calls into numpy, and there are as many for ten segments as for
one, if they are asked together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate, pairwise
from mmap import mmap
from typing import Any, Final

import numpy as np

from flashgrep.index.answer.match import Runs, Stretch
from flashgrep.index.format.segment import Numbers, Segment, numbers
from flashgrep.index.plan.gram_tree import GramTree
from flashgrep.index.plan.planner import plan
from flashgrep.search.pattern import PatternSpec

_Ends = tuple[int, int]
"""The first of some neighbours, and one past the last."""

_REMEMBERED: Final = 64
"""Patterns."""
_LONGEST: Final = 64
"""Pieces that are matched in one call: RE2 cannot be cancelled."""


@dataclass(frozen=True)
class SegmentSet:
    """Where the parts of each segment stand among those of all."""

    segments: tuple[Segment, ...]
    blocks: list[_Ends]
    """Each from a multiple of eight on, so that bitmaps of all segments can be read as one."""
    pieces: list[_Ends]
    files: list[_Ends]
    file_firsts: Any
    """Per segment its first file."""
    block_firsts: Any
    """Per block its first piece, and one past the last."""
    owners: Any
    """Per piece its file."""
    marked: Numbers
    """Pieces that hold a character that folds to an ASCII letter."""

    @cached_property
    def gram_tree(self) -> Callable[[PatternSpec], GramTree]:
        """What a pattern needs; remembered, because agents page."""
        # Not a method of ours: a circle would keep these segments open until it is collected.
        pilot = max(self.segments, key=lambda segment: len(segment.keys), default=None)
        return lru_cache(_REMEMBERED)(partial(_gram_tree, pilot))

    @cached_property
    def posting_places(self) -> list[tuple[mmap, int, int]]:
        """Per segment the file its postings are in, its first block, and how long bitmaps are."""
        return [
            (segment.buffer, first, segment.bitmap_bytes)
            for segment, (first, _) in zip(self.segments, self.blocks, strict=True)
        ]

    @cached_property
    def posting_bases(self) -> Any:
        """Per segment where its postings begin in its file, as a column."""
        return np.array([[segment.posting_base] for segment in self.segments], np.int64)

    @cached_property
    def bitmap_sizes(self) -> Any:
        """Per segment how long its bitmaps are, as a column."""
        return np.array([[segment.bitmap_bytes] for segment in self.segments], np.int64)

    @cached_property
    def _block_ends(self) -> Any:
        """The first block of each segment, and one past the last of all."""
        return np.array([0, *(past for _, past in self.blocks)], np.int64)

    @property
    def block_count(self) -> int:
        return len(self.block_firsts) - 1

    @property
    def file_count(self) -> int:
        return self.files[-1][1] if self.files else 0

    def pieces_in(self, blocks: Numbers) -> Numbers:
        """The pieces of some blocks."""
        return numbers(self.block_firsts[blocks], self.block_firsts[blocks + 1])

    def segments_with(self, blocks: Numbers) -> list[bool]:
        """Which segments have one of some blocks, which are in order."""
        found: list[bool] = (np.diff(blocks.searchsorted(self._block_ends)) > 0).tolist()
        return found

    def blocks_of(self, pieces: Numbers) -> Numbers:
        """The block of each of some pieces."""
        found: Numbers = self.block_firsts.searchsorted(pieces, "right") - 1
        return found

    def span(self, number: int, file: int) -> _Ends:
        """The pieces of a file of a segment."""
        first, base = self.segments[number].first, self.pieces[number][0]
        return base + int(first[file]), base + int(first[file + 1])

    def runs(self, pieces: Numbers) -> dict[int, Runs]:
        """The stretches of some pieces, by segment."""
        if not len(pieces):
            return {}
        bounds = pieces.searchsorted([first for first, _ in self.pieces])
        firsts, pasts = _stretches_of(pieces, bounds[bounds < len(pieces)])
        cuts = [*firsts.searchsorted([first for first, _ in self.pieces]).tolist(), len(firsts)]
        return {
            number: Runs(self.segments[number], firsts[at:past] - base, pasts[at:past] - base)
            for number, ((at, past), (base, _)) in enumerate(
                zip(pairwise(cuts), self.pieces, strict=True)
            )
            if at < past
        }

    def stretches(self, pieces: Numbers, alternatives: list[int]) -> list[Stretch]:
        """The stretches of a few pieces one by one, each of pieces for the same alternatives."""
        found: list[Stretch] = []
        number, (base, end), previous = -1, (0, 0), -1
        for piece, bits in zip(pieces.tolist(), alternatives, strict=True):
            if piece == previous + 1 < end and bits == found[-1].alternatives:
                found[-1] = found[-1]._replace(past=piece + 1 - base)
            else:
                while piece >= end:
                    number += 1
                    base, end = self.pieces[number]
                segment, at = self.segments[number], piece - base
                found.append(
                    Stretch(
                        segment=segment, number=number, first=at, past=at + 1, alternatives=bits
                    )
                )
            previous = piece
        return found

    def places(self, files: Numbers) -> Iterable[tuple[int, int]]:
        """The segment of each of some files, and its number there."""
        segments = self.file_firsts.searchsorted(files, "right") - 1
        own = files - self.file_firsts[segments]
        return zip(segments.tolist(), own.tolist(), strict=True)


def _gram_tree(pilot: Segment | None, spec: PatternSpec) -> GramTree:
    return GramTree(plan(spec), pilot)


def _stretches_of(pieces: Numbers, bounds: Any) -> tuple[Numbers, Numbers]:
    """Neighbouring pieces joined, but not over a bound, and not too many."""
    place = np.arange(len(pieces))
    begins = np.ones(len(pieces), bool)
    np.not_equal(pieces[1:], pieces[:-1] + 1, out=begins[1:])
    begins[bounds] = True
    # Counted from the stretch's begin, every so many pieces another one begins.
    begin = np.maximum.accumulate(np.where(begins, place, 0))
    begins |= (place - begin) % _LONGEST == 0
    firsts = begins.nonzero()[0]
    lasts = np.append(firsts[1:], len(pieces)) - 1
    return pieces[firsts], pieces[lasts] + 1


def segment_set(segments: Sequence[Segment]) -> SegmentSet:
    """Number segments through."""
    blocks = _numbered([8 * segment.bitmap_bytes for segment in segments])
    pieces = _numbered([segment.pieces for segment in segments])
    files = _numbered([segment.files for segment in segments])
    firsts = [np.zeros(0, np.int64)]
    for segment, (base, past), (first, last) in zip(segments, blocks, pieces, strict=True):
        part = np.full(past - base, last, np.int64)
        part[: segment.blocks] = first + segment.block_firsts[:-1]
        firsts.append(part)
    places = list(zip(segments, pieces, files, strict=True))
    return SegmentSet(
        segments=tuple(segments),
        blocks=blocks,
        pieces=pieces,
        files=files,
        file_firsts=np.array([first for first, _ in files], np.int64),
        block_firsts=np.append(np.concatenate(firsts), pieces[-1][1] if pieces else 0),
        owners=_joined(
            [segment.owners.astype(np.int64) + file for segment, _, (file, _) in places]
        ),
        marked=_joined([segment.marked + piece for segment, (piece, _), _ in places]),
    )


def _numbered(counts: list[int]) -> list[_Ends]:
    return list(pairwise(accumulate(counts, initial=0)))


def _joined(parts: list[Any]) -> Any:
    return np.concatenate([np.zeros(0, np.int64), *parts])
