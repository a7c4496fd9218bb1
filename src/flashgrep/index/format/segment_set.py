"""Numbers the blocks, pieces and files of a snapshot's segments as if there were only one segment.

A query of the index costs calls into numpy, and asking ten segments together takes no more calls
than asking one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from mmap import mmap
from typing import Any, Final, NamedTuple

import numpy as np

from flashgrep.index.format.segment import Columns, Mask, Numbers, Segment, numbers

_Ends = tuple[int, int]
"""The first of some neighbours, and one past the last."""

_LONGEST: Final = 64
"""Pieces that are matched in one call: RE2 cannot be cancelled."""


class FileLocation(NamedTuple):
    """A file of a segment."""

    segment: int
    file: int


@dataclass(frozen=True)
class Runs:
    """Stretches of neighbouring pieces: first piece and one past the last of each."""

    segment: Segment
    firsts: Numbers
    pasts: Numbers

    @cached_property
    def size(self) -> int:
        """Bytes."""
        if not len(self.firsts):
            return 0
        ends, starts = self.segment.ends[self.pasts - 1], self.segment.starts[self.firsts]
        return int((ends - starts).sum())

    @property
    def by_file(self) -> tuple[list[int], list[int], list[int]]:
        """The stretches cut where files begin: the file, the start and the end of each."""
        segment, pieces = self.segment, numbers(self.firsts, self.pasts)
        owners = segment.owners[pieces]
        begins = np.ones(len(pieces), bool)
        np.logical_or(np.diff(owners) != 0, np.diff(pieces) != 1, out=begins[1:])
        firsts = np.flatnonzero(begins)
        lasts = np.append(firsts, len(pieces))[1:] - 1
        starts, ends = segment.starts[pieces[firsts]], segment.ends[pieces[lasts]]
        return owners[firsts].tolist(), starts.tolist(), ends.tolist()

    def portions(self, size: int) -> Iterator[Runs]:
        """The stretches in portions of about `size` bytes, in order; a half more is not cut."""
        if self.size <= size * 3 // 2:
            if self.size:
                yield self
            return
        ends = np.cumsum(self.segment.ends[self.pasts - 1] - self.segment.starts[self.firsts])
        cuts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], size)))
        for first, past in zip(cuts, np.append(cuts[1:], len(ends)), strict=True):
            yield Runs(self.segment, self.firsts[first:past], self.pasts[first:past])

    def cut(self, size: int) -> tuple[Runs, Runs]:
        """Pieces from the middle, of about `size` bytes, and the rest, which may be none."""
        middle = len(self.firsts) // 2
        first, past = int(self.firsts[middle]), int(self.pasts[middle])
        at = int(self.segment.ends.searchsorted(self.segment.starts[first] + size)) + 1
        taken = Runs(self.segment, np.array([first]), np.array([min(at, past)]))
        firsts = self.firsts.copy()
        firsts[middle] = at
        left = firsts < self.pasts
        return taken, Runs(self.segment, firsts[left], self.pasts[left])

    @property
    def columns(self) -> Columns:
        """Those of the segment, for a loop over many."""
        return self.segment.lists

    def checked(self) -> Iterable[tuple[int, int]]:
        """First piece and one past the last of each stretch; they are what was written."""
        self.segment.check_all(self.firsts, self.pasts)
        return zip(self.firsts.tolist(), self.pasts.tolist(), strict=True)


class Stretch(NamedTuple):
    """A single run; for a few of them, arrays take longer than matching does."""

    segment: Segment
    number: int
    """That of the segment."""
    first: int
    past: int
    alternatives: int
    """Those of the pattern's that it may hold, as bits; 0 for any."""

    @property
    def size(self) -> int:
        """Bytes."""
        starts = self.segment.columns[0]
        return starts[self.past] - starts[self.first]

    @property
    def columns(self) -> Columns:
        """Those of the segment, for a loop over few."""
        return self.segment.columns

    def checked(self) -> Iterable[tuple[int, int]]:
        """As that of `Runs`."""
        self.segment.check(self.first, self.past)
        return ((self.first, self.past),)


Pieces = Runs | Stretch


@dataclass(frozen=True)
class Texts:
    """Whole files, for multiline."""

    segment: Segment
    files: Numbers

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return sum(end - start for start, end in map(self.segment.span, self.files.tolist()))

    def portions(self, size: int) -> Iterator[Texts]:
        """The files in portions of at least `size` bytes, in order."""
        begin = held = 0
        for at, (start, end) in enumerate(map(self.segment.span, self.files.tolist())):
            held += end - start
            if held >= size:
                yield Texts(self.segment, self.files[begin : at + 1])
                begin, held = at + 1, 0
        if begin < len(self.files):
            yield Texts(self.segment, self.files[begin:])


Work = Runs | Texts


@dataclass(frozen=True, eq=False)
class SegmentSet:
    """Where each segment's parts are in the overall numbering."""

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
    def pilot(self) -> Segment | None:
        """The segment of the most grams: they are about as rare in it as in the others."""
        return max(self.segments, key=lambda segment: len(segment.keys), default=None)

    @cached_property
    def piece_firsts(self) -> Numbers:
        """Per file its first piece, and one past the last of all."""
        parts = [
            segment.first[:-1].astype(np.int64) + base
            for segment, (base, _) in zip(self.segments, self.pieces, strict=True)
        ]
        return np.append(_joined(parts), self.pieces[-1][1] if self.pieces else 0)

    @cached_property
    def piece_blocks(self) -> Any:
        """Per piece its block."""
        return np.repeat(np.arange(self.block_count, dtype=np.int32), np.diff(self.block_firsts))

    @cached_property
    def file_blocks(self) -> tuple[Any, Any]:
        """Per file its first block and its last; of an empty one any."""
        starts, ends = self.piece_firsts[:-1], self.piece_firsts[1:] - 1
        most = len(self.piece_blocks) - 1
        return tuple(self.piece_blocks[at.clip(0, most)] for at in (starts, ends))

    def with_blocks(self, mask: Mask, firsts: Any, lasts: Any) -> Mask:
        """Which of some stretches of blocks have one of a mask."""
        found: Mask = mask[firsts] | mask[lasts]
        wide = np.flatnonzero((lasts - firsts > 1) & ~found)
        for at, first, last in zip(
            wide.tolist(), firsts[wide].tolist(), lasts[wide].tolist(), strict=True
        ):
            found[at] = mask[first:last].any()
        return found

    @cached_property
    def posting_places(self) -> list[tuple[mmap, int, int]]:
        """Per segment the file its postings are in, its first block, and how long bitmaps are."""
        return [
            (segment.buffer, first, segment.bitmap_bytes)
            for segment, (first, _) in zip(self.segments, self.blocks, strict=True)
        ]

    @cached_property
    def key_tables(self) -> list[tuple[Sequence[int], Sequence[int], int]]:
        """Per segment its keys and offsets for loops, which ask for single numbers, and where its
        postings begin."""
        return [
            (segment.keys.data, segment.offsets.data, segment.posting_base)
            for segment in self.segments
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
