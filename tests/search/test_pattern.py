"""What may take long is known before it is matched, and is not matched here."""

from __future__ import annotations

import os

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flashgrep.errors import InvalidPattern
from flashgrep.search import pattern
from flashgrep.search.decode import lines_of
from flashgrep.search.match_count import TextMatcher
from flashgrep.search.match_lines import _OWN_ENDS, line_matcher
from flashgrep.search.pattern import (
    NOTHING,
    UNANCHORED,
    PatternSpec,
    TooLong,
    check,
    compiled,
    is_predictable,
    never_empty,
    stays_in_line,
)
from tests.search.strategies import patterns, texts

CASES = 5_000 if os.environ.get("FLASHGREP_HEAVY") else 100
TAME = [
    "foo",
    "(?i)hello world",
    r"EXPORT_SYMBOL_GPL\(\w+_register",
    r"^\s*[a-z]+\s*=\s*[0-9]+;$",
    "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}",
    ".*foo.*bar.*",
    r"\d+\.\d+\.\d+",
    "a|b|c",
]
WILD = [".*a.{880}z", "foo.{0,500}bar", "[ab]*a[ab]{30}", "(a|b){30}", r"\pL{40}", "(a?){30}a{30}"]
SHORT = b"foo bar" + b"b" * 100 + b"\n"


@pytest.mark.parametrize("source", TAME)
def test_patterns_that_people_write_are_matched_here(source: str) -> None:
    assert is_predictable(PatternSpec(source))
    text = b"a b 1.2 foo\n" * 100_000
    line_matcher(PatternSpec(source)).find(text, 0, len(text))


@pytest.mark.parametrize("source", WILD)
def test_a_pattern_with_many_ambiguous_places_is_matched_here_only_if_the_text_is_short(
    source: str,
) -> None:
    matcher = line_matcher(PatternSpec(source))
    matcher.find(SHORT, 0, len(SHORT))
    text = b"foo bar" + b"b" * 1_000_000 + b"\n"
    with pytest.raises(TooLong):
        matcher.find(text, 0, len(text))
    with pytest.raises(TooLong):
        list(matcher.spans_in_line(text, 0, len(text)))


@pytest.mark.parametrize("source", WILD)
def test_such_a_pattern_is_given_up_after_a_while_on_short_texts_too(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.search.pattern.BRIEF_SECONDS", 0.0)
    matcher = line_matcher(PatternSpec(source))
    with pattern.briefly(), pytest.raises(TooLong):
        matcher.find(SHORT, 0, len(SHORT))
    matcher.find(SHORT, 0, len(SHORT))


def test_a_text_with_a_match_at_every_byte_is_not_gone_through_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flashgrep.search.pattern.HERE_SECONDS", 0.0)
    text = b"x" * 1_000
    with pytest.raises(TooLong):
        list(TextMatcher(PatternSpec(".", multiline=True)).spans(text, len(text)))
    with pytest.raises(TooLong):
        list(line_matcher(PatternSpec("x")).spans_in_line(text, 0, len(text)))
    assert TextMatcher(PatternSpec(".", multiline=True)).matches(text, len(text))


def test_the_command_line_itself_may_take_long() -> None:
    text = b"x" * 100_000
    spans = TextMatcher(PatternSpec(".", multiline=True), may_take_long=True)
    assert sum(1 for _ in spans.spans(text, len(text))) == len(text)


@pytest.mark.parametrize("source", [r"\pL{60}", r"\pL{500}", r"\pL{1000}", r"(\pL{10}){10}"])
def test_a_pattern_that_compiles_to_too_much_is_refused_with_the_limit(source: str) -> None:
    with pytest.raises(InvalidPattern, match="60,000"):
        check(PatternSpec(source))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("foo(?=bar)", "(?= is look-around, which RE2 does not have; match what is around too"),
        ("(?<!x)y", "(?<! is look-around, which RE2 does not have"),
        (r"(a)\1", r"\1 is a backreference, which RE2 does not have; write the text out"),
        ("(?P<n>a)(?P=n)", "(?P= is a backreference, which RE2 does not have"),
        ("a{1001}", "invalid repetition size: {1001}; at most 1,000"),
        ("(unclosed", "missing ): (unclosed. The syntax is RE2 (as in Go)"),
        (r"\h", r"invalid escape sequence: \h. The syntax is RE2 (as in Go)"),
    ],
)
def test_what_other_engines_have_is_refused_by_its_name(source: str, told: str) -> None:
    with pytest.raises(InvalidPattern) as refused:
        check(PatternSpec(source))
    assert refused.value.message.startswith(f"Invalid regex pattern: {told}")


@pytest.mark.parametrize("source", [".{1000}", r"\pL{40}", "x" * 9_000])
def test_a_large_pattern_below_the_limit_is_not_refused(source: str) -> None:
    check(PatternSpec(source))


@settings(max_examples=CASES, deadline=None)
@given(spec=patterns(multiline=True), text=texts(12))
def test_what_is_said_of_matches_is_true_of_every_match(spec: PatternSpec, text: bytes) -> None:
    for first, last in TextMatcher(spec).spans(text, len(text)):
        assert last > first or not never_empty(spec)
        assert b"\n" not in text[first:last] or not stays_in_line(spec)


@settings(max_examples=CASES, deadline=None)
@given(spec=patterns(), text=texts(12), most=st.integers(1, 8))
def test_a_text_in_stretches_of_lines_matches_where_the_whole_of_it_does(
    spec: PatternSpec, text: bytes, most: int
) -> None:
    assume(not _OWN_ENDS.search(spec.source))  # those are matched line by line
    lines = lines_of(text)
    regex = compiled("(?m)" + spec.flagged, never_newline=True)
    end = len(lines)
    whole = regex.Match(UNANCHORED, lines, 0, end)[0]
    try:
        parts = pattern._BoundedLines(regex, most).Match(UNANCHORED, lines, 0, end)[0]
    except TooLong:
        assert max(map(len, lines.split(b"\n"))) >= most
        return
    assert (parts if parts[0] < end else NOTHING) == (whole if whole[0] < end else NOTHING)
