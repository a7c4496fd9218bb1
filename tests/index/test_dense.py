"""A literal counted in one call is counted on the lines that the definition says, once on each."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep.index import dense
from flashgrep.index.dense import Dense, DenseByte, DenseLiteral, dense_literal
from flashgrep.search.pattern import PatternSpec, matching_lines

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") else 150
LITERALS = ["i", "if", "e", "_", "-", "a b", " ", "<=", "aa", "e-", "-e", "Zz9_"]
LETTERS = [*"ife_-a b<=Zz9é@[", "\n", "\n"]


def lines_found(spec: PatternSpec, text: bytes) -> list[int]:
    """The numbers of the matching lines, from 0: each is counted by itself, between others."""
    literal = dense_literal(spec)
    assert literal is not None
    ends = [at + 1 for at, octet in enumerate(text) if octet == 0x0A]
    counts = [counted(literal, text, start, end) for start, end in pairwise([0, *ends])]
    assert set(counts) <= {0, 1}
    assert counted(literal, text, 0, len(text)) == sum(counts)
    if isinstance(literal, DenseLiteral):
        hits = literal.hits(text, 0, len(text)).tolist()
        assert [text.count(b"\n", 0, hit) for hit in hits] == list(np.flatnonzero(counts))
    return [number for number, count in enumerate(counts) if count]


def counted(literal: Dense, text: bytes, start: int, end: int) -> int:
    if isinstance(literal, DenseByte):
        return literal.count(text, start, end)
    return len(literal.hits(text, start, end))


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
@example("Zz9_", True, False, "Zz9_")
def test_each_matching_line_is_found_once(
    literal: str, before: bool, after: bool, text: str
) -> None:
    spec = PatternSpec(rf"\b{literal}" * before + literal * (not before) + r"\b" * after)
    lines = (text + "\n").encode()
    assert lines_found(spec, lines) == matching_lines(spec, lines)


@pytest.mark.parametrize("at_once", [1, 4, 7])
def test_a_text_is_counted_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(dense, "_AT_ONCE", at_once)
    text = b"if if\nno\n\nelse if\n" * 5
    assert lines_found(PatternSpec("f"), text) == matching_lines(PatternSpec("f"), text)


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
