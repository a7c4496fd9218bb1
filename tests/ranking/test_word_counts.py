"""Word counts in arrays against counts in dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.ranking.changed_files import FIELDS, CountBlock, counted, joined, keys_of, lot
from flashgrep.ranking.format import text_fields
from flashgrep.ranking.words import tokens

TEXT = st.text(st.sampled_from("aAbBzZ019_ .(\n\té—ß漢"), max_size=200) | st.text(max_size=80)
LONG = {
    "many pieces": "someWord other_word " * 4_000,
    "a word at every end of a piece": " ".join("w" * (n % 37 + 1) for n in range(3_000)),
    "a word longer than a piece": "before " + "x" * 70_000 + " behind" + "y" * 40_000,
    "nothing but a long word": "x" * 100_000,
    "not ASCII": "größe Straße_zwei 漢字 " * 3_000,
    "often": "again " * 70_000,
}


def plain(path: str, text: bytes) -> dict[tuple[str, str], int]:
    """The counts, word by word."""
    found: Counter[tuple[str, str]] = Counter()
    for field, value in text_fields(path, text).items():
        words = value.lower().split() if field == "whole" else tokens(value.encode())
        found.update((field, word) for word in words)
    return {term: min(count, 0xFFFF) for term, count in found.items()}


def require_same(path: str, text: bytes) -> None:
    expected = plain(path, text)
    found = counted(path, text)
    terms = list(expected)
    keys = keys_of(terms)
    assert dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)) == dict(
        zip(keys.tolist(), expected.values(), strict=True)
    )
    assert len(set(keys.tolist())) == len(terms)


@given(TEXT)
def test_arrays_count_the_same_words(text: str) -> None:
    require_same("src/some_dir/fileName.py", text.encode("utf-8", "replace"))


@given(st.binary(max_size=80))
def test_any_bytes_can_be_counted(text: bytes) -> None:
    require_same("dir/ü.txt", text)


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_is_counted_in_pieces(text: str) -> None:
    require_same("a.txt", text.encode())


def test_a_word_has_another_key_in_each_field() -> None:
    assert len(set(keys_of([(field, "word") for field in FIELDS]).tolist())) == len(FIELDS)


def held(some: CountBlock, terms: list[tuple[str, str]]) -> dict[int, dict[int, int]]:
    """By place of a term: the texts that hold it, and how often."""
    found = some.find(keys_of(terms))
    return {at: dict(zip(t.tolist(), c.tolist(), strict=True)) for at, t, c in found}


def test_lots_joined_hold_what_each_held() -> None:
    texts = [counted(f"f{n}.py", f"same word_{n} again\n".encode() * n) for n in range(1, 6)]
    first, second = lot(enumerate(texts[:2])), lot(enumerate(texts[2:], 2))
    whole = joined([first, second])
    assert len(whole) == len(first) + len(second)
    assert np.all(whole.keys[:-1] <= whole.keys[1:])
    terms = [("body", "same"), ("body", "nowhere"), ("body", "3")]
    found = {
        at: dict(zip(t.tolist(), c.tolist(), strict=True))
        for at, t, c in whole.find(keys_of(terms))
    }
    assert found == {0: {0: 1, 1: 2, 2: 3, 3: 4, 4: 5}, 2: {2: 3}}
    left = whole.renumbered(np.array([-1, -1, 0, -1, 1]))
    found = {
        at: dict(zip(t.tolist(), c.tolist(), strict=True)) for at, t, c in left.find(keys_of(terms))
    }
    assert found == {0: {0: 3, 1: 5}, 2: {0: 3}}
