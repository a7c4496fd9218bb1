"""A counter that has learned that much matches counts in another way, and counts the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.search.match_count import DENSE_BYTES, Counter
from flashgrep.search.match_dense import Dense
from flashgrep.search.pattern import PatternSpec, matching_lines
from flashgrep.search.scan.batch import matched

CASES = 10_000 if os.environ.get("FLASHGREP_HEAVY") else 150
LITERALS = ["e", r"e\b", "if", r"\bif\b", "a b", "-"]
PARTS = ["e", "if", "a b", "-", "_", " ", "x", "\n", "\n", "é"]


def learned(pattern: str) -> Counter:
    """A counter of lines that has seen a text in which every one matches."""
    counter = Counter(PatternSpec(pattern), "lines")
    counter.weigh(1_000, 1_000)
    return counter


@settings(max_examples=CASES, deadline=None)
@given(
    st.sampled_from(LITERALS),
    st.lists(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), max_size=8),
)
@example("e", ["", "e", "", "e\n\ne", ""])
@example("if", ["", ""])
def test_texts_in_a_row_are_counted_each(pattern: str, texts: list[str]) -> None:
    counter, starts, row = learned(pattern), [], b""
    assert isinstance(counter.dense(), Dense)
    for text in texts:
        starts.append(len(row))
        row += f"{text}\n".encode() if text else b""
    expected = [len(matching_lines(counter.spec, f"{text}\n".encode())) for text in texts]
    found = dict(matched(counter, row, starts, len(row))) if row else {}
    assert [found.get(at, 0) for at in range(len(texts))] == expected


@pytest.mark.parametrize("pattern", LITERALS)
def test_a_large_file_is_counted_window_by_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(limits, "WINDOW_BYTES", 64)
    monkeypatch.setattr(limits, "DENSE_STEP", 20)
    text = b"if a b\nelse\n\n- e\n" * 40 + b"x" * 300 + b" if e\n" + b"if"
    (tmp_path / "large").write_bytes(text)
    counter = learned(pattern)
    with open(tmp_path / "large", "rb") as file:
        found = counter.in_file(file.fileno())
    assert found == len(matching_lines(counter.spec, text))


@pytest.mark.parametrize(
    ("counter", "count", "is_dense"),
    [
        (Counter(PatternSpec("if"), "lines"), 10, True),
        (Counter(PatternSpec("if"), "lines"), 1, False),
        (Counter(PatternSpec("e"), "lines"), 10, False),
        (Counter(PatternSpec("e"), "lines"), 20, True),
        (Counter(PatternSpec("if"), "files"), 10, False),
        (Counter(PatternSpec("if"), "matches"), 10, False),
        (Counter(PatternSpec("i.?f"), "lines"), 10, False),
    ],
)
def test_only_lines_of_a_common_literal_are_counted_so(
    counter: Counter, count: int, is_dense: bool
) -> None:
    counter.weigh(count, 5 * DENSE_BYTES)
    assert (counter.dense() is not None) == is_dense


def test_what_is_next_decides_anew() -> None:
    counter = learned("if")
    counter.weigh(0, 1_000)
    assert counter.dense() is None


@pytest.mark.parametrize(
    ("pattern", "expected"), [("if", "False False True True"), ("i.?f", "False False False False")]
)
def test_a_process_that_searches_loads_numpy_only_for_much_of_a_literal(
    pattern: str, expected: str
) -> None:
    script = """
import sys
from flashgrep.search.match_count import DENSE_AFTER_BYTES, Counter
from flashgrep.search.pattern import PatternSpec

counter = Counter(PatternSpec(sys.argv[1]), "lines")
for size in (DENSE_AFTER_BYTES - 1, 1):
    counter.weigh(size, size)
    print(counter.dense() is not None, "numpy" in sys.modules)
"""
    command = [sys.executable, "-c", script, pattern]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.split() == expected.split()
