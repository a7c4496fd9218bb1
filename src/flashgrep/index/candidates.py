"""Which blocks of some segments could hold a match, by a plan and the segments' postings.

All segments are asked at once, as if their blocks were numbered through: what a look-up costs is
the calls into numpy, and there are as many for ten segments as for one. Of many grams that must all
be there, the rarest are looked at first, and the others only as long as they can still save more
than they cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from flashgrep.index import planner
from flashgrep.index.ground import Ground
from flashgrep.index.planner import KeyRange, Need, Plan
from flashgrep.index.postings import decoded
from flashgrep.index.segment import Mask, Numbers

_WORTH: Final = 400
_RANGES_WORTH: Final = 10
_RANGES: Final = 20_000
"""Bytes of postings worth reading for each block that may go: a block takes RE2 10 µs, a hundred
bytes of a posting a tenth of one. Those of many keys at once are gathered first, at ten times the
price, and of each segment by itself, which takes as long as so many bytes."""
_FEW: Final = 2
_IN_VAIN: Final = 3
_MANY: Final = 200
"""A look at one posting costs as much as RE2 on a few blocks. After some in a row that saved less,
the grams left, all more common, are taken to save no more; where many blocks are left, later."""
_SPARSE: Final = 64
"""Where at most one block of so many is left, those are asked for one by one."""
_MOST_ALTERNATIVES: Final = 8
"""Alternatives that are told apart: a bit of a byte for each."""
_APART: Final = 4
"""Grams so near to each other share bytes: where one stands, mostly the other does too."""


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

    def __init__(self, plan: Plan, ground: Ground) -> None:
        self._ground = ground
        self._folded = plan.folded
        self._ranges: list[KeyRange] = []
        self._firsts: list[int] = []
        self._alternatives: tuple[_Node, ...] = ()
        self._root = None if plan.need is None else self._rooted(plan, plan.need)

    def _rooted(self, plan: Plan, need: Need) -> _Node:
        if not 0 < len(plan.alternatives) <= _MOST_ALTERNATIVES:
            return self._prepared(need)
        self._alternatives = tuple(map(self._prepared, plan.alternatives))
        return _Node(False, (), self._alternatives)

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

    @cached_property
    def pieces(self) -> Numbers:
        """The pieces of all segments to look at when lines are matched, in order."""
        ground = self._ground
        if self._root is None or not ground.segments:
            return np.arange(len(ground.owners))
        found = ground.pieces_in(self._held.astype(bool, copy=False).nonzero()[0])
        return np.union1d(found, ground.marked) if self._folded else found

    @cached_property
    def _held(self) -> Any:
        """Per block what may stand in it: a bit for each alternative of the plan."""
        assert self._root is not None  # noqa: S101 - asked only then
        look = self._look(by_file=False)
        if not self._alternatives:
            return look.held(self._root)
        bits = [look.held(node).view(np.uint8) << at for at, node in enumerate(self._alternatives)]
        return np.bitwise_or.reduce(bits)

    def alternatives(self, pieces: Numbers) -> list[int]:
        """For each of some candidates the alternatives that it may hold, as bits; 0 for any."""
        if not self._alternatives:
            return [0] * len(pieces)
        found: list[int] = self._held[self._ground.blocks_of(pieces)].tolist()
        return found

    def pieces_of(self, number: int) -> Numbers:
        """Those of one segment, by their numbers there."""
        base, past = self._ground.pieces[number]
        start, end = self.pieces.searchsorted([base, past])
        return self.pieces[start:end] - base

    @cached_property
    def files(self) -> Mask:
        """The files to look at when whole texts are matched: grams may stand in several blocks."""
        ground = self._ground
        if self._root is None or not ground.segments:
            return np.ones(ground.file_count, bool)
        found = self._look(by_file=True).held(self._root)
        if self._folded:
            found[ground.owners[ground.marked]] = True
        return found

    def _look(self, by_file: bool) -> _Look:
        return _Look(self._ground, self._ranges, self._firsts, by_file)


class _Look:
    """The grams of a plan among the keys of segments."""

    def __init__(
        self, ground: Ground, ranges: list[KeyRange], firsts: list[int], by_file: bool
    ) -> None:
        self._ground = ground
        self._by_file = by_file
        segments = ground.segments
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
        lengths = np.sum([ends - starts for starts, ends in spans], axis=0, dtype=np.int64)
        self._sizes = np.add.reduceat(lengths, firsts).tolist()
        most: Any = np.max([past - first for first, past in self._places], axis=0)
        self._most_keys = np.maximum.reduceat(most, firsts).tolist()
        """The most keys that a range of a leaf has in one segment."""

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
        leaves = _apart_first(sorted(node.leaves, key=lambda leaf: sizes[leaf.number]))
        kept = _Kept(self._leaf(leaves[0]))
        in_vain = 0
        for leaf in leaves[1:]:
            left = kept.count
            if left < _FEW or in_vain >= _IN_VAIN + left // _MANY:
                break
            if not self._is_worth_it(leaf, left):
                continue
            if kept.is_sparse and not self._by_file and self._most_keys[leaf.number] <= 1:
                kept.choose(self._holds(leaf, kept.numbers))
            else:
                kept.keep(self._leaf(leaf))
            in_vain = in_vain + 1 if left - kept.count < max(_FEW, left // _MANY) else 0
        return kept.mask

    def _is_worth_it(self, leaf: _Leaf, left: int) -> bool:
        size = self._sizes[leaf.number]
        if self._most_keys[leaf.number] <= 1:
            return bool(size < _WORTH * left)
        return bool(size + _RANGES < _RANGES_WORTH * left)

    def _leaf(self, leaf: _Leaf) -> Mask:
        mask = np.zeros(self._ground.block_count, bool)
        if self._sizes[leaf.number]:
            mark = self._mark_lists if self._most_keys[leaf.number] <= 1 else self._mark_many
            mark(leaf, mask)
        return self._owning(mask) if self._by_file else mask

    def _mark_lists(self, leaf: _Leaf, mask: Mask) -> None:
        """Mark the blocks of single keys."""
        lists, bitmaps = self._postings(leaf)
        for each in bitmaps:
            mask |= self._unpacked(each)
        if lists:
            mask[_blocks_in(lists)] = True

    def _holds(self, leaf: _Leaf, blocks: Numbers) -> Mask:
        """Which of a few blocks hold one of some single keys."""
        lists, bitmaps = self._postings(leaf)
        found = np.zeros(len(blocks), bool)
        for each in bitmaps:
            found |= self._unpacked(each)[blocks]
        if lists:
            listed = _blocks_in(lists)
            if leaf.ranges.stop - leaf.ranges.start > 1:
                listed.sort()  # those of one key are in order
            at = np.minimum(listed.searchsorted(blocks), len(listed) - 1)
            found |= listed[at] == blocks
        return found

    def _postings(self, leaf: _Leaf) -> tuple[list[_List], list[dict[int, bytes]]]:
        """The lists of single keys in all segments, and their bitmaps by key and segment."""
        lists: list[_List] = []
        bitmaps = []
        ground = self._ground
        for at in range(leaf.ranges.start, leaf.ranges.stop):
            dense: dict[int, bytes] = {}
            places = zip(ground.segments, self._spans, ground.blocks, strict=True)
            for number, (segment, (starts, ends), (base, _)) in enumerate(places):
                start, end = starts[at], ends[at]
                if start == end:
                    continue
                if end - start == segment.bitmap_bytes:
                    dense[number] = segment.posting(start, end)
                else:
                    lists.append((segment.posting(start, end), base))
            if dense:
                bitmaps.append(dense)
        return lists, bitmaps

    def _unpacked(self, bitmaps: dict[int, bytes]) -> Mask:
        """The bitmaps of some segments as one; a segment begins at a whole byte of it."""
        parts = [
            bitmaps.get(number) or bytes(segment.bitmap_bytes)
            for number, segment in enumerate(self._ground.segments)
        ]
        whole = np.frombuffer(b"".join(parts), np.uint8)
        return np.unpackbits(whole, bitorder="little").view(bool)

    def _mark_many(self, leaf: _Leaf, mask: Mask) -> None:
        """Mark the blocks of all keys of some ranges."""
        places = zip(self._ground.segments, self._places, self._ground.blocks, strict=True)
        for segment, (first, pasts), (base, _) in places:
            found = segment.holding(first[leaf.ranges], pasts[leaf.ranges])
            mask[base : base + segment.blocks] = found

    def _owning(self, blocks: Mask) -> Mask:
        """The files that have one of some blocks."""
        ground = self._ground
        found = np.zeros(ground.file_count, bool)
        found[ground.owners[ground.pieces_in(blocks.nonzero()[0])]] = True
        return found


_List = tuple[bytes, int]
"""The posting of a key in a segment, and what its blocks are counted from."""


def _blocks_in(lists: list[_List]) -> Numbers:
    """All blocks of some lists, read as one: it is calls into numpy that take the time."""
    sizes = np.array([len(posting) for posting, _ in lists])
    joined = np.frombuffer(b"".join([posting for posting, _ in lists]), np.uint8)
    found: Numbers = decoded(joined, sizes, np.array([base for _, base in lists]))
    return found


class _Kept:
    """The blocks, or files, that are still candidates: as a mask, or, where few, by number."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._numbers: Numbers | None = None
        self.count = int(np.count_nonzero(mask))

    @property
    def is_sparse(self) -> bool:
        return self.count * _SPARSE <= len(self._mask)

    @property
    def numbers(self) -> Numbers:
        if self._numbers is None:
            self._numbers = self._mask.nonzero()[0]
        return self._numbers

    @property
    def mask(self) -> Mask:
        if self._numbers is not None:
            self._mask[:] = False
            self._mask[self._numbers] = True
        return self._mask

    def keep(self, others: Mask) -> None:
        """Keep those of a mask."""
        self._mask, self._numbers = self.mask & others, None
        self.count = int(np.count_nonzero(self._mask))

    def choose(self, chosen: Mask) -> None:
        """Keep some of `numbers`."""
        self._numbers = self.numbers[chosen]
        self.count = len(self._numbers)


def _apart_first(leaves: list[_Leaf]) -> list[_Leaf]:
    """The same leaves; those behind the others that stand next to one before them."""
    first: list[_Leaf] = []
    near: list[_Leaf] = []
    for leaf in leaves:
        is_near = any(abs(leaf.number - other.number) < _APART for other in first)
        (near if is_near else first).append(leaf)
    return first + near
