"""The words of source text: the fast way against the plain way, and both against tantivy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.ranking.format import analyzers
from flashgrep.ranking.words import LONGEST_COMPOUND, LONGEST_PART, compounds, parts, spaced, tokens

WORDS = [
    # text, parts, compounds
    ("", "", ""),
    ("plain words", "plain words", ""),
    ("snake_case_name", "snake case name", "snake_case_name"),
    ("__leading and trailing__", "leading and trailing", ""),
    ("__both_ends__", "both ends", "__both_ends__"),
    ("a__b", "a b", "a__b"),
    ("camelCase", "camel case", "camelcase"),
    ("PascalCase", "pascal case", "pascalcase"),
    ("HTTPServer", "http server", "httpserver"),
    ("parseHTTPResponse2", "parse http response2", "parsehttpresponse2"),
    ("sha256Sum", "sha256 sum", "sha256sum"),
    ("CONSTANT_NAME", "constant name", "constant_name"),
    ("x86_64", "x86 64", "x86_64"),
    ("a.b->c(d)", "a b c d", ""),
    ("0x1F", "0x1 f", "0x1f"),
    ("größe Straße_zwei", "größe straße zwei", "straße_zwei"),
    ("one—two", "one two", ""),
    ("_", "", ""),
]
TEXT = st.text(st.sampled_from("aAbBzZ019_ .(\n\té—ß漢"), max_size=60)


@pytest.mark.parametrize(("text", "expected", "whole"), WORDS)
def test_a_text_has_these_words(text: str, expected: str, whole: str) -> None:
    assert parts(text.encode()) == expected.split()
    assert compounds(text.encode()) == whole.split()


@given(TEXT | st.text(max_size=40), st.booleans())
def test_splitting_at_once_gives_the_same_words(text: str, is_long: bool) -> None:
    data = text.encode("utf-8", "replace") + b" aB" * (400 * is_long)
    assert tokens(spaced(data)) == parts(data)


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_can_be_split(data: bytes, is_long: bool) -> None:
    data += b" aB" * (400 * is_long)
    assert tokens(spaced(data)) == parts(data)


@given(TEXT, st.booleans())
def test_the_index_counts_the_same_words(text: str, is_long: bool) -> None:
    by_parts, by_whole = analyzers()
    data = text.encode() + b" aB" * (400 * is_long)
    assert by_parts.analyze(spaced(data).decode("utf-8", "replace")) == parts(data)
    assert by_whole.analyze(" ".join(compounds(data))) == compounds(data)


def test_what_is_too_long_is_no_word() -> None:
    by_parts, by_whole = analyzers()
    longest = "a" * LONGEST_PART
    assert parts(f"{longest} {longest}a".encode()) == [longest]
    assert by_parts.analyze(f"{longest} {longest}a") == [longest]
    whole = "b_" * (LONGEST_COMPOUND // 2)
    assert compounds(f"{whole} {whole}b".encode()) == [whole]
    assert by_whole.analyze(f"{whole} {whole}b") == [whole]
