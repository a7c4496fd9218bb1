"""A literal counted by arrays is found on the lines that the definition says, and nowhere else."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep.index.dense import dense_literal
from flashgrep.search.pattern import PatternSpec, matching_lines

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") else 150
LITERALS = ["i", "if", "e", "_", "-", "a b", " ", "<=", "aa", "e-", "-e", "Zz9_"]
LETTERS = [*"ife_-a b<=Zz9é@[", "\n", "\n"]


def lines_found(spec: PatternSpec, text: bytes) -> list[int]:
    """The numbers of the matching lines, from 0."""
    literal = dense_literal(spec)
    assert literal is not None
    places = literal.first_hits(np.frombuffer(text, np.uint8))
    return [text.count(b"\n", 0, place) for place in places.tolist()]


@settings(max_examples=CASES, deadline=None)
@given(
    st.sampled_from(LITERALS),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(LETTERS), max_size=40).map("".join),
)
@example("e", False, True, "e\ne_\neé")
@example("if", True, True, "")
@example("-", True, True, "-\na-b\n - \n")
@example("Zz9_", True, False, "Zz9_")
def test_each_matching_line_is_found_once(
    literal: str, before: bool, after: bool, text: str
) -> None:
    spec = PatternSpec(rf"\b{literal}" * before + literal * (not before) + r"\b" * after)
    lines = (text + "\n").encode()
    assert lines_found(spec, lines) == matching_lines(spec, lines)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("if", (b"if", False, False)),
        (r"e\b", (b"e", False, True)),
        (r"\bif\b", (b"if", True, True)),
        ("longer", None),  # RE2 finds what is rarer at once
        (r"e\B", None),
        (r"e\\b", None),
        ("i?f", None),
        ("i.", None),
        ("é", None),
        (r"\b", None),
        ("a|b", None),
        ("(?i)if", None),
        ("^if", None),
    ],
)
def test_which_patterns_are_such_literals(
    pattern: str, expected: tuple[bytes, bool, bool] | None
) -> None:
    found = dense_literal(PatternSpec(pattern))
    told = found and (found.text, found.has_border_before, found.has_border_after)
    assert told == expected


@pytest.mark.parametrize("spec", [PatternSpec("if", True), PatternSpec("if", multiline=True)])
def test_flags_make_it_another_pattern(spec: PatternSpec) -> None:
    assert dense_literal(spec) is None
