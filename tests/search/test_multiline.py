"""The lines that matches reach are those of a loop over every match, and cost far less."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep.search import match_count
from flashgrep.search.match_count import TextMatcher, line_starts, spanned_lines
from flashgrep.search.pattern import PatternSpec
from tests.search.strategies import patterns, texts

SOURCES = [".", "a", "a*", "a|b", r"a\nb|a", r"a\s*", r"[^a]", r"(?m)^.*$", r"b\n*", r"\ba", "a?b?"]


@example(spec=PatternSpec("a*", multiline=True), text=b"\n\xa0", most=0, look_after=1)
@settings(max_examples=5_000 if os.environ.get("FLASHGREP_HEAVY") else 150, deadline=None)
@given(
    spec=st.one_of(
        patterns(multiline=True),
        st.sampled_from(SOURCES).map(lambda source: PatternSpec(source, multiline=True)),
    ),
    text=texts(12),
    most=st.integers(0, 4),
    look_after=st.sampled_from([1, 2, 64]),
)
def test_the_lines_reached_are_those_of_all_matches(
    spec: PatternSpec, text: bytes, most: int, look_after: int
) -> None:
    matcher, starts = TextMatcher(spec), line_starts(text)
    expected = spanned_lines(matcher.spans(text, len(text)), starts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match_count, "_LOOK_AFTER", look_after)
        found = matcher.reached(text, starts, most)
    assert list(found) == list(expected)[: most or None]
    for line, span in found.items():
        assert matcher.first_reaching(text, span, starts[line]) == expected[line]


class Counting:
    """RE2's search, counted."""

    def __init__(self, match: Any) -> None:
        self._match = match
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self._match(*arguments)


@pytest.mark.parametrize(
    ("source", "most"), [(".", 66), ("[a-z]", 101), ("x*", 101), (r"\w|\n", 66)]
)
def test_a_pattern_that_matches_everywhere_costs_a_call_a_line_at_most(
    source: str, most: int
) -> None:
    text = b"abcdefghijklmnopqrstuvwxyz" * 4 + b"\n"
    matcher = TextMatcher(PatternSpec(source, multiline=True), may_take_long=True)
    counted = [Counting(matcher._match), Counting(matcher._rows)]
    matcher._match = counted[0]
    if matcher._rows is not None:
        matcher._rows = counted[1]
    assert len(matcher.reached(text * 100, line_starts(text * 100))) == 100
    assert 0 < sum(one.calls for one in counted) <= most
