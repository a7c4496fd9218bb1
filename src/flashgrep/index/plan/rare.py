"""Looks up grams that few blocks contain, without arrays.

A call into numpy takes a microsecond or more whatever it does, and a lookup in ten segments makes a
hundred. If the postings are a few hundred bytes in all, plain loops over them are faster.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, compress
from typing import Final

from flashgrep.index.format.postings import STEP
from flashgrep.index.format.segment_set import SegmentSet
from flashgrep.index.plan.gram_tree import GramNode, GramSet, GramTree, apart_first

_SHORT_BYTES: Final = 1024
"""Postings of the rarest gram, of all segments together, that are read in this way; and of a
further one, of one segment."""
_MOST_KEYS: Final = 6
"""Grams of a literal that are looked at; where there are more, they are not the rarest ones."""
_FEW: Final = 2
"""Blocks that are not worth the look at another gram."""
_WORTH: Final = 2
"""Segments in which a gram can be looked up while one block is matched. The first gram that saves
less than it took is the last: those left are more common."""

_Posting = tuple[int, int, int]
"""The segment of a gram's posting, where in its file that begins, and how long it is."""


def rare_blocks(segment_set: SegmentSet, tree: GramTree) -> dict[int, int] | None:
    """The blocks that could hold a match, in order, with the alternatives of each as bits.

    None where that is for `lookup`: what must be there is no gram by itself, or none that is rare.
    """
    if tree.root is None or tree.folded:
        return None
    if not tree.alternatives:
        blocks = _held(segment_set, tree, tree.root)
        return None if blocks is None else dict.fromkeys(sorted(blocks), 0)
    found: dict[int, int] = {}
    for at, node in enumerate(tree.alternatives):
        held = _held(segment_set, tree, node)
        if held is None:
            return None
        for block in held:
            found[block] = found.get(block, 0) | 1 << at
    return dict(sorted(found.items()))


def _held(segment_set: SegmentSet, tree: GramTree, node: GramNode) -> set[int] | None:
    """The blocks that hold the grams of a node which are rare; None where none is known to be."""
    if not node.is_all:
        return None
    highs = tree.lows if tree.highs is None else tree.highs
    keys = {
        leaf.number: int(tree.lows[at])
        for leaf in node.leaves
        if leaf.is_single and tree.lows[at := leaf.ranges.start] == highs[at]
    }
    leaves = [leaf for leaf in node.leaves if leaf.number in keys]
    leaves = leaves[:: len(leaves) // _MOST_KEYS + 1]
    pilot = segment_set.pilot
    if pilot is None or not leaves:
        return None
    place = segment_set.segments.index(pilot)
    there = {number: _posting(segment_set, place, key)[2] for number, key in keys.items()}
    leaves.sort(key=lambda leaf: there[leaf.number])
    if there[leaves[0].number] > _SHORT_BYTES // 8:
        return None
    blocks = _listed(segment_set, keys[leaves[0].number])
    if blocks is None:
        return None
    left = sum(map(len, blocks.values()))
    for leaf in apart_first(leaves, GramSet.is_near)[1:]:
        if left <= _FEW:
            break
        key, asked, before = keys[leaf.number], len(blocks), left
        kept = ((number, _kept(segment_set, number, key, own)) for number, own in blocks.items())
        blocks = {number: own for number, own in kept if own}
        left = sum(map(len, blocks.values()))
        if _WORTH * (before - left) < asked:
            break
    return {block for own in blocks.values() for block in own}


def _posting(segment_set: SegmentSet, number: int, key: int) -> _Posting:
    """The posting of a gram in a segment; of length 0 where there is none."""
    keys, offsets, place = segment_set.key_tables[number]
    at = bisect_left(keys, key)
    if at == len(keys) or keys[at] != key:
        return number, 0, 0
    return number, place + offsets[at], offsets[at + 1] - offsets[at]


def _listed(segment_set: SegmentSet, key: int) -> dict[int, list[int]] | None:
    """The blocks of a gram by segment; None where there are many."""
    left, found = _SHORT_BYTES, dict[int, list[int]]()
    for number, (buffer, base, width) in enumerate(segment_set.posting_places):
        _, start, length = _posting(segment_set, number, key)
        left -= length
        if left < 0 or (length and length == width):
            return None
        if length:
            found[number] = _blocks(buffer[start : start + length], base)
    return found


def _kept(segment_set: SegmentSet, number: int, key: int, blocks: list[int]) -> list[int]:
    """Those of some blocks of a segment that hold a gram, or perhaps do."""
    buffer, base, width = segment_set.posting_places[number]
    _, start, length = _posting(segment_set, number, key)
    if not blocks or not length:
        return []
    if length == width:
        return [
            block
            for block in blocks
            if buffer[start + (block - base >> 3)] >> (block - base & 7) & 1
        ]
    if length > _SHORT_BYTES:
        return blocks
    own = set(_blocks(buffer[start : start + length], base))
    return [block for block in blocks if block in own]


def _blocks(posting: bytes, base: int) -> list[int]:
    """The blocks of a list (`postings` says how it is written), counted from `base`."""
    steps, first = posting[2:], base + posting[0] + (posting[1] << 8)
    places = accumulate(steps, initial=first)
    if STEP not in steps:
        return [*places]
    return [*compress(places, b"\1" + steps.translate(_ENDS))]


_ENDS: Final = bytes(step != STEP for step in range(256))
"""By a step's byte, whether a block is where it ends."""
