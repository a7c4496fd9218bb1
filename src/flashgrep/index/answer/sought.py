"""The parts of the segments that a search may have to match: its candidates, in the places asked
for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from flashgrep.index.answer.view import IndexView, SearchOverlay
from flashgrep.index.format.segment import Mask, Numbers
from flashgrep.index.format.segment_set import FileLocation, Runs, Stretch, Texts, Work
from flashgrep.index.plan.lookup import Candidates
from flashgrep.index.watch.changes import joined
from flashgrep.search.result import ScanRequest

Until = tuple[int | None, int | None]
"""When the last file of a page was changed, and before which file of the base it is; None where
that does not matter."""
EVERYTHING: Final[Until] = (None, None)

INDEX_FEW_PIECES: Final = 128
"""Candidates, of some 16 KiB each, that are matched one by one: sorting them out by segment, in
arrays, would take as long."""


class Sought:
    """A question and a view, and the question's candidates in that view."""

    def __init__(self, request: ScanRequest, view: IndexView, overlay: SearchOverlay) -> None:
        self.request = request
        self.snapshot = view.snapshot
        self.segment_set = view.snapshot.segment_set
        self.overlay = overlay
        self.candidates = Candidates(request.pattern, self.segment_set)
        self._view = view

    @property
    def is_text(self) -> bool:
        """Whether whole texts are matched, and not lines."""
        return self.request.pattern.multiline

    @property
    def is_few(self) -> bool:
        """Whether the candidates are matched one by one."""
        return not (self.is_text or self._is_dense) and len(self.scoped) <= INDEX_FEW_PIECES

    @cached_property
    def _is_dense(self) -> bool:
        """Whether there are many candidates, in a search of the whole tree.

        To number them all takes longer than a page."""
        return not self.is_text and not self.overlay.root and self.candidates.is_dense

    # ── all of them ─────────────────────────────────────────────────────────────────────────────

    @cached_property
    def scoped(self) -> Numbers:
        """The candidates below the root, where lines are matched; of any name."""
        pieces = self.candidates.pieces
        if not len(pieces) or self.overlay.is_everything:
            return pieces
        found: Numbers = pieces[self.overlay.in_scope[self.segment_set.owners[pieces]]]
        return found

    @cached_property
    def pieces(self) -> Numbers:
        """The candidates that are asked for, where lines are matched."""
        return self.named(self.scoped)

    def named(self, pieces: Numbers) -> Numbers:
        """Those of some pieces with wanted file names."""
        if not self.request.filters:
            return pieces
        owners = self.segment_set.owners[pieces]
        files = np.unique(owners)
        found: Numbers = pieces[_among(files[self.overlay.kept(files)], owners)]
        return found

    @cached_property
    def candidate_files(self) -> Numbers:
        """The candidates below the root, where whole texts are matched; of any name."""
        return np.flatnonzero(self.file_mask)

    @cached_property
    def files(self) -> Numbers:
        """The candidates that are asked for, where whole texts are matched."""
        return self.named_files(self.candidate_files)

    def named_files(self, files: Numbers) -> Numbers:
        """Those of some files with wanted names."""
        return files[self.overlay.kept(files)] if self.request.filters else files

    def work(self) -> Mapping[int, Work]:
        """The candidates by segment."""
        return self.texts(self.files) if self.is_text else self.segment_set.runs(self.pieces)

    def texts(self, files: Numbers) -> dict[int, Texts]:
        """Some files, which are in order, by segment."""
        segment_set = self.segment_set
        cuts = [*files.searchsorted(segment_set.file_firsts).tolist(), len(files)]
        return {
            number: Texts(segment, files[at:past] - segment_set.files[number][0])
            for number, (segment, (at, past)) in enumerate(
                zip(segment_set.segments, pairwise(cuts), strict=True)
            )
            if at < past
        }

    def stretches(self, pieces: Numbers) -> list[Stretch]:
        """Some candidates one by one, in the order of the walk."""
        return self.segment_set.stretches(pieces, self.candidates.alternatives(pieces))

    def count_files(self) -> int:
        """How many files the candidates are of."""
        if self.is_text:
            return len(self.files)
        owners = self.segment_set.owners[self.pieces]
        return int(np.count_nonzero(owners[1:] != owners[:-1])) + 1 if len(owners) else 0

    # ── newest first ────────────────────────────────────────────────────────────────────────────

    def possible(self, files: Numbers) -> Numbers:
        """Those of some files that are below the root and could match; of any name."""
        if not self._is_dense:
            found: Numbers = files[self.file_mask[files]]
            return found
        firsts, lasts = (blocks[files] for blocks in self.segment_set.file_blocks)
        held = self.segment_set.with_blocks(self.candidates.blocks, firsts, lasts)
        kept: Numbers = files[held & self.overlay.in_scope[files]]
        return kept

    @cached_property
    def is_candidate(self) -> Callable[[int], bool] | None:
        """Says of a piece whether it is a candidate; None where all are."""
        if self._is_dense:
            held, block_of = self.candidates.blocks.data, self.segment_set.piece_blocks.data
            return lambda piece: bool(held[block_of[piece]])
        if self.piece_mask is None:
            return None
        mask = self.piece_mask.data
        return lambda piece: bool(mask[piece])

    @cached_property
    def file_mask(self) -> Mask:
        """Of all files, those below the root that could match; their names are not looked at."""
        in_scope = self.overlay.in_scope
        if self.is_text:
            found: Mask = self.candidates.files & in_scope
            return found
        if self.candidates.is_all:
            return in_scope
        mask = np.zeros(self.segment_set.file_count, bool)
        mask[self.segment_set.owners[self.scoped]] = True
        return mask

    @cached_property
    def piece_mask(self) -> Mask | None:
        """Which of all pieces are candidates; None for all of them."""
        if self.candidates.is_all:
            return None
        if self._is_dense:
            found: Mask = self.candidates.blocks[self.segment_set.piece_blocks]
            return found
        mask = np.zeros(len(self.segment_set.owners), bool)
        mask[self.candidates.pieces] = True
        return mask

    def pieces_of(self, files: Numbers) -> Numbers:
        """The candidates of some files, which are in order."""
        firsts = self.segment_set.piece_firsts
        starts, pasts = firsts[files], firsts[files + 1]
        counts = pasts - starts
        ends = np.cumsum(counts)
        pieces = np.arange(int(counts.sum())) + np.repeat(starts - (ends - counts), counts)
        mask = self.piece_mask
        found: Numbers = pieces if mask is None else pieces[mask[pieces]]
        return found

    # ── under other names ───────────────────────────────────────────────────────────────────────

    @property
    def has_aliases(self) -> bool:
        """Whether there are links to files at all."""
        return bool(self._view.alias_spans[0])

    def aliases(self, until: Until) -> Iterator[tuple[str, FileLocation]]:
        """Links to files that could hold a match, up to some place in the order of the answer.

        Asked together, for a tree may have many.
        """
        links, spans = self._view.alias_spans
        if not links:
            return
        near: set[str] | None = None
        if self._is_dense:
            firsts, pasts = spans
            blocks = self.segment_set.piece_blocks
            most = len(blocks) - 1
            ends = (blocks[at.clip(0, most)] for at in (firsts, pasts - 1))
            held = self.segment_set.with_blocks(self.candidates.blocks, *ends)
            near = {links[at] for at in (held & (firsts < pasts)).nonzero()[0].tolist()}
        elif not self.is_text:
            if not len(self.candidates.pieces):
                return
            first, past = (self.candidates.pieces.searchsorted(ends) for ends in spans)
            near = {links[at] for at in (first < past).nonzero()[0].tolist()}
        for shown, place in self.overlay.aliases(near) if near is None or near else ():
            if self._is_within(shown, place, *until):
                yield shown, place

    def _is_within(
        self, shown: str, place: FileLocation, modified: int | None, gap: int | None
    ) -> bool:
        if modified is not None:
            own = self.modified(place)
            if own != modified:
                return own > modified
        if gap is None:
            return True
        name = joined(self.overlay.root, shown)
        return self.snapshot.orders.gap(self.snapshot, name) <= gap

    def size(self, place: FileLocation) -> int:
        """How large a file is."""
        return int(self.segment_set.segments[place.segment].status[place.file, 0])

    def modified(self, place: FileLocation) -> int:
        """When a file was changed last."""
        return int(self.snapshot.modified[self.segment_set.files[place.segment][0] + place.file])

    def runs_of(self, place: FileLocation) -> Iterable[Runs]:
        """The candidates of one file."""
        pieces = self.candidates.pieces
        start, end = pieces.searchsorted(self.segment_set.span(*place))
        return self.segment_set.runs(pieces[start:end]).values()


def _among(chosen: Numbers, numbers: Numbers) -> Mask:
    """Which of some numbers are among others, which are in order."""
    if not len(chosen):
        return np.zeros(len(numbers), bool)
    at = np.minimum(chosen.searchsorted(numbers), len(chosen) - 1)
    found: Mask = chosen[at] == numbers
    return found
