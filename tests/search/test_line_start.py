"""Patterns that begin with `^`, looked for behind newlines, find the lines of the definition."""

from __future__ import annotations

import os

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from flashgrep.errors import InvalidPattern
from flashgrep.search.decode import lines_of, searchable_text
from flashgrep.search.match_lines import LineMatcher, LineStart, line_start
from flashgrep.search.pattern import (
    NOTHING,
    UNANCHORED,
    PatternSpec,
    check,
    compiled,
    matching_lines,
    split_lines,
)
from tests.search.strategies import patterns, texts

CASES = 5_000 if os.environ.get("FLASHGREP_HEAVY") else 15


def finder(spec: PatternSpec) -> LineStart | None:
    return line_start(spec, compiled("(?m)" + spec.flagged, never_newline=True))


@pytest.mark.parametrize(
    ("source", "is_understood"),
    [
        (r"^\s*[a-z]+\s*=\s*[0-9]+;$", True),
        ("^#", True),
        ("^$", True),
        ("^a|b", False),
        ("^(?:a|b)", True),
        ("(?i)^a", True),
        ("(?m:^)a", True),
        ("^a^b", True),
        ("^naïve", True),
        # one that stands for every place, and what could end in the next line
        ("^", False),
        ("^*a", False),
        (r"^a\n", False),
        (r"^[\n]", False),
        # the tree does not know these exactly
        ("^a.b", False),
        ("^[^a]", False),
        (r"^a\b", False),
        (r"^\W", False),
        ("a^", False),
        ("a", False),
    ],
)
def test_patterns_that_are_looked_for_behind_newlines(source: str, is_understood: bool) -> None:
    assert (finder(PatternSpec(source)) is not None) == is_understood


@st.composite
def begun(draw: st.DrawFn) -> PatternSpec:
    """A pattern that begins with `^` and is understood."""
    rest = draw(patterns())
    source = draw(st.sampled_from(["^{}", "^(?:{})", r"^\s*{}", "(?i)^{}"])).format(rest.source)
    spec = PatternSpec(source, rest.case_insensitive)
    try:
        check(spec)
    except InvalidPattern:
        assume(False)
    assume("-m" not in source and r"\A" not in source and r"\z" not in source)
    assume(finder(spec) is not None)
    return spec


@pytest.mark.timeout(900)
@settings(max_examples=CASES, deadline=None)
@given(begun(), texts(), st.sampled_from([b"", b"\n", b"ab\n", b"x\n\n"]))
@example(PatternSpec(r"^\s*a"), b"\n\n a\n", b"")
@example(PatternSpec("^$"), b"a\n\n\n", b"a\n")
@example(PatternSpec("^$"), b"a\n", b"")
@example(PatternSpec("^a*?b*"), b"aab\nb\n", b"")
@example(PatternSpec("(?i)^k[r-t]"), "\u212a\u017f\nKS\n".encode(), b"")
def test_the_lines_found_are_those_of_the_definition(
    spec: PatternSpec, text: bytes, before: bytes
) -> None:
    """At the begin of a buffer, or behind other lines."""
    start_finder = finder(spec)
    assert start_finder is not None
    lines = searchable_text(lines_of(text))
    expected = matching_lines(spec, text)
    buffer, start, end = before + lines + b"ab\n", len(before), len(before) + len(lines)
    assert start_finder.count(buffer, start, end) == len(expected)
    first, last = start_finder.find(buffer, start, end)
    if not expected:
        assert (first, last) == NOTHING
        return
    line = split_lines(text)[expected[0]]
    assert buffer.count(b"\n", start, first) == expected[0]
    begin = buffer.rfind(b"\n", start, first) + 1 or start
    span = compiled(spec.flagged).Match(UNANCHORED, line, 0, len(line))[0]
    assert (first - begin, last - begin) == span


@pytest.mark.parametrize("gap", [0, 1, 30, 5_000])
@pytest.mark.parametrize("source", ["^need", "^need[a-z]+$", r"^\s*needle"])
def test_a_common_literal_at_the_begin_of_rare_lines_is_counted(source: str, gap: int) -> None:
    text = (b"a needle, needle\n" * gap + b"needle\n  needle\n" * 3) * 3 + b"needle"
    spec = PatternSpec(source)
    buffer = searchable_text(lines_of(text))
    count = LineMatcher(spec).count(buffer, 0, len(buffer))
    assert count == len(matching_lines(spec, text))
