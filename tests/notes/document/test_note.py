"""A note in memory: loaded whole or not at all, and what is beside its text stays with it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from pycrdt import Doc, Map, Text

from flashgrep import limits
from flashgrep.errors import InvalidParams, TooLarge
from flashgrep.notes.document.note import Amendment, Note, NoteRecords, is_same
from flashgrep.notes.document.text import Panicked, TextSplice
from flashgrep.notes.store.journal import DamagedNote, NoteSnapshot, Record


def written(text: str) -> Note:
    note = Note("n")
    note.amend(Amendment([TextSplice(0, 0, text)]))
    return note


def record(note: Note, sequence: int) -> Record:
    return Record("n", sequence, note.take_new() or b"\0\0", note.state(), "", 0)


def test_what_is_new_gives_the_same_note_again() -> None:
    note = written("one two")
    records = [record(note, 1)]
    note.amend(Amendment([TextSplice(0, 3, "1"), TextSplice(7, 7, "!")]))
    records.append(record(note, 2))
    assert note.take_new() is None
    loaded = Note.load("n", None, records)
    assert loaded.text.read() == "1 two!"
    assert loaded.sequence == 2
    assert is_same(loaded, note)
    assert loaded.take_new() is None


def test_a_note_that_was_let_go_of_is_gone_with_its_document() -> None:
    notes = [written("one two")]
    notes.append(Note.load("n", None, [record(notes[0], 1)]))
    documents = [weakref.ref(note._doc) for note in notes]
    assert None not in [document() for document in documents]
    del notes
    gc.collect()
    assert [document() for document in documents] == [None, None]


def test_a_snapshot_gives_the_same_note_again() -> None:
    note = written("one 😀")
    note.amend(Amendment(records={"x": NoteRecords({"by": "ann"}, ((4, 5),))}))
    snapshot = NoteSnapshot("n", 7, note.whole(), note.state(), "", 0)
    loaded = Note.load("n", snapshot, [])
    assert is_same(loaded, note)
    assert loaded.sequence == 7


def test_a_history_with_a_hole_is_not_loaded() -> None:
    note = written("one ")
    first = record(note, 1)
    note.amend(Amendment([TextSplice(4, 4, "two ")]))
    record(note, 2)
    note.amend(Amendment([TextSplice(8, 8, "three")]))
    third = record(note, 3)
    with pytest.raises(DamagedNote, match="do not give the state"):
        Note.load("n", None, [first, third])


@pytest.mark.parametrize("update", [b"", b"\x01", b"\xff" * 9])
def test_what_cannot_be_decoded_is_not_loaded(update: bytes) -> None:
    with pytest.raises(DamagedNote, match="malformed"):
        Note.load("n", None, [Record("n", 1, update, b"\0", "", 0)])


def test_nothing_is_no_empty_note() -> None:
    with pytest.raises(DamagedNote, match="nothing is stored"):
        Note.load("n", None, [])


@pytest.mark.parametrize("told", [b"\0\0", b"\x01\x01\x05\x07\x84\x05\x06\x01x\x00"])
def test_what_would_not_give_the_note_again_is_not_stored(told: bytes) -> None:
    note = written("one")
    note._new[:] = [told]
    with pytest.raises(Panicked, match="another change"):
        note.take_new()


# ── beside the text ─────────────────────────────────────────────────────────────────────────────


def test_records_stay_with_their_characters() -> None:
    note = written("é old 😀 text")
    note.amend(
        Amendment(
            [TextSplice(2, 2, "{--"), TextSplice(5, 5, "--}")],
            {"s1": NoteRecords({"by": "ann", "n": 3, "half": 0.5, "deep": {"a": [1]}}, ((2, 11),))},
        )
    )
    assert note.text.read() == "é {--old--} 😀 text"
    note.amend(Amendment([TextSplice(0, 0, "日本 "), TextSplice(5, 6, "OO")]))
    (beside,) = note.records().values()
    assert beside.value == {"by": "ann", "n": 3, "half": 0.5, "deep": {"a": [1]}}
    (span,) = beside.spans
    assert note.text.read()[slice(*span)] == "{--OOld--}"


@pytest.mark.parametrize("value", [2**53, -(2**53), 7.0, 1e300, True, [2.0], {"a": 1.0}, None])
def test_a_record_is_known_as_it_is_read_from_the_document(value: object) -> None:
    note = written("abc")
    stored = [record(note, 1)]
    assert note.records() == {}  # from now on they are known
    note.amend(Amendment(records={"x": NoteRecords({"v": value})}))
    stored.append(record(note, 2))
    assert repr(note.records()) == repr(Note.load("n", None, stored).records())


def test_a_span_whose_end_was_deleted_is_gone() -> None:
    note = written("abcdef")
    note.amend(Amendment(records={"x": NoteRecords({}, ((0, 2), (3, 5)))}))
    note.amend(Amendment([TextSplice(1, 2)]))
    assert note.records()["x"].spans == ((2, 4),)


def test_records_come_in_the_order_they_were_made() -> None:
    note = written("abc")
    for name in ("z", "a", "m"):
        note.amend(Amendment(records={name: NoteRecords({"v": 1})}))
    note.amend(Amendment(records={"z": NoteRecords({"v": 2}), "a": None, "none": None}))
    assert list(note.records().items()) == [
        ("z", NoteRecords({"v": 2})),
        ("m", NoteRecords({"v": 1})),
    ]


def test_nonsense_of_a_peer_beside_the_text_is_skipped() -> None:
    note = written("abc")
    note.amend(Amendment(records={"good": NoteRecords({"v": 1}, ((0, 1),))}))
    peer: Doc[Map[object]] = Doc()
    beside = peer.get("records", type=Map)
    nonsense: list[object] = [
        1,
        "x",
        None,
        [],
        {},
        {"value": 1},
        {"value": {}, "anchors": 1, "made": "x"},
        {"value": {}, "anchors": [1, [], [1, 2, 3], [1, 2, 3, "4"], [-1, 0, 0, 0]]},
        {"value": {}, "anchors": [[1e300, 0, 0, 0], [2.0**53, 1, 1, 1], [7, 7, 7, 7]]},
    ]
    for number, one in enumerate(nonsense):
        beside[str(number)] = one
    note.receive([peer.get_update()])
    assert note.records()["good"] == NoteRecords({"v": 1}, ((0, 1),))
    assert all(beside.spans == () for name, beside in note.records().items() if name != "good")


@pytest.mark.parametrize("span", [(0, 0), (2, 9), (-1, 1)])
def test_a_span_outside_the_text_is_refused(span: tuple[int, int]) -> None:
    with pytest.raises(InvalidParams, match="no character"):
        written("abc").amend(Amendment(records={"x": NoteRecords({}, (span,))}))


# ── from peers ──────────────────────────────────────────────────────────────────────────────────


def peer_of(note: Note) -> tuple[Doc[Text], Text]:
    doc: Doc[Text] = Doc()
    text = doc.get("contents", type=Text)
    doc.apply_update(note.whole())
    return doc, text


@pytest.mark.parametrize(
    ("typed", "expected", "is_repaired"),
    [
        ("plain", "ab-plain", False),
        ("x\r\ny\rz", "ab-x\ny\nz", True),
        ("x\0y", "ab-x\ufffdy", True),
        ("\u2028", "ab-\u2028", False),
    ],
)
def test_a_peers_text_is_one_that_a_note_can_hold(
    typed: str, expected: str, is_repaired: bool
) -> None:
    note = written("ab-")
    doc, text = peer_of(note)
    text += typed
    assert note.receive([doc.get_update()]).is_answered is is_repaired
    assert note.text.read() == expected
    doc.apply_update(note.take_new() or b"\0\0")
    assert str(text) == expected


def test_an_object_in_the_text_is_refused() -> None:
    note = written("ab")
    doc, text = peer_of(note)
    text.insert_embed(1, {"image": 1})
    with pytest.raises(InvalidParams, match="characters only"):
        note.receive([doc.get_update()])


@pytest.mark.parametrize("update", [b"", b"\x01", b"\xff" * 9, b"\x05" * 40])
def test_a_malformed_update_is_refused(update: bytes) -> None:
    with pytest.raises(InvalidParams, match="update is malformed"):
        written("ab").receive([update])


def test_updates_and_notes_have_a_largest_size() -> None:
    with pytest.raises(TooLarge, match=str(limits.UPDATE_BYTES)):
        written("ab").receive([b"\0" * (limits.UPDATE_BYTES + 1)])
    note = written("ab")
    doc, text = peer_of(note)
    text += "x" * limits.NOTE_BYTES
    with pytest.raises(TooLarge, match=str(limits.NOTE_BYTES)):
        note.receive([doc.get_update()])


@pytest.mark.parametrize("kind", [Map, Text])
def test_what_is_no_part_of_a_note_is_refused(kind: type[Map[str]] | type[Text]) -> None:
    note = written("ab")
    doc: Doc[Any] = Doc()
    doc.apply_update(note.whole())
    other = doc.get("other", type=kind)
    if isinstance(other, Text):
        other += "hidden\0"
    else:
        other["x"] = "hidden"
    with pytest.raises(InvalidParams, match=r"writes to 'other'; a note has its text in"):
        note.receive([doc.get_update()])


def test_an_update_that_waits_is_known_until_the_gap_is_filled() -> None:
    note = written("")
    doc, text = peer_of(note)
    updates: list[bytes] = []
    watch = doc.observe(lambda event: updates.append(event.update))
    for word in ("one ", "two ", "three"):
        text += word
    doc.unobserve(watch)
    note.take_new()
    first, second, third = updates
    note.receive([first, third])
    assert note.text.read() == "one "
    assert note.is_waiting
    assert note.waiting_bytes == len(third)
    kept = [note.take_new()]
    note.receive([second])
    assert note.text.read() == "one two three"
    assert not note.is_waiting
    kept.append(note.take_new())
    again = written("")
    again.receive([update for update in kept if update])
    assert again.text.read() == "one two three"


@pytest.mark.parametrize("state", [b"", b"\x01", b"\xff\xff"])
def test_a_malformed_state_vector_is_refused(state: bytes) -> None:
    with pytest.raises(InvalidParams, match="state vector"):
        written("ab").missing(state)
