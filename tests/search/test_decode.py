"""Files of any size and encoding become the same lines."""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.search.decode import lines_of, windows
from flashgrep.search.pattern import split_lines
from tests.search.strategies import texts


def joined_windows(data: bytes) -> bytes:
    """A file's windows, each checked to hold whole lines, put together."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return b"".join(_checked(windows(file.fileno())))


def _checked(regions: Iterator[tuple[bytes, int, int]]) -> Iterator[bytes]:
    for buffer, start, end in regions:
        region = bytes(buffer[start:end])
        assert region.endswith(b"\n")
        yield region


@settings(max_examples=300, deadline=None)
@given(texts(60), st.integers(1, 24))
def test_windows_hold_the_same_lines_as_the_whole_file(data: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "WINDOW_BYTES", size)
        assert joined_windows(data) == lines_of(data)


@settings(max_examples=200, deadline=None)
@given(texts())
def test_lines_are_the_lines_of_the_definition(data: bytes) -> None:
    if not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        expected = b"".join(line + b"\n" for line in split_lines(data))
        assert lines_of(data) == expected


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("size", [3, 7, 4096])
def test_marked_wide_text_is_decoded(
    encoding: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WINDOW_BYTES", size)
    mark = "\ufeff".encode(encoding)
    data = mark + "première\r\nδεύτερη\n😀 last".encode(encoding)
    assert joined_windows(data).decode() == "première\nδεύτερη\n😀 last\n"
    assert lines_of(data).decode() == "première\nδεύτερη\n😀 last\n"


def test_a_utf8_mark_is_not_part_of_the_first_line() -> None:
    assert joined_windows(codecs.BOM_UTF8 + b"first\n") == b"first\n"


def test_a_line_longer_than_a_window_stays_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_BYTES", 1000)
    data = b"head\n" + b"x" * 12_345 + b"needle\r\nafter\nlast"
    assert joined_windows(data) == data.replace(b"\r\n", b"\n") + b"\n"
