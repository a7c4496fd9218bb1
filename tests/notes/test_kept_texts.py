"""Texts in the store: what is searched after a start is what every document gives, or is loaded."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from flashgrep.notes import kept_texts
from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.document import loading
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.home import Home
from flashgrep.notes.kept_texts import keep_some
from flashgrep.notes.knowledge_base import KnowledgeBase, NoteTree
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.reading import NoteSearcher, Shown
from flashgrep.notes.store.catalogue import Catalogue
from flashgrep.notes.store.database import Database
from flashgrep.notes.store.journal import SqliteJournal
from flashgrep.notes.suggestions import pending
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose_in
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import SearchQuestion
from flashgrep.search.scan.pool import Pool
from tests.formats.stored import FORMATS, copied
from tests.notes.desk import Peer
from tests.notes.test_tables import History

POOL = Pool()
READER = everywhere("ann", Role.READ)
SHORT_BYTES = kept_texts.SHORT_BYTES
WAIT_SECONDS = 60.0
Views = dict[Shown, bytes]


@contextmanager
def opened(path: Path) -> Iterator[KnowledgeBase]:
    kb = KnowledgeBase(path)
    try:
        yield kb
    finally:
        kb.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Home.create(tmp_path / "kb").path


def slowly(library: Library) -> dict[str, Views]:
    """The views of all notes, each document loaded from the journal."""
    found = {}
    for entry in library.catalogue.entries():
        note = loading.load(library.journal, entry.id)
        text = note.text.read()
        spans = [span for one in pending.recorded(note.records()) for span in one.spans]
        read = critic.read(text, spans)
        views = {Shown.RAW: text, Shown.ACCEPTED: read.accepted.text, Shown.BASE: read.base.text}
        found[entry.id] = {shown: view.encode() for shown, view in views.items()}
    return found


def searched(kb: KnowledgeBase) -> dict[str, Views]:
    """The same as a search gets them."""
    notes = [leaf.note for leaf in kb.listing.all()]
    found = {shown: kb.texts.all(notes, shown) for shown in Shown}
    views = {note: {shown: found[shown][note] for shown in Shown} for note in notes}
    assert all(isinstance(view, bytes) for each in views.values() for view in each.values())
    return views  # type: ignore[return-value]


def loaded(kb: KnowledgeBase) -> set[str]:
    """The notes whose documents are in memory."""
    return kb.ask(lambda library: set(library._cache._notes))


def kept(library: Library) -> set[str]:
    """The notes whose rows count."""
    return set(library.kept([entry.id for entry in library.catalogue.entries()]))


def all_ids(library: Library) -> set[str]:
    return {entry.id for entry in library.catalogue.entries()}


def keep_all(library: Library) -> None:
    while keep_some(library, 0) is not None:
        pass


def as_killed(kb: KnowledgeBase, target: Path) -> Path:
    """The knowledge base as another process finds it when this one dies now."""

    def job(library: Library) -> None:
        shutil.copytree(kb.home.path, target, ignore=shutil.ignore_patterns("lock", "*-shm"))

    kb.ask(job)
    return target


# ── any history ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("short_bytes", [SHORT_BYTES, 60])
@pytest.mark.parametrize("seed", [11, 12])
def test_after_any_history_and_at_any_moment_a_start_finds_what_documents_give(
    home: Path, seed: int, short_bytes: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept_texts, "SHORT_BYTES", short_bytes)
    with opened(home) as kb:
        history = History(kb, seed)
        kb.ask(history.create)
        for turn in range(100):
            history.step()
            if turn % 20 == 19:
                expected = kb.ask(slowly)
                with opened(as_killed(kb, tmp_path / f"killed{turn}")) as found:
                    rows = found.ask(kept)
                    assert searched(found) == expected
                    assert not loaded(found) & rows
                    if short_bytes == SHORT_BYTES:
                        assert rows >= expected.keys() - _compacted(found)
            if turn % 30 == 29:
                kb.ask(keep_all)
                assert kb.ask(kept) == kb.ask(all_ids)
        expected = kb.ask(slowly)
        assert searched(kb) == expected
    with opened(home) as again:
        assert again.ask(kept) == expected.keys(), "a normal end leaves nothing behind"
        assert searched(again) == expected
        assert not loaded(again), "a search after a start loads no document"


def _compacted(kb: KnowledgeBase) -> set[str]:
    """Notes whose last record is in a snapshot: their rows may speak of the record."""
    heads = kb.ask(lambda library: library.heads())
    return {note for note, head in heads.items() if head.snapshot == head.sequence}


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
def test_the_texts_of_a_stored_knowledge_base_are_kept_from_the_first_start_on(
    name: str, tmp_path: Path
) -> None:
    home = copied(name, "kb", tmp_path / "kb")
    with opened(home) as kb:
        assert not kb.ask(kept)
        expected = kb.ask(slowly)
        assert searched(kb) == expected
        deadline = time.monotonic() + WAIT_SECONDS
        while kb.ask(kept) != expected.keys() and time.monotonic() < deadline:
            time.sleep(0.01)
    with opened(home) as again:
        assert again.ask(kept) == expected.keys()
        assert searched(again) == expected
        assert not loaded(again)


def test_a_search_after_a_start_answers_as_one_that_loads_every_document(home: Path) -> None:
    with opened(home) as kb:
        for number in range(30):
            kb.ask(partial(Library.create, path=f"N{number}.md", text=f"größe {number} word\n"))
        for number in range(0, 30, 3):
            wish = Edit("word", f"other{number}")
            kb.ask(partial(propose_in, path=f"N{number}.md", edit=wish, author="agent"))
    answers = []
    for is_kept in (True, False):
        with opened(home) as kb:
            if not is_kept:
                kb.tables.texts.is_there = False
            for shown in Shown:
                for pattern in ("word", r"other\d", "größe 1", r"\{\+\+"):
                    searcher = NoteSearcher(kb, NoteTree(kb, READER), POOL, shown)
                    question = SearchQuestion(PatternSpec(pattern), "lines")
                    result = searcher.search("", question, False, lambda *_: None)
                    answers.append([(one.path, one.count) for one in result.files()])
            assert bool(loaded(kb)) is not is_kept
    middle = len(answers) // 2
    assert answers[:middle] == answers[middle:]
    assert any(answers)


# ── rows that do not count ──────────────────────────────────────────────────────────────────────

HARM = [
    "UPDATE texts SET raw = x'00'",
    "UPDATE texts SET raw = 'text'",
    "UPDATE texts SET place = place + 1, size = size + 1",
    "UPDATE texts SET place = 'text', size = 'text'",
    "UPDATE texts SET accepted = x'41'",
    "UPDATE texts SET base = 7",
    "UPDATE texts SET checksum = 0",
    "UPDATE texts SET rules = rules + 1",
    "UPDATE texts SET sequence = sequence - 1",
    "UPDATE texts SET epoch = 'x'",
    "DELETE FROM texts",
    "DROP TABLE texts",
]


@pytest.mark.parametrize("harm", HARM)
def test_what_is_damaged_or_missing_is_loaded_instead(home: Path, harm: str) -> None:
    with opened(home) as kb:
        kb.ask(partial(Library.create, path="A.md", text="once written é"))
        kb.ask(partial(Library.create, path="B.md", text="word"))
        kb.ask(partial(propose_in, path="B.md", edit=Edit("word", "new"), author="agent"))
        expected = kb.ask(slowly)
    database = Database(home / "notes.db")
    database.execute(harm)
    database.close()
    with opened(home) as kb:
        assert not kb.ask(kept)
        assert searched(kb) == expected
    with opened(home) as kb:
        assert kb.ask(kept) == expected.keys()
        assert searched(kb) == expected


def put_before(_: str, __: object) -> Amendment:
    return Amendment([TextSplice(0, 0, "not ")])


@contextmanager
def an_older_flashgrep(home: Path) -> Iterator[Library]:
    """One that does not know the table."""
    database = Database(home / "notes.db")
    yield Library(SqliteJournal(database), Catalogue(database))
    database.close()


def test_a_note_that_an_older_flashgrep_began_anew_is_not_the_one_that_was_kept(
    home: Path,
) -> None:
    with opened(home) as kb:
        note = kb.ask(partial(Library.create, path="A.md", text="first")).id
        kept_one = kb.ask(partial(Library.amend, note=note, plan=put_before))
    with an_older_flashgrep(home) as library:
        library.rebuild(note, "other")
        assert library.amend(note, put_before).sequence == kept_one.sequence
    with opened(home) as kb:
        assert searched(kb)[note] == dict.fromkeys(Shown, b"not other")


def test_a_snapshot_of_an_older_flashgrep_takes_the_place_of_the_record(home: Path) -> None:
    with opened(home) as kb:
        note = kb.ask(partial(Library.create, path="A.md", text="first")).id
    with an_older_flashgrep(home) as library:
        library.compact(note)
    for _ in range(2):
        with opened(home) as kb:
            assert searched(kb)[note] == dict.fromkeys(Shown, b"first")
    with opened(home) as kb:
        assert kb.ask(kept) == {note}


# ── when rows are written ───────────────────────────────────────────────────────────────────────


def test_a_note_that_was_written_once_is_not_stored_twice(home: Path) -> None:
    with opened(home) as kb:
        for path, text in (("A.md", "letters " * 500), ("B.md", "größe " * 500 + "end")):
            kb.ask(partial(Library.create, path=path, text=text))
        rows = kb.ask(lambda _: kb._database.rows("SELECT length(raw) FROM texts"))
        assert max(rows) <= (3,)
        assert len(kb.ask(kept)) == 2


def test_a_long_note_is_written_when_it_is_left_alone_and_not_with_every_letter(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept_texts, "SHORT_BYTES", 100)
    with opened(home) as kb:
        note = kb.ask(partial(Library.create, path="A.md", text="letters " * 50)).id
        kb.ask(keep_all)
        assert kb.ask(kept) == {note}
        written: list[str] = []
        kb.ask(lambda _: kb._database._connection.set_trace_callback(written.append))
        peer = kb.ask(lambda library: Peer(library, note))
        for letter in "more":
            updates = [peer.type(letter)]
            kb.ask(partial(Library.receive, note=note, updates=updates, author="bob"))
            assert not kb.ask(kept)
        assert not any("INTO texts" in one for one in written)
        with opened(as_killed(kb, tmp_path / "killed")) as found:
            assert searched(found) == kb.ask(slowly)
        kb.ask(keep_some)
        assert not kb.ask(kept), "it was changed a moment ago"
        monkeypatch.setattr(kept_texts, "SETTLED_SECONDS", 0.0)
        kb.ask(partial(keep_some, settled=0.0))
        assert kb.ask(kept) == {note}


def test_a_text_and_its_row_become_durable_together_or_not_at_all(home: Path) -> None:
    with opened(home) as kb:
        note = kb.ask(partial(Library.create, path="A.md", text="first")).id

        def job(library: Library) -> None:
            with library.together():
                library.amend(note, put_before)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            kb.ask(job)
        assert kb.ask(kept) == {note}
        assert searched(kb)[note] == dict.fromkeys(Shown, b"first")


def test_a_full_disk_keeps_nobody_from_searching(home: Path) -> None:
    with opened(home) as kb:
        note = kb.ask(partial(Library.create, path="A.md", text="first")).id
        kb.ask(lambda _: kb._database.execute("DELETE FROM texts"))
    database = Database(home / "notes.db")
    database.execute("DELETE FROM texts")
    database.close()
    with opened(home) as kb:

        def full(library: Library) -> None:
            ((pages,),) = kb._database.rows("PRAGMA page_count")
            kb._database.execute(f"PRAGMA max_page_count = {pages}")

        kb.ask(full)
        assert searched(kb)[note] == dict.fromkeys(Shown, b"first")
        kb.ask(partial(keep_some, settled=0.0))
        assert searched(kb)[note] == dict.fromkeys(Shown, b"first")
