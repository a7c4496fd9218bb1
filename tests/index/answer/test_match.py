"""Matching stretches of a pack gives what the definition gives for each file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from flashgrep.index.answer.match import match_each, matched
from flashgrep.index.answer.match import matching_lines as found_lines
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.segment import BINARY, Segment
from flashgrep.index.format.segment_set import Runs, Texts
from flashgrep.search.decode import decoded, text_of
from flashgrep.search.match_count import Counter, TextMatcher
from flashgrep.search.pattern import PatternSpec, Span, matching_lines
from tests.index.disguises import searches
from tests.index.segments import block_bytes, made, piece_text

CASES = 10_000 if os.environ.get("FLASHGREP_HEAVY") else 30
RELAXED = settings(max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
BLOCKS = st.sampled_from([1, 16, 64, 32 * 1024])
CUTS = st.lists(st.booleans(), min_size=40, max_size=40)
"""Per piece, whether it is looked at, and whether a stretch ends after it."""
TWO = (PatternSpec("ab|cd"), [b"ab\nx\ncd ab\n", b"x\n", b"", b"cd"])


@pytest.fixture(scope="module")
def quick() -> Iterator[Path]:
    """A directory in memory where there is one: each example writes and syncs a segment."""
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as directory:
        yield Path(directory)


def segment_of(directory: Path, contents: list[bytes], block: int) -> Segment:
    with block_bytes(block):
        return made(directory, {f"f{at}": data for at, data in enumerate(contents)})


def stretches(segment: Segment, taken: list[bool], cuts: list[bool]) -> Runs:
    """Some of the pieces, in stretches."""
    firsts: list[int] = []
    pasts: list[int] = []
    is_open = False
    for piece in range(segment.pieces):
        if taken[piece % len(taken)]:
            if is_open:
                pasts[-1] = piece + 1
            else:
                firsts.append(piece)
                pasts.append(piece + 1)
        is_open = taken[piece % len(taken)] and not cuts[piece % len(cuts)]
    return Runs(segment, np.array(firsts, np.int64), np.array(pasts, np.int64))


def pieces_of(runs: Runs) -> list[int]:
    pairs = zip(runs.firsts.tolist(), runs.pasts.tolist(), strict=True)
    return [piece for first, past in pairs for piece in range(first, past)]


def defined(spec: PatternSpec, contents: list[bytes], runs: Runs) -> list[tuple[int, Span]]:
    """The matching lines in some stretches, each with its file, by the definition."""
    segment, found = runs.segment, []
    matching = [set(matching_lines(spec, decoded(data))) for data in contents]
    for piece in pieces_of(runs):
        file, at = int(segment.owners[piece]), int(segment.starts[piece])
        lines = piece_text(segment, piece).split(b"\n")[:-1]
        for number, line in enumerate(lines, int(segment.lines[piece])):
            if number in matching[file]:
                found.append((file, (at, at + len(line))))
            at += len(line) + 1
    return found


@RELAXED
@given(searches(multiline=False), BLOCKS, CUTS, CUTS, st.sampled_from([0, 0, 1, 2, 5]))
@example(TWO, 1, [True] * 40, [False] * 40, 2)
def test_the_lines_found_are_those_of_the_definition(
    quick: Path,
    search: tuple[PatternSpec, list[bytes]],
    block: int,
    taken: list[bool],
    cuts: list[bool],
    wanted: int,
) -> None:
    spec, contents = search
    runs = stretches(segment_of(quick, contents, block), taken, cuts)
    if not len(runs.firsts):
        return
    expected: dict[int, list[Span]] = {}
    for file, line in defined(spec, contents, runs)[: wanted or None]:
        expected.setdefault(file, []).append(line)
    found: dict[int, list[Span]] = {}
    lines = found_lines(Counter(spec, "lines"), runs)
    for file, line in islice(lines, wanted or None):
        found.setdefault(file, []).append(line)
    assert found == expected
    assert list(found) == list(expected)


@RELAXED
@given(searches(multiline=False), BLOCKS, CUTS, CUTS, st.booleans())
@example(TWO, 1, [True] * 40, [False] * 40, True)
@example((PatternSpec("x*"), [b"", b"a\n", b"\n"]), 1, [True] * 40, [True] * 40, True)
def test_files_and_lines_are_counted_as_the_definition_says(
    quick: Path,
    search: tuple[PatternSpec, list[bytes]],
    block: int,
    taken: list[bool],
    cuts: list[bool],
    is_dense: bool,
) -> None:
    spec, contents = search
    runs = stretches(segment_of(quick, contents, block), taken, cuts)
    expected: dict[int, int] = {}
    for file, _ in defined(spec, contents, runs):
        expected[file] = expected.get(file, 0) + 1
    if not len(runs.firsts):
        return
    files, counts = matched(Counter(spec, "lines"), runs, is_dense)
    assert dict(zip(files.tolist(), counts.tolist(), strict=True)) == expected
    files, counts = matched(Counter(spec, "files"), runs, is_dense)
    assert dict(zip(files.tolist(), counts.tolist(), strict=True)) == dict.fromkeys(expected, 1)


@RELAXED
@given(searches(multiline=False), BLOCKS, CUTS, CUTS)
@example((PatternSpec("x*"), [b"", b"a\n", b"\n"]), 1, [True] * 40, [True] * 40)
@example((PatternSpec("^$"), [b"a\n", b"b\n", b"\n"]), 1, [True] * 40, [False] * 40)
@example((PatternSpec("a"), [b"ba\nb\nba\n", b"b\n", b"a"]), 1, [True] * 40, [False] * 40)
def test_stretches_are_cut_where_files_begin_and_each_is_matched(
    quick: Path,
    search: tuple[PatternSpec, list[bytes]],
    block: int,
    taken: list[bool],
    cuts: list[bool],
) -> None:
    spec, contents = search
    segment = segment_of(quick, contents, block)
    runs = stretches(segment, taken, cuts)
    if not len(runs.firsts):
        return
    expected: list[list[int]] = []
    before = -2
    for piece in pieces_of(runs):
        file, end = int(segment.owners[piece]), int(segment.ends[piece])
        if expected and piece == before + 1 and expected[-1][0] == file:
            expected[-1][2] = end
        else:
            expected.append([file, int(segment.starts[piece]), end])
        before = piece
    assert [list(row) for row in zip(*runs.by_file, strict=True)] == expected
    match = Counter(spec, "files").plain
    if match is not None:
        starts = [line[0] for _, line in defined(spec, contents, runs)]
        holding = [file for file, start, end in expected if any(start <= at < end for at in starts)]
        assert match_each(match, runs) == holding


LETTERS = st.lists(st.sampled_from([*"ab_ -\n\n"]), max_size=30).map("".join)


@RELAXED
@given(
    st.sampled_from(["a", "ab", r"a\b", r"\bb", "-", " "]),
    st.lists(LETTERS.map(str.encode), max_size=6),
    BLOCKS,
    CUTS,
    CUTS,
)
@example("a", [b"", b"a", b"a\n", b"b\na"], 1, [True] * 40, [False] * 40)
def test_a_literal_on_every_other_line_is_counted_file_by_file(
    quick: Path,
    pattern: str,
    contents: list[bytes],
    block: int,
    taken: list[bool],
    cuts: list[bool],
) -> None:
    spec = PatternSpec(pattern)
    runs = stretches(segment_of(quick, contents, block), taken, cuts)
    expected: dict[int, int] = {}
    for file, _ in defined(spec, contents, runs):
        expected[file] = expected.get(file, 0) + 1
    files, counts = matched(Counter(spec, "lines"), runs, is_dense=True)
    assert dict(zip(files.tolist(), counts.tolist(), strict=True)) == expected


@RELAXED
@given(searches(multiline=True), BLOCKS)
def test_whole_texts_are_matched_as_the_definition_says(
    quick: Path, search: tuple[PatternSpec, list[bytes]], block: int
) -> None:
    spec, contents = search
    segment = segment_of(quick, contents, block)
    kept = [at for at in range(len(contents)) if not segment.flags[at] & BINARY]
    texts = [text_of(contents[at]) for at in kept]
    matching = [TextMatcher(spec).matches(text, len(text)) for text in texts]
    files, counts = matched(Counter(spec, "files"), Texts(segment, np.array(kept, int)), False)
    assert files.tolist() == [at for at, matches in zip(kept, matching, strict=True) if matches]
    assert set(counts.tolist()) <= {1}


# ── portions ────────────────────────────────────────────────────────────────────────────────────

SIZES = st.lists(st.integers(0, 12), max_size=12)


def lines_of_length(size: int) -> bytes:
    return b"x" * (size - 1) + b"\n" if size else b""


@settings(max_examples=80, deadline=None)
@given(SIZES, st.integers(1, 40), st.booleans())
def test_texts_come_in_portions_as_small_as_may_be(
    quick: Path, sizes: list[int], size: int, reverse: bool
) -> None:
    segment = segment_of(quick, [lines_of_length(length) for length in sizes], 8)
    names = segment.all_names()
    files = list(range(len(sizes)))[:: -1 if reverse else 1]
    portions = list(Texts(segment, np.array(files, np.int64)).portions(size))
    lengths = [[sizes[int(names[file][1:])] for file in part.files.tolist()] for part in portions]
    assert [file for part in portions for file in part.files.tolist()] == files
    assert all(
        part.segment is segment and part.size == sum(own)
        for part, own in zip(portions, lengths, strict=True)
    )
    assert all(lengths)
    assert all(sum(own) >= size for own in lengths[:-1])
    assert all(sum(own[:-1]) < size for own in lengths)


@settings(max_examples=80, deadline=None)
@given(SIZES, st.integers(1, 40), CUTS, CUTS)
def test_stretches_come_in_portions_of_about_a_size(
    quick: Path, sizes: list[int], size: int, taken: list[bool], cuts: list[bool]
) -> None:
    segment = segment_of(quick, [lines_of_length(length) for length in sizes], 8)
    runs = stretches(segment, taken, cuts)
    portions = list(runs.portions(size))
    assert [piece for part in portions for piece in pieces_of(part)] == pieces_of(runs)
    assert runs.size == sum(len(piece_text(segment, piece)) for piece in pieces_of(runs))
    each = [part.size for part in runs.portions(1)]
    assert all(0 < part.size <= max(size + max(each), size * 3 // 2) for part in portions)


@settings(max_examples=80, deadline=None)
@given(SIZES, st.integers(1, 40), CUTS, CUTS)
def test_a_cut_takes_a_few_pieces_and_leaves_the_others(
    quick: Path, sizes: list[int], size: int, taken: list[bool], cuts: list[bool]
) -> None:
    segment = segment_of(quick, [lines_of_length(length) for length in sizes], 8)
    runs = stretches(segment, taken, cuts)
    assume(len(runs.firsts))
    middle = len(runs.firsts) // 2
    part, rest = runs.cut(size)
    assert sorted(pieces_of(part) + pieces_of(rest)) == pieces_of(runs)
    assert pieces_of(part)[0] == runs.firsts[middle]
    lengths = [len(piece_text(segment, piece)) for piece in pieces_of(part)]
    assert (rest.firsts < rest.pasts).all()
    assert sum(lengths[:-1]) < size
    assert sum(lengths) >= size or pieces_of(part)[-1] + 1 == runs.pasts[middle]


# ── trust ───────────────────────────────────────────────────────────────────────────────────────


def by_lines(runs: Runs) -> object:
    return list(found_lines(Counter(PatternSpec("x"), "lines"), runs))


def by_each(runs: Runs) -> object:
    return match_each(Counter(PatternSpec("x"), "files").plain, runs)


def by_counts(runs: Runs) -> object:
    return matched(Counter(PatternSpec("x"), "lines"), runs, False)


def by_files(runs: Runs) -> object:
    return matched(Counter(PatternSpec("x"), "files"), runs, False)


def by_texts(runs: Runs) -> object:
    spec = PatternSpec("x", multiline=True)
    return matched(Counter(spec, "files"), Texts(runs.segment, np.array([0, 1])), False)


@pytest.mark.parametrize("way", [by_lines, by_each, by_counts, by_files, by_texts])
def test_a_damaged_piece_is_never_matched(tmp_path: Path, way: Callable[[Runs], object]) -> None:
    with block_bytes(4):
        segment = made(tmp_path, {"a": b"one\ntwo\n", "b": b"six\n"})
    with open(segment.path, "r+b") as file:
        file.seek(int(segment.starts[1]))
        file.write(b"T")
    with pytest.raises(DamagedSegment) as refusal:
        way(Runs(segment, np.array([0]), np.array([3])))
    assert refusal.value.path == segment.path


def test_no_stretches_are_of_no_files(tmp_path: Path) -> None:
    with block_bytes(4):
        segment = made(tmp_path, {"a": b"one\n"})
    nothing = np.zeros(0, np.int64)
    assert Runs(segment, nothing, nothing).by_file == ([], [], [])
