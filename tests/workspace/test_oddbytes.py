"""Bytes that are no valid UTF-8, as a reader is told of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.workspace.text import ODD, OddLines, as_legacy, described


@pytest.mark.parametrize(
    ("byte", "told"),
    [
        (0xE9, "0xE9 (\u00e9 in Windows-1252)"),
        (0x80, "0x80 (\u20ac in Windows-1252)"),
        (0x81, "0x81"),  # is nothing there
        (0xA0, "0xA0"),  # a space that cannot be seen
    ],
)
def test_a_byte_is_told_by_number_and_meaning(byte: int, told: str) -> None:
    assert described(chr(0xDC00 + byte)) == told


@given(st.binary())
def test_a_text_of_the_old_encoding_has_as_many_characters(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    legacy = as_legacy(text)
    assert len(legacy) == len(text)
    assert not ODD.search(legacy)
    assert all(ODD.fullmatch(a) or a == b for a, b in zip(text, legacy, strict=True))


def test_lines_without_odd_bytes_are_not_told() -> None:
    odd = OddLines()
    odd.see(1, "caf\u00e9 \ufffd \ud800")
    assert odd.note() == ""


def test_the_first_odd_line_is_told_and_the_others_are_counted() -> None:
    odd = OddLines()
    odd.see(3, "ab\udcff\udcfe")
    one = "[Not valid UTF-8: byte 0xFF (\u00ff in Windows-1252) at line 3"
    assert odd.note().startswith(f"{one}. They are shown as \ufffd")
    odd.see(4, "\udc80")
    assert odd.note().startswith(f"{one} and bytes of 1 more line. ")
    odd.see(9, "\udc80")
    assert odd.note().startswith(f"{one} and bytes of 2 more lines. ")
