"""The notes as a tree: which are seen, in which order, in which view, and what is near a miss."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from flashgrep.errors import Cancelled, FlashgrepError, NotFound
from flashgrep.notes.access.roles import Grant, Principal, Role, everywhere
from flashgrep.notes.document.loading import Quarantined
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase, NoteTree
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.reading import NOTES_A_SLICE, NoteSearcher, Shown
from flashgrep.notes.store.database import Database
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import Page, SearchQuestion
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.texts import TextResult

POOL = Pool()
"""Starts no process unless a pattern may take long."""
READER = everywhere("ann", Role.READ)
PATHS = ["a b.md", "a.md", "a/b.md", "a/b/c.md", "Été/x.md", "z.md"]
WALK_ORDER = ["a/b/c.md", "a/b.md", "a b.md", "a.md", "z.md", "Été/x.md"]


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[KnowledgeBase]:
    Home.create(tmp_path / "kb")
    made = KnowledgeBase(tmp_path / "kb")
    yield made
    made.close()


def create(notes: KnowledgeBase, path: str, text: str = "") -> str:
    return notes.ask(lambda library: library.create(path, text, "ann")).id


def paths(tree: NoteTree, folder: str = "") -> list[str]:
    return [leaf.path for leaf in tree.below(folder)]


def searched(
    notes: KnowledgeBase, question: SearchQuestion, cancelled: CancelFlag = False
) -> TextResult:
    searcher = NoteSearcher(notes, NoteTree(notes, READER), POOL)
    return searcher.search("", question, cancelled, lambda *_: None)


def damage(path: Path, note: str) -> None:
    """Change what is stored of a note, behind everybody's back."""
    database = Database(path / "notes.db")
    with database.transaction():
        database.execute("UPDATE records SET content = x'00' WHERE note = ?1", note)
    database.close()


# ── which notes ─────────────────────────────────────────────────────────────────────────────────


def test_notes_come_depth_first_and_by_bytes_as_files_do(notes: KnowledgeBase) -> None:
    for path in PATHS:
        create(notes, path)
    assert paths(NoteTree(notes, READER)) == WALK_ORDER


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("", ["a/b/c.md", "a/b.md", "a.md", "ab/c.md"]),
        ("a", ["a/b/c.md", "a/b.md"]),
        ("a/b", ["a/b/c.md"]),
        ("a/b.md", ["a/b.md"]),
        ("ab", ["ab/c.md"]),
    ],
)
def test_a_folder_is_the_notes_below_it(
    notes: KnowledgeBase, folder: str, expected: list[str]
) -> None:
    for path in ("a/b.md", "a.md", "ab/c.md", "a/b/c.md"):
        create(notes, path)
    assert paths(NoteTree(notes, READER), folder) == expected


def test_a_path_is_found_in_either_unicode_form(notes: KnowledgeBase) -> None:
    create(notes, "\u00c9t\u00e9/x.md")
    tree = NoteTree(notes, READER)
    assert tree.find("E\u0301te\u0301/x.md").path == "\u00c9t\u00e9/x.md"
    assert paths(tree, "E\u0301te\u0301") == ["\u00c9t\u00e9/x.md"]


def test_the_list_follows_what_becomes_of_notes(notes: KnowledgeBase) -> None:
    tree = NoteTree(notes, READER)
    assert paths(tree) == []
    note = create(notes, "a.md")
    assert paths(tree) == ["a.md"]
    notes.ask(lambda library: library.catalogue.move(note, "b/c.md"))
    assert paths(tree) == ["b/c.md"]
    notes.ask(lambda library: library.delete(note))
    assert paths(tree) == []


def test_what_may_not_be_seen_is_not_there(notes: KnowledgeBase) -> None:
    for path in ("Open/a.md", "Open/b/c.md", "Opening/x.md", "Secret/plan.md", "top.md"):
        create(notes, path)
    tree = NoteTree(notes, Principal("bot", (Grant(Role.READ, "Open"),)), "kb://")
    assert paths(tree) == ["Open/a.md", "Open/b/c.md"]
    for hidden in ("Secret/plan.md", "top.md", "Opening/x.md"):
        with pytest.raises(NotFound) as refused:
            tree.find(hidden)
        assert refused.value.message == str(tree.missing(hidden).message)
        assert "Did you mean kb://Secret" not in refused.value.message
    for folder in ("Secret", "Opening"):
        with pytest.raises(NotFound):
            tree.below(folder)


@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        ("Projects/plan.md", "Projects/Plan.md"),  # case
        ("Projects/Plan", "Projects/Plan.md"),  # the ending
        ("Plan.md", "Projects/Plan.md"),  # elsewhere
        ("Projekts/Plan.md", "Projects/Plan.md"),  # elsewhere
        ("Projects/Plam.md", "Projects/Plan.md"),  # a typing error
        ("Projects/Pla%6e.md", "Projects/Plan.md"),
    ],
)
def test_a_miss_names_what_was_perhaps_meant(
    notes: KnowledgeBase, asked: str, offered: str
) -> None:
    for path in ("Projects/Plan.md", "Diary/2026.md"):
        create(notes, path)
    with pytest.raises(NotFound) as refused:
        NoteTree(notes, READER, "kb://").below(asked)
    assert refused.value.message == (
        f"Document not found: kb://{asked}. File does not exist. Did you mean kb://{offered}?"
    )


def test_nothing_is_offered_where_nothing_is_near(notes: KnowledgeBase) -> None:
    create(notes, "Projects/Plan.md")
    message = "Document not found: Zebra/q.md. File does not exist."
    assert NoteTree(notes, READER).missing("Zebra/q.md").message == message


# ── which text ──────────────────────────────────────────────────────────────────────────────────

MARKED = "one {++two++} {--three--}{>>why<<} {~~four~>five~~} {==six==}\n`{++code++}`\n"


@pytest.mark.parametrize("shown", list(Shown))
def test_a_view_is_what_the_one_reader_of_marks_says(notes: KnowledgeBase, shown: Shown) -> None:
    note = create(notes, "a.md", MARKED)
    expected = getattr(critic.read(MARKED), shown.value).text
    assert notes.texts.all([note], shown) == {note: expected.encode()}
    assert notes.texts.reading(note).view(shown).text == expected


def test_views_follow_changes_and_a_note_that_begins_anew(notes: KnowledgeBase) -> None:
    note = create(notes, "a.md", "x {++one++}\n")
    accepted = [notes.texts.all([note], Shown.ACCEPTED)[note]]
    for text in ("x {++two++}\n", "x\n", "{--x--}\n"):
        notes.ask(partial(Library.rebuild, note=note, text=text))
        accepted.append(notes.texts.all([note], Shown.ACCEPTED)[note])
    assert accepted == [b"x one\n", b"x two\n", b"x\n", b"\n"]


def test_a_suggestion_in_code_counts_because_its_record_says_so(notes: KnowledgeBase) -> None:
    note = create(notes, "a.md", "```\ncode\n```\n")
    propose(notes, "a.md", Edit("code", "text"), "bot")
    assert notes.texts.all([note], Shown.ACCEPTED)[note] == b"```\ntext\n```\n"
    assert notes.texts.all([note], Shown.BASE)[note] == b"```\ncode\n```\n"
    assert notes.texts.all([note], Shown.RAW)[note] == b"```\n{--code--}{++text++}\n```\n"


def test_a_damaged_note_is_an_error_and_the_others_are_read(tmp_path: Path) -> None:
    home = tmp_path / "kb"
    Home.create(home)
    first = KnowledgeBase(home)
    good, bad = create(first, "good.md", "x\n"), create(first, "bad.md", "x\n")
    first.close()
    damage(home, bad)
    notes = KnowledgeBase(home)
    try:
        for shown in Shown:
            found = notes.texts.all([good, bad], shown)
            assert found[good] == b"x\n"
            assert isinstance(found[bad], Quarantined)
        with pytest.raises(FlashgrepError, match="quarantined"):
            notes.texts.reading(bad)
        search = searched(notes, SearchQuestion(PatternSpec("x|^$"), "files"))
        assert [found.path for found in search.files()] == ["good.md"]
        assert [path for path, _ in search.skipped] == ["bad.md"]
        assert notes.listing.quarantined().keys() == {bad}
    finally:
        notes.close()


# ── searching ───────────────────────────────────────────────────────────────────────────────────


def test_a_search_shows_what_it_looked_at(notes: KnowledgeBase) -> None:
    note = create(notes, "a.md", "first\nneedle\n")
    search = searched(notes, SearchQuestion(PatternSpec("needle"), "lines"))
    notes.ask(lambda library: library.rebuild(note, "nothing\n"))
    page = search.lines(Page([("a.md", 0, 1)], before=1))
    assert page == [("a.md", [(1, False, "first"), (2, True, "needle")])]


def test_enough_is_enough(notes: KnowledgeBase) -> None:
    for number in range(40):
        create(notes, f"{number:02}.md", "needle\n" * 10)
    few = searched(notes, SearchQuestion(PatternSpec("needle"), "lines", wanted=15))
    assert [found.path for found in few.files()] == ["00.md", "01.md"]


@pytest.mark.thorough
def test_a_withdrawn_search_stops_before_it_has_read_all(notes: KnowledgeBase) -> None:

    def make(library: Library) -> None:
        with library.together():
            for number in range(3 * NOTES_A_SLICE):
                library.create(f"{number:04}.md", "hay\n")

    notes.ask(make)

    class Withdrawn:
        asked = 0

        def __bool__(self) -> bool:
            self.asked += 1
            return self.asked > 2

    with pytest.raises(Cancelled):
        searched(notes, SearchQuestion(PatternSpec("needle"), "lines"), Withdrawn())
