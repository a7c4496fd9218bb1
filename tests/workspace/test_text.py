"""The text model: what is shown, and that an edit changes the bytes of its span and no other."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.workspace.occurrences import find
from flashgrep.workspace.text import decode, display, normalised

EXAMPLES = 10_000 if os.environ.get("FLASHGREP_HEAVY") else 150
WIDE = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0"}
WIDE["utf-32-be"] = b"\0\0\xfe\xff"


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        (b"a\nb", "utf-8", "a\nb"),
        (b"\xef\xbb\xbfa", "utf-8", "a"),
        (b"a\r\nb\r\n", "utf-8", "a\nb\n"),
        (b"a\r\nb\nc\r", "utf-8", "a\nb\nc\r"),
        (b"a\r\r\nb", "utf-8", "a\r\nb"),  # one \r belongs to the line end, the other is text
        (b"a\rb", "utf-8", "a\rb"),
        (b"caf\xe9", "utf-8", "caf\udce9"),
        (b"\xff\xfea\x00\r\x00\n\x00", "utf-16-le", "a\n"),
        (b"\xfe\xff\x00a\x00", "utf-16-be", "a"),  # the odd byte is kept, not shown
        (b"\xff\xfe\0\0a\0\0\0", "utf-32-le", "a"),
        (b"\0\0\xfe\xff\0\0\0a", "utf-32-be", "a"),
        (b"\0\0\xfe\xff\x7f\0\0\0", "utf-8", "\0\0\udcfe\udcff\x7f\0\0\0"),  # no such character
    ],
)
def test_every_sequence_of_bytes_is_some_text(data: bytes, encoding: str, text: str) -> None:
    file = decode(data)
    assert (file.encoding, file.text) == (encoding, text)
    assert file.splice([]) == data


@pytest.mark.parametrize(
    ("data", "edits", "expected"),
    [
        (b"one two", [(4, 7, "2")], b"one 2"),
        (b"one two", [(0, 0, "x"), (7, 7, "y")], b"xone twoy"),
        (b"\xef\xbb\xbfa", [(0, 1, "b")], b"\xef\xbb\xbfb"),
        # a file without line ends takes the caller's
        (b"a", [(0, 1, "b\r\nc\n")], b"b\r\nc\n"),
        # one kind of line end: inserted ones follow it, whatever was sent
        (b"a\nb\n", [(0, 1, "x\r\ny")], b"x\ny\nb\n"),
        (b"a\r\nb\r\n", [(0, 1, "x\ny")], b"x\r\ny\r\nb\r\n"),
        (b"a\r\nb\r\n", [(1, 2, "")], b"ab\r\n"),
        (b"a\r\nb\r\n", [(2, 2, "new\n")], b"a\r\nnew\r\nb\r\n"),
        # mixed: those of the span in turn, then the neighbour's
        (b"a\r\nb\nc\n", [(0, 3, "x\ny")], b"x\r\ny\nc\n"),
        (b"a\r\nb\nc\n", [(2, 3, "x\ny")], b"a\r\nx\ny\nc\n"),
        (b"a\nb\r\nc", [(2, 3, "x\ny")], b"a\nx\r\ny\r\nc"),
        (b"a\nb\r\nc", [(4, 5, "x\ny")], b"a\nb\r\nx\r\ny"),
        # what the replacement shares with the text stays as it is
        (b"a\r\nb\nc", [(0, 5, "a\nb\nd")], b"a\r\nb\nd"),
        # broken bytes outside the span stay, and text goes in as UTF-8
        (b"\x99 old \xe9", [(2, 5, "n\u00e9w")], b"\x99 n\xc3\xa9w \xe9"),
        # wide encodings
        (
            b"\xff\xfea\x00\r\x00\n\x00b\x00!",
            [(2, 3, "\u20ac\n")],
            b"\xff\xfea\x00\r\0\n\0\xac\x20\r\0\n\0!",
        ),
    ],
)
def test_a_splice_changes_its_span_and_no_other_byte(
    data: bytes, edits: list[tuple[int, int, str]], expected: bytes
) -> None:
    assert decode(data).splice(edits) == expected


def test_overlapping_spans_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        decode(b"abcdef").splice([(0, 4, "x"), (2, 5, "y")])


def test_broken_bytes_are_displayed_as_one_replacement_character_each() -> None:
    assert display(decode(b"a\xe9b\xff").text) == "a\ufffdb\ufffd"
    assert display(decode(b"\xff\xfe\x00\xd8a\x00").text) == "\ufffda"


line_ends = st.sampled_from([b"\n", b"\r\n", b"\r"])
words = st.text("ab\u00e9\u20ac\U0001f600", max_size=4)
legacy = st.one_of(words.map(str.encode), st.binary(max_size=4), line_ends)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file: UTF-8 or legacy bytes or a wide encoding, with line ends of every kind mixed."""
    encoding = draw(st.sampled_from(["utf-8", *WIDE]))
    if encoding == "utf-8":
        return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + b"".join(
            draw(st.lists(legacy, max_size=12))
        )
    text = "".join(draw(st.lists(words | line_ends.map(bytes.decode), max_size=12)))
    return WIDE[encoding] + text.encode(encoding)


@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES, deadline=None)
@given(files(), st.data())
def test_bytes_outside_a_span_are_identical(data: bytes, draw: st.DataObject) -> None:
    """The oracle cuts the file into what is shown as one character each, and joins it again."""
    file = decode(data)
    units = re.findall("\r\n|.", file.raw, re.DOTALL)
    start = draw.draw(st.integers(0, len(units)))
    end = draw.draw(st.integers(start, len(units)))
    new = draw.draw(st.text("ab\u00e9\n", max_size=6))
    result = file.splice([(start, end, new)])
    errors = "surrogateescape" if file.encoding == "utf-8" else "surrogatepass"
    before = file.mark + "".join(units[:start]).encode(file.encoding, errors)
    after = "".join(units[end:]).encode(file.encoding, errors) + file.tail
    assert result.startswith(before)
    assert result.endswith(after)
    middle = result[len(before) : len(result) - len(after)].decode(file.encoding)
    assert middle.replace("\r\n", "\n") == new


@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES, deadline=None)
@given(files())
def test_a_file_of_one_kind_of_line_end_keeps_to_it(data: bytes) -> None:
    file = decode(data)
    ends = set(re.findall("\r?\n", file.raw))
    written = decode(file.splice([(0, 0, "x\ny\n")]))
    if len(ends) == 1:
        assert set(re.findall("\r?\n", written.raw)) == ends


@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES, deadline=None)
@given(files(), st.text("ab\u00e9\r\n", min_size=1, max_size=3), st.text("a\u00e9\r\n", max_size=4))
def test_all_occurrences_are_replaced_at_once_as_one_by_one(
    data: bytes, old: str, new: str
) -> None:
    file, old = decode(data), normalised(old)
    found = list(find(file.text, old, fold_quotes=False).spans())
    one_by_one = file.splice((start, end, new) for start, end in found)
    strings = file.raw_strings(old, new)
    if strings is not None:
        assert file.replaced(*strings) == one_by_one
        assert len(data) + len(found) * file.growth(*strings) == len(one_by_one)
    else:
        assert "\n" in old + new or old.endswith("\r")
