"""Which blocks of a segment could hold a match, by a plan and the segment's postings.

Of many grams that must all be there, the rarest are looked at first, and the others only as long
as they can still save more than they cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from flashgrep.index import planner
from flashgrep.index.planner import KeyRange, Need, Plan
from flashgrep.index.segment import Mask, Numbers, Segment

_WORTH: Final = 400
"""Bytes of postings worth reading where each candidate block may go: a block takes RE2 10 to 60 µs,
a hundred bytes of postings take a tenth of one."""


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
    """A plan made ready to be asked of many segments."""

    def __init__(self, plan: Plan) -> None:
        self._ranges: list[KeyRange] = []
        self._firsts: list[int] = []
        self._root = None if plan.need is None else self._prepared(plan.need)
        self._lows = np.array([low for low, _ in self._ranges], np.uint32)
        self._highs = np.array([past - 1 for _, past in self._ranges], np.uint32)
        self._folded = plan.folded
        self._pieces: dict[str, Numbers] = {}

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

    def pieces(self, segment: Segment) -> Numbers:
        """The numbers of the pieces to look at when lines are matched, in order."""
        if segment.path not in self._pieces:
            self._pieces[segment.path] = self._pieces_of(segment)
        return self._pieces[segment.path]

    def _pieces_of(self, segment: Segment) -> Numbers:
        if self._root is None:
            return np.arange(segment.pieces)
        blocks = np.flatnonzero(_Look(self, segment, by_file=False).held(self._root))
        found = segment.pieces_in(blocks)
        return np.union1d(found, segment.marked) if self._folded else found

    def files(self, segment: Segment) -> Mask:
        """The files to look at when whole texts are matched: grams may stand in several blocks."""
        if self._root is None:
            return np.ones(segment.files, bool)
        found = _Look(self, segment, by_file=True).held(self._root)
        if self._folded:
            found[segment.owners[segment.marked]] = True
        return found

    def places(self, segment: Segment) -> tuple[Any, Any, Any]:
        """Where the ranges stand among a segment's keys, and how long each leaf's postings are."""
        first, past = segment.places(self._lows, self._highs)
        sizes = np.add.reduceat(segment.sizes(first, past), self._firsts)
        return first, past, sizes


class _Look:
    """One plan asked of one segment."""

    def __init__(self, candidates: Candidates, segment: Segment, by_file: bool) -> None:
        self._segment = segment
        self._by_file = by_file
        self._first, self._past, self._sizes = candidates.places(segment)

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
        leaves = sorted(node.leaves, key=lambda leaf: int(self._sizes[leaf.number]))
        mask = self._leaf(leaves[0])
        for leaf in leaves[1:]:
            left = int(np.count_nonzero(mask))
            if left == 0 or self._sizes[leaf.number] > _WORTH * left:
                break
            mask &= self._leaf(leaf)
        return mask

    def _leaf(self, leaf: _Leaf) -> Mask:
        segment = self._segment
        if not self._sizes[leaf.number]:
            return np.zeros(segment.files if self._by_file else segment.blocks, bool)
        blocks = segment.holding(self._first[leaf.ranges], self._past[leaf.ranges])
        if not self._by_file:
            return blocks
        files = np.zeros(segment.files, bool)
        files[segment.owners[blocks[segment.groups]]] = True
        return files
