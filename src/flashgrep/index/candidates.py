"""Which blocks of some segments could hold a match, by a plan and the segments' postings.

A plan is a tree of grams of which all, or any, must be there; of a pattern of a few alternatives
each has a tree of its own, so that a block is later searched only for those it may hold.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np

from flashgrep.index import planner
from flashgrep.index.ground import Ground
from flashgrep.index.lookup import Leaf, Look, Node
from flashgrep.index.planner import KeyRange, Need, Plan
from flashgrep.index.segment import Mask, Numbers

_MOST_GRAMS: Final = 12
"""Grams that are looked up of those that must all be there."""
_MOST_ALTERNATIVES: Final = 8
"""Alternatives that are told apart: a bit of a byte for each."""


class Candidates:
    """A plan asked of segments: their pieces, or their files, that could hold a match."""

    def __init__(self, plan: Plan, ground: Ground) -> None:
        self._ground = ground
        self._folded = plan.folded
        self._ranges: list[KeyRange] = []
        self._firsts: list[int] = []
        self._alternatives: tuple[Node, ...] = ()
        self._root = None if plan.need is None else self._rooted(plan, plan.need)

    def _rooted(self, plan: Plan, need: Need) -> Node:
        if not 0 < len(plan.alternatives) <= _MOST_ALTERNATIVES:
            return self._prepared(need)
        self._alternatives = tuple(map(self._prepared, plan.alternatives))
        return Node(False, (), self._alternatives)

    def _prepared(self, need: Need) -> Node:
        is_all = not isinstance(need, planner.Any)
        parts = (need,) if isinstance(need, planner.Grams) else need.parts
        grams = [part for part in parts if isinstance(part, planner.Grams)]
        leaves = map(self._leaf, _thinned(grams) if is_all else grams)
        nodes = [self._prepared(part) for part in parts if not isinstance(part, planner.Grams)]
        return Node(is_all, tuple(leaves), tuple(nodes))

    def _leaf(self, grams: planner.Grams) -> Leaf:
        # No range at all cannot be looked up; one that no gram is in stands for it.
        ranges = grams.ranges or ((0, 1),)
        first = len(self._ranges)
        self._firsts.append(first)
        self._ranges.extend(ranges)
        return Leaf(len(self._firsts) - 1, slice(first, first + len(ranges)))

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
            look.read_ahead([self._root])
            return look.held(self._root)
        look.read_ahead(self._alternatives)
        bits = np.zeros(self._ground.block_count, np.uint8)
        for at, node in enumerate(self._alternatives):
            look.kept(node).mark(bits, 1 << at)
        return bits

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

    def _look(self, by_file: bool) -> Look:
        return Look(self._ground, self._ranges, self._firsts, by_file)


def _thinned(grams: list[planner.Grams]) -> list[planner.Grams]:
    """Every second, third, … gram of a long literal: neighbours share three of their four bytes.

    Not where the pattern has classes: what stands around one may be in a single gram.
    """
    if all(past - low == 1 for gram in grams for low, past in gram.ranges):
        return grams[:: max(1, -(-len(grams) // _MOST_GRAMS))]
    return grams
