"""Links that follow notes to other paths: mended in their path alone, written as they were."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

import pytest

from flashgrep.errors import InvalidParams
from flashgrep.notes.document.text import ordered, spliced
from flashgrep.notes.links.parse import Paths, parse
from flashgrep.notes.links.rewrite import Renaming, relink
from flashgrep.notes.markup import critic

CASES = 5_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 80

VAULT = (
    "Home.md",
    "Old.md",
    "A/Old.md",
    "A/Other.md",
    "A/B/Deep one.md",
    "A/pic (1).png",
    "It's.md",
    "Übersicht.md",
)


def followed(
    text: str, moved: Mapping[str, str], source: str = "Home.md", paths: tuple[str, ...] = VAULT
) -> str:
    """The text of a note after a move."""
    reading = critic.read(text)
    found = relink(source, reading, [], Renaming(paths, moved))
    return spliced(text, ordered(text, found.splices))


RENAMED = {"A/Other.md": "A/New name.md"}
FORMS = [
    ("[[Other]]", "[[New name]]"),
    ("[[Other.md]]", "[[New name.md]]"),
    ("[[other|alias]]", "[[New name|alias]]"),
    ("| [[Other\\|alias]] |", "| [[New name\\|alias]] |"),
    ("[[ Other #Heading#Sub|a]]", "[[ New name #Heading#Sub|a]]"),
    ("[[Other#^block]]", "[[New name#^block]]"),
    ("![[Other|100x50]]", "![[New name|100x50]]"),
    ("[[A/Other]]", "[[A/New name]]"),
    ("[[/A/Other]]", "[[/A/New name]]"),
    ("[[./A/Other]]", "[[./A/New name]]"),
    ("[t](A/Other.md)", "[t](A/New%20name.md)"),
    ('[t](A/Other.md#h "title")', '[t](A/New%20name.md#h "title")'),
    ("[t](<A/Other.md#h>)", "[t](<A/New name.md#h>)"),
    ("[t](./A/Other.md)", "[t](./A/New%20name.md)"),
    ("[t](Other)", "[t](New%20name)"),
    ("![alt](A/Other.md)", "![alt](A/New%20name.md)"),
    ("[t][l] [l]\n\n[l]: A/Other.md 'title'\n", "[t][l] [l]\n\n[l]: A/New%20name.md 'title'\n"),
    ('---\nup: "[[Other|x]]"\n---\n', '---\nup: "[[New name|x]]"\n---\n'),
    (
        "`[[Other]]` %%[[Other]]%%\n\n    [[Other]]\n",
        "`[[Other]]` %%[[Other]]%%\n\n    [[Other]]\n",
    ),
    ("[[Old]] [[Missing]] [x](https://a.b/Other.md)", None),
]


@pytest.mark.parametrize(("text", "after"), FORMS, ids=[text[:30] for text, _ in FORMS])
def test_a_link_is_mended_in_the_way_it_is_written(text: str, after: str | None) -> None:
    assert followed(text, RENAMED) == (text if after is None else after)


ESCAPES = [
    ("A/Other.md", "A/ä b.md", "[t](A/Other.md)", "[t](A/ä%20b.md)"),
    ("Übersicht.md", "A/Zürich.md", "[t](%C3%9Cbersicht.md)", "[t](Z%C3%BCrich.md)"),
    ("A/B/Deep one.md", "C/x.md", "[t](A/B/Deep%20one.md)", "[t](C/x.md)"),
    ("A/B/Deep one.md", "C/y z.md", "[t](<A/B/Deep%20one.md>)", "[t](<C/y%20z.md>)"),
    ("A/Other.md", "A/a(b) #1 50%.md", "[t](A/Other.md)", "[t](A/a%28b%29%20%231%2050%25.md)"),
    ("A/Other.md", "A/a(b).md", "[t](<A/Other.md>)", "[t](<A/a(b).md>)"),
    ("A/Other.md", "Re: x.md", "[t](A/Other.md)", "[t](/Re:%20x.md)"),
    (
        "It's.md",
        "A/We're.md",
        "---\nup: '[[Home]]'\n---\n[[It's]]",
        "---\nup: '[[Home]]'\n---\n[[We're]]",
    ),
    ("A/Other.md", "Ann's.md", "---\nup: '[[Other|x]]'\n---\n", '---\nup: "[[Ann\'s|x]]"\n---\n'),
]


@pytest.mark.parametrize(("old", "new", "text", "after"), ESCAPES)
def test_characters_are_escaped_as_they_were(old: str, new: str, text: str, after: str) -> None:
    assert followed(text, {old: new}) == after


def test_a_link_that_still_means_the_note_is_left_as_it_is() -> None:
    assert (
        followed("[[Other]] [[other.md]]", {"A/Other.md": "C/Other.md"}) == "[[Other]] [[other.md]]"
    )
    assert followed("[[Home]]", {"Home.md": "home.md"}) == "[[Home]]"


def test_a_name_that_another_note_has_is_written_with_its_folder() -> None:
    moved = {"A/Other.md": "A/B/Old.md"}
    assert followed("[[Other]] [x](Other.md)", moved) == "[[A/B/Old]] [x](A/B/Old.md)"


def test_links_that_a_moved_note_would_take_over_keep_their_meaning() -> None:
    """[[Deep one]] means the only note of that name; then one comes to the top."""
    assert followed("[[Deep one]]", {"Old.md": "Deep one.md"}) == "[[A/B/Deep one]]"
    assert (
        followed("[[Old]]", {"Old.md": "C/Old.md"}, paths=("Home.md", "Old.md", "A/Old.md"))
        == "[[C/Old]]"
    )


def test_the_links_of_the_note_that_moves_are_mended_where_its_folder_mattered() -> None:
    moved = {"A/Other.md": "C/D/Other.md"}
    text = "[[A/Old]] [[./Old]] [t](../Home.md) ![p](<pic (1).png>) [[#here]] [[Home]]"
    assert followed(text, moved, "A/Other.md") == (
        "[[A/Old]] [[../../A/Old]] [t](../../Home.md) ![p](<pic (1).png>) [[#here]] [[Home]]"
    )


def test_notes_that_move_together_keep_their_relative_links() -> None:
    moved = {
        path: "New" + path.removeprefix("A")
        for path in VAULT
        if path.startswith("A/") and path.endswith(".md")
    }
    text = "[[./Old]] [d](<./B/Deep one.md>) [[A/Old]]"
    assert followed(text, moved, "A/Other.md") == "[[./Old]] [d](<./B/Deep one.md>) [[New/Old]]"


UNWRITABLE = ["A/a#b.md", "A/a|b.md", "A/[x].md", "A/{++x++}.md", "A/a~>b.md", "A/`x`.md"]


@pytest.mark.parametrize("path", UNWRITABLE)
def test_a_path_that_a_link_cannot_hold_is_refused(path: str) -> None:
    with pytest.raises(InvalidParams, match="choose a name without"):
        followed("x ` y [[Other]]", {"A/Other.md": path})


@pytest.mark.parametrize("path", UNWRITABLE)
def test_markdown_can_hold_any_path(path: str) -> None:
    text = followed("x ` y [t](A/Other.md)", {"A/Other.md": path})
    (link,) = parse(text)
    assert link.target == path


MARKED = [
    ("{++[[Other]]++}", "{++[[New name]]++}"),
    ("{--[[Other]]--}", "{--[[New name]]--}"),
    ("{~~[[Other]]~>[[Other|x]]~~}", "{~~[[New name]]~>[[New name|x]]~~}"),
    ("[[Other{++|alias++}]]", "[[New name{++|alias++}]]"),
    ("{==[[Other]]==}{>>see [[Other]]<<}", "{==[[New name]]==}{>>see [[Other]]<<}"),
    (
        "{--see [[Other]] a--}{++see [[Other]] b++}",
        "{--see [[New name]] a--}{++see [[New name]] b++}",
    ),
]


@pytest.mark.parametrize(("text", "after"), MARKED)
def test_links_inside_marks_follow_and_the_marks_stay(text: str, after: str) -> None:
    assert followed(text, RENAMED) == after


CUT = ["[[Ot{++h++}er]]", "[[O{--l--}{++t++}her]]", "[[Other{++s++}]]", "{++`++}[[Other]]{++`++}"]


@pytest.mark.parametrize("text", CUT)
def test_a_link_that_a_mark_cuts_apart_is_left_and_counted(text: str) -> None:
    paths = (*VAULT, "Others.md")
    found = relink("Home.md", critic.read(text), [], Renaming(paths, RENAMED))
    assert (found.splices, found.left > 0) == ((), True)


# ── any move ────────────────────────────────────────────────────────────────────────────────────

NAMES = ["Old", "New", "note", "A b", "x.y", "Ä", "It's", "50%", "a(b)", "pic"]
FOLDERS = ["", "A/", "A/B/", "C d/", "a/", "Ä/"]
WRITTEN = [
    "[[{}]]",
    "[[{}|alias]]",
    "![[{}#head]]",
    "[t]({} 'x')",
    "[t](<{}>)",
    "[![i](<{}>)](<{}>)",
    "{{++[[{}]]++}}",
    "{{--[t](<{}>)--}}",
    "{{~~[[{}]]~>[[{}]]~~}}",
    "`[[{}]]`",
    "[r][]\n\n[r]: <{}>\n\n",
    "[[{}{{++|x++}}]]",
    "word",
]


def vault(draw: random.Random) -> dict[str, str]:
    """Notes with links to each other in every form; some lead nowhere."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for _ in range(draw.randint(3, 9)):
        path = draw.choice(FOLDERS) + draw.choice(NAMES) + draw.choice([".md"] * 4 + [".png"])
        if path.lower() not in seen:
            seen.add(path.lower())
            found[path] = ""
    for path in found:
        if path.endswith(".md"):
            found[path] = " ".join(line(draw, list(found)) for _ in range(draw.randint(0, 6)))
    return found


def line(draw: random.Random, paths: list[str]) -> str:
    form = draw.choice(WRITTEN)
    targets = [target(draw, draw.choice(paths)) for _ in range(form.count("{}"))]
    if form.startswith("[t]({}"):
        targets = [
            one.replace(" ", "%20").replace("(", "\\(").replace(")", "\\)") for one in targets
        ]
    return form.format(*targets)


def target(draw: random.Random, path: str) -> str:
    short = path.removesuffix(".md") if draw.random() < 0.5 else path
    if draw.random() < 0.1:
        return "./" + short
    if draw.random() < 0.1:
        return "/" + short
    if draw.random() < 0.1:
        return "../" + short
    return "/".join(short.split("/")[-draw.randint(1, 3) :])


def meanings(notes: Mapping[str, str]) -> dict[str, list[list[str | None]]]:
    """What every link of every note means, in both readings."""
    paths = Paths(notes)
    found = {}
    for path, text in notes.items():
        reading = critic.read(text)
        found[path] = [
            [paths.resolve(link.target, path) for link in parse(view.text)]
            for view in (reading.accepted, reading.base)
        ]
    return found


def moves(draw: random.Random, notes: Mapping[str, str]) -> dict[str, str]:
    """One note, or all of a folder."""
    there = [path for path in notes if path.endswith(".md")]
    taken = {path.lower() for path in notes}
    chosen = draw.choice(there) if there else ""
    folder = chosen.rpartition("/")[0]
    if folder and draw.random() < 0.4:
        new = draw.choice(["Moved", "A/B/Moved", "x"])
        moved = {p: new + p.removeprefix(folder) for p in there if p.startswith(folder + "/")}
    else:
        moved = {chosen: draw.choice(FOLDERS) + draw.choice([*NAMES, "Fresh"]) + ".md"}
    return moved if chosen and not {new.lower() for new in moved.values()} & taken else {}


def test_after_any_move_every_link_means_the_note_it_meant() -> None:
    tried = 0
    for seed in range(CASES):
        draw = random.Random(seed)
        notes = vault(draw)
        moved = moves(draw, notes)
        if not moved:
            continue
        renaming = Renaming(notes, moved)
        after, left = {}, {}
        for path, text in notes.items():
            found = relink(path, critic.read(text), [], renaming)
            after[moved.get(path, path)] = spliced(text, ordered(text, found.splices))
            left[path] = found.left
            tried += len(found.splices)
        meant = meanings(after)
        for path, views in meanings(notes).items():
            if left[path]:
                continue
            wanted = [[moved.get(one, one) if one else None for one in view] for view in views]
            now = [
                [two if one else None for one, two in zip(view, new, strict=True)]
                for view, new in zip(wanted, meant[moved.get(path, path)], strict=True)
            ]
            assert now == wanted, (seed, path, notes, moved, after)
        assert sum(left.values()) <= 1, (seed, notes, moved)
    assert tried > CASES / 4
