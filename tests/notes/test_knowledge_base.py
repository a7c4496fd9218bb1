"""An open knowledge base: one owner, one thread, called from many."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pycrdt import Doc, Text

from flashgrep.errors import Cancelled, Conflict, IOFailure, NotFound, Unavailable
from flashgrep.notes import history, knowledge_base
from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.document.loading import Published, Quarantined
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import Panicked, TextSplice
from flashgrep.notes.home import Home, Owned
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.reading import Shown
from flashgrep.notes.review.review import Query
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Home.create(tmp_path / "kb").path


@pytest.fixture
def notes(path: Path) -> Iterator[KnowledgeBase]:
    opened = KnowledgeBase(path)
    yield opened
    opened.close()


HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
OPENING = [
    (asyncio, "new_event_loop", OSError(errno.EMFILE, "Too many open files")),
    (knowledge_base, "Catalogue", sqlite3.OperationalError("disk I/O error")),
    (knowledge_base, "Library", MemoryError()),
    (threading.Thread, "start", RuntimeError("can't start new thread")),
    (knowledge_base, "Linking", MemoryError()),
]


@pytest.mark.parametrize(("where", "what", "error"), OPENING, ids=[row[1] for row in OPENING])
def test_an_opening_that_failed_leaves_the_notes_to_be_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch, where: Any, what: str, error: Exception
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(where, what, fails)
        with pytest.raises(type(error)):
            KnowledgeBase(path)
    KnowledgeBase(path).close()


def test_suggestions_of_a_note_that_could_not_be_read_are_listed_once_it_can(
    notes: KnowledgeBase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(notes, "N.md", "alpha beta\n")
    propose(notes, "N.md", Edit("beta", "gamma"), "agent")
    notes.close()
    with sqlite3.connect(path / "notes.db") as database:
        database.execute("DELETE FROM looked")
        database.execute("DELETE FROM pending")
    database.close()

    def fails(*_: object) -> None:
        raise IOFailure("disk I/O error")

    def listed(notes: KnowledgeBase) -> list[str]:
        page = notes.review.suggestions(Query(), everywhere("ann", Role.ADMIN))
        return [one.new for one in page.suggestions]

    again = KnowledgeBase(path)
    with monkeypatch.context() as patched:
        patched.setattr(Library, "records", fails)
        assert listed(again) == []
    assert listed(again) == ["gamma"]
    again.close()


def create(notes: KnowledgeBase, path: str, text: str) -> str:
    return notes.ask(lambda library: library.create(path, text)).id


def add(library: Library, note: str, text: str) -> int:
    plan = Amendment([TextSplice(0, 0, text)])
    return library.amend(note, lambda *_: plan).sequence


def test_jobs_run_on_one_thread_and_give_their_result(notes: KnowledgeBase) -> None:
    threads = {notes.ask(lambda _: threading.current_thread().name) for _ in range(5)}
    assert threads == {"flashgrep-notes"}
    assert notes.ask(lambda _: notes.ask(lambda _: 7)) == 7
    with pytest.raises(NotFound):
        notes.ask(lambda library: library.find("none.md"))


def test_a_deleted_note_is_held_in_memory_no_longer(notes: KnowledgeBase) -> None:
    """Its text may be large, and is read from the journal again when somebody wants it back."""
    note, other = create(notes, "a.md", "one {++two++}"), create(notes, "b.md", "other")
    notes.texts.all([note, other], Shown.ACCEPTED)
    held = (notes._library.published, notes._library._cache._notes, notes.texts._views)
    assert all(note in kept for kept in held)
    notes.ask(lambda library: library.delete(note))
    assert [list(kept) for kept in held] == [[other]] * 3
    notes.ask(lambda library: library.catalogue.move(note, "a.md"))
    assert notes.texts.all([note], Shown.ACCEPTED) == {note: b"one two"}


@pytest.mark.parametrize("seed", range(5 if HEAVY else 2))
def test_the_list_of_notes_is_what_sorting_them_anew_gives(
    notes: KnowledgeBase, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_base, "_PLACED", 6)
    draw = random.Random(seed)
    names = [f"{folder}{name}.md" for folder in ("", "a/", "a b/", "ä/") for name in "xyzÄ"]

    def change(library: Library) -> None:
        path = draw.choice(names)
        entry, other = library.catalogue.find(path), draw.choice(names)
        if entry is None:
            library.create(path)
        elif draw.random() < 0.3:
            library.delete(entry.id)
        elif library.catalogue.find(other) is None:
            library.catalogue.move(entry.id, other)

    def refused(library: Library) -> None:
        with library.together():
            change(library)
            raise Conflict("undone")

    for _ in range(60):
        held = notes.listing.all()
        before = list(held)
        for _ in range(draw.choice([1, 1, 2, 9])):
            notes.ask(change)
        with pytest.raises(Conflict):
            notes.ask(refused)
        assert notes.listing.all() == notes.ask(knowledge_base._leaves)[1]
        assert held == before, "what somebody holds stays as it was"


def test_many_threads_write_and_nothing_is_lost(notes: KnowledgeBase) -> None:
    note = create(notes, "a.md", "")
    words = [f"<{number}>" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda word: notes.ask(lambda library: add(library, note, word)), words))
    text = notes.read(note).text
    assert all(text.count(word) == 1 for word in words)
    assert notes.read(note).sequence == 201


def test_a_note_is_loaded_once_however_many_ask(path: Path, notes: KnowledgeBase) -> None:
    note = create(notes, "a.md", "text")
    notes.close()
    again = KnowledgeBase(path)
    barrier = threading.Barrier(8)

    def read(_: int) -> object:
        barrier.wait(120)
        return again.ask(lambda library: library.loaded(note))

    with ThreadPoolExecutor(8) as pool:
        assert len({id(document) for document in pool.map(read, range(8))}) == 1
    again.close()


def test_what_was_read_is_read_without_a_turn(notes: KnowledgeBase) -> None:
    note = create(notes, "a.md", "text")
    busy, go_on = threading.Event(), threading.Event()

    def hold(_: Library) -> None:
        busy.set()
        go_on.wait(120)

    held = notes.submit(hold)
    assert busy.wait(120)
    assert notes.read(note).text == "text"
    go_on.set()
    held.result(120)


def test_a_job_that_panics_or_fails_ends_alone(notes: KnowledgeBase) -> None:
    def panic(_: Library) -> None:
        doc: Doc[Text] = Doc()
        text = doc.get("t", type=Text)
        text += "😀ab"
        del text[1:4]

    with pytest.raises(Panicked):
        notes.ask(panic)
    with pytest.raises(ZeroDivisionError):
        notes.ask(lambda _: 1 // 0)
    assert create(notes, "a.md", "x")


def test_what_was_handed_in_is_done_before_it_closes(path: Path) -> None:
    notes = KnowledgeBase(path)
    note = create(notes, "a.md", "")
    handed_in = [notes.submit(lambda library: add(library, note, "x")) for _ in range(50)]
    notes.close()
    notes.close()
    assert [future.result(0) for future in handed_in] == list(range(2, 52))
    with pytest.raises(Unavailable, match="closed"):
        notes.ask(lambda _: None)
    again = KnowledgeBase(path)
    assert again.read(note).text == "x" * 50
    again.close()


def test_another_owner_is_refused_until_the_first_is_gone(path: Path) -> None:
    notes = KnowledgeBase(path)
    with pytest.raises(Owned):
        KnowledgeBase(path)
    notes.close()
    KnowledgeBase(path).close()


def test_a_broken_database_frees_the_lock_and_is_left_alone(path: Path) -> None:
    database = path / "notes.db"
    database.write_bytes(b"garbage" * 1_000)
    for _ in range(2):
        with pytest.raises(Exception, match=r"notes\.db"):
            KnowledgeBase(path)
    assert database.read_bytes() == b"garbage" * 1_000


def test_a_backup_is_a_knowledge_base_of_its_own(
    path: Path, notes: KnowledgeBase, tmp_path: Path
) -> None:
    note = create(notes, "a.md", "kept")
    (path / "attachments" / "image.png").write_bytes(b"png")
    writing = [notes.submit(lambda library: add(library, note, "x")) for _ in range(100)]
    notes.backup(tmp_path / "copy")
    for future in writing:
        future.result(120)
    copy = KnowledgeBase(tmp_path / "copy")
    text = copy.read(note).text
    assert text.endswith("kept")
    assert set(text) <= set("xkept")
    assert (copy.home.attachments / "image.png").read_bytes() == b"png"
    copy.ask(lambda library: add(library, note, "own "))
    copy.close()
    assert notes.read(note).text == "x" * 100 + "kept"
    with pytest.raises(Conflict):
        notes.backup(tmp_path / "copy")


def test_a_backup_keeps_links_among_the_attachments_as_links(
    path: Path, notes: KnowledgeBase, tmp_path: Path
) -> None:
    (path / "attachments" / "gone.png").symlink_to("/nowhere/image.png")
    notes.backup(tmp_path / "copy")
    copied = tmp_path / "copy" / "attachments" / "gone.png"
    assert copied.readlink() == Path("/nowhere/image.png")


def test_many_changes_are_compacted_behind_the_answers(
    notes: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.notes.document.loading.COMPACT_RECORDS", 10)
    note = create(notes, "a.md", "")
    for number in range(35):
        notes.ask(partial(add, note=note, text=f"{number} "))
    versions = notes.ask(lambda library: history.versions(library, note))
    assert len(versions) >= 3
    assert notes.read(note).text == "".join(f"{number} " for number in reversed(range(35)))


def test_many_notes_are_read_and_a_damaged_one_is_told(path: Path, notes: KnowledgeBase) -> None:
    ids = [create(notes, f"{number}.md", f"text {number}") for number in range(120)]
    notes.close()
    database = sqlite3.connect(path / "notes.db")
    with database:
        database.execute("UPDATE records SET content = x'00' WHERE note = ?", (ids[7],))
    database.close()
    again = KnowledgeBase(path)
    found = again.read_all(ids)
    assert list(found) == ids
    damaged = found.pop(ids[7])
    assert isinstance(damaged, Quarantined)
    assert "7.md is quarantined" in damaged.message
    texts = [one.text for one in found.values() if isinstance(one, Published)]
    assert texts == [f"text {number}" for number in range(120) if number != 7]
    assert again.read_all(ids[:7]) == {note: again.read(note) for note in ids[:7]}
    again.close()


def test_a_job_that_is_cancelled_before_its_turn_is_not_done(notes: KnowledgeBase) -> None:
    """An edit waits while somebody else's long work has the notes."""
    begun, go_on, done = threading.Event(), threading.Event(), []

    def long(_: Library) -> None:
        begun.set()
        go_on.wait(120)

    first = notes.submit(long)
    begun.wait(120)
    with pytest.raises(Cancelled, match="nothing was changed"):
        notes.ask(lambda _: done.append(1), is_cancelled=lambda: True)
    go_on.set()
    first.result(30)
    assert notes.ask(lambda _: 7, is_cancelled=lambda: False) == 7
    assert done == []
