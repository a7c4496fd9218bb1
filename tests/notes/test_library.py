"""Notes as a whole: durable before they are seen, undone where they fail, closed where damaged."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest

from flashgrep import limits
from flashgrep.errors import Conflict, FlashgrepError, InvalidParams, NotFound, TooLarge
from flashgrep.notes import history
from flashgrep.notes.document.loading import Quarantined
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import Panicked, TextSplice
from flashgrep.notes.library import PENDING_BYTES, Library
from flashgrep.notes.store.database import StorageFull
from tests.notes.desk import START, Desk, Peer


def append(library: Library, note: str, text: str, author: str = "ann") -> int:
    """Add to a note's end; gives the sequence."""
    read = library.read(note)
    end = len(read.text)
    change = Amendment([TextSplice(end, end, text)])
    return library.amend(note, lambda _, __: change, author).sequence


# ── notes ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", "hello\n", "é😀日本\u2028"])
def test_a_note_is_there_after_a_restart(desk: Desk, text: str) -> None:
    note = desk.library.create("A/b.md", text, "ann", {"bom": True}).id
    assert desk.text(note) == text
    entry = desk.library.find("A/b.md")
    assert (entry.id, entry.properties, entry.created) == (note, {"bom": True}, START)
    head = desk.library.head(note)
    assert head is not None
    assert (head.sequence, head.author, head.time) == (1, "ann", START)


def test_an_unknown_note_is_told_as_missing(desk: Desk) -> None:
    with pytest.raises(NotFound, match=r"Document not found: x.md. File does not exist."):
        desk.library.find("x.md")
    for ask in (desk.library.read, partial(history.versions, desk.library), desk.library.state):
        with pytest.raises(NotFound, match="no note has the id"):
            ask("0123")


@pytest.mark.parametrize("text", ["a\r\n", "a\0", "\ud83d"])
def test_a_text_that_cannot_be_makes_no_note(desk: Desk, text: str) -> None:
    with pytest.raises(InvalidParams):
        desk.library.create("a.md", text)
    with pytest.raises(TooLarge):
        desk.library.create("a.md", "x" * (limits.NOTE_BYTES + 1))
    assert desk.library.catalogue.entries() == []
    assert desk.told == []


def test_a_moved_note_is_the_same_note(desk: Desk) -> None:
    note = desk.library.create("a.md", "text")
    desk.library.catalogue.move(note.id, "B/c.md")
    desk.reopen()
    assert desk.library.find("B/c.md").id == note.id
    assert desk.library.catalogue.entry(note.id).epoch == note.epoch
    assert desk.library.read(note.id).text == "text"


def test_a_deleted_note_is_kept_in_the_trash(desk: Desk) -> None:
    note = desk.library.create("a.md", "precious").id
    peer = Peer(desk.library, note)
    desk.library.delete(note)
    assert [entry.id for entry in desk.library.catalogue.trash()] == [note]
    with pytest.raises(NotFound, match=r"^a\.md is in the trash"):
        desk.library.receive(note, [peer.type("more")])
    with pytest.raises(NotFound, match="in the trash"):
        append(desk.library, note, "more")
    other = desk.library.create("a.md", "another").id
    assert desk.text(other) == "another"
    desk.library.catalogue.move(note, "back.md")
    assert desk.text(note) == "precious"


# ── changes ─────────────────────────────────────────────────────────────────────────────────────


def test_changes_are_numbered_and_told_in_order(desk: Desk) -> None:
    note = desk.library.create("a.md", "one ").id
    assert append(desk.library, note, "two ", "ann") == 2
    assert append(desk.library, note, "three", "bob") == 3
    assert [(change.published.sequence, change.published.author) for change in desk.told] == [
        (1, ""),
        (2, "ann"),
        (3, "bob"),
    ]
    assert desk.told[-1].published.text == desk.text(note) == "one two three"


def test_a_change_is_durable_before_it_is_told(desk: Desk) -> None:
    seen: list[tuple[int, str]] = []

    def look(_: object) -> None:
        other = Desk.__new__(Desk)  # another connection to the same files
        other.home, other.time, other.told = desk.home, 0, []
        other._open()
        seen.append((len(other.journal.read(note)), other.library.read(note).text))
        other.close()

    note = desk.library.create("a.md", "one").id
    desk.library.listen(look)
    append(desk.library, note, " two")
    assert seen == [(2, "one two")]


def test_a_plan_sees_the_note_as_it_is_and_may_refuse(desk: Desk) -> None:
    note = desk.library.create("a.md", "one").id
    seen = []

    def plan(text: str, records: Mapping[str, NoteRecords]) -> Amendment | None:
        seen.append((text, dict(records)))
        if records:
            raise Conflict("enough")
        return Amendment([TextSplice(0, 0, "[")], {"r": NoteRecords({"x": 1}, ((0, 2),))})

    desk.library.amend(note, plan)
    with pytest.raises(Conflict, match="enough"):
        desk.library.amend(note, plan)
    assert desk.library.amend(note, lambda *_: None).sequence == 2
    assert seen == [("one", {}), ("[one", {"r": NoteRecords({"x": 1}, ((0, 2),))})]
    assert desk.text(note) == "[one"
    assert desk.library.records(note) == {"r": NoteRecords({"x": 1}, ((0, 2),))}


def test_a_listener_that_fails_harms_nobody(desk: Desk) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("listener")

    stop = desk.library.listen(fail)
    desk.library.listen(desk.told.append)
    note = desk.library.create("a.md", "one").id
    stop()
    append(desk.library, note, "!")
    assert len(desk.told) == 4
    assert desk.text(note) == "one!"


def test_what_is_done_together_happens_together(desk: Desk) -> None:
    with desk.library.together():
        for number in range(20):
            note = desk.library.create(f"{number}.md", "x").id
            append(desk.library, note, "y")
        assert desk.told == []
    assert len(desk.told) == 40
    assert {desk.library.read(entry.id).text for entry in desk.library.catalogue.entries()} == {
        "xy"
    }


def test_what_fails_together_never_happened(desk: Desk) -> None:
    kept = desk.library.create("kept.md", "kept").id
    desk.told.clear()

    def fail() -> None:
        with desk.library.together():
            desk.library.create("new.md", "new")
            append(desk.library, kept, " changed")
            desk.library.create("kept.md")

    with pytest.raises(Conflict):
        fail()
    assert desk.told == []
    assert [entry.path for entry in desk.library.catalogue.entries()] == ["kept.md"]
    assert append(desk.library, kept, "!") == 2
    assert desk.text(kept) == "kept!"


def test_one_that_fails_alone_leaves_the_others(desk: Desk) -> None:
    with desk.library.together():
        first = desk.library.create("a.md", "first").id
        with pytest.raises(Conflict):
            desk.library.create("A.md", "twin")
        append(desk.library, first, "!")
    assert desk.text(first) == "first!"
    assert [change.published.sequence for change in desk.told] == [1, 2]


# ── peers ───────────────────────────────────────────────────────────────────────────────────────


def test_peers_and_edits_come_together(desk: Desk) -> None:
    note = desk.library.create("a.md", "hello world").id
    one, other = Peer(desk.library, note), Peer(desk.library, note)
    one.text.splice([TextSplice(5, 5, ", 😀")])
    other.text.splice([TextSplice(11, 11, "!")])
    origin = object()
    received = desk.library.receive(note, one.take(), "one", origin)
    assert (received.sequence, received.is_waiting) == (2, False)
    assert desk.told[-1].origin is None, "that its client is `one`'s, the peer is told too"
    one.hear(desk.told[-1].update)
    one.text.splice([TextSplice(5, 5, "!")])
    desk.library.receive(note, one.take(), "one", origin)
    assert desk.told[-1].origin is origin
    desk.library.receive(note, other.take(), "other")
    append(desk.library, note, "?")
    for change in desk.told:
        one.hear(change.update)
    assert one.text.read() == desk.text(note) == "hello!, 😀 world!?"


def test_what_was_received_before_changes_nothing(desk: Desk) -> None:
    note = desk.library.create("a.md").id
    update = Peer(desk.library, note).type("once")
    assert [desk.library.receive(note, [update]).sequence for _ in range(3)] == [2, 2, 2]
    assert desk.library.receive(note, [b"\0\0"]).sequence == 2
    assert len(desk.told) == 2


def test_an_update_that_waits_is_not_called_durable(desk: Desk) -> None:
    note = desk.library.create("a.md").id
    peer = Peer(desk.library, note)
    first, second = peer.type("one "), peer.type("two")
    received = desk.library.receive(note, [second])
    assert (received.sequence, received.is_waiting) == (1, True)
    assert desk.library.read(note).text == ""
    desk.library.compact(note)
    received = desk.library.receive(note, [first])
    assert (received.sequence, received.is_waiting) == (2, False)
    assert desk.text(note) == "one two"


def test_what_waits_for_ever_is_forgotten(desk: Desk) -> None:
    note = desk.library.create("a.md").id
    peer = Peer(desk.library, note)
    first = peer.type("one ")
    large = peer.type("x" * PENDING_BYTES)
    assert desk.library.receive(note, [large]).is_waiting
    assert not desk.library.receive(note, [b"\0\0"]).is_waiting
    desk.library.receive(note, [first])
    assert desk.library.read(note).text == "one "
    desk.library.receive(note, [peer.doc.get_update(desk.library.state(note))])
    assert desk.text(note) == "one " + "x" * PENDING_BYTES


def test_a_repaired_text_is_told_to_the_peer_too(desk: Desk) -> None:
    note = desk.library.create("a.md").id
    peer = Peer(desk.library, note)
    desk.library.receive(note, [peer.type("a\r\nb")], origin=peer)
    assert desk.told[-1].origin is None
    peer.hear(desk.told[-1].update)
    assert peer.text.read() == desk.text(note) == "a\nb"


@pytest.mark.parametrize("bad", ["embed", "huge", "malformed"])
def test_a_refused_update_leaves_no_trace(desk: Desk, bad: str) -> None:
    note = desk.library.create("a.md", "fine").id
    peer, other = Peer(desk.library, note), Peer(desk.library, note)
    good = peer.type(" and good")
    if bad == "embed":
        peer.shared.insert_embed(0, {"x": 1})
    elif bad == "huge":
        peer.type("x" * limits.NOTE_BYTES)
    update = b"\x01\x02\x03" if bad == "malformed" else peer.doc.get_update()
    with pytest.raises(FlashgrepError):
        desk.library.receive(note, [good, update])
    assert len(desk.told) == 1
    desk.library.receive(note, [other.type("!")])
    assert desk.text(note) == "fine!"


# ── faults ──────────────────────────────────────────────────────────────────────────────────────


def test_without_room_writes_are_refused_and_reads_go_on(desk: Desk) -> None:
    note = desk.library.create("a.md", "kept").id
    peer = Peer(desk.library, note)
    big = "x" * 200_000
    ((pages,),) = desk.database.rows("PRAGMA page_count")
    desk.database.execute(f"PRAGMA max_page_count = {pages + 8}")
    with pytest.raises(StorageFull):
        append(desk.library, note, big)
    update = peer.type(big)
    with pytest.raises(StorageFull):
        desk.library.receive(note, [update])
    with pytest.raises(StorageFull):
        desk.library.create("b.md", big)
    assert desk.library.read(note).text == "kept"
    assert [entry.path for entry in desk.library.catalogue.entries()] == ["a.md"]
    assert len(desk.told) == 1
    desk.database.execute(f"PRAGMA max_page_count = {pages + 8_000}")
    desk.library.receive(note, [update])
    assert desk.text(note) == "kept" + big


def test_a_panic_costs_the_call_and_nothing_else(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is made to fail in earnest, after it has done a part of the change."""
    note = desk.library.create("a.md", "😀ab").id
    with monkeypatch.context() as patched:
        patched.setattr("flashgrep.notes.document.text._byte_places", lambda *_: [(4, 99)])
        with pytest.raises(Panicked, match="loaded again"):
            desk.library.amend(note, lambda *_: Amendment([TextSplice(1, 2, "x")]))
    assert len(desk.told) == 1
    append(desk.library, note, "!")
    assert desk.text(note) == "😀ab!"


def test_a_splice_that_went_wrong_is_never_committed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = desk.library.create("a.md", "😀ab").id
    with monkeypatch.context() as patched:
        patched.setattr("flashgrep.notes.document.text._byte_places", lambda *_: [(0, 1)])
        with pytest.raises(Panicked, match="another change"):
            desk.library.amend(note, lambda *_: Amendment([TextSplice(1, 2, "x")]))
    assert desk.text(note) == "😀ab"


def damage(desk: Desk, note: str, sequence: int, table: str = "records") -> None:
    desk.database.execute(
        f"UPDATE {table} SET content = x'00' WHERE note = ? AND sequence = ?",  # noqa: S608
        note,
        sequence,
    )


def test_a_damaged_note_is_quarantined_and_no_other(desk: Desk) -> None:
    note = desk.library.create("A/bad.md", "one").id
    other = desk.library.create("good.md", "fine").id
    peer = Peer(desk.library, note)
    append(desk.library, note, " two")
    damage(desk, note, 2)
    desk.reopen()
    for _ in range(2):
        with pytest.raises(Quarantined, match=r"A/bad\.md is quarantined: record 2 has a wrong"):
            desk.library.read(note)
    with pytest.raises(Quarantined):
        desk.library.receive(note, [peer.type("x")])
    append(desk.library, other, "!")
    assert desk.text(other) == "fine!"
    assert len(desk.journal.read_good(note)) == 1


def test_a_quarantined_note_is_salvaged_and_begun_anew(desk: Desk) -> None:
    entry = desk.library.create("a.md", "one")
    for word in (" two", " three", " four"):
        append(desk.library, entry.id, word)
    damage(desk, entry.id, 3)
    desk.reopen()
    with pytest.raises(Quarantined):
        desk.library.read(entry.id)
    good = history.salvage(desk.library, entry.id)
    assert good == ("one two", {})
    desk.library.rebuild(entry.id, good[0], "admin")
    append(desk.library, entry.id, "!")
    assert desk.text(entry.id) == "one two!"
    assert desk.library.catalogue.entry(entry.id).epoch != entry.epoch
    assert desk.journal.head(f"{entry.id}.{entry.epoch}") is not None


def test_a_damaged_snapshot_is_done_without(desk: Desk) -> None:
    note = desk.library.create("a.md", "one").id
    for word in (" two", " three", " four"):
        append(desk.library, note, word)
        desk.library.compact(note)
    damage(desk, note, 4, "snapshots")
    desk.reopen()
    assert desk.library.read(note).text == "one two three four"
    damage(desk, note, 3, "snapshots")
    desk.reopen()
    with pytest.raises(Quarantined, match="snapshot 4"):
        desk.library.read(note)


def test_a_note_without_anything_stored_is_no_empty_note(desk: Desk) -> None:
    note = desk.library.create("a.md", "one").id
    desk.database.execute("DELETE FROM records")
    desk.database.execute("DELETE FROM heads")
    desk.reopen()
    with pytest.raises(Quarantined, match="nothing is stored"):
        desk.library.read(note)


def test_another_writers_record_is_taken_up(desk: Desk) -> None:
    """The seam for a journal that others write to: a foreign record is loaded and told."""
    note = desk.library.create("a.md", "one").id
    peer = Peer(desk.library, note)
    update = peer.type(" two")
    desk.journal.append(note, 1, update, peer.doc.get_state(), "elsewhere", START)
    assert desk.told[-1].published.text == "one two"
    append(desk.library, note, "!")
    assert desk.text(note) == "one two!"


def test_few_documents_are_kept_and_all_are_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.notes.document.loading.LIVE_NOTES", 3)
    notes = [desk.library.create(f"{number}.md", f"text {number}").id for number in range(9)]
    assert len(desk.library._cache._notes) == 3
    for note in notes:
        append(desk.library, note, "!")
    assert [desk.text(note) for note in notes] == [f"text {number}!" for number in range(9)]
