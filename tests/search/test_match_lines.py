"""The fast ways of matching give the definition's answer."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep.search.decode import lines_of, searchable_text
from flashgrep.search.match_count import Counter
from flashgrep.search.match_lines import LineMatcher
from flashgrep.search.pattern import NOTHING, UNANCHORED, PatternSpec, compiled, split_lines
from flashgrep.search.pattern import matching_lines as defined_lines
from flashgrep.search.syntax import literal_alternatives, needs_newline, required_literals
from tests.search.strategies import patterns, texts

CASES = 50_000 if os.environ.get("FLASHGREP_HEAVY") else 120


def fast_lines(spec: PatternSpec, text: bytes) -> list[int]:
    """Line numbers as the matcher finds them in the prepared buffer."""
    buffer = searchable_text(lines_of(text))
    found = LineMatcher(spec).lines(buffer, 0, len(buffer))
    return [buffer.count(b"\n", 0, start) for start, _ in found]


@settings(max_examples=CASES, deadline=None)
@given(patterns(), texts())
@example(PatternSpec("$"), b"")
@example(PatternSpec("x*"), b"a\n")
@example(PatternSpec("^$"), b"a\n\n")
@example(PatternSpec("a$"), b"a\r\nb\ra\r")
@example(PatternSpec(r"\s"), b"a\n\r\r\n")
@example(PatternSpec("[^a]"), b"\n\na\n")
@example(PatternSpec("(?i)s"), "ſ".encode())
@example(PatternSpec("ab|_1"), b"a_1\nab")
def test_the_buffer_matcher_finds_the_lines_of_the_definition(
    spec: PatternSpec, text: bytes
) -> None:
    assert fast_lines(spec, text) == defined_lines(spec, text)


@settings(max_examples=CASES, deadline=None)
@given(patterns(), texts(12))
def test_every_matching_line_holds_a_required_literal(spec: PatternSpec, text: bytes) -> None:
    literals = required_literals(spec.source)
    if literals is None or spec.case_insensitive:
        return
    regex = compiled(spec.flagged)
    for line in split_lines(text):
        if regex.Match(UNANCHORED, line, 0, len(line))[0][0] >= 0:
            assert any(literal in line for literal in literals)


@settings(max_examples=CASES // 4, deadline=None)
@given(patterns(), texts())
def test_counts_agree_with_the_lines_found(spec: PatternSpec, text: bytes) -> None:
    buffer = searchable_text(lines_of(text))
    count = Counter(spec, "lines").in_lines(buffer, 0, len(buffer))
    exists = Counter(spec, "files").in_lines(buffer, 0, len(buffer))
    assert count == len(defined_lines(spec, text))
    assert exists == (count > 0)


@pytest.mark.parametrize("pattern", [r"\bneedle\b", r"x.*needle", r"needle$", r"^.needle"])
@pytest.mark.parametrize("gap", [0, 1, 30, 2_000, 70_000])
def test_matches_that_stand_close_or_far_are_all_counted(pattern: str, gap: int) -> None:
    hay = b"hay\n" * gap
    text = (b"x needle\n" * 5 + hay + b"xneedles\n") * 3 + hay + b"x needle\n" * 2 + b"needle"
    spec = PatternSpec(pattern)
    buffer = searchable_text(lines_of(text))
    count = Counter(spec, "lines").in_lines(buffer, 0, len(buffer))
    assert count == len(defined_lines(spec, text))


def test_a_common_literal_with_a_rare_pattern_is_still_found_in_every_line() -> None:
    rare = {0, 777, 5_000, 9_999}
    text = b"".join(
        b"struct thing_ops x_ops = {\n" if n in rare else b"struct other *pointer;\n" * 1
        for n in range(10_000)
    )
    spec = PatternSpec(r"[a-z]+ \w+_ops \w+_ops = \{")
    assert set(fast_lines(spec, text)) == rare


@settings(max_examples=CASES // 4, deadline=None)
@given(patterns(), st.lists(st.tuples(texts(12), st.sampled_from([1, 3, 60])), max_size=4))
@example(PatternSpec(r"a.*bb"), [(b"bb\n", 60), (b"a\n", 60), (b"abb\n", 3), (b"bb\nabb", 60)])
@example(PatternSpec(r"\w+bb|[ab]+aa$"), [(b"bb\n", 60), (b"baa\n", 60), (b"aab\n", 60)])
def test_what_a_matcher_learned_of_one_text_changes_nothing_in_the_next(
    spec: PatternSpec, made: list[tuple[bytes, int]]
) -> None:
    matcher = LineMatcher(spec)
    parts = [searchable_text(lines_of(text.replace(b"\r", b""))) * times for text, times in made]
    buffer, start = b"".join(parts), 0
    for part in parts:
        end = start + len(part)
        expected = defined_lines(spec, part)
        found = matcher.find(buffer, start, end)[0]
        assert (found < 0) if not expected else buffer.count(b"\n", start, found) == expected[0]
        assert matcher.count(buffer, start, end) == len(expected)
        spans = list(matcher.lines(buffer, start, end))
        assert [buffer.count(b"\n", start, first) for first, _ in spans] == expected
        start = end


@pytest.mark.parametrize("first", ["needle", "threads"])
def test_one_of_several_literals_is_found_wherever_it_stands(first: str) -> None:
    """They are looked for in windows, which one may stand across."""
    spec = PatternSpec(r"[a-z](needle|threads)\d")
    for gap in (*range(4_080, 4_104), *range(12_270, 12_296)):
        text = b"." * gap + b"\nx" + first.encode() + b"1\nneedle1 threads\nxneedle2 xthreads2\n"
        assert fast_lines(spec, text) == defined_lines(spec, text) == [1, 3]


# ── alternatives that are literals ──────────────────────────────────────────────────────────────

ALPHABET = "zq_e té.("
"""Rare in source code, and common: a literal is looked for from its rarest character on."""


@st.composite
def alternations(draw: Any) -> tuple[list[str], bytes]:
    """Literals that share beginnings, tails and insides, and a text made of them."""
    whole = draw(st.text(ALPHABET, min_size=6, max_size=12))
    places = st.tuples(st.integers(0, len(whole) - 2), st.integers(2, len(whole)))
    inside = places.map(lambda place: whole[place[0] : place[0] + place[1]])
    mixed = st.tuples(inside, inside).map("".join)
    literals = draw(st.lists(st.one_of(inside, mixed), min_size=2, max_size=6))
    piece = st.one_of(st.sampled_from(literals), inside, st.sampled_from([*ALPHABET, "\n", "\n"]))
    repeated = st.tuples(piece, st.sampled_from([1, 1, 1, 1, 2, 60])).map(lambda p: p[0] * p[1])
    return literals, "".join(draw(st.lists(repeated, max_size=12))).encode()


def alternation(literals: list[str]) -> PatternSpec:
    quoted = ["".join(f"\\{c}" if c in ".(" else c for c in literal) for literal in literals]
    return PatternSpec("|".join(quoted))


def same_tails(count: int) -> bytes:
    return b"ezqzq\n" * count + b"_zqzq\nt zqzq\n"


@settings(max_examples=CASES // 2, deadline=None)
@given(alternations(), st.integers(1, 63))
@example((["_zqzq", "t zqzq"], same_tails(60)), 2)
def test_where_only_some_alternatives_can_stand_the_others_are_not_missed(
    made: tuple[list[str], bytes], alternatives: int
) -> None:
    literals, text = made
    chosen = [literal for at, literal in enumerate(literals) if alternatives >> at & 1]
    lines = searchable_text(lines_of(text))
    matcher = LineMatcher(alternation(literals)).among(alternatives)
    expected = defined_lines(alternation(chosen or literals), text)
    spans = list(matcher.lines(lines, 0, len(lines)))
    assert [lines.count(b"\n", 0, start) for start, _ in spans] == expected
    assert matcher.count(lines, 0, len(lines)) == len(expected)
    assert (matcher.find(lines, 0, len(lines))[0] >= 0) == bool(expected)


@settings(max_examples=CASES // 2, deadline=None)
@given(alternations())
@example((["_zqzq", "t zqzq"], same_tails(60)))
@example((["tee", "te"], b"tee\n"))
@example((["te", "tee"], b"xtee\nx\nxte"))
@example((["eezqzq", "zqz"], b"zqeezqzq"))
def test_literals_are_found_in_the_lines_of_the_definition(
    made: tuple[list[str], bytes],
) -> None:
    literals, text = made
    spec = alternation(literals)
    matcher = LineMatcher(spec)
    assert literal_alternatives(spec.source) == literals
    # More lines around, which hold every literal: they are none of the region's.
    around = "".join(literal + "\n" for literal in literals).encode()
    lines = searchable_text(lines_of(text))
    buffer, start, end = around + lines + around, len(around), len(around) + len(lines)
    spans = list(matcher.lines(buffer, start, end))
    expected = defined_lines(spec, text)
    assert [buffer.count(b"\n", start, first) for first, _ in spans] == expected
    assert all(
        buffer[first:last] == split_lines(lines)[number]
        for (first, last), number in zip(spans, expected, strict=True)
    )
    found = matcher.find(buffer, start, end)
    if not expected:
        assert found == NOTHING
        return
    first, line = spans[0][0], split_lines(lines)[expected[0]]
    begin, past = compiled(spec.flagged).Match(UNANCHORED, line, 0, len(line))[0]
    assert found == (first + begin, first + past)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ab|cd", ["ab", "cd"]),
        ("cd|ab|cd", ["cd", "ab", "cd"]),
        ("abc", ["abc"]),
        ("TODO|FIXME|é", ["TODO", "FIXME", "é"]),
        (r"a\.b|\x41B|\Qc*\E", ["a.b", "AB", "c*"]),
        (r"a\nb|cd", ["a\nb", "cd"]),
        # one alternative that is more than a literal, or nothing
        ("ab|c.", []),
        ("ab|c+", []),
        ("ab|", []),
        ("|ab", []),
        ("ab||cd", []),
        ("ab|[cd]", []),
        (r"ab|\bcd", []),
        ("^ab|cd", []),
        ("ab|cd$", []),
        ("", []),
        # case does not count
        ("(?i)ab|cd", []),
        ("ab|(?i:c)d", []),
        # not understood
        ("ab|interface{}", []),
        ("(", []),
    ],
)
def test_the_alternatives_of_a_pattern_of_literals(pattern: str, expected: list[str]) -> None:
    assert literal_alternatives(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("mutex_lock", {b"mutex_lock"}),
        (r"\bfoo_bar\b", {b"foo_bar"}),
        (r"[A-Z]+_SUSPEND", {b"_SUSPEND"}),
        (r"spin_lock\(&\w+->lock", {b"spin_lock(&"}),
        ("TODO|FIXME", {b"TODO", b"FIXME"}),
        ("(?:abc|de)f+ghi", {b"ghi"}),
        ("(abc|defg)", {b"abc", b"defg"}),
        ("ab?cd", {b"cd"}),
        ("ab{0,3}", {b"a"}),
        ("ab{2}cde", {b"cde"}),
        ("x(foo)?yz", {b"yz"}),
        # not understood, or nothing required
        ("(?i)foo", None),
        ("a*", None),
        ("foo|b*", None),
        (r"\w+\s+\w+", None),
        ("interface{}", None),
        ("ab{2,\N{SUPERSCRIPT TWO}}cde", None),
        ("ab{2,\N{ARABIC-INDIC DIGIT THREE}}cde", None),
        (r"\Qa.b\E", {b"a.b"}),
        (r"\x41BC", {b"ABC"}),
        ("(?=foo)", None),
        # what is begun does not end
        (r"foo\p{Lu", None),
        (r"foo\x{41", None),
        ("foo[[:alpha", None),
        ("foo(?P<name", None),
        (r"foo\Qbar", {b"foobar"}),
    ],
)
def test_required_literals(pattern: str, expected: set[bytes] | None) -> None:
    assert required_literals(pattern) == (frozenset(expected) if expected else None)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"foo\nbar", True),
        ("a\nb", True),
        (r"(a\nb|c\n)", True),
        (r"a\n?b", False),
        (r"a|\n", False),
        ("foo", False),
        (r"\s", False),
        (r"[\n]", True),
    ],
)
def test_a_pattern_that_needs_a_newline_is_known(pattern: str, expected: bool) -> None:
    assert needs_newline(pattern) is expected
