"""Links of an open knowledge base: exact at every moment, whatever was read already."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from flashgrep.errors import Cancelled, NotFound, Unavailable
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.links.parse import Paths, links_of
from flashgrep.notes.markup import critic
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from flashgrep.notes.tables import catch_up
from tests.notes.links.link_index import pending, unresolved

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    Home.create(tmp_path / "kb")
    made = KnowledgeBase(tmp_path / "kb")
    yield made
    made.close()


def create(kb: KnowledgeBase, path: str, text: str) -> str:
    return kb.ask(lambda library: library.create(path, text)).id


def rewrite(kb: KnowledgeBase, note: str, text: str) -> None:
    def job(library: Library) -> None:
        library.amend(note, lambda now, _: Amendment([TextSplice(0, len(now), text)]))

    kb.ask(job)


def move(kb: KnowledgeBase, note: str, path: str) -> None:
    kb.ask(lambda library: library.catalogue.move(note, path))


def backlinks(kb: KnowledgeBase, path: str) -> list[str]:
    return [back.source for back in kb.links.links_of(path).links.backlinks]


def targets(kb: KnowledgeBase, path: str) -> list[str | None]:
    return [out.path for out in kb.links.links_of(path).links.outgoing]


def test_notes_that_come_change_move_and_go_are_followed(kb: KnowledgeBase) -> None:
    a, b = create(kb, "A.md", "[[B]]\n"), create(kb, "F/B.md", "x\n")
    assert backlinks(kb, "F/B.md") == ["A.md"]
    rewrite(kb, b, "[[A]] [[C]]\n")
    assert targets(kb, "F/B.md") == ["A.md", None]
    create(kb, "C.md", "")
    assert targets(kb, "F/B.md") == ["A.md", "C.md"]
    kb.ask(lambda library: library.catalogue.move(a, "G/A2.md"))
    assert targets(kb, "F/B.md") == [None, "C.md"]
    assert backlinks(kb, "F/B.md") == ["G/A2.md"]
    kb.ask(lambda library: library.delete(a))
    assert backlinks(kb, "F/B.md") == []
    kb.ask(lambda library: library.catalogue.move(a, "A.md"))
    assert backlinks(kb, "F/B.md") == ["A.md"]


def test_two_notes_that_change_places_keep_their_own_links(kb: KnowledgeBase) -> None:
    a, b = create(kb, "A.md", "[[X]]\n"), create(kb, "B.md", "[[Y]]\n")
    assert targets(kb, "A.md") == [None]
    for note, path in ((a, "T.md"), (b, "A.md"), (a, "B.md")):
        move(kb, note, path)
    (link,) = unresolved(kb.links.links_of("A.md").links)
    assert link.target == "Y"


def test_a_suggestion_makes_links_pending_with_its_record(kb: KnowledgeBase) -> None:
    create(kb, "A.md", "```\nsee x\n```\nsee [[Old]]\n")
    propose(kb, "A.md", Edit("see [[Old]]", "see [[New]]"), "ann")
    found = pending(kb.links.links_of("A.md").links)
    assert [(out.link.target, out.link.pending) for out in found] == [
        ("Old", "remove"),
        ("New", "add"),
    ]


def test_a_note_that_changed_in_a_transaction_that_came_to_nothing_is_as_it_was(
    kb: KnowledgeBase,
) -> None:
    create(kb, "A.md", "[[B]]\n")
    assert targets(kb, "A.md") == [None]

    def job(library: Library) -> None:
        with library.together():
            library.create("B.md", "[[A]]\n")
            raise Unavailable("no")

    with pytest.raises(Unavailable):
        kb.ask(job)
    assert targets(kb, "A.md") == [None]
    assert backlinks(kb, "A.md") == []


def test_links_lead_to_attachments_too(kb: KnowledgeBase) -> None:
    create(kb, "A.md", "![[img.png]] ![](assets/b%20c.pdf)\n")
    assert targets(kb, "A.md") == [None, None]
    (kb.home.attachments / "assets").mkdir()
    for name in ("assets/img.png", "assets/b c.pdf"):
        (kb.home.attachments / name).write_bytes(b"x")
    assert targets(kb, "A.md") == ["assets/img.png", "assets/b c.pdf"]
    assert kb.links.links_of("A.md").attachments == {"assets/img.png", "assets/b c.pdf"}
    (kb.home.attachments / "assets/img.png").unlink()
    assert targets(kb, "A.md") == [None, "assets/b c.pdf"]


def test_a_note_that_is_not_there_is_told_so(kb: KnowledgeBase) -> None:
    with pytest.raises(NotFound, match=r"Nowhere\.md"):
        kb.links.links_of("Nowhere.md")


def forget_looks(path: Path) -> None:
    """As after a migration: the tables are behind every note."""
    with sqlite3.connect(path / "notes.db") as database:
        for table in ("looked", "links", "pending"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608
    database.close()


def damage(path: Path, note: str) -> None:
    with sqlite3.connect(path / "notes.db") as database:
        database.execute("UPDATE records SET content = x'00' WHERE note = ?", (note,))
    database.close()


def test_the_links_of_a_note_that_was_damaged_since_are_still_known(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    create(kb, "A.md", "[[B]]\n")
    broken = create(kb, "B.md", "[[A]]\n")
    kb.close()
    damage(tmp_path / "kb", broken)
    again = KnowledgeBase(tmp_path / "kb")
    try:
        found = again.links.links_of("A.md")
        assert [back.source for back in found.links.backlinks] == ["B.md"]
        assert found.skipped == ()
        with pytest.raises(Unavailable, match="quarantined"):
            again.read(broken)
        with pytest.raises(Unavailable, match="quarantined"):
            again.links.links_of("B.md")
    finally:
        again.close()


def test_a_damaged_note_that_was_never_looked_at_is_told_as_skipped_and_the_others_answer(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    create(kb, "A.md", "[[B]]\n")
    broken = create(kb, "B.md", "[[A]]\n")
    kb.close()
    damage(tmp_path / "kb", broken)
    forget_looks(tmp_path / "kb")
    again = KnowledgeBase(tmp_path / "kb")
    try:
        found = again.links.links_of("A.md")
        assert [path for path, _ in found.skipped] == ["B.md"]
        assert "quarantined" in found.skipped[0][1]
        assert [out.path for out in found.links.outgoing] == ["B.md"]
        with pytest.raises(Unavailable, match="quarantined"):
            again.links.links_of("B.md")
    finally:
        again.close()


# ── while it is being filled ────────────────────────────────────────────────────────────────────


def test_a_question_during_the_filling_is_answered_exactly(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.notes.tables.LINKED_NOTES_A_TURN", 3)
    for number in range(10):
        create(kb, f"N{number}.md", "[[Hub]]\n")
    create(kb, "Hub.md", "")
    kb.close()
    forget_looks(tmp_path / "kb")
    late = KnowledgeBase(tmp_path / "kb")
    assert not late.ask(lambda library: catch_up(library, 3))
    assert len(late.links.links_of("Hub.md").links.backlinks) == 10
    late.links.start()
    assert len(late.links.links_of("Hub.md").links.backlinks) == 10
    late.close()


def test_a_cancelled_question_stops_between_two_turns(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.notes.tables.LINKED_NOTES_A_TURN", 1)
    for number in range(5):
        create(kb, f"N{number}.md", "[[Hub]]\n")
    kb.close()
    forget_looks(tmp_path / "kb")
    late = KnowledgeBase(tmp_path / "kb")
    try:
        with pytest.raises(Cancelled):
            late.links.links_of("N0.md", lambda: True)
        assert not late.ask(lambda library: catch_up(library, 1))
    finally:
        late.close()


def test_reading_ahead_ends_with_the_knowledge_base(tmp_path: Path) -> None:
    Home.create(tmp_path / "other")
    kb = KnowledgeBase(tmp_path / "other")
    for number in range(50):
        create(kb, f"N{number}.md", "[[Hub]]\n")
    kb.links.start()
    kb.close()


def test_whatever_happens_the_answer_is_that_of_a_fresh_look(kb: KnowledgeBase) -> None:
    """The oracle reads all notes and resolves every link, with nothing remembered."""
    chance = random.Random(4)
    names = ["A", "B", "F/A", "F/C", "G/B", "G/H/A"]
    notes: dict[str, str] = {}

    def text() -> str:
        links = chance.sample([*names, "X"], 3)
        return "".join(f"[[{name}]] [t]({name}.md)\n" for name in links)

    for _ in range(120 if HEAVY else 50):
        name = f"{chance.choice(names)}.md"
        step = chance.random()
        if name not in notes:
            notes[name] = create(kb, name, text())
        elif step < 0.3:
            note = notes.pop(name)
            kb.ask(partial(Library.delete, note=note))
        elif step < 0.6:
            rewrite(kb, notes[name], text())
        elif (to := f"{chance.choice(names)}.md") not in notes:
            note = notes.pop(name)
            move(kb, note, to)
            notes[to] = note
        for path in notes:
            check(kb, path, notes)


def check(kb: KnowledgeBase, path: str, notes: dict[str, str]) -> None:
    paths = Paths(notes)
    told = kb.links.links_of(path).links
    there = {
        name: [replace(link, start=0) for link in links_of(critic.read(kb.read(note).text))]
        for name, note in notes.items()
    }
    assert [(out.link, out.path) for out in told.outgoing] == [
        (link, paths.resolve(link.target, path)) for link in there[path]
    ]
    assert [(back.source, back.link) for back in told.backlinks] == [
        (source, link)
        for source in sorted(there)
        for link in there[source]
        if paths.resolve(link.target, source) == path
    ]
