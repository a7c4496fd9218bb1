"""Every form of a link is read, with its line; nothing in code or comments is."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.notes.links.parse import Form, Link, LinkChange, links_of, parse
from flashgrep.notes.markup import critic
from tests.notes.marked import LETTERS, TOKENS, TRAPS, Note, notes, texts

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 150

WIKI, MARKDOWN, REFERENCE = Form.WIKI, Form.MARKDOWN, Form.REFERENCE

FORMS = [
    # wikilinks: text, target, anchor, label
    ("[[N]]", "N", "", ""),
    ("[[N|an alias]]", "N", "", "an alias"),
    ("[[N#A heading]]", "N", "A heading", ""),
    ("[[N#H1#H2]]", "N", "H1#H2", ""),
    ("[[N#^block]]", "N", "^block", ""),
    ("[[N#H|alias]]", "N", "H", "alias"),
    ("[[#Heading]]", "", "Heading", ""),
    ("[[Folder/N.md]]", "Folder/N.md", "", ""),
    ("[[ N | a ]]", "N", "", "a"),
    ("[[Hey! You?]]", "Hey! You?", "", ""),
    ("[[Tag: a, b & c]]", "Tag: a, b & c", "", ""),
    ("[[日本 😀]]", "日本 😀", "", ""),
    ("| [[N\\|a]] | b |", "N", "", "a"),
    ("- [ ] [[N]]", "N", "", ""),
    ("([[N]])", "N", "", ""),
    ("[[[N]]]", "N", "", ""),
    # Markdown links
    ("[t](path.md)", "path.md", "", "t"),
    ("[t](<path with space.md>)", "path with space.md", "", "t"),
    ('[t](a%20b.md#h%20i "title")', "a b.md", "h i", "t"),
    ("[t](a.md 'title')", "a.md", "", "t"),
    ("[t](a.md (title))", "a.md", "", "t"),
    ("[t]( a.md )", "a.md", "", "t"),
    ("[t](../x/a.md)", "../x/a.md", "", "t"),
    ("[t](#heading)", "", "heading", "t"),
    ("[t](a\\(b\\).md)", "a(b).md", "", "t"),
    ("[t](a(b).md)", "a(b).md", "", "t"),
    ("[t](a%23b.md)", "a#b.md", "", "t"),
    ("[](a.md)", "a.md", "", ""),
    ("[a [b] c](d.md)", "d.md", "", "a [b] c"),
    ("[a \\] b](c.md)", "c.md", "", "a \\] b"),
    ("[`code]`](c.md)", "c.md", "", "`code]`"),
    ("[two\nlines](c.md)", "c.md", "", "two\nlines"),
    ("[t](a.md).", "a.md", "", "t"),
    # references
    ("[t][x]\n\n[x]: a.md", "a.md", "", "t"),
    ("[x][]\n\n[x]: a.md", "a.md", "", "x"),
    ("[x]\n\n[x]: a.md", "a.md", "", "x"),
    ("[t][ A\n b]\n\n[a B]: <c d.md> 'title'", "c d.md", "", "t"),
    ("[t][x]\n\n[x]: a.md#h\n[x]: b.md", "a.md", "h", "t"),
    ("[a [b]][x]\n\n[x]: a.md", "a.md", "", "a [b]"),
    # in frontmatter
    ('---\nup: "[[N|a]]"\n---\n', "N", "", "a"),
    ("---\nup:\n  - '[[N#h]]'\n---\n", "N", "h", ""),
    # in suspicious places
    ("a `code` [[N]] `more`", "N", "", ""),
    ("```\n[[A]]\n```\n[[N]]", "N", "", ""),
    ("# [[N]]", "N", "", ""),
    ("> [[N]]", "N", "", ""),
    ("**[[N]]**", "N", "", ""),
    ("%% a %% [[N]]", "N", "", ""),
    ("50 %% [[N]]", "N", "", ""),
    ("- a\n\n    [[N]]", "N", "", ""),
]


@pytest.mark.parametrize(("text", "target", "anchor", "label"), FORMS)
def test_every_form_is_read(text: str, target: str, anchor: str, label: str) -> None:
    (link,) = parse(text)
    assert (link.target, link.anchor, link.label) == (target, anchor, label)
    assert not link.is_embed
    assert text[link.start :].startswith(link.source)


@pytest.mark.parametrize(
    ("text", "target", "label", "form"),
    [
        ("![[N]]", "N", "", WIKI),
        ("![[img.png|100x50]]", "img.png", "100x50", WIKI),
        ("![alt](img.png)", "img.png", "alt", MARKDOWN),
        ("![alt][i]\n\n[i]: img.png", "img.png", "alt", REFERENCE),
    ],
)
def test_an_embed_is_told_from_a_link(text: str, target: str, label: str, form: Form) -> None:
    (link,) = parse(text)
    assert (link.target, link.label, link.form, link.is_embed) == (target, label, form, True)


NONE = [
    "no link",
    "[[]] [[ ]] [[|a]] [[N",
    "[[two\nlines]]",
    "`[[N]]`",
    "``a ` [[N]]``",
    "```\n[[N]]\n[t](a.md)\n```",
    "~~~\n[[N]]\n~~~",
    "a\n\n    [[N]]\n",
    "<!-- [[N]] -->",
    "%% [[N]] %%",
    "%%\n[[N]]\n\n[t](a.md)\n%%",
    "$$[[N]]$$",
    "\\[[N]]",
    "[t](http://example.org/a.md)",
    "[t](mailto:a@example.org)",
    "[t](obsidian://open?file=a)",
    "[t](//example.org)",
    "<http://example.org>",
    "[t]()",
    "[t](a b.md)",
    "[t] (a.md)",
    "[t](a.md",
    "[a\n\nb](c.md)",
    "\\[t](a.md)",
    "[t\\](a.md)",
    "[x] and [ ] and [t][y]",
    "[x]: a.md",
    "[^1] text\n\n[^1]: a.md",
    "---\nup: [[N]]\n---\n",
    '---\nup: "see [[N]]"\n---\n',
    "[x]\n\n```\n[x]: a.md\n```",
]


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_link_is_not_read_as_one(text: str) -> None:
    assert parse(text) == []


def test_links_come_with_their_lines() -> None:
    text = "[[a]]\n\n- [b](b.md) and ![[c]]\n```\n[[d]]\n```\n[![e](e.png)](f.md)\n"
    found = [(link.target, link.line, link.is_embed) for link in parse(text)]
    assert found == [
        ("a", 1, False),
        ("b.md", 3, False),
        ("c", 3, True),
        ("f.md", 7, False),
        ("e.png", 7, True),
    ]


def test_a_link_holds_no_other_link() -> None:
    assert [link.target for link in parse("[a [b](b.md) c](c.md)")] == ["b.md"]


# ── pending links ───────────────────────────────────────────────────────────────────────────────

PENDING = [
    ("[[A]]{++ [[B]]++}", [("A", 1, ""), ("B", 1, "add")]),
    ("[[A]]\n{--[[B]]\n--}[[C]]", [("A", 1, ""), ("B", 2, "remove"), ("C", 2, "")]),
    ("{--[[A]]--}{++[[B]]++}", [("B", 1, "add"), ("A", 1, "remove")]),
    ("{~~[[A]]~>[[B]]~~}", [("B", 1, "add"), ("A", 1, "remove")]),
    # a mark inside a link
    ("[[A{--1--}{++2++}]]", [("A2", 1, "add"), ("A1", 1, "remove")]),
    ("[[A{++|alias++}]]", [("A", 1, "add"), ("A", 1, "remove")]),
    # an edit that retyped a link
    (
        "{--see [[A]] and [[B]]--}{++see [[A]], [[C]]++}",
        [("A", 1, ""), ("C", 1, "add"), ("B", 1, "remove")],
    ),
    ("{--[[A]]--}{++[[A]] [[A]]++}", [("A", 1, ""), ("A", 1, "add")]),
    # code that is only suggested
    ("{--`--}[[A]]{--`--}", [("A", 1, "add")]),
    # comments and highlights
    ("{>>[[A]]<<}{==[[B]]==}", [("B", 1, "")]),
]


@pytest.mark.parametrize(("text", "expected"), PENDING)
def test_a_link_that_only_one_view_has_is_pending(
    text: str, expected: list[tuple[str, int, str]]
) -> None:
    marks = critic.read(text).marks
    spans = [mark.span for mark in marks] or [(0, 7), (12, 19)]
    found = links_of(critic.read(text, spans))
    assert sorted((link.target, link.line, link.pending.value) for link in found) == sorted(
        expected
    )


# ── any text ────────────────────────────────────────────────────────────────────────────────────

BRACKETS = ["[", "]", "[[", "]]", "![", "(", ")", "<", ">", "#", "|", ": ", "x.md", "\\", '"']


@settings(max_examples=CASES, deadline=None)
@given(text=st.one_of(texts(LETTERS, BRACKETS, TRAPS), texts(BRACKETS), st.text(max_size=40)))
def test_any_text_can_be_searched_for_links(text: str) -> None:
    found = parse(text)
    for link in found:
        assert text[link.start : link.start + len(link.source)] == link.source
        assert link.line == text.count("\n", 0, link.start) + 1
        assert link.target or link.anchor
    assert [link.start for link in found] == sorted(link.start for link in found)


@settings(max_examples=CASES, deadline=None)
@given(note=notes(between=texts(LETTERS, TOKENS, ["[[a]]", "[[", "]]", "[a](b.md)"])))
def test_the_accepted_views_links_and_no_others_are_there_or_to_be_added(note: Note) -> None:
    reading = critic.read(note.text, [span for record in note.records for span in record.spans])
    found = links_of(reading)

    def plain(link: Link) -> tuple[str, int, int]:
        return link.source, link.start, link.line

    assert sorted(plain(link) for link in found if link.pending is not LinkChange.REMOVE) == sorted(
        plain(link) for link in parse(reading.accepted.text)
    )
    base = [link.source for link in found if link.pending is not LinkChange.ADD]
    assert sorted(base) == sorted(link.source for link in parse(reading.base.text))


HOSTILE = ["[", "]", "[[", "]]", "![", "[](", "[](<", '[](a "', "[a", "[a][", "[x]: ", "%%", "[]"]


@pytest.mark.parametrize("piece", [*HOSTILE, "[a](b)", "[[a]] ", "\\", "[a]: b\n", "[x][x]"])
@pytest.mark.parametrize(
    "tail",
    [
        "]" * 20_000,
        pytest.param("(a.md)", marks=pytest.mark.thorough),
        pytest.param("\n\n[x]: y\n", marks=pytest.mark.thorough),
    ],
)
def test_a_hostile_text_takes_no_longer_than_another(piece: str, tail: str) -> None:
    """Linear: the square of this length would run into the time limit of a test."""
    text = piece * (50_000 // len(piece)) + tail
    assert len(parse(text)) <= len(text)
