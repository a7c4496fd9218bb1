"""The lines of a page are those a person would copy out by hand."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.search.decode import decoded, text_of
from flashgrep.search.excerpts import FileExcerpts, context_line, intervals, match_line
from flashgrep.search.match_count import TextMatcher, line_starts, spanned_lines
from flashgrep.search.pattern import PatternSpec, matching_lines, split_lines
from flashgrep.search.result import Line, Page, ScanRequest
from flashgrep.search.scan.scanner import Scanner
from flashgrep.workspace.scope import Scope
from tests.search.strategies import patterns, texts

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") else 80


def by_hand(
    spec: PatternSpec, data: bytes, first: int, last: int, before: int, after: int
) -> list[Line]:
    """Number every line, mark those that match, keep the page's and their neighbours."""
    text = text_of(data) if spec.multiline else decoded(data)
    lines = split_lines(text) if not spec.multiline else text.removesuffix(b"\n").split(b"\n")
    if spec.multiline:
        spans = TextMatcher(spec).spans(text, len(text))
        matching = sorted(spanned_lines(spans, line_starts(text)))
    else:
        matching = matching_lines(spec, text)
    page = set(matching[first:last])
    wanted = {n + d for n in page for d in range(-before, after + 1)}
    return [
        (number + 1, number in page, line.decode("utf-8", "replace"))
        for number, line in enumerate(lines)
        if number in wanted
    ]


@settings(max_examples=CASES, deadline=None)
@given(
    spec=st.one_of(patterns(), patterns(multiline=True)),
    data=texts(),
    first=st.integers(0, 3),
    count=st.integers(1, 4),
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    window=st.integers(4, 64),
)
def test_a_page_holds_its_matches_and_their_neighbours(
    spec: PatternSpec,
    data: bytes,
    first: int,
    count: int,
    before: int,
    after: int,
    window: int,
) -> None:
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "WINDOW_BYTES", window)
        (Path(directory) / "file").write_bytes(data)
        scope = Scope(directory)
        request = ScanRequest(scope.workdir, spec, "lines", scope.packed)
        page = Page([("file", first, first + count)], before, after, False, 0, 0)
        shown = FileExcerpts(Scanner(request, scope)).page(page)
        scope.close()
    expected = by_hand(spec, data, first, first + count, before, after)
    assert shown == ([("file", expected)] if expected else [])


@pytest.mark.parametrize(
    ("numbers", "before", "after", "expected"),
    [
        ([10], 2, 2, [(8, 12)]),
        ([0], 5, 0, [(0, 0)]),
        ([10, 12], 1, 1, [(9, 13)]),
        ([10, 11], 0, 0, [(10, 11)]),
        ([10, 13], 1, 1, [(9, 14)]),
        ([10, 14], 1, 1, [(9, 11), (13, 15)]),
    ],
)
def test_ranges_that_touch_are_joined(
    numbers: list[int], before: int, after: int, expected: list[tuple[int, int]]
) -> None:
    assert intervals(numbers, before, after) == expected


def test_a_long_matching_line_is_shown_around_its_first_match() -> None:
    line = ("é" * 5000 + "needle" + "ü" * 5000).encode()
    span = (line.index(b"needle"), line.index(b"needle") + 6)
    assert match_line(line, 0, len(line), span) == (
        "..." + "é" * 500 + "needle" + "ü" * 500 + "... [column 5001, 10006 chars total]"
    )


def test_a_long_match_is_cut_itself() -> None:
    line = b"a" * 100 + b"x" * 3000 + b"b" * 100
    assert match_line(line, 0, len(line), (100, 3100)) == (
        "a" * 100 + "x" * 500 + "..." + "b" * 100 + " [column 101, 3200 chars total]"
    )


@pytest.mark.parametrize(("length", "is_cut"), [(1999, False), (2000, False), (2001, True)])
def test_a_context_line_is_cut_above_two_thousand_characters(length: int, is_cut: bool) -> None:
    line = ("é" * length).encode()
    expected = "é" * 2000 + f"... [truncated, {length} chars total]" if is_cut else "é" * length
    assert context_line(line, 0, len(line)) == expected
    if not is_cut:
        assert match_line(line, 0, len(line), (0, 2)) == expected
