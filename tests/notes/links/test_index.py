"""Links from and to a note, kept up change by change as if read anew."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.notes.links.index import NoteLinks
from flashgrep.notes.links.parse import links_of, parse
from flashgrep.notes.markup import critic
from tests.notes.links.link_index import LinkIndex, pending, unresolved

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 60


def index_of(notes: dict[str, str]) -> LinkIndex:
    index = LinkIndex()
    for path, text in notes.items():
        index.put(path, parse(text))
    return index


def shown(found: NoteLinks) -> tuple[list[tuple[str, int, str | None]], list[tuple[str, int]]]:
    """What `get_links` tells, in short."""
    outgoing = [(out.link.source, out.link.line, out.path) for out in found.outgoing]
    return outgoing, [(back.source, back.link.line) for back in found.backlinks]


VAULT = {
    "Home.md": "[[A]] and [[missing]]\n![[img.png]]\n[b](Folder/B.md#h)",
    "Folder/A.md": "[[B]]\n[[#here]]\n[[A]]",
    "Folder/B.md": "[[a]] [[Home|home]]\n\n[[A#x]]",
    "img.png": "",
}


def test_links_from_and_to_a_note_are_found() -> None:
    index = index_of(VAULT)
    assert shown(index.links_of("Home.md")) == (
        [
            ("[[A]]", 1, "Folder/A.md"),
            ("[[missing]]", 1, None),
            ("![[img.png]]", 2, "img.png"),
            ("[b](Folder/B.md#h)", 3, "Folder/B.md"),
        ],
        [("Folder/B.md", 1)],
    )
    assert shown(index.links_of("Folder/A.md")) == (
        [
            ("[[B]]", 1, "Folder/B.md"),
            ("[[#here]]", 2, "Folder/A.md"),
            ("[[A]]", 3, "Folder/A.md"),
        ],
        [("Folder/A.md", 3), ("Folder/B.md", 1), ("Folder/B.md", 3), ("Home.md", 1)],
    )
    assert [link.target for link in unresolved(index.links_of("Home.md"))] == ["missing"]
    assert [(back.source, back.link.target) for back in index.unresolved()] == [
        ("Home.md", "missing")
    ]


def test_a_note_that_is_made_takes_the_links_that_led_nowhere() -> None:
    index = index_of(VAULT)
    index.put("missing.md")
    assert shown(index.links_of("missing.md"))[1] == [("Home.md", 1)]
    assert index.unresolved() == []


def test_a_second_note_of_a_name_takes_the_links_that_are_nearer_to_it() -> None:
    index = index_of({"A/N.md": "", "B/x.md": "[[N]]", "C/y.md": "[[N]]"})
    index.put("B/N.md")
    assert shown(index.links_of("B/N.md"))[1] == [("B/x.md", 1)]
    assert shown(index.links_of("A/N.md"))[1] == [("C/y.md", 1)]
    assert index.links_of("B/x.md").outgoing[0].others == ("A/N.md",)


def test_a_moved_note_keeps_its_links_and_its_name_finds_it() -> None:
    index = index_of({"N.md": "[[./B]]", "B.md": "[[N]]", "X/B.md": ""})
    index.move("N.md", "X/N.md")
    assert shown(index.links_of("X/N.md")) == ([("[[./B]]", 1, "X/B.md")], [("B.md", 1)])
    assert index.links_of("N.md") == NoteLinks((), ())


def test_pending_links_are_told() -> None:
    text = "[[A]] {--[[B]]--}{++[[C]]++}"
    index = index_of({"A.md": "", "B.md": ""})
    index.put("N.md", links_of(critic.read(text)))
    found = index.links_of("N.md")
    assert [(out.link.target, out.link.pending, out.path) for out in pending(found)] == [
        ("C", "add", None),
        ("B", "remove", "B.md"),
    ]
    assert [link.target for link in unresolved(found)] == ["C"]
    (back,) = index.links_of("B.md").backlinks
    assert (back.source, back.link.pending) == ("N.md", "remove")


# ── kept up is read anew ────────────────────────────────────────────────────────────────────────

NAMES = ["n.md", "N2.md", "A/n.md", "A/B/n.md", "A/m.md", "B/m.md", "n", "\u00e9.md", "i.png"]
TARGETS = ["n", "N", "m", "A/n", "./n", "../n", "/n", "B/n", "e\u0301", "i.png", "", "n.md", "q"]

_paths = st.sampled_from(NAMES)
_texts = st.lists(st.sampled_from(TARGETS), max_size=4).map(
    lambda targets: "\n".join(f"[[{target}#h]]" for target in targets)
)
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), _paths, _texts),
        st.tuples(st.just("remove"), _paths, st.just("")),
        st.tuples(st.just("move"), _paths, _paths),
    ),
    max_size=14,
)


@settings(max_examples=CASES, deadline=None)
@given(steps=_steps)
def test_an_index_kept_up_is_the_index_built_anew(steps: list[tuple[str, str, str]]) -> None:
    kept = LinkIndex()
    notes: dict[str, str] = {}
    for verb, path, other in steps:
        if verb == "put":
            notes[path] = other
            kept.put(path, parse(other))
        elif verb == "remove":
            notes.pop(path, None)
            kept.remove(path)
        elif path in notes:
            notes[other] = notes.pop(path)
            kept.move(path, other)
    anew = index_of(notes)
    assert kept.unresolved() == anew.unresolved()
    for path in NAMES:
        assert kept.links_of(path) == anew.links_of(path)
        check_backlinks(anew, path, notes)


def check_backlinks(index: LinkIndex, path: str, notes: dict[str, str]) -> None:
    """The plain definition: a backlink is an outgoing link of some note."""
    expected = [
        (source, out.link)
        for source in sorted(notes)
        for out in index.links_of(source).outgoing
        if out.path == path and out.link.target
    ]
    found = [(back.source, back.link) for back in index.links_of(path).backlinks]
    assert found == expected
