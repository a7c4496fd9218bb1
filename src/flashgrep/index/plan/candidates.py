"""Which blocks of some segments could hold a match, by a plan and the segments' postings."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from flashgrep.index.format.segment import Mask, Numbers
from flashgrep.index.plan.lookup import Look
from flashgrep.index.plan.segment_set import SegmentSet
from flashgrep.search.pattern import PatternSpec


class Candidates:
    """A pattern asked of segments: their pieces, or their files, that could hold a match."""

    def __init__(self, pattern: PatternSpec, segment_set: SegmentSet) -> None:
        self._segment_set = segment_set
        self._tree = segment_set.gram_tree(pattern)

    @cached_property
    def pieces(self) -> Numbers:
        """The pieces of all segments to look at when lines are matched, in order."""
        segment_set = self._segment_set
        if self._tree.root is None or not segment_set.segments:
            return np.arange(len(segment_set.owners))
        found = segment_set.pieces_in(self._held.astype(bool, copy=False).nonzero()[0])
        return np.union1d(found, segment_set.marked) if self._tree.folded else found

    @cached_property
    def _held(self) -> Any:
        """Per block what may stand in it: a bit for each alternative of the plan."""
        assert self._tree.root is not None  # noqa: S101 - asked only then
        look = self._look(by_file=False)
        if not self._tree.alternatives:
            look.read_ahead([self._tree.root])
            return look.held(self._tree.root)
        look.read_ahead(self._tree.alternatives)
        bits = np.zeros(self._segment_set.block_count, np.uint8)
        for at, node in enumerate(self._tree.alternatives):
            look.kept(node).mark(bits, 1 << at)
        return bits

    def alternatives(self, pieces: Numbers) -> list[int]:
        """For each of some candidates the alternatives that it may hold, as bits; 0 for any."""
        if not self._tree.alternatives or not len(pieces):
            return [0] * len(pieces)
        found: list[int] = self._held[self._segment_set.blocks_of(pieces)].tolist()
        return found

    def pieces_of(self, number: int) -> Numbers:
        """Those of one segment, by their numbers there."""
        base, past = self._segment_set.pieces[number]
        start, end = self.pieces.searchsorted([base, past])
        return self.pieces[start:end] - base

    @cached_property
    def files(self) -> Mask:
        """The files to look at when whole texts are matched: grams may stand in several blocks."""
        segment_set = self._segment_set
        if self._tree.root is None or not segment_set.segments:
            return np.ones(segment_set.file_count, bool)
        found = self._look(by_file=True).held(self._tree.root)
        if self._tree.folded:
            found[segment_set.owners[segment_set.marked]] = True
        return found

    def _look(self, by_file: bool) -> Look:
        return Look(self._segment_set, self._tree, by_file)
