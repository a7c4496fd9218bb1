"""Files and notes: byte for byte where nothing changed, and close where something did."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.notes.folders import note_file
from flashgrep.notes.folders.note_file import FILE, ExportManifest, NoText, file_bytes, read_file
from flashgrep.workspace.safe_open import open_folder

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINES = st.lists(st.tuples(st.text("ab{}é😀\u2028\x85 ", max_size=4), ENDS), max_size=12)


def built(lines: list[tuple[str, str]], last: str = "") -> str:
    return "".join(line + end for line, end in lines) + last


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_come_back_or_are_refused(data: bytes) -> None:
    try:
        held = read_file(data)
    except NoText:
        assert b"\0" in data or not is_utf8(data)
        return
    assert "\r" not in held.text
    assert file_bytes(held.text, {FILE: held.file}) == data


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(LINES, st.booleans(), st.sampled_from(["", "end", "\ufeff"]))
def test_mixed_line_ends_come_back(lines: list[tuple[str, str]], bom: bool, last: str) -> None:
    data = b"\xef\xbb\xbf" * bom + built(lines, last).encode()
    held = read_file(data)
    assert file_bytes(held.text, {FILE: held.file}) == data


@given(LINES, st.integers(0, 12), st.sampled_from(["new", ""]))
def test_lines_that_stay_keep_their_ends(lines: list[tuple[str, str]], at: int, new: str) -> None:
    """The oracle is plain: each line says which it is, and so what its end was."""
    numbered = [(f"{number}{line}", end) for number, (line, end) in enumerate(lines)]
    plain, kept = note_file.taken(built(numbered))
    texts = plain.split("\n")
    texts[min(at, len(texts) - 1) : min(at, len(texts) - 1)] = [new]
    back = note_file.given_back("\n".join(texts), kept)
    assert note_file.taken(back)[0] == "\n".join(texts)
    ends = dict(numbered)
    for line, end in re.findall(r"([^\r\n]*)(\r\n|\r|\n)", back):
        if line in ends and ends[line] != "\r":  # CR may not stand before a new empty line
            assert end == ends[line]


@pytest.mark.parametrize("kept", [None, 7, "xx", {}, {"main": "crlf", "lines": "?"}, []])
def test_what_is_kept_may_be_nonsense(kept: object) -> None:
    back = note_file.given_back("a\nb\n", kept)
    assert note_file.taken(back)[0] == "a\nb\n"


def test_a_file_that_is_too_large_is_no_note() -> None:
    with pytest.raises(NoText, match=str(limits.NOTE_BYTES)):
        read_file(b"x" * (limits.NOTE_BYTES + 1))


def test_many_changed_lines_are_no_reason_to_take_long() -> None:
    lines = [(f"line {number}", "\r\n" if number % 2 else "\n") for number in range(20_000)]
    plain, kept = note_file.taken(built(lines))
    changed = "\n".join(line[::-1] for line in plain.split("\n"))
    assert note_file.taken(note_file.given_back(changed, kept))[0] == changed


def test_a_line_that_became_empty_is_still_a_line() -> None:
    _, kept = note_file.taken("a\rx\nb\n")
    back = note_file.given_back("a\n\nb\n", kept)
    assert back == "a\n\nb\n"
    assert note_file.taken(back)[0] == "a\n\nb\n"


def test_suggestions_that_a_file_has_no_more_are_forgotten(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    try:
        manifest = ExportManifest(folder)
        for suggestions in ([{"id": "s_1"}], []):
            manifest.add("N.md", "a" * 16, "d" * 64, suggestions)
            for known in (manifest, ExportManifest(folder)):
                assert known.files["N.md"].suggested("d" * 64) == suggestions
    finally:
        os.close(folder)
