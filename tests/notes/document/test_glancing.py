"""Texts straight from the journal are those that loading gives, or are left to loading."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from flashgrep.notes.document import loading
from flashgrep.notes.document.loading import Quarantined
from flashgrep.notes.document.note import Note
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.document.updates import clocks, number
from flashgrep.notes.store.journal import Journal, NoteSnapshot, Record
from tests.notes.desk import MINUTE, Desk, Peer
from tests.notes.memory_journal import MemoryJournal
from tests.notes.test_library import append, damage


def notes_of(desk: Desk, count: int = 3) -> list[str]:
    return [desk.library.create(f"{n}.md", f"note {n} é😀").id for n in range(count)]


def test_a_glance_gives_what_loading_gives(desk: Desk) -> None:
    """Own promise: with snapshots and without, after any history."""
    chance = random.Random(8)
    notes = notes_of(desk, 5)
    peers = [Peer(desk.library, note) for note in notes]
    for turn in range(120):
        peer = chance.choice(peers)
        text = peer.text.read()
        at = chance.randint(0, len(text))
        peer.text.splice([TextSplice(at, min(len(text), at + chance.choice([0, 2])), "x日😀")])
        desk.time += MINUTE
        desk.library.receive(peer.note, peer.take(), author=f"a{turn}")
        if chance.random() < 0.1:
            desk.library.compact(peer.note)
    desk.reopen()
    glanced = loading.read_texts(desk.journal, notes)
    assert glanced == {note: desk.library.read(note) for note in notes}
    desk.reopen()
    desk.library.glance(notes)
    assert desk.library.published == glanced


@pytest.mark.parametrize("table", ["records", "snapshots"])
def test_what_is_damaged_is_left_to_loading(desk: Desk, table: str) -> None:
    first, second, third = notes_of(desk)
    append(desk.library, second, "more")
    desk.library.compact(second)
    append(desk.library, second, "most")
    text = desk.library.read(second).text
    damage(desk, second, 3 if table == "records" else 2, table)
    desk.reopen()
    desk.library.glance([first, second, third])
    assert set(desk.library.published) == {first, third}
    if table == "records":
        with pytest.raises(Quarantined):
            desk.library.read(second)
        desk.library.glance([second])
        assert second not in desk.library.published
    else:
        assert desk.library.read(second).text == text


HARM = [
    "DELETE FROM snapshots WHERE note = ?",
    "DELETE FROM records WHERE note = ? AND sequence = 2",
    "UPDATE records SET state = x'00' WHERE note = ?",
    "UPDATE records SET content = 'text' WHERE note = ?",
    "UPDATE heads SET sequence = 3 WHERE note = ?",
    "UPDATE heads SET snapshot = 2 WHERE note = ?",
    "UPDATE heads SET snapshot = 0 WHERE note = ?",
]
"""To a note with a snapshot of its first record, which is trimmed, and a second record."""


@pytest.mark.parametrize("harm", HARM)
def test_nothing_that_is_missing_or_changed_passes(desk: Desk, harm: str) -> None:
    first, second, third = notes_of(desk)
    append(desk.library, second, "more")
    desk.database.execute("DELETE FROM records WHERE note = ? AND sequence = 1", second)
    assert set(loading.read_texts(desk.journal, [second])) == {second}
    desk.database.execute(harm, second)
    assert set(loading.read_texts(desk.journal, [first, second, third])) == {first, third}


def test_a_state_that_names_its_clients_in_any_order_passes(desk: Desk) -> None:
    (note,) = notes_of(desk, 1)
    peer = Peer(desk.library, note)
    peer.type(" and more")
    update = peer.doc.get_update()
    journal: Journal = MemoryJournal()
    for name, pairs in zip("ab", permutations(clocks(peer.doc.get_state()).items()), strict=True):
        state = b"\2" + b"".join(number(value) for pair in pairs for value in pair)
        record = journal.append(name, 0, update, state, "ann", 1)
        assert Note.load(name, None, [record]).text.read() == "note 0 é😀 and more"
    assert set(loading.read_texts(journal, ["a", "b"])) == {"a", "b"}


def test_a_state_that_is_not_that_of_the_updates_does_not_pass() -> None:
    journal: Journal = MemoryJournal()
    peer = Note("a")
    for note, state in (("a", peer.state()), ("b", b"\1\5\5"), ("c", b"\xff")):
        journal.append(note, 0, b"\0\0", state, "ann", 1)
    journal.append("d", 0, b"nonsense", peer.state(), "ann", 1)
    found = loading.read_texts(journal, ["a", "b", "c", "d", "unknown"])
    assert {note: one.data for note, one in found.items()} == {"a": b""}


def test_the_newest_of_a_note_is_its_snapshot_and_what_came_after(desk: Desk) -> None:
    (note,) = notes_of(desk, 1)
    append(desk.library, note, "two")
    desk.library.compact(note)
    append(desk.library, note, "three")
    entries = desk.journal.newest([note, "unknown"])[note]
    assert [(type(one), one.sequence) for one in entries] == [(NoteSnapshot, 2), (Record, 3)]


def test_nothing_is_published_that_is_not_durable(desk: Desk) -> None:
    notes = notes_of(desk, 2)
    desk.reopen()
    with desk.library.together():
        append(desk.library, notes[0], "more")
        desk.library.glance(notes)
        known = {note: one.sequence for note, one in desk.library.published.items()}
        assert known == {notes[0]: 1}  # read before it was changed
    desk.library.glance(notes)
    assert [desk.library.published[note].sequence for note in notes] == [2, 1]
