"""The lines to show of a file, against the definition: match every line alone, then look around."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.search.pattern import PatternSpec, matching_lines, split_lines
from flashgrep.terminal.printing import Hit, Looking

PATTERNS = ("a", "b", "^a", "a$", "ab|ba", "^$", "a.a", r"\bab\b", "[^a]")
TEXTS = st.text("ab\n\r é", max_size=60).map(lambda text: text.encode())


@pytest.fixture(scope="module", autouse=True)
def small_windows() -> Iterator[None]:
    """Files are read in windows; these are small enough that matches lie on both sides of a cut."""
    before, limits.WINDOW_BYTES = limits.WINDOW_BYTES, 16  # type: ignore[misc]
    yield
    limits.WINDOW_BYTES = before  # type: ignore[misc]


def shown(data: bytes, looking: Looking) -> list[Hit]:
    fd = os.memfd_create("hits")
    try:
        os.write(fd, data)
        return list(looking.hits(fd))
    finally:
        os.close(fd)


def defined(
    data: bytes, spec: PatternSpec, before: int, after: int, most: int
) -> list[tuple[int, bytes, bool]]:
    lines, matching = split_lines(data), matching_lines(spec, data)
    wanted = matching[: most or None]
    near = {line for each in wanted for line in range(each - before, each + after + 1)}
    return [
        (number + 1, line, number in matching)
        for number, line in enumerate(lines)
        if number in near
    ]


@given(TEXTS, st.sampled_from(PATTERNS), *[st.integers(0, 3)] * 3)
def test_hits_are_the_definition(
    data: bytes, pattern: str, before: int, after: int, most: int
) -> None:
    spec = PatternSpec(pattern)
    hits = shown(data, Looking(spec, before, after, most))
    found = [(hit.number, hit.text, hit.is_match) for hit in hits]
    assert found == defined(data, spec, before, after, most)


@given(TEXTS.filter(lambda data: b"\r" not in data), st.sampled_from(PATTERNS))
def test_offsets_and_spans_lead_to_the_match(data: bytes, pattern: str) -> None:
    looking = Looking(PatternSpec(pattern), 1, 1, 0)
    for hit in shown(data, looking):
        assert data[hit.offset :].startswith(hit.text)
        ends = [end for span in looking.spans(hit) for end in span]
        assert ends == sorted(ends)
        assert all(0 <= end <= len(hit.text) for end in ends)


BLOCKS = [
    # text, pattern, hits as (number, text, match?)
    (b"a\nb\nc\n", r"a\nb", [(1, b"a\nb", True)]),
    (b"a\nb\na\nb\n", r"a\nb", [(1, b"a\nb", True), (3, b"a\nb", True)]),
    (b"ab\nab\nc", r"b\na|b\nc", [(1, b"ab\nab\nc", True)]),
    (b"x\na\nb\ny\n", r"a\nb", [(1, b"x", False), (2, b"a\nb", True), (4, b"y", False)]),
    (b"a", "(?m)$", [(1, b"a", True)]),
]


@pytest.mark.parametrize(("text", "pattern", "expected"), BLOCKS, ids=range(len(BLOCKS)))
def test_lines_that_a_match_spans_stand_together(
    text: bytes, pattern: str, expected: list[tuple[int, bytes, bool]]
) -> None:
    around = 1 if len(expected) == 3 else 0
    hits = shown(text, Looking(PatternSpec(pattern, multiline=True), around, around, 0))
    assert [(hit.number, hit.text, hit.is_match) for hit in hits] == expected
