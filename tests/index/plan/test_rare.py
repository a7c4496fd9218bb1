"""Grams that few blocks hold are looked up without arrays, and no match is lost by it."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from flashgrep.index.format.segment_set import SegmentSet, segment_set
from flashgrep.index.plan import lookup, rare
from flashgrep.index.plan.gram_tree import GramTree
from flashgrep.index.plan.lookup import Candidates
from flashgrep.index.plan.planner import plan
from flashgrep.index.plan.rare import rare_blocks
from flashgrep.search.pattern import PatternSpec, matching_lines
from tests.index.segments import block_bytes, made

WORDS = [b"needle", b"thread", b"haystack", b"hay", b"red", b"treads", b"PM_RESUME", b"sum(x)"]
PATTERNS = [
    *("needle", "thread", "PM_RESUME", "threads", "nowhere", "treads", "haystack and", "stackred"),
    *(r"sum\(x\)", r"PM_\w+", r"need\w+thread", "needle|treads", "needle|nowhere", "hay|red|sum"),
    *("need|PM_RESUME|thread", r"th\d", "(?i)needle", "^thread$"),
]


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> SegmentSet:
    """Three segments of many small blocks: rare words have lists, common ones bitmaps."""
    chance = Random(11)
    parts = []
    with block_bytes(64):
        for number in range(3):
            files = {}
            for at in range(30):
                words = chance.choices(WORDS, [1, 2, 40, 40, 40, 1, 1, 5 * number], k=30)
                files[f"{at:02}.txt"] = b"".join(
                    word + chance.choice([b" ", b"\n"]) for word in words
                )
            directory = tmp_path_factory.mktemp(f"rare{number}")
            parts.append(made(directory, files, f"{number}.seg"))
    return segment_set(parts)


@cache
def holding(found: SegmentSet, spec: PatternSpec) -> frozenset[int]:
    """The pieces that hold a match, by the definition."""
    pieces = set()
    for segment, (base, _) in zip(found.segments, found.pieces, strict=True):
        for at in range(segment.pieces):
            text = bytes(segment.buffer[int(segment.starts[at]) : int(segment.ends[at])])
            if matching_lines(spec, text):
                pieces.add(base + at)
    return frozenset(pieces)


@pytest.mark.parametrize("short", [4, 32, 256, 4096])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_match_is_in_a_candidate(
    segments: SegmentSet, monkeypatch: pytest.MonkeyPatch, pattern: str, short: int
) -> None:
    monkeypatch.setattr(rare, "_SHORT_BYTES", short)
    monkeypatch.setattr(lookup, "_TREES", type(lookup._TREES)())
    spec = PatternSpec(pattern)
    for _ in range(2):  # the second time it is remembered
        found = Candidates(spec, segments)
        assert holding(segments, spec) <= set(found.pieces.tolist())
        parts = [holding(segments, PatternSpec(part)) for part in pattern.split("|")]
        for piece, bits in zip(
            found.pieces.tolist(), found.alternatives(found.pieces), strict=True
        ):
            own = [at for at, part in enumerate(parts) if piece in part]
            assert not bits or all(bits >> at & 1 for at in own)


def test_rare_words_are_found_in_their_blocks_alone(segments: SegmentSet) -> None:
    def blocks(pattern: str) -> dict[int, int] | None:
        return rare_blocks(segments, GramTree(plan(PatternSpec(pattern)), segments.pilot))

    assert blocks("nowhere") == {}
    needles = holding(segments, PatternSpec("needle"))
    found = blocks("needle")
    assert found is not None
    assert list(found) == sorted(found)
    assert len(found) <= len(needles) + 2
    both = blocks("needle|treads")
    assert both is not None
    assert set(both.values()) <= {1, 2, 3}
    assert blocks("haystack") is None  # it is everywhere
    assert blocks(r"[a-f]{4}") is None


def test_a_gram_that_was_looked_up_in_vain_is_the_last(
    segments: SegmentSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    posting = rare._posting

    def noted(found: SegmentSet, number: int, key: int) -> tuple[int, int, int]:
        asked.append(key)
        return posting(found, number, key)

    monkeypatch.setattr(rare, "_posting", noted)
    tree = GramTree(plan(PatternSpec("PM_RESUME")), segments.pilot)
    found = rare_blocks(segments, tree)
    assert found is not None
    assert len(found) > rare._FEW
    # the pilot is asked for all; the others for the rarest one, and for one more
    assert len(asked) == len(tree.lows) + 2 * len(segments.segments)
