"""A link means the note that Obsidian would open."""

from __future__ import annotations

import pytest

from flashgrep.notes.links.parse import Paths

VAULT = [
    "Home.md",
    "note.md",
    "A/note.md",
    "A/B/note.md",
    "A/Only.md",
    "A/B/Deep.md",
    "C/Twin.md",
    "D/E/Twin.md",
    "D/Twin.md",
    "C/img.png",
    "v1.2.md",
    "C/caf\u00e9.md",
    "xB/Deep.md",
    "C/D.md",
]

ORDER = [
    # empty: the note itself
    ("", "A/Only.md", "A/Only.md"),
    # an exact path from the root wins, even from a folder with a note called so
    ("note", "A/Only.md", "note.md"),
    ("note.md", "A/Only.md", "note.md"),
    ("A/note", "Home.md", "A/note.md"),
    ("A/B/note.md", "Home.md", "A/B/note.md"),
    # by name alone, from anywhere
    ("Only", "C/Twin.md", "A/Only.md"),
    ("Only.md", "C/Twin.md", "A/Only.md"),
    ("img.png", "Home.md", "C/img.png"),
    ("v1.2", "A/Only.md", "v1.2.md"),
    # below the note's folder first, then the shortest path, then by name
    ("Twin", "D/E/x.md", "D/E/Twin.md"),
    ("Twin", "D/x.md", "D/Twin.md"),
    ("Twin", "Home.md", "C/Twin.md"),
    ("Twin", "A/Only.md", "C/Twin.md"),
    # the end of a path, by whole names
    ("B/note", "Home.md", "A/B/note.md"),
    ("B/Deep", "Home.md", "A/B/Deep.md"),
    ("E/Twin", "C/Twin.md", "D/E/Twin.md"),
    ("eep", "Home.md", None),
    # relative to the note's folder
    ("./note", "A/Only.md", "A/note.md"),
    ("./note", "A/B/Deep.md", "A/B/note.md"),
    ("../note", "A/B/Deep.md", "A/note.md"),
    ("../../note", "A/B/Deep.md", "note.md"),
    ("../D/Twin", "C/Twin.md", "D/Twin.md"),
    # a relative path that is not there is looked for by its name
    ("./Only", "C/Twin.md", "A/Only.md"),
    ("../nowhere/Only", "C/Twin.md", None),
    ("../../../note", "A/Only.md", "note.md"),
    # from the root only
    ("/note", "A/Only.md", "note.md"),
    ("/A/note", "C/Twin.md", "A/note.md"),
    ("/Only", "A/note.md", None),
    # case, Unicode's forms, no-break spaces, slashes
    ("HOME", "A/Only.md", "Home.md"),
    ("a/ONLY", "Home.md", "A/Only.md"),
    ("cafe\u0301", "Home.md", "C/caf\u00e9.md"),
    ("A//note", "Home.md", "A/note.md"),
    # nowhere
    ("missing", "Home.md", None),
    ("A", "Home.md", None),
    ("A/", "Home.md", None),
    ("..", "A/Only.md", None),
    # a folder is no note, a note called like it is
    ("D", "Home.md", "C/D.md"),
]


@pytest.mark.parametrize(("target", "source", "path"), ORDER)
def test_a_link_means_the_first_note_in_the_order(
    target: str, source: str, path: str | None
) -> None:
    assert Paths(VAULT).resolve(target, source) == path
    assert Paths(reversed(VAULT)).resolve(target, source) == path, "whatever came first"


def test_a_link_is_never_ambiguous_but_knows_the_others() -> None:
    assert Paths(VAULT).candidates("Twin", "D/E/x.md") == ["D/E/Twin.md", "C/Twin.md", "D/Twin.md"]


def test_a_no_break_space_is_a_space() -> None:
    assert Paths(["A/a b.md"]).resolve("a\u00a0b", "N.md") == "A/a b.md"


def test_a_removed_note_is_not_found() -> None:
    paths = Paths(VAULT)
    for path in ("note.md", "note.md", "nothing.md"):
        paths.remove(path)
    assert "note.md" not in paths
    assert "A/note.md" in paths
    assert paths.resolve("note", "A/Only.md") == "A/note.md"
    assert sorted(paths) == sorted(set(VAULT) - {"note.md"})
