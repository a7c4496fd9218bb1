"""Names on the wire: any bytes become one printable line, and come back unchanged."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.workspace.scope import has_control, parse_name, shown_name, shown_path, shown_paths

TABLE = [
    (b"plain.txt", "plain.txt"),
    (b"with space", "with space"),
    ("grün/日本.txt".encode(), "grün/日本.txt"),
    ("family 👩‍👧.txt".encode(), "family 👩‍👧.txt"),
    (b"line\nbreak", "line\\nbreak"),
    (b"tab\tand\rreturn", "tab\\tand\\rreturn"),
    (b"escape\x1b[31m", "escape\\x1b[31m"),
    (b"bell\x07 delete\x7f", "bell\\x07 delete\\x7f"),
    (b"back\\slash", "back\\\\slash"),
    (b"looks like \\n", "looks like \\\\n"),
    (b"latin\xe9", "latin\\xe9"),
    (b"half \xf0\x9f of a smiley", "half \\xf0\\x9f of a smiley"),
    (b"\xff\xfe", "\\xff\\xfe"),
    (b"overlong \xc0\xaf", "overlong \\xc0\\xaf"),
    (b"surrogate \xed\xa0\x80", "surrogate \\xed\\xa0\\x80"),
    ("next line\x85".encode(), "next line\\xc2\\x85"),
    ("line separator\u2028".encode(), "line separator\\xe2\\x80\\xa8"),
    ("turned \u202etxt.exe".encode(), "turned \\xe2\\x80\\xaetxt.exe"),
    ("mark \ufeffinside".encode(), "mark \\xef\\xbb\\xbfinside"),
    (b"", ""),
]


@pytest.mark.parametrize(("name", "text"), TABLE, ids=[text for _, text in TABLE])
def test_a_name_is_shown_as_tabled_and_read_back(name: bytes, text: str) -> None:
    assert shown_name(name) == text
    assert parse_name(text) == name


@given(st.binary(max_size=60))
def test_any_bytes_come_back_from_one_printable_line(name: bytes) -> None:
    text = shown_name(name)
    assert parse_name(text) == name
    assert len(text.splitlines()) <= 1
    assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not [c for c in text if unicodedata.bidirectional(c) in _TURNING]
    text.encode("utf-8")


PLAIN = st.text("ab/. ~_", max_size=8).map(os.fsencode)
NAMES = st.one_of(
    PLAIN, PLAIN, st.binary(max_size=12), st.text(max_size=8).map(lambda t: t.encode("utf-8"))
)


@given(st.lists(st.one_of(NAMES, st.sampled_from([name for name, _ in TABLE])), max_size=6))
def test_paths_as_a_directory_gives_them_are_shown_as_their_bytes_are(names: list[bytes]) -> None:
    paths = [name.decode("utf-8", "surrogateescape") for name in names]
    expected = [shown_name(name) for name in names]
    assert [shown_path(path) for path in paths] == expected
    assert shown_paths(paths) == expected


@pytest.mark.parametrize("byte", range(256))
def test_every_byte_of_a_path_is_shown_as_it_is_alone(byte: int) -> None:
    name = b"a" + bytes([byte])
    path = name.decode("utf-8", "surrogateescape")
    assert shown_path(path) == shown_name(name)
    assert shown_paths(["plain", path]) == ["plain", shown_name(name)]


_TURNING = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


@given(st.text(alphabet="ab\\nxtr/.0e2f", max_size=12))
def test_an_escape_that_shown_never_writes_is_no_escape(text: str) -> None:
    """Two texts never name one file by escapes, so none hides what it names."""
    name = parse_name(text)
    assert name is None or shown_name(name) == text


@pytest.mark.parametrize(
    "text",
    [
        "\\x2e\\x2e/x",
        "..\\x2fx",
        "\\x41",
        "\\q",
        "dir\\other",
        "trailing\\",
        "\\xZZ",
        "\\xE9",
        "\\x0a",
    ],
)
def test_what_shown_could_not_have_written_is_not_read_as_an_escape(text: str) -> None:
    assert parse_name(text) is None


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("plain", False),
        ("grün", False),
        ("a\nb", True),
        ("\0", True),
        ("\x1b", True),
        ("\x7f", True),
    ],
)
def test_raw_controls_are_noticed(text: str, holds: bool) -> None:
    assert has_control(text) is holds
