"""Looks up the grams of a plan in segments, for the blocks or files that could match.

All segments are queried at once, as if their blocks were numbered consecutively: a lookup costs
calls into numpy, and ten segments take as many as one. If many grams must all be there, the rarest
are looked up first, and the others only while they can save more than they cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from mmap import mmap
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from flashgrep.index.format.postings import decoded
from flashgrep.index.format.segment import Mask, Numbers
from flashgrep.index.format.segment_set import SegmentSet
from flashgrep.index.plan.gram_tree import GramNode, GramSet, GramTree, apart_first
from flashgrep.index.plan.planner import plan
from flashgrep.index.plan.rare import rare_blocks
from flashgrep.search.at_once import AT_ONCE_POSTINGS, may_wait
from flashgrep.search.pattern import PatternSpec

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
_LOOK: Final = 6
"""Blocks that RE2 reads in the time that a posting takes which was not read ahead: of a few blocks
no other is looked at once one has saved less, nor where it would have to save every fourth."""
_SPARSE: Final = 64
"""If at most one block in so many is left, those are looked up one by one."""
_DENSE: Final = 8
"""Where one block of so many is left, a page is found among the first files that are looked at."""
_AHEAD: Final = 4
_AHEAD_BYTES: Final = 4096
"""Leaves of a node that are read ahead, and how long their lists may be."""
_BITS: Final = np.left_shift(1, np.arange(8)).astype(np.uint8)


class Lookup:
    """The grams of a plan among the keys of segments."""

    def __init__(self, segment_set: SegmentSet, tree: GramTree, by_file: bool) -> None:
        self._segment_set = segment_set
        self._by_file = by_file
        self._listed: dict[int, Numbers] = {}
        """The blocks of the leaves that were read ahead."""
        self._orders: dict[int, list[GramSet]] = {}
        self._places = [segment.places(tree.lows, tree.highs) for segment in segment_set.segments]
        pairs = list(zip(segment_set.segments, self._places, strict=True))
        starts = np.array([segment.offsets.take(first) for segment, (first, _) in pairs], np.int64)
        ends = np.array([segment.offsets.take(past) for segment, (_, past) in pairs], np.int64)
        lengths = ends - starts
        self._starts: list[list[int]] = (starts + segment_set.posting_bases).T.tolist()
        self._lengths: list[list[int]] = lengths.T.tolist()
        """Per range where its posting begins in each segment's file, and how long it is."""
        self._has_bitmap: list[bool] = (lengths == segment_set.bitmap_sizes).any(0).tolist()
        self._sizes = np.add.reduceat(lengths.sum(0), tree.firsts).tolist()
        most: Any = np.max([past - first for first, past in self._places], axis=0)
        self._most_keys = np.maximum.reduceat(most, tree.firsts).tolist()
        """The most keys that a range of a leaf has in one segment."""

    def read_ahead(self, nodes: Sequence[GramNode]) -> None:
        """Read the lists that these nodes will look at first, all in one go.

        Most of what a short list costs is the calls that read it, whether it is one or twenty.
        """
        leaves = list(chain.from_iterable(map(self._first_leaves, nodes)))
        if not leaves:
            return
        lists = [self._list_of(leaf.ranges.start) for leaf in leaves]
        blocks, shown = _blocks_in([*chain.from_iterable(lists)])
        ends = accumulate((self._sizes[leaf.number] for leaf in leaves), initial=0)
        counts = [np.count_nonzero(shown[start:end]) for start, end in pairwise(ends)]
        for leaf, (start, end) in zip(leaves, pairwise(accumulate(counts, initial=0)), strict=True):
            self._listed[leaf.number] = blocks[start:end]

    def _first_leaves(self, node: GramNode) -> list[GramSet]:
        """Those of single keys that a node is sure to look at, or likely; rare ones only."""
        leaves = self._by_rarity(node) if node.is_all else []
        if not leaves or not self._sizes[leaves[0].number]:
            return []
        return [leaf for leaf in leaves[:_AHEAD] if self._is_short(leaf)]

    def _is_short(self, leaf: GramSet) -> bool:
        at = leaf.ranges.start
        if not leaf.is_single or self._most_keys[leaf.number] > 1 or self._has_bitmap[at]:
            return False
        return bool(self._sizes[leaf.number] <= _AHEAD_BYTES)

    def _by_rarity(self, node: GramNode) -> list[GramSet]:
        known = self._orders.get(id(node))
        if known is None:
            sizes = self._sizes
            by_size = sorted(node.leaves, key=lambda leaf: sizes[leaf.number])
            known = apart_first(by_size, GramSet.is_near)
            self._orders[id(node)] = known
        return known

    def held(self, node: GramNode) -> Mask:
        """The blocks, or files, that a node holds for."""
        return self.kept(node).mask

    def kept(self, node: GramNode) -> _Kept:
        """The same, as numbers where they are few."""
        if not node.is_all:
            masks = [self._leaf(leaf).mask for leaf in node.leaves]
            masks += [self.held(part) for part in node.nodes]
            return _Kept(mask=np.logical_or.reduce(masks))
        kept = self._rarest(node)
        for part in node.nodes:
            if kept is None:
                kept = self.kept(part)
            elif kept.count:
                kept.keep(self.held(part))
        assert kept is not None  # noqa: S101 - a node has parts
        return kept

    def _rarest(self, node: GramNode) -> _Kept | None:
        """What holds all leaves, rarest first, as far as that pays."""
        if not node.leaves:
            return None
        leaves = self._by_rarity(node)
        kept = self._leaf(leaves[0])
        in_vain, saved = 0, _LOOK
        for leaf in leaves[1:]:
            left = kept.count
            if left < _FEW or in_vain >= _IN_VAIN + left // _MANY:
                break
            if not self._is_worth_it(leaf, left, saved):
                continue
            if kept.is_sparse and not self._by_file and self._most_keys[leaf.number] <= 1:
                kept.choose(self._holds(leaf, kept.numbers))
            else:
                kept.keep(self._leaf(leaf).mask)
            saved = left - kept.count
            in_vain = in_vain + 1 if saved < max(_FEW, left // _MANY) else 0
        return kept

    def _is_worth_it(self, leaf: GramSet, left: int, saved: int) -> bool:
        """Whether a leaf may save more than it costs, as the last one has `saved` blocks."""
        if leaf.number in self._listed:
            return True
        if left < 4 * _LOOK or (left < _MANY and saved < _LOOK):
            return False
        size = self._sizes[leaf.number]
        if self._most_keys[leaf.number] <= 1:
            return bool(size < _WORTH * left)
        return bool(size + _RANGES < _RANGES_WORTH * left)

    def _leaf(self, leaf: GramSet) -> _Kept:
        listed = self._listed.get(leaf.number)
        if listed is not None:
            return _Kept(listed, self._segment_set.block_count)
        mask = np.zeros(self._segment_set.block_count, bool)
        if self._sizes[leaf.number]:
            mark = self._mark_lists if self._most_keys[leaf.number] <= 1 else self._mark_many
            mark(leaf, mask)
        return _Kept(mask=self._owning(mask) if self._by_file else mask)

    def _mark_lists(self, leaf: GramSet, mask: Mask) -> None:
        """Mark the blocks of single keys."""
        lists, bitmaps = self._postings(leaf, [True] * len(self._segment_set.segments))
        for each in bitmaps:
            mask |= np.unpackbits(self._joined(each), bitorder="little").view(bool)
        if lists:
            mask[_blocks_in(lists)[0]] = True

    def _holds(self, leaf: GramSet, blocks: Numbers) -> Mask:
        """Which of a few blocks hold one of some single keys."""
        listed = self._listed.get(leaf.number)
        if listed is not None:
            return _among(listed, blocks)
        lists, bitmaps = self._postings(leaf, self._segment_set.segments_with(blocks))
        found = np.zeros(len(blocks), bool)
        for each in bitmaps:
            found |= _has_bits(self._joined(each), blocks)
        if lists:
            listed = _blocks_in(lists)[0]
            if not leaf.is_single:
                listed.sort()  # those of one key are in order
            found |= _among(listed, blocks)
        return found

    def _postings(
        self, leaf: GramSet, wanted: Sequence[bool]
    ) -> tuple[list[_List], list[dict[int, bytes]]]:
        """The lists of single keys in the segments wanted, and their bitmaps by key and segment."""
        lists: list[_List] = []
        bitmaps = []
        for at in range(leaf.ranges.start, leaf.ranges.stop):
            dense: dict[int, bytes] = {}
            for number, (start, length, (buffer, base, width)) in enumerate(self._columns(at)):
                if length and wanted[number]:
                    posting = buffer[start : start + length]
                    if length == width:
                        dense[number] = posting
                    else:
                        lists.append((posting, base))
            if dense:
                bitmaps.append(dense)
        return lists, bitmaps

    def _list_of(self, at: int) -> list[_List]:
        """The lists of a range of one key that has no bitmap."""
        return [
            (buffer[start : start + length], base)
            for start, length, (buffer, base, _) in self._columns(at)
            if length
        ]

    def _columns(self, at: int) -> Iterable[tuple[int, int, tuple[mmap, int, int]]]:
        return zip(
            self._starts[at], self._lengths[at], self._segment_set.posting_places, strict=True
        )

    def _joined(self, bitmaps: dict[int, bytes]) -> Any:
        """The bitmaps of some segments as one; a segment begins at a whole byte of it."""
        parts = [
            bitmaps.get(number) or bytes(width)
            for number, (_, _, width) in enumerate(self._segment_set.posting_places)
        ]
        return np.frombuffer(b"".join(parts), np.uint8)

    def _mark_many(self, leaf: GramSet, mask: Mask) -> None:
        """Mark the blocks of all keys of some ranges."""
        if self._sizes[leaf.number] > AT_ONCE_POSTINGS:
            may_wait()
        places = zip(
            self._segment_set.segments, self._places, self._segment_set.blocks, strict=True
        )
        for segment, (first, pasts), (base, _) in places:
            found = segment.holding(first[leaf.ranges], pasts[leaf.ranges])
            mask[base : base + segment.blocks] = found

    def _owning(self, blocks: Mask) -> Mask:
        """The files that have one of some blocks."""
        segment_set = self._segment_set
        found = np.zeros(segment_set.file_count, bool)
        found[segment_set.owners[segment_set.pieces_in(blocks.nonzero()[0])]] = True
        return found


_List = tuple[bytes, int]
"""The posting of a key in a segment, and what its blocks are counted from."""


def _blocks_in(lists: list[_List]) -> tuple[Numbers, Mask]:
    """All blocks of some lists, read as one, and which of their bytes each ends with."""
    sizes = np.array([len(posting) for posting, _ in lists])
    joined = np.frombuffer(b"".join([posting for posting, _ in lists]), np.uint8)
    return decoded(joined, sizes, np.array([base for _, base in lists]))


def _has_bits(bitmap: Any, blocks: Numbers) -> Mask:
    """Which of some blocks have their bit set."""
    found: Mask = bitmap[blocks >> 3] & _BITS[blocks & 7] != 0
    return found


def _among(listed: Numbers, blocks: Numbers) -> Mask:
    """Which of some blocks are listed; both are in order."""
    at = np.minimum(listed.searchsorted(blocks), len(listed) - 1)
    found: Mask = listed[at] == blocks
    return found


class _Kept:
    """The blocks or files that are still candidates, as a mask or, if few, by number."""

    def __init__(
        self, numbers: Numbers | None = None, length: int = 0, mask: Mask | None = None
    ) -> None:
        self._numbers = numbers
        self._mask = mask
        self._length = length if mask is None else len(mask)
        self.count = len(numbers) if numbers is not None else int(np.count_nonzero(self.mask))

    @property
    def is_sparse(self) -> bool:
        return self.count * _SPARSE <= self._length

    @property
    def numbers(self) -> Numbers:
        if self._numbers is None:
            assert self._mask is not None  # noqa: S101 - there is one of the two
            self._numbers = self._mask.nonzero()[0]
        return self._numbers

    @property
    def mask(self) -> Mask:
        if self._mask is None:
            self._mask = np.zeros(self._length, bool)
            self._mask[self._numbers] = True
        return self._mask

    def keep(self, others: Mask) -> None:
        """Keep those of a mask."""
        if self._numbers is not None:
            self.choose(others[self._numbers])
            return
        self._mask = self.mask & others
        self.count = int(np.count_nonzero(self._mask))

    def choose(self, chosen: Mask) -> None:
        """Keep some of `numbers`."""
        self._numbers, self._mask = self.numbers[chosen], None
        self.count = len(self._numbers)

    def mark(self, bits: Any, bit: int) -> None:
        """Set a bit for each of them."""
        if self._numbers is not None:
            bits[self._numbers] |= bit
        else:
            bits |= self.mask.view(np.uint8) * np.uint8(bit)


# ── candidates ───────────────────────────────────────────────────────────────────────────────────
# Which blocks of some segments could hold a match, by a plan and the segments' postings.


_REMEMBERED: Final = 64
"""Patterns."""
_KNOWN_PIECES: Final = 512
"""Candidates that are remembered with a pattern: an agent asks for files, then for their lines."""
_TREES: Final = WeakKeyDictionary[SegmentSet, Callable[[PatternSpec], GramTree]]()


def _gram_tree(segment_set: SegmentSet, pattern: PatternSpec) -> GramTree:
    """What a pattern needs; remembered, because agents page."""
    known = _TREES.get(segment_set)
    if known is None:
        pilot = segment_set.pilot
        known = lru_cache(_REMEMBERED)(lambda spec: GramTree(plan(spec), pilot))
        _TREES[segment_set] = known
    return known(pattern)


class Candidates:
    """The pieces or files of segments that could contain a match of a pattern."""

    def __init__(self, pattern: PatternSpec, segment_set: SegmentSet) -> None:
        self._segment_set = segment_set
        self._tree = _gram_tree(segment_set, pattern)

    @property
    def is_all(self) -> bool:
        """Whether nothing is known of what a match must hold: then all are candidates."""
        return self._tree.root is None or not self._segment_set.segments

    @cached_property
    def pieces(self) -> Numbers:
        """The pieces of all segments to look at when lines are matched, in order."""
        segment_set = self._segment_set
        if self.is_all:
            return np.arange(len(segment_set.owners))
        known = self._tree.known
        found: Numbers
        if known is not None:
            found = known[0]
            return found
        found = self._looked_up()
        if self._tree.folded:
            found = np.union1d(found, segment_set.marked)
        if len(found) <= _KNOWN_PIECES:
            bits = dict(zip(found.tolist(), self.alternatives(found), strict=True))
            self._tree.known = found, bits
        return found

    def is_little(self, pieces: int, size: int) -> bool:
        """Whether no more than so many pieces, of so many bytes, are seen to be candidates by a
        look at rare grams, or were before."""
        if self.is_all or self._tree.folded or (self._tree.known is None and self._rare is None):
            return False
        found = self.pieces
        if len(found) > pieces:
            return False
        stretches = self._segment_set.stretches(found, [0] * len(found))
        return sum(stretch.size for stretch in stretches) <= size

    def asks_little(self, grams: int) -> bool:
        """Whether what a match must hold is known by so many grams, or ranges of them, at most."""
        return not self.is_all and len(self._tree.lows) <= grams

    def _looked_up(self) -> Numbers:
        segment_set = self._segment_set
        if self._rare is None:
            return segment_set.pieces_in(self._held.astype(bool, copy=False).nonzero()[0])
        firsts = segment_set.block_firsts.data
        runs = (range(firsts[block], firsts[block + 1]) for block in self._rare)
        return np.array([*chain.from_iterable(runs)], np.int64)

    @property
    def kept_bytes(self) -> int:
        """What it takes to keep them."""
        own = (each for each in vars(self).values() if isinstance(each, np.ndarray))
        return sum(each.nbytes for each in own)

    @cached_property
    def _rare(self) -> dict[int, int] | None:
        """The blocks that may hold a match where those are few, with their alternatives."""
        known = self._tree.rare
        if known is None:
            known = (rare_blocks(self._segment_set, self._tree),)
            if len(known[0] or ()) <= _KNOWN_PIECES:
                self._tree.rare = known  # a call that is tried at once is made again in a thread
        return known[0]

    @cached_property
    def blocks(self) -> Mask:
        """Which blocks may hold a match, where not all are candidates."""
        segment_set = self._segment_set
        found: Mask
        if self._rare is None:
            found = self._held.astype(bool)
        else:
            found = np.zeros(segment_set.block_count, bool)
            found[[*self._rare]] = True
        if self._tree.folded:
            found[segment_set.piece_blocks[segment_set.marked]] = True
        return found

    @cached_property
    def is_dense(self) -> bool:
        """Whether so many blocks are candidates that a page is found before all of them are
        numbered."""
        if self.is_all or self._tree.known is not None or self._rare is not None:
            return False
        return bool(np.count_nonzero(self.blocks) > max(_KNOWN_PIECES, len(self.blocks) // _DENSE))

    @cached_property
    def _held(self) -> Any:
        """Per block what it may hold: a bit for each alternative of the plan."""
        assert self._tree.root is not None  # noqa: S101 - asked only then
        look = self._look(by_file=False)
        if not self._tree.alternatives:
            look.read_ahead([self._tree.root])
            return look.held(self._tree.root)
        look.read_ahead(self._tree.alternatives)
        held = np.zeros(self._segment_set.block_count, np.uint8)
        for at, node in enumerate(self._tree.alternatives):
            look.kept(node).mark(held, 1 << at)
        return held

    def alternatives(self, pieces: Numbers) -> list[int]:
        """For each of some candidates the alternatives that it may hold, as bits; 0 for any."""
        if not self._tree.alternatives or not len(pieces):
            return [0] * len(pieces)
        if self._tree.known is not None:
            return [*map(self._tree.known[1].__getitem__, pieces.tolist())]
        blocks = self._segment_set.blocks_of(pieces)
        if self._rare is not None:
            return [self._rare[block] for block in blocks.tolist()]
        found: list[int] = self._held[blocks].tolist()
        return found

    def pieces_of(self, number: int) -> Numbers:
        """Those of one segment, by their numbers there."""
        base, past = self._segment_set.pieces[number]
        start, end = self.pieces.searchsorted([base, past])
        return self.pieces[start:end] - base

    @cached_property
    def files(self) -> Mask:
        """The files to look at when whole texts are matched: grams may be in several blocks."""
        segment_set = self._segment_set
        if self.is_all:
            return np.ones(segment_set.file_count, bool)
        assert self._tree.root is not None  # noqa: S101 - or all are candidates
        found = self._look(by_file=True).held(self._tree.root)
        if self._tree.folded:
            found[segment_set.owners[segment_set.marked]] = True
        return found

    def _look(self, by_file: bool) -> Lookup:
        return Lookup(self._segment_set, self._tree, by_file)
