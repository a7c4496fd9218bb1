"""Which paths a note can have, and which two are one to some file system."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.notes.store.paths import (
    checked,
    checked_attachment,
    checked_new,
    folders,
    form_key,
    twin_key,
)

LONG = "x" * 250


@pytest.mark.parametrize(
    "path",
    [
        "a.md",
        "Folder/Note.md",
        "Ein Ordner/Übung 3 (2).md",
        "日本/メモ.md",
        "100%.md",
        "v1.2.md",
        ".obsidian/x.md",
        'it\'s "quoted".md',
        "😀.md",
        f"{LONG}.md",
    ],
)
def test_ordinary_paths_are_kept_as_they_are(path: str) -> None:
    assert checked(path) == path


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("", "empty"),
        ("/a.md", "begins with a slash"),
        ("a//b.md", "empty name"),
        ("a/", "does not end with .md"),
        ("../a.md", "the name \\.\\."),
        ("a/../b.md", "the name \\.\\."),
        ("./a.md", "the name \\."),
        ("a\\b.md", "backslash"),
        ("a\tb.md", "control character"),
        ("a\0.md", "control character"),
        ("a\n.md", "control character"),
        ("a\x9b.md", "control character"),
        ("a\u2028.md", "control character"),
        ("a\ud83d.md", "half a character"),
        ("a%2fb.md", "%2f"),
        ("a%2Fb.md", "%2F"),
        ("%2e%2e/b.md", "%2e%2e"),
        ("a%5Cb.md", "%5C"),
        ("a", "does not end with .md"),
        ("a.txt", "does not end with .md"),
        ("a.MD", "does not end with .md"),
        (".md", "something before"),
        ("b/.md", "something before"),
        ("a /b.md", "ends with a space"),
        (" a/b.md", "begins"),
        ("a./b.md", "ends with a dot"),
        ("a .md", "before .md"),
        ("a..md", "before .md"),
        ("a.md ", "does not end with .md"),
        ("a\u3000/b.md", "ends with a space"),
        (f"{LONG}xxx.md", "more than 255 bytes"),
        ("é" * 127 + ".md", "more than 255 bytes"),
        ("a/" * 511 + "b.md", "more than 1024 bytes"),
    ],
)
def test_other_paths_are_refused_with_the_reason(path: str, told: str) -> None:
    with pytest.raises(InvalidParams, match=told):
        checked(path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Note.md", "note.md"),
        ("Straße.md", "STRASSE.md"),
        ("é.md", "e\u0301.md"),
        ("É.md", "e\u0301.md"),
        ("ſ.md", "S.md"),
        ("ﬁ.md", "FI.md"),
        ("\u212a.md", "k.md"),
        ("Å.md", "\u212b.md"),
        ("ｆ.md", "f.md"),
    ],
)
def test_twins_have_one_key(one: str, other: str) -> None:
    assert twin_key(one) == twin_key(other)


@given(st.text(max_size=20))
def test_no_form_of_a_path_has_another_key(path: str) -> None:
    for form in ("NFC", "NFD"):
        other = unicodedata.normalize(form, path)
        assert twin_key(other) == twin_key(path)
        assert form_key(other) == form_key(path)
    assert twin_key(twin_key(path)) == twin_key(path)


@given(st.text(max_size=40))
def test_whatever_is_accepted_stays_inside(path: str) -> None:
    try:
        names = checked(path + ".md").split("/")
    except InvalidParams:
        return
    assert not {"", ".", ".."} & set(names)
    assert all(len(name.encode()) <= limits.NOTE_NAME_BYTES for name in names)


def test_the_folders_of_a_path() -> None:
    assert list(folders("a/b/c.md")) == ["a", "a/b"]
    assert list(folders("c.md")) == []


# ── new names ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("a\u202egpj.md", "U\\+202E"),
        ("a/\u2066b.md", "U\\+2066"),
        ("\u200f.md", "U\\+200F"),
        ("a\u200b.md", "U\\+200B"),
        ("\ufeffa.md", "U\\+FEFF"),
        ("a\u00adb.md", "U\\+00AD"),
        ("a\u034fb.md", "U\\+034F"),
        ("a\u180eb.md", "U\\+180E"),
        ("\u3164.md", "U\\+3164"),
        ("\U000e0041.md", "U\\+E0041"),
        ("\u061c/a.md", "U\\+061C"),
        (".a.md", "begins with a dot"),
        ("a/.b/c.md", "'.b' begins with a dot"),
        ("..a.md", "begins with a dot"),
    ],
)
def test_names_that_are_hidden_or_mislead_are_for_old_notes_alone(path: str, told: str) -> None:
    assert checked(path) == path
    for check in (checked_new, checked_attachment):
        with pytest.raises(InvalidParams, match=told) as refused:
            check(path)
        assert refused.value.message.isprintable()


@pytest.mark.parametrize("path", ["👩\u200d👧.md", "می\u200cخواهم.md", "a.b.md", "é/日本.md"])
def test_names_of_all_scripts_can_be_new(path: str) -> None:
    assert checked_new(path) == path
