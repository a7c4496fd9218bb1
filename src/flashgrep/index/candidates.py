"""Which blocks of some segments could hold a match, by a plan and the segments' postings.

All segments are asked at once, as if their blocks were numbered through: what a look-up costs is
the calls into numpy, and there are as many for ten segments as for one. Of many grams that must all
be there, the rarest are looked at first, and the others only as long as they can still save more
than they cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np

from flashgrep.index import planner
from flashgrep.index.planner import KeyRange, Need, Plan
from flashgrep.index.postings import bits, decoded
from flashgrep.index.segment import Mask, Numbers, Segment

_WORTH: Final = 400
"""Bytes of postings worth reading where each candidate block may go: a block takes RE2 10 to 60 µs,
a hundred bytes of postings take a tenth of one."""

_FEW: Final = 2
_IN_VAIN: Final = 3
_MANY: Final = 40
"""A look at one posting costs as much as RE2 on a few blocks. After some in a row that save less,
the grams left, all more common, are taken to save no more; with many blocks left, later."""


@dataclass(frozen=True)
class _Leaf:
    """A set of grams: its number among the leaves, and its ranges among all ranges."""

    number: int
    ranges: slice


@dataclass(frozen=True)
class _Node:
    """Leaves and nodes of which all, or any, must hold."""

    is_all: bool
    leaves: tuple[_Leaf, ...]
    nodes: tuple[_Node, ...]


class Candidates:
    """A plan asked of segments: their pieces, or their files, that could hold a match."""

    def __init__(self, plan: Plan, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._folded = plan.folded
        self._ranges: list[KeyRange] = []
        self._firsts: list[int] = []
        self._root = None if plan.need is None else self._prepared(plan.need)
        self._pieces: dict[int, Numbers] = {}

    def _prepared(self, need: Need) -> _Node:
        is_all = not isinstance(need, planner.Any)
        parts = (need,) if isinstance(need, planner.Grams) else need.parts
        leaves = [self._leaf(part) for part in parts if isinstance(part, planner.Grams)]
        nodes = [self._prepared(part) for part in parts if not isinstance(part, planner.Grams)]
        return _Node(is_all, tuple(leaves), tuple(nodes))

    def _leaf(self, grams: planner.Grams) -> _Leaf:
        # No range at all cannot be looked up; one that no gram is in stands for it.
        ranges = grams.ranges or ((0, 1),)
        first = len(self._ranges)
        self._firsts.append(first)
        self._ranges.extend(ranges)
        return _Leaf(len(self._firsts) - 1, slice(first, first + len(ranges)))

    def pieces(self, number: int) -> Numbers:
        """The pieces of a segment to look at when lines are matched, in order."""
        if number not in self._pieces:
            self._pieces[number] = self._pieces_of(number)
        return self._pieces[number]

    def _pieces_of(self, number: int) -> Numbers:
        segment = self._segments[number]
        if self._root is None:
            return np.arange(segment.pieces)
        first, past = self._blocks[number]
        found = segment.pieces_in(self._held[first:past].nonzero()[0])
        return np.union1d(found, segment.marked) if self._folded else found

    def files(self, number: int) -> Mask:
        """The files to look at when whole texts are matched: grams may stand in several blocks."""
        segment = self._segments[number]
        if self._root is None:
            return np.ones(segment.files, bool)
        first, past = self._files[number]
        found = self._held_by_files[first:past].copy()
        if self._folded:
            found[segment.owners[segment.marked]] = True
        return found

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        return _stretches([segment.blocks for segment in self._segments])

    @cached_property
    def _files(self) -> list[tuple[int, int]]:
        return _stretches([segment.files for segment in self._segments])

    @cached_property
    def _held(self) -> Mask:
        assert self._root is not None  # noqa: S101 - asked only where there is a need
        return _Look(self._segments, self._blocks, self._ranges, self._firsts).held(self._root)

    @cached_property
    def _held_by_files(self) -> Mask:
        assert self._root is not None  # noqa: S101 - asked only where there is a need
        look = _Look(self._segments, self._blocks, self._ranges, self._firsts, self._files)
        return look.held(self._root)


class _Look:
    """The grams of a plan among the keys of segments."""

    def __init__(
        self,
        segments: Sequence[Segment],
        blocks: list[tuple[int, int]],
        ranges: list[KeyRange],
        firsts: list[int],
        files: list[tuple[int, int]] | None = None,
    ) -> None:
        self._segments = segments
        self._blocks = blocks
        self._by_file = files
        lows = np.array([low for low, _ in ranges], np.uint32)
        highs = None
        if any(past - low > 1 for low, past in ranges):
            highs = np.array([past - 1 for _, past in ranges], np.uint32)
        self._places = [segment.places(lows, highs) for segment in segments]
        spans = [
            (segment.offsets[first], segment.offsets[past])
            for segment, (first, past) in zip(segments, self._places, strict=True)
        ]
        self._spans = [(starts.tolist(), ends.tolist()) for starts, ends in spans]
        lengths: Any = sum(ends.astype(np.int64) - starts for starts, ends in spans)
        self._sizes = np.add.reduceat(lengths, firsts).tolist() if segments else []

    def held(self, node: _Node) -> Mask:
        """The blocks, or files, that a node holds for."""
        if not node.is_all:
            masks = [self._leaf(leaf) for leaf in node.leaves]
            masks += [self.held(part) for part in node.nodes]
            found: Mask = np.logical_or.reduce(masks)
            return found
        mask = self._rarest(node)
        for part in node.nodes:
            if mask is not None and not mask.any():
                return mask
            held = self.held(part)
            mask = held if mask is None else mask & held
        assert mask is not None  # noqa: S101 - a node has parts
        return mask

    def _rarest(self, node: _Node) -> Mask | None:
        """What holds all leaves, rarest first, as far as that is worth its while."""
        if not node.leaves:
            return None
        sizes = self._sizes
        leaves = sorted(node.leaves, key=lambda leaf: sizes[leaf.number])
        mask = self._leaf(leaves[0])
        left, in_vain = int(np.count_nonzero(mask)), 0
        for leaf in leaves[1:]:
            if left < _FEW or sizes[leaf.number] > _WORTH * left:
                break
            if in_vain >= _IN_VAIN + left // _MANY:
                break
            mask &= self._leaf(leaf)
            before, left = left, int(np.count_nonzero(mask))
            in_vain = in_vain + 1 if before - left < _FEW else 0
        return mask

    def _leaf(self, leaf: _Leaf) -> Mask:
        mask = np.zeros(self._blocks[-1][1], bool)
        if self._sizes[leaf.number]:
            is_one = leaf.ranges.stop - leaf.ranges.start == 1
            few = self._mark_one if is_one and self._is_one_key(leaf) else self._mark_many
            few(leaf, mask)
        return mask if self._by_file is None else self._owning(mask, self._by_file)

    def _is_one_key(self, leaf: _Leaf) -> bool:
        at = leaf.ranges.start
        return all(past[at] - first[at] <= 1 for first, past in self._places)

    def _mark_one(self, leaf: _Leaf, mask: Mask) -> None:
        """Mark the blocks of a single key: the lists of all segments are read as one."""
        at = leaf.ranges.start
        lists, bases = [], []
        places = zip(self._segments, self._spans, self._blocks, strict=True)
        for segment, (starts, ends), (base, past) in places:
            start, end = starts[at], ends[at]
            if end - start == segment.bitmap_bytes:
                mask[base:past] = bits(segment.postings, start, segment.blocks)
            elif start < end:
                lists.append(segment.postings[start:end].tobytes())
                bases.append(base)
        if lists:
            sizes = np.array([len(part) for part in lists])
            joined = np.frombuffer(b"".join(lists), np.uint8)
            mask[decoded(joined, np.cumsum(sizes) - sizes, sizes, np.array(bases))] = True

    def _mark_many(self, leaf: _Leaf, mask: Mask) -> None:
        """Mark the blocks of all keys of some ranges."""
        places = zip(self._segments, self._places, self._blocks, strict=True)
        for segment, (first, pasts), (base, past) in places:
            mask[base:past] = segment.holding(first[leaf.ranges], pasts[leaf.ranges])

    def _owning(self, blocks: Mask, by_file: list[tuple[int, int]]) -> Mask:
        """The files that have one of some blocks."""
        found = np.zeros(by_file[-1][1], bool)
        places = zip(self._segments, self._blocks, by_file, strict=True)
        for segment, (base, past), (first, _) in places:
            found[first + segment.owners[blocks[base:past][segment.groups]]] = True
        return found


def _stretches(counts: list[int]) -> list[tuple[int, int]]:
    """Where each of some counted things stands when all are numbered through."""
    return list(pairwise(accumulate(counts, initial=0)))
