"""Segments numbered through give what each of them gives alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.index.format import segment_set as numbering
from flashgrep.index.format.segment import Segment
from flashgrep.index.format.segment_set import SegmentSet, segment_set
from tests.index.segments import block_bytes, made

SHAPES: dict[str, tuple[int, dict[str, bytes]]] = {
    # pieces as large as a block, more of them than are matched in one call
    "long": (8, {"a": b"1234567\n" * 150, "b": b"1234567\n" * 3, "c": b"1234567\n" * 64}),
    # several pieces a block, files of none, a character that folds
    "mixed": (
        12,
        {"a": b"one\n", "b": b"two\n", "c": b"", "d": "\u212a\n".encode(), "e": b"x\n" * 40},
    ),
    "eight blocks": (2, {"a": b"x\n" * 8}),
    "without text": (16, {"a": b"", "b": b"\x00\x01"}),
    "without files": (16, {}),
}


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Segment]:
    segments = {}
    for name, (block, files) in SHAPES.items():
        directory: Path = tmp_path_factory.mktemp("shape")
        with block_bytes(block):
            segments[name] = made(directory, files)
    return segments


GROUNDS = st.lists(st.sampled_from(list(SHAPES)), max_size=5)
STRETCHES = st.lists(st.tuples(st.integers(0, 600), st.integers(1, 200)), max_size=6)


def chosen(stretches: list[tuple[int, int]], count: int) -> list[int]:
    """Whole numbers below a count, in order: what some stretches cover."""
    found = {at for first, size in stretches for at in range(first, first + size)}
    return sorted(at for at in found if at < count)


def owner(bounds: Sequence[tuple[int, int]], number: int) -> int:
    """The segment that a number belongs to."""
    (segment,) = [at for at, (first, past) in enumerate(bounds) if first <= number < past]
    return segment


def test_what_is_made_here_is_hard_enough(shapes: dict[str, Segment]) -> None:
    assert shapes["long"].pieces > 2 * numbering._LONGEST
    assert shapes["mixed"].blocks < shapes["mixed"].pieces
    assert len(shapes["mixed"].marked) == 1
    assert shapes["eight blocks"].blocks == 8
    assert (shapes["without text"].files, shapes["without text"].pieces) == (2, 0)


@settings(deadline=None)
@given(GROUNDS)
def test_the_parts_of_each_segment_follow_those_of_the_one_before(
    shapes: dict[str, Segment], names: list[str]
) -> None:
    whole = segment_set([shapes[name] for name in names])
    owners: list[int] = []
    marked: list[int] = []
    files = 0
    for segment, (block, past), (piece, _) in zip(
        whole.segments, whole.blocks, whole.pieces, strict=True
    ):
        assert block % 8 == 0
        assert past - block >= segment.blocks
        assert piece == len(owners)
        marked += [piece + own for own in segment.marked.tolist()]
        owners += [files + own for own in segment.owners.tolist()]
        files += segment.files
    assert whole.owners.tolist() == owners
    assert whole.marked.tolist() == marked
    assert whole.file_count == files
    assert whole.block_count == (whole.blocks[-1][1] if names else 0)


@settings(deadline=None)
@given(GROUNDS, st.randoms(use_true_random=False), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_the_pieces_of_blocks_are_those_of_each_segment(
    shapes: dict[str, Segment], names: list[str], chance: Any, share: float
) -> None:
    whole = segment_set([shapes[name] for name in names])
    mask = np.array([chance.random() < share for _ in range(whole.block_count)], bool)
    expected = [
        (base + piece, block + group)
        for segment, (block, _), (base, _) in zip(
            whole.segments, whole.blocks, whole.pieces, strict=True
        )
        for piece, group in enumerate(segment.groups.tolist())
        if mask[block + group]
    ]
    found = whole.pieces_in(mask.nonzero()[0])
    assert found.tolist() == [piece for piece, _ in expected]
    assert whole.blocks_of(found).tolist() == [block for _, block in expected]


def runs_by_loop(whole: SegmentSet, pieces: list[int]) -> dict[int, list[list[int]]]:
    """Each piece added to the stretch before it, where it may be."""
    found: dict[int, list[list[int]]] = {}
    for piece in pieces:
        segment = owner(whole.pieces, piece)
        own = piece - whole.pieces[segment][0]
        stretches = found.setdefault(segment, [])
        if stretches and stretches[-1][1] == own and own - stretches[-1][0] < numbering._LONGEST:
            stretches[-1][1] = own + 1
        else:
            stretches.append([own, own + 1])
    return found


@settings(max_examples=200, deadline=None)
@given(GROUNDS, STRETCHES)
def test_pieces_are_joined_within_a_segment_and_up_to_a_length(
    shapes: dict[str, Segment], names: list[str], stretches: list[tuple[int, int]]
) -> None:
    whole = segment_set([shapes[name] for name in names])
    pieces = chosen(stretches, len(whole.owners))
    found = whole.runs(np.array(pieces, np.int64))
    assert all(runs.segment is whole.segments[number] for number, runs in found.items())
    joined = {
        number: [list(pair) for pair in zip(runs.firsts.tolist(), runs.pasts.tolist(), strict=True)]
        for number, runs in found.items()
    }
    assert joined == runs_by_loop(whole, pieces)
    assert all(
        0 <= first < past <= min(whole.segments[number].pieces, first + numbering._LONGEST)
        for number, pairs in joined.items()
        for first, past in pairs
    )


@settings(max_examples=200, deadline=None)
@given(GROUNDS, STRETCHES, st.randoms(use_true_random=False))
def test_a_few_pieces_are_joined_where_they_are_for_the_same_alternatives(
    shapes: dict[str, Segment], names: list[str], stretches: list[tuple[int, int]], chance: Any
) -> None:
    whole = segment_set([shapes[name] for name in names])
    pieces = chosen(stretches, len(whole.owners))
    bits = [chance.choice([1, 1, 1, 2]) for _ in pieces]
    found = whole.stretches(np.array(pieces, np.int64), bits)
    assert all(each.segment is whole.segments[each.number] for each in found)
    held = [
        (whole.pieces[each.number][0] + piece, each.alternatives)
        for each in found
        for piece in range(each.first, each.past)
    ]
    assert held == list(zip(pieces, bits, strict=True))
    for one, other in pairwise(found):
        touch = one.number == other.number and one.past == other.first
        assert not touch or one.alternatives != other.alternatives


@settings(deadline=None)
@given(GROUNDS, STRETCHES)
def test_a_file_is_placed_in_its_segment(
    shapes: dict[str, Segment], names: list[str], stretches: list[tuple[int, int]]
) -> None:
    whole = segment_set([shapes[name] for name in names])
    files = chosen([(first % 20, size) for first, size in stretches], whole.file_count)
    expected = [
        (owner(whole.files, file), file - whole.files[owner(whole.files, file)][0])
        for file in files
    ]
    assert list(whole.places(np.array(files, np.int64))) == expected


def test_no_segments_hold_nothing() -> None:
    whole = segment_set([])
    nothing = np.zeros(0, np.int64)
    assert (whole.block_count, whole.file_count, len(whole.owners)) == (0, 0, 0)
    assert whole.pieces_in(nothing).tolist() == []
    assert whole.stretches(nothing, []) == []
    assert whole.runs(nothing) == {}
    assert list(whole.places(nothing)) == []
