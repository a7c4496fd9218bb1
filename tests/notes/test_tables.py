"""The tables of suggestions and links: what they hold is what the notes say, at every moment."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flashgrep.errors import FlashgrepError
from flashgrep.notes import history, tables
from flashgrep.notes.access.roles import Author, AuthorKind, Grant, Principal, Role, everywhere
from flashgrep.notes.document import loading
from flashgrep.notes.document.note import Amendment, Note, NoteRecords
from flashgrep.notes.document.text import Panicked, TextSplice
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.links.parse import links_of
from flashgrep.notes.markup import critic
from flashgrep.notes.review.commenting import CommentedPassage
from flashgrep.notes.review.review import Query
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions import pending
from flashgrep.notes.suggestions.comments import comments_in
from flashgrep.notes.suggestions.pending import suggestions_in
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose_in
from flashgrep.notes.tables import retry_unreadable
from tests.notes.desk import Peer
from tests.notes.links.link_index import LinkIndex

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
ADMIN = everywhere("ann", Role.ADMIN)
ANN = Author("ann", AuthorKind.PERSON)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    Home.create(tmp_path / "kb")
    made = KnowledgeBase(tmp_path / "kb")
    yield made
    made.close()


def rebuilt(kb: KnowledgeBase) -> dict[str, tuple[Any, ...]]:
    """The rows of each note, worked out slowly from the journal alone."""

    def job(library: Library) -> dict[str, tuple[Any, ...]]:
        found = {}
        for entry in (*library.catalogue.entries(), *library.catalogue.trash()):
            note = loading.load(library.journal, entry.id)
            text, besides = note.text.read(), note.records()
            spans = [span for one in pending.recorded(besides) for span in one.spans]
            links = links_of(critic.read(text, spans))
            rows = {one.id: one for one in suggestions_in(text, besides)}
            said = {one.id: one for one in comments_in(text, besides)}
            linked = tuple(replace(one, start=0) for one in links)
            found[entry.id] = (note.sequence, rows, linked, said)
        return found

    return kb.ask(job)


def stored(kb: KnowledgeBase) -> dict[str, tuple[Any, ...]]:
    """The rows as the tables have them; notes that they are behind are left out."""

    def job(library: Library) -> dict[str, tuple[Any, ...]]:
        looked = kb._database.rows("SELECT note, sequence FROM looked")
        pending, links, said = kb.tables.pending, kb.tables.links, kb.tables.comments
        return {
            note: (sequence, pending.of(note), links.of(note), said.of(note))
            for note, sequence in looked
        }

    return kb.ask(job)


# ── any history ─────────────────────────────────────────────────────────────────────────────────

WORDS = [
    *("alpha", "beta", "[[N1]]", "[[N2|b]]", "{++typed++}", "```\n", "\n", "größe", "😀", "x "),
    *("{>>typed too<<}", "{==alpha==}{>>é<<}{>>and more<<}"),
]


class History:
    """Everything that can happen to notes, by chance."""

    def __init__(self, kb: KnowledgeBase, seed: int) -> None:
        self.kb = kb
        self.chance = Random(seed)
        self.number = 0

    def text(self, most: int = 12) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(0, most)))

    def step(self) -> None:
        names = ("create", "type", "peer", "decide", *["suggest"] * 12)
        names += ("comment", "comment", "reply", "resolve")
        more = ("undo", "delete", "move", "restore", "rebuild", "compact", "fail", "import_marks")
        with suppress(FlashgrepError, IndexError):  # nothing there yet to be chosen from
            self.kb.ask(getattr(self, self.chance.choice((*names, *more))))

    def note(self, library: Library) -> str:
        return self.chance.choice(library.catalogue.entries()).id

    def create(self, library: Library) -> None:
        self.number += 1
        library.create(f"N{self.number}.md", self.text(), "ann")

    def type(self, library: Library) -> None:
        def plan(now: str, _: object) -> Amendment:
            places = sorted(self.chance.choices(range(len(now) + 1), k=2))
            return Amendment([TextSplice(places[0], places[1], self.text(3))])

        library.amend(self.note(library), plan, "ann")

    def peer(self, library: Library) -> None:
        peer = Peer(library, self.note(library))
        at = self.chance.randint(0, len(peer.text.read()))
        peer.text.splice([TextSplice(at, at, self.text(3))])
        library.receive(peer.note, peer.take(), "bob")

    def suggest(self, library: Library) -> None:
        entry = library.catalogue.entry(self.note(library))
        old, new = self.chance.choice(["alpha", "beta", "[[N1]]", "größe"]), self.text(2)
        edit = Edit(old, new, replace_all=self.chance.random() < 0.5)
        propose_in(library, entry.path or "", edit, self.chance.choice(["agent", "other"]))

    def decide(self, library: Library) -> None:
        page = self.kb.review.suggestions(Query(limit=5), ADMIN)
        ids = [one.id for one in page.suggestions]
        self.kb.review.decide(ids, self.chance.choice(list(Action)), ADMIN)

    def undo(self, library: Library) -> None:
        rows = self.kb.review.decisions(ADMIN)
        self.kb.review.undo(self.chance.choice(rows)[1].id, ADMIN)

    def comment(self, library: Library) -> None:
        entry = library.catalogue.entry(self.note(library))
        page = self.kb.review.suggestions(Query(limit=5), ADMIN)
        if page.suggestions and self.chance.random() < 0.5:
            one = self.chance.choice(page.suggestions)
            self.kb.commenting.on_suggestion(one.path, one.id, "why?", ADMIN, ANN)
            return
        text = library.read(entry.id).text
        start, end = sorted(self.chance.choices(range(len(text) + 1), k=2))
        units = [len(text[:place].encode("utf-16-le")) // 2 for place in (start, end)]
        passage = CommentedPassage(units[0], units[1], text[start:end])
        self.kb.commenting.on_passage(entry.path or "", passage, "what?", ADMIN, ANN)

    def reply(self, library: Library) -> None:
        found, _ = self.kb.commenting.listed(ADMIN)
        self.kb.commenting.reply(self.chance.choice(found)["id"], self.text(1), ADMIN, ANN)

    def resolve(self, library: Library) -> None:
        found, _ = self.kb.commenting.listed(ADMIN)
        self.kb.commenting.resolve(self.chance.choice(found)["id"], ADMIN)

    def delete(self, library: Library) -> None:
        library.delete(self.note(library))

    def move(self, library: Library) -> None:
        self.number += 1
        gone = library.catalogue.trash()
        note = gone[0].id if gone else self.note(library)
        library.catalogue.move(note, f"M{self.number}.md")

    def restore(self, library: Library) -> None:
        note = self.note(library)
        history.restore(
            library, note, self.chance.choice(history.versions(library, note)).sequence, "ann"
        )

    def rebuild(self, library: Library) -> None:
        library.rebuild(self.note(library), self.text(), "ann")

    def compact(self, library: Library) -> None:
        library.compact(self.note(library))

    def import_marks(self, library: Library) -> None:
        """Several changes that become durable together."""
        with library.together():
            self.type(library)
            with suppress(FlashgrepError), library.together():
                self.suggest(library)
                if self.chance.random() < 0.5:
                    raise FlashgrepError("the inner one comes to nothing")
            self.peer(library)

    def fail(self, library: Library) -> None:
        with library.together():
            self.suggest(library)
            self.type(library)
            raise FlashgrepError("all of it comes to nothing")


@pytest.mark.parametrize("seed", range(4 if HEAVY else 2))
def test_after_any_history_the_tables_are_what_a_slow_look_gives(
    kb: KnowledgeBase, seed: int, tmp_path: Path
) -> None:
    history = History(kb, seed)
    kb.ask(history.create)
    most = said = 0
    for turn in range(120):
        history.step()
        if turn % 8 == 0:
            expected = rebuilt(kb)
            assert stored(kb) == expected
            most = max(most, sum(len(rows) for _, rows, *_ in expected.values()))
            said = max(said, sum(len(rows) for *_, rows in expected.values()))
    assert most > 1, "the history made no suggestions"
    assert said > 1, "the history made no comments"
    expected = rebuilt(kb)
    kb.close()
    again = KnowledgeBase(tmp_path / "kb")
    assert not again.tables.is_behind
    assert stored(again) == expected
    index = LinkIndex()
    paths = {
        one.id: one.path
        for one in again.ask(lambda library: library.catalogue.entries())
        if one.path
    }
    for note, path in paths.items():
        index.put(path, expected[note][2])
    for path in paths.values():
        assert again.links.links_of(path).links == index.links_of(path)
    again.close()


def test_records_that_are_carried_along_are_those_that_are_read_anew(kb: KnowledgeBase) -> None:
    history = History(kb, 7)
    kb.ask(history.create)

    def check(library: Library) -> None:
        for entry in library.catalogue.entries():
            fresh = loading.load(library.journal, entry.id)
            assert list(library.records(entry.id).items()) == list(fresh.records().items())

    for _ in range(80):
        history.step()
        kb.ask(check)


def create(kb: KnowledgeBase, path: str, text: str) -> str:
    return kb.ask(lambda library: library.create(path, text)).id


def suggest(kb: KnowledgeBase, path: str, old: str, new: str = "new") -> None:
    kb.ask(lambda library: propose_in(library, path, Edit(old, new), "agent"))


# ── behind ──────────────────────────────────────────────────────────────────────────────────────


def type_in(kb: KnowledgeBase, note: str, text: str) -> None:
    kb.ask(lambda library: library.amend(note, lambda *_: Amendment([TextSplice(0, 0, text)])))


def test_a_long_note_is_looked_at_when_somebody_asks_and_not_with_every_letter(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("flashgrep.notes.library.FOLLOWED_CHARS", 100)
    note = kb.ask(lambda library: library.create("Long.md", "word " * 50)).id
    kb.ask(lambda library: propose_in(library, "Long.md", Edit("word " * 50, "[[A]]"), "agent"))
    assert stored(kb) == {}
    kb.close()
    again = KnowledgeBase(tmp_path / "kb")
    (found,) = again.review.suggestions(Query(), ADMIN).suggestions
    assert found.new == "[[A]]"
    assert stored(again) == rebuilt(again)
    type_in(again, note, "[[B]] ")
    assert stored(again) == {}
    assert len(again.links.links_of("Long.md").links.outgoing) == 2
    again.close()


def test_what_is_typed_in_an_editor_is_followed_in_short_notes_only(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.notes.library.TYPED_CHARS", 20)
    note = create(kb, "A.md", "[[B]]")
    peer = kb.ask(lambda library: Peer(library, note))
    for text, is_followed in ((" [[C]]", True), (" and a long [[D]]", False)):
        update = peer.type(text)
        kb.ask(partial(Library.receive, note=note, updates=[update], author="bob"))
        assert kb.tables.is_behind is not is_followed
    type_in(kb, note, "[[E]] ")
    assert not kb.tables.is_behind
    assert stored(kb) == rebuilt(kb)


def test_what_is_typed_among_many_marks_is_followed_when_somebody_asks(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.notes.library.TYPED_MARKS", 2)
    note = create(kb, "A.md", "text")
    peer = kb.ask(lambda library: Peer(library, note))
    for text, is_followed in (("{>>one<<}", True), (" {++2++}", True), ("{>>three<<}", False)):
        update = peer.type(text)
        kb.ask(partial(Library.receive, note=note, updates=[update], author="bob"))
        assert kb.tables.is_behind is not is_followed
    found, _ = kb.commenting.listed(ADMIN)
    assert [one["text"] for one in found] == ["one", "three"]
    assert stored(kb) == rebuilt(kb)


def test_an_edit_reads_the_marks_of_its_note_once(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the edit they are those after the last one, which are known."""
    create(kb, "A.md", "alpha beta gamma")
    suggest(kb, "A.md", "alpha")
    read: list[str] = []
    marks = critic._MarkupScan.marks

    def noted(scan: critic._MarkupScan) -> Iterator[critic.Mark]:
        read.append(scan._text)
        return marks(scan)

    monkeypatch.setattr(critic._MarkupScan, "marks", noted)
    suggest(kb, "A.md", "gamma")
    assert read == ["{--alpha--}{++new++} beta {--gamma--}{++new++}"]


def test_other_rules_make_every_note_be_looked_at_again(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kb.ask(lambda library: library.create("A.md", "[[B]]"))
    kb.close()
    monkeypatch.setattr(tables, "RULES", tables.RULES + 1)
    again = KnowledgeBase(tmp_path / "kb")
    assert again.tables.is_behind
    assert len(again.links.links_of("A.md").links.outgoing) == 1
    assert not again.tables.is_behind
    again.close()


def test_a_defect_in_reading_links_never_keeps_words_from_being_stored(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = kb.ask(lambda library: library.create("A.md", "[[B]]")).id

    def fails(_: object) -> None:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patched:
        patched.setattr(tables, "links_of", fails)
        type_in(kb, note, "typed ")
        assert kb.read(note).text == "typed [[B]]"
        assert kb.review.suggestions(Query(), ADMIN).suggestions == ()
    kb.ask(retry_unreadable)
    type_in(kb, note, "[[C]] ")
    assert stored(kb) == rebuilt(kb)


def test_records_that_the_engine_cannot_read_keep_no_words_from_being_stored(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = create(kb, "A.md", "{>>x<<}")
    type_in(kb, note, "word ")  # a snapshot is taken before, which looks at all records

    def fails(_: object) -> None:
        raise Panicked("the note's engine failed")

    with monkeypatch.context() as patched:
        patched.setattr(Note, "_read_records", fails)
        peer = kb.ask(lambda library: Peer(library, note))
        update = peer.type(" typed")
        kb.ask(lambda library: library.receive(note, [update], "bob"))
    assert kb.read(note).text == "word {>>x<<} typed"
    assert kb.review.suggestions(Query(), ADMIN).suggestions == ()
    assert stored(kb) == rebuilt(kb)


# ── asking ──────────────────────────────────────────────────────────────────────────────────────


class Statements:
    """Which tables were read since."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.seen: list[str] = []
        kb.ask(lambda _: kb._database._connection.set_trace_callback(self.seen.append))

    def of(self, table: str) -> int:
        return sum(f"FROM {table}" in one or f"JOIN {table}" in one for one in self.seen)


def test_the_first_questions_after_a_start_read_no_note(kb: KnowledgeBase, tmp_path: Path) -> None:
    for number in range(60):
        create(kb, f"N{number}.md", f"[[Hub]] word{number}\n")
    create(kb, "Hub.md", "[[N1]]")
    for number in range(0, 60, 2):
        suggest(kb, f"N{number}.md", f"word{number}")
    kb.close()
    again = KnowledgeBase(tmp_path / "kb")
    statements = Statements(again)
    page = again.review.suggestions(Query(limit=10), ADMIN)
    rest = again.review.suggestions(Query(limit=1_000, cursor=page.next), ADMIN)
    assert (len(page.suggestions), len(rest.suggestions), rest.next) == (10, 20, None)
    assert len(again.links.links_of("Hub.md").links.backlinks) == 60
    assert statements.of("records") == statements.of("snapshots") == 0
    assert (statements.of("pending"), statements.of("links")) == (2, 2)
    again.close()


def test_pages_are_read_from_an_index_and_not_by_sorting_all_rows(kb: KnowledgeBase) -> None:
    for condition in ("", " AND author = 'a'"):
        asked = (
            "EXPLAIN QUERY PLAN SELECT pending.id FROM pending JOIN notes ON"  # noqa: S608
            f" notes.id = pending.note WHERE notes.path IS NOT NULL{condition}"
            " AND (time, pending.id) > (5, 'x') ORDER BY time, pending.id LIMIT 500"
        )
        plan = kb.ask(partial(rows, kb=kb, asked=asked))
        told = " ".join(str(row[-1]) for row in plan)
        assert "USING INDEX pending_by_" in told
        assert "TEMP B-TREE" not in told


def rows(_: Library, kb: KnowledgeBase, asked: str) -> list[Any]:
    return kb._database.rows(asked)


def test_a_reader_of_one_folder_pages_through_what_is_there(kb: KnowledgeBase) -> None:
    for number in range(12):
        path = f"{'Mine' if number % 4 == 0 else 'Yours'}/{number}.md"
        create(kb, path, "word\n")
        suggest(kb, path, "word")
    reader = Principal("r", (Grant(Role.READ, "Mine"),))
    seen, cursor = [], None
    while True:
        page = kb.review.suggestions(Query(limit=2, cursor=cursor), reader)
        seen += [one.path for one in page.suggestions]
        if (cursor := page.next) is None:
            break
    assert seen == ["Mine/0.md", "Mine/4.md", "Mine/8.md"]


def test_a_time_that_no_table_can_hold_keeps_nothing_from_being_stored(kb: KnowledgeBase) -> None:
    note = kb.ask(lambda library: library.create("A.md", "{++x++}")).id
    beside = NoteRecords({"kind": "suggestion", "author": "a", "time": 1e30}, ((0, 7),))
    kb.ask(lambda library: library.amend(note, lambda *_: Amendment(records={"s_1": beside})))
    (found,) = kb.review.suggestions(Query(), ADMIN).suggestions
    assert found.time == 2**62


def test_a_change_and_its_rows_become_durable_together(kb: KnowledgeBase, tmp_path: Path) -> None:
    """Another connection sees both or none, as after a kill."""
    kb.ask(lambda library: library.create("A.md", "word\n"))
    other = sqlite3.connect(tmp_path / "kb" / "notes.db", check_same_thread=False)

    def look() -> tuple[int, int]:
        (rows,) = other.execute("SELECT count(*) FROM pending").fetchone()
        (last,) = other.execute("SELECT max(sequence) FROM records").fetchone()
        return rows, last

    def job(library: Library) -> None:
        with library.together():
            propose_in(library, "A.md", Edit("word", "new"), "agent")
            assert look() == (0, 1)

    kb.ask(job)
    assert look() == (1, 2)
    other.close()
