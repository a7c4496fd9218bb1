"""A plan may be too wide, never too narrow: whatever matches is among its candidates."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flashgrep.index.candidates import Candidates
from flashgrep.index.ground import ground
from flashgrep.index.planner import plan
from flashgrep.index.segment import Segment
from flashgrep.search.haystack import decoded, text_of
from flashgrep.search.multiline import TextMatcher
from flashgrep.search.pattern import PatternSpec, matching_lines, split_lines
from flashgrep.workspace.sniffing import is_text
from tests.index.disguises import searches
from tests.index.segments import block_bytes, made, owner, piece_text

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") else 120
BLOCKS = st.sampled_from([1, 16, 64, 32 * 1024])
RELAXED = settings(max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def segment_of(directory: Path, contents: list[bytes], block: int) -> Segment:
    with block_bytes(block):
        return made(directory, {f"f{at}": data for at, data in enumerate(contents)})


@pytest.fixture(scope="module")
def quick() -> Iterator[Path]:
    """A directory in memory where there is one: each example writes and syncs a segment."""
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as directory:
        yield Path(directory)


@RELAXED
@given(search=searches(multiline=False), block=BLOCKS)
@example(search=(PatternSpec("(?i)kelvin"), ["\u212aelvin".encode()]), block=64)
@example(search=(PatternSpec("mask", True), ["ma\u017fk".encode()]), block=64)
@example(search=(PatternSpec("ab$"), [b"ab"]), block=1)
@example(search=(PatternSpec("abc"), [b"xabc\r\n", b"abc\r"]), block=1)
def test_the_piece_of_every_matching_line_is_a_candidate(
    quick: Path, search: tuple[PatternSpec, list[bytes]], block: int
) -> None:
    spec, contents = search
    segment = segment_of(quick, contents, block)
    candidates = set(Candidates(plan(spec), ground([segment])).pieces.tolist())
    for at, data in enumerate(contents):
        if not is_text(data[:512]):
            continue
        lines = split_lines(decoded(data))
        matching = set(matching_lines(spec, decoded(data)))
        for piece in range(int(segment.first[at]), int(segment.first[at + 1])):
            first = int(segment.lines[piece])
            held = range(first, first + piece_text(segment, piece).count(b"\n"))
            found = matching & set(held)
            assert piece in candidates or not found, (spec, [lines[number] for number in found])


@RELAXED
@given(search=searches(multiline=True), block=BLOCKS)
@example(search=(PatternSpec("(?i)struct\\nkelvin", False, True), [b"STRUCT\nKelvin"]), block=1)
@example(search=(PatternSpec("ab\\n\\nab", False, True), [b"xab\n\nab"]), block=1)
def test_every_file_whose_whole_text_matches_is_a_candidate(
    quick: Path, search: tuple[PatternSpec, list[bytes]], block: int
) -> None:
    spec, contents = search
    segment = segment_of(quick, contents, block)
    candidates = Candidates(plan(spec), ground([segment])).files
    for at, data in enumerate(contents):
        text = text_of(data)
        if is_text(data[:512]) and TextMatcher(spec).matches(text, len(text)):
            assert candidates[at], (spec, text)


# ── and it narrows ──────────────────────────────────────────────────────────────────────────────

LINES = {
    "lower": "static void mutex_lock(struct mutex *lock)",
    "upper": "#define MUTEX_LOCK 1",
    "version": "version 1.25.3",
    "digits": "123456789",
    "kelvin": "\u212aelvin scale",
    "long s": "ma\u017fk",
    "mask": "Mask",
    "naive": "naïve and 日本語",
    "end": "return",
    "begin": "    return 0;",
    "empty": "",
}
EVERY = " ".join(name.replace(" ", "-") for name in LINES)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Segment:
    """Every line a file, every file a block."""
    with block_bytes(1):
        files = {name.replace(" ", "-"): (text + "\n").encode() for name, text in LINES.items()}
        return made(tmp_path_factory.mktemp("lines"), files)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        # literals: case counts
        ("mutex_lock", "lower"),
        ("MUTEX_LOCK", "upper"),
        ("no such thing", ""),
        ("日本", "naive"),
        ("naïve", "naive"),
        # three bytes are a range of keys, two say nothing
        ("loc", "lower"),
        ("lo", EVERY),
        # sets and repetitions
        (r"\d+\.\d+", "version digits"),
        (r"\d+\.\d+\.\d+", "version"),
        (r"[0-9]{4,}", "digits"),
        ("[mM]ute[xX]_", "lower"),
        ("mutex_+lock", "lower"),
        (r"mutex\s*_lock", "lower"),
        ("mutex.*lock", "lower"),
        ("(?:mutex){2}", "lower"),
        # one of several: any of them
        ("mutex_lock|version", "lower version"),
        ("mutex_lock|.", EVERY),
        ("(?:mutex|Mask)(?:_lock|$)", "lower mask"),
        ("x?mutex", "lower"),
        # the end of a line is a byte of the pack
        ("return$", "end"),
        ("^return", "end begin"),
        (r"\breturn\b", "end begin"),
        # both cases; what folds to k and s from outside ASCII stays
        ("(?i)mutex_lock", "lower upper kelvin long-s"),
        ("(?i)kelvin", "kelvin long-s"),
        ("(?i:m)ask", "mask kelvin long-s"),
        ("(?i)m(?-i)ask", "mask kelvin long-s"),
        ("ma\u017fk", "long-s"),
        (r"\QMask\E", "mask"),
        # nothing is known: everything
        (".", EVERY),
        ("^$", EVERY),
        (r"\pL+", EVERY),
        ("(mutex_lock)?", EVERY),
        ("interface{}", EVERY),
    ],
)
def test_what_a_pattern_leaves_to_be_matched(lines: Segment, pattern: str, expected: str) -> None:
    pieces = Candidates(plan(PatternSpec(pattern)), ground([lines])).pieces
    found = {owner(lines, piece) for piece in pieces.tolist()}
    assert found == set(expected.split())
