"""A literal counted in one call is counted on the lines that the definition says, once on each."""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep.search.match_dense import dense_literal
from flashgrep.search.pattern import PatternSpec, matching_lines

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") else 150
LITERALS = ["i", "if", "e", "_", "-", "a b", " ", "<=", "aa", "e-", "-e", "Zz9_"]
LETTERS = [*"ife_-a b<=Zz9é@[", "\n", "\n"]


def lines_found(spec: PatternSpec, text: bytes) -> list[int]:
    """The numbers of the matching lines, from 0: each is counted by itself, between others."""
    literal = dense_literal(spec)
    assert literal is not None
    starts = [0, *(at + 1 for at, octet in enumerate(text[:-1]) if octet == 0x0A)]
    padded = b"\n\n\n" + text + b"if e-\n"  # a part of a buffer, as in a pack
    counts = literal.counts(padded, 3, 3 + len(text), starts)
    assert set(counts) <= {0, 1}
    assert literal.counts(padded, 3, 3 + len(text), [0]) == [sum(counts)]
    return [number for number, count in enumerate(counts) if count]


@settings(max_examples=CASES, deadline=None)
@given(
    st.sampled_from(LITERALS),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from([*LETTERS, *LITERALS]), max_size=40).map("".join),
)
@example("e", False, True, "e\ne_\neé")
@example("if", True, True, "")
@example("if", False, False, "if if\nif\n\nifif if")
@example("aa", False, False, "aaa\naa")
@example("a b", False, False, "a-b\na b")
@example("-", True, True, "-\na-b\n - \n")
@example("-", True, False, "-\na-")
@example("Zz9_", True, False, "Zz9_")
def test_each_matching_line_is_found_once(
    literal: str, before: bool, after: bool, text: str
) -> None:
    spec = PatternSpec(rf"\b{literal}" * before + literal * (not before) + r"\b" * after)
    lines = (text + "\n").encode()
    assert lines_found(spec, lines) == matching_lines(spec, lines)


@pytest.mark.parametrize("firsts", [[0], [0, 6], [0, 6, 9, 10], [0, 10, 18, 90]])
def test_lines_are_counted_from_each_place_to_the_next(firsts: list[int]) -> None:
    text = b"if if\nno\n\nelse if\n" * 5
    literal = dense_literal(PatternSpec("f"))
    assert literal is not None
    ends = [*firsts[1:], len(text)]
    expected = [
        len(matching_lines(PatternSpec("f"), text[first:end])) if first < end else 0
        for first, end in zip(firsts, ends, strict=True)
    ]
    assert literal.counts(text, 0, len(text), firsts) == expected


@pytest.mark.parametrize(
    ("pattern", "is_one"),
    [
        ("if", True),
        (r"e\b", True),
        (r"\bif\b", True),
        ("much longer-one", True),
        (r"e\B", False),
        (r"e\\b", False),
        ("i?f", False),
        ("i.", False),
        ("é", False),
        (r"\b", False),
        ("a|b", False),
        ("(?i)if", False),
        ("^if", False),
    ],
)
def test_which_patterns_are_such_literals(pattern: str, is_one: bool) -> None:
    assert (dense_literal(PatternSpec(pattern)) is not None) == is_one


@pytest.mark.parametrize("spec", [PatternSpec("if", True), PatternSpec("if", multiline=True)])
def test_flags_make_it_another_pattern(spec: PatternSpec) -> None:
    assert dense_literal(spec) is None
