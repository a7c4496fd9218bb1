"""A plan may be too wide, never too narrow: whatever matches is among its candidates."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flashgrep.index.format.segment import Segment
from flashgrep.index.format.segment_set import segment_set
from flashgrep.index.plan import gram_tree, lookup, planner
from flashgrep.index.plan.lookup import Candidates
from flashgrep.search.decode import decoded, text_of
from flashgrep.search.match_count import TextMatcher
from flashgrep.search.pattern import PatternSpec, matching_lines, split_lines
from flashgrep.workspace.text import is_text
from tests.index.disguises import searches
from tests.index.segments import block_bytes, made, owner, piece_text

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") else 60
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
    candidates = set(Candidates(spec, segment_set([segment])).pieces.tolist())
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
@given(search=st.booleans().flatmap(lambda multiline: searches(multiline=multiline)))
@example(search=(PatternSpec("abcde[0-9]+f"), []))
@example(search=(PatternSpec("ab+"), []))
@example(search=(PatternSpec("abc\\ndef", False, True), []))
@example(search=(PatternSpec("return x$"), []))
def test_grams_of_certain_bytes_are_those_of_the_ways_through_them(
    search: tuple[PatternSpec, list[bytes]],
) -> None:
    spec, _ = search
    quickly = planner.plan.__wrapped__(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "_literal_gram", lambda singles: None)
        by_ways = staticmethod(lambda row, at: planner._grams([*planner._ways(row, at)], 4))
        patch.setattr(planner._Planner, "_whole", by_ways)
        assert planner.plan.__wrapped__(spec) == quickly


@given(text=st.text(st.sampled_from("abc _-9"), min_size=1, max_size=80), multiline=st.booleans())
def test_a_text_is_planned_as_its_characters_are(text: str, multiline: bool) -> None:
    parsed = PatternSpec(f"(?:{text})", multiline=multiline)  # the same, for the parser
    assert planner.plan(PatternSpec(text, multiline=multiline)) == planner.plan(parsed)


@RELAXED
@given(search=searches(multiline=True), block=BLOCKS)
@example(search=(PatternSpec("(?i)struct\\nkelvin", False, True), [b"STRUCT\nKelvin"]), block=1)
@example(search=(PatternSpec("ab\\n\\nab", False, True), [b"xab\n\nab"]), block=1)
def test_every_file_whose_whole_text_matches_is_a_candidate(
    quick: Path, search: tuple[PatternSpec, list[bytes]], block: int
) -> None:
    spec, contents = search
    segment = segment_of(quick, contents, block)
    candidates = Candidates(spec, segment_set([segment])).files
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


@pytest.fixture
def thorough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every gram is looked at, whether it is worth its while or not."""
    monkeypatch.setattr(lookup, "_FEW", 1)
    monkeypatch.setattr(lookup, "_IN_VAIN", 1_000)
    monkeypatch.setattr(lookup, "_LOOK", 0)
    monkeypatch.setattr(gram_tree, "_BACK_BYTES", 1_000)


NARROWED = pytest.mark.parametrize(
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
        # two characters after a run, and then the end or a gap: the ways back are known
        (r"[a-z]+\(s", "lower"),
        (r"[a-z]+\(s(?:tru|x)?", "lower"),
        (r"[0-9]+\.2", "version"),
        (r"[a-z]*\(s", EVERY),
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
        (r"\155utex_lock", EVERY),
    ],
)


@NARROWED
@pytest.mark.usefixtures("thorough")
def test_what_a_pattern_leaves_to_be_matched(lines: Segment, pattern: str, expected: str) -> None:
    pieces = Candidates(PatternSpec(pattern), segment_set([lines])).pieces
    found = {owner(lines, piece) for piece in pieces.tolist()}
    assert found == set(expected.split())


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> list[Segment]:
    """The same lines, each in another segment, and segments without any between them."""
    segments = []
    for name, text in LINES.items():
        directory = tmp_path_factory.mktemp("apart")
        segments.append(made(directory, {name.replace(" ", "-"): (text + "\n").encode()}))
        segments.append(made(directory, {"nothing": b""}, "none.seg"))
    return segments


@NARROWED
@pytest.mark.usefixtures("thorough")
def test_segments_asked_together_leave_as_little(
    apart: list[Segment], pattern: str, expected: str
) -> None:
    candidates = Candidates(PatternSpec(pattern), segment_set(apart))
    found = {
        owner(segment, piece)
        for number, segment in enumerate(apart)
        for piece in candidates.pieces_of(number).tolist()
    }
    assert found == set(expected.split())


# ── several segments ────────────────────────────────────────────────────────────────────────────


def segments_of(directory: Path, shares: list[list[bytes]], blocks: list[int]) -> list[Segment]:
    segments = []
    for number, (share, block) in enumerate(zip(shares, blocks, strict=False)):
        place = directory / str(number)
        place.mkdir(exist_ok=True)
        segments.append(segment_of(place, share, block))
    return segments


def matching_pieces(spec: PatternSpec, segment: Segment) -> set[int]:
    """The pieces that hold a match."""
    return {
        piece for piece in range(segment.pieces) if matching_lines(spec, piece_text(segment, piece))
    }


SHARES = st.lists(st.integers(0, 4), min_size=10, max_size=10)


@RELAXED
@given(searches(False), searches(False), SHARES, st.lists(BLOCKS, min_size=5, max_size=5))
def test_segments_asked_together_miss_no_more_than_each_alone(
    quick: Path,
    search: tuple[PatternSpec, list[bytes]],
    other: tuple[PatternSpec, list[bytes]],
    shares: list[int],
    blocks: list[int],
) -> None:
    spec, contents = search
    shared: list[list[bytes]] = [[] for _ in range(max(shares) + 1)]
    for share, data in zip(shares, contents + other[1], strict=False):
        shared[share].append(data)
    segments = segments_of(quick, shared, blocks)
    together = Candidates(spec, segment_set(segments))
    for number, segment in enumerate(segments):
        expected = matching_pieces(spec, segment)
        alone = Candidates(spec, segment_set([segment]))
        assert expected <= set(alone.pieces.tolist()), spec
        assert expected <= set(together.pieces_of(number).tolist()), spec
        assert together.pieces_of(number).tolist() == sorted(together.pieces_of(number).tolist())


LITERALS = ["needle", "needles", "thread", "_eed", "hay stack", "le\\.th"]


@pytest.mark.parametrize("sparse", [1, 64])
@RELAXED
@given(
    st.lists(st.sampled_from(LITERALS), min_size=2, max_size=9),
    st.lists(st.lists(st.sampled_from([*LITERALS, "le.thread", "x"]), max_size=4), max_size=12),
    st.lists(st.integers(0, 3), min_size=12, max_size=12),
)
def test_a_piece_may_hold_every_alternative_that_stands_in_it(
    quick: Path, sparse: int, literals: list[str], lines: list[list[str]], shares: list[int]
) -> None:
    shared: list[list[bytes]] = [[] for _ in range(4)]
    for share, words in zip(shares, lines, strict=False):
        shared[share].append((" ".join(words) + "\n").encode())
    whole = segment_set(segments_of(quick, shared, [1, 16, 64, 1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "_SPARSE", sparse)
        found = Candidates(PatternSpec("|".join(literals)), whole)
        bits = dict(zip(found.pieces.tolist(), found.alternatives(found.pieces), strict=True))
    for segment, (base, _) in zip(whole.segments, whole.pieces, strict=True):
        for piece in range(segment.pieces):
            text = piece_text(segment, piece)
            for at, literal in enumerate(literals):
                if literal.replace("\\", "").encode() in text:
                    held = bits[base + piece]
                    assert not held or held >> at & 1, (literals, literal, text)


@RELAXED
@given(searches(True), SHARES, st.lists(BLOCKS, min_size=5, max_size=5))
def test_whole_texts_of_segments_asked_together_are_not_missed(
    quick: Path, search: tuple[PatternSpec, list[bytes]], shares: list[int], blocks: list[int]
) -> None:
    spec, contents = search
    shared: list[list[bytes]] = [[] for _ in range(max(shares) + 1)]
    for share, data in zip(shares, contents, strict=False):
        shared[share].append(data)
    whole = segment_set(segments_of(quick, shared, blocks))
    candidates = Candidates(spec, whole).files
    assert len(candidates) == len(contents)
    for number, (segment, (base, _)) in enumerate(zip(whole.segments, whole.files, strict=True)):
        for file in range(segment.files):
            text = segment.text(file)
            if text and TextMatcher(spec).matches(text, len(text)):
                assert candidates[base + file], (spec, number, text)


def test_alternatives_are_kept_apart(tmp_path: Path) -> None:
    texts = [b"needle\n", b"thread\n", b"hay\n", b"needle thread\n"]
    whole = segment_set(segments_of(tmp_path, [texts], [1]))
    found = Candidates(PatternSpec("needle|thread"), whole)
    assert found.pieces.tolist() == [0, 1, 3]
    assert found.alternatives(found.pieces) == [1, 2, 3]
    folded = Candidates(PatternSpec("(?i)needle|thread"), whole)
    assert folded.alternatives(folded.pieces) == [0, 0, 0]


@pytest.mark.parametrize("pattern", ["needle", "needle|thread", "nee[dt]le", "eed"])
def test_what_stands_in_few_of_many_blocks_is_found_in_every_segment(
    tmp_path: Path, pattern: str
) -> None:
    """The postings are lists there, not bitmaps: a list is numbered from its segment's begin."""
    places = [[3], [0, 70], [], [99, 41, 42]]
    shares = [
        [b"needle %d\n" % at if at in held else b"hay %d\n" % at for at in range(100)]
        for held in places
    ]
    segments = segments_of(tmp_path, shares, [1] * len(shares))
    together = Candidates(PatternSpec(pattern), segment_set(segments))
    for number, segment in enumerate(segments):
        expected = matching_pieces(PatternSpec(pattern), segment)
        assert len(expected) == len(places[number])
        assert set(together.pieces_of(number).tolist()) == expected


@pytest.mark.parametrize("pattern", ["needle", "needle|thread", "(?i)needle", ".", r"\d\d\d\d"])
def test_without_segments_there_are_no_candidates(pattern: str) -> None:
    found = Candidates(PatternSpec(pattern), segment_set([]))
    assert found.pieces.tolist() == []
    assert found.alternatives(found.pieces) == []
    assert found.files.tolist() == []
