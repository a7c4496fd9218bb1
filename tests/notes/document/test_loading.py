"""Snapshots and going back: every step here ends with the text, not with a count of rows."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from flashgrep.errors import NotFound
from flashgrep.notes import history
from flashgrep.notes.document.loading import Quarantined, thinned
from flashgrep.notes.document.note import Amendment, Note, NoteRecords
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.document.updates import Update, encode, parse
from flashgrep.notes.store.journal import Version
from tests.notes.desk import MINUTE, START, Desk, Peer
from tests.notes.test_library import append, damage

DAY = 24 * 60 * MINUTE


def sequences(desk: Desk, note: str) -> list[int]:
    return [version.sequence for version in history.versions(desk.library, note)]


def records(desk: Desk, note: str) -> list[int]:
    rows = desk.database.rows("SELECT sequence FROM records WHERE note = ?", note)
    return [sequence for (sequence,) in rows]


def test_a_compacted_note_is_the_same_note(desk: Desk) -> None:
    note = desk.library.create("a.md", "é").id
    peer = Peer(desk.library, note)
    for word in ["one", "two", "😀", "four"]:
        desk.library.receive(note, [peer.type(word)])
        state = desk.library.state(note)
        desk.library.compact(note)
        desk.reopen()
        assert desk.library.state(note) == state
        assert desk.text(note) == peer.text.read()
    assert records(desk, note) == [5]  # those after the snapshot before the newest


def test_random_histories_survive_compaction(desk: Desk) -> None:
    chance = random.Random(4)
    note = desk.library.create("a.md", "start 😀").id
    peers = [Peer(desk.library, note) for _ in range(3)]
    for _ in range(150):
        peer = chance.choice(peers)
        text = peer.text.read()
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice([0, 0, 0, 2]))
        peer.text.splice([TextSplice(start, end, chance.choice(["a", "é", "😀", "word\n"]))])
        if chance.random() < 0.5:
            desk.library.receive(note, peer.take())
        if chance.random() < 0.3:
            peer.hear(desk.library.missing(note, peer.doc.get_state()))
        if chance.random() < 0.2:
            before = desk.library.read(note).text
            desk.library.compact(note)
            desk.reopen()
            assert desk.library.read(note).text == before
    for peer in peers:
        desk.library.receive(note, [peer.doc.get_update(desk.library.state(note))])
    for peer in peers:
        peer.hear(desk.library.missing(note, peer.doc.get_state()))
        assert peer.text.read() == desk.text(note)


def test_many_records_are_compacted_without_being_asked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.notes.document.loading.COMPACT_RECORDS", 5)
    note = desk.library.create("a.md").id
    for number in range(23):
        append(desk.library, note, f"{number} ")
    assert len(records(desk, note)) <= 10
    assert desk.text(note) == "".join(f"{number} " for number in range(23))


def test_large_records_are_compacted_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flashgrep.notes.document.loading.COMPACT_BYTES", 1_000)
    note = desk.library.create("a.md").id
    for _ in range(5):
        append(desk.library, note, "x" * 600)
    assert sequences(desk, note)[-1] < 5
    assert desk.text(note) == "x" * 3_000


@pytest.mark.parametrize("fault", ["lost", "cut"])
def test_a_snapshot_that_is_not_the_note_changes_nothing(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: str,
) -> None:
    note = desk.library.create("a.md", "one").id
    append(desk.library, note, " two")
    whole = Note.whole

    def wrong(of: Note) -> bytes:
        if fault == "lost":
            return b"\0\0"
        update = parse(whole(of))  # the state is the same, and a letter is missing
        client = next(iter(update.structs))
        return encode(Update(update.structs, [(client, 0, 1)]))

    monkeypatch.setattr(Note, "whole", wrong)
    desk.library.compact(note)
    monkeypatch.undo()
    told = {
        "lost": "its updates do not give the state that was written with them",
        "cut": "a snapshot of it does not give the same note",
    }
    assert caplog.messages == [f"no snapshot: note {note} is damaged: {told[fault]}"]
    assert records(desk, note) == [1, 2]
    assert [dated.sequence for dated in desk.journal.snapshots(note)] == [1]
    assert desk.text(note) == "one two"


def test_a_document_that_is_not_what_the_journal_has_is_dropped(desk: Desk) -> None:
    note = desk.library.create("a.md", "one").id
    desk.library._cache.get(note, "").amend(Amendment([TextSplice(3, 3, " ghost")]))
    desk.library.compact(note)
    assert desk.journal.snapshots(note) == []
    append(desk.library, note, "!")
    assert desk.text(note) == "one!"


# ── going back ──────────────────────────────────────────────────────────────────────────────────


def test_a_note_is_kept_as_it_was_before_it_changes_again(desk: Desk) -> None:
    note = desk.library.create("a.md", "one", "ann").id
    for minutes, word in ((1, " two"), (2, " three"), (30, " four"), (41, " five")):
        desk.time = START + minutes * MINUTE
        append(desk.library, note, word, "bob")
    assert history.versions(desk.library, note) == [
        Version(5, "bob", START + 41 * MINUTE),
        Version(4, "bob", START + 30 * MINUTE),
        Version(3, "bob", START + 2 * MINUTE),
        Version(1, "ann", START),
    ]
    assert history.text_at(desk.library, note, 3) == "one two three"
    assert history.text_at(desk.library, note, 5) == "one two three four five"
    with pytest.raises(NotFound, match=r"^a\.md has no version 2; its versions: 5, 4, 3, 1"):
        history.text_at(desk.library, note, 2)


def test_an_old_version_that_was_kept_a_moment_ago_is_the_last_one_kept(desk: Desk) -> None:
    note = desk.library.create("a.md", "one", "ann").id
    for time, word in ((DAY, " two"), (DAY + 1_000, " three"), (DAY + 11 * MINUTE, " four")):
        desk.time = START + time
        append(desk.library, note, word, "bob")
    assert sequences(desk, note) == [4, 3, 1]
    assert desk.text(note) == "one two three four"


def test_a_change_and_the_version_before_it_are_durable_together(desk: Desk) -> None:
    note = desk.library.create("a.md", "one").id
    commits: list[str] = []
    desk.database._connection.set_trace_callback(
        lambda statement: commits.append(statement) if statement == "COMMIT" else None
    )
    desk.library.receive(note, [Peer(desk.library, note).type(" two")])
    assert commits == ["COMMIT"]
    assert sequences(desk, note) == [2, 1]
    assert desk.text(note) == "one two"


def test_changes_that_are_durable_together_keep_one_version(desk: Desk) -> None:
    note = desk.library.create("a.md", "one").id
    with desk.library.together():
        for word in (" two", " three", " four"):
            append(desk.library, note, word)
    assert [dated.sequence for dated in desk.journal.snapshots(note)] == [1]
    assert desk.text(note) == "one two three four"


def test_a_change_that_is_refused_keeps_no_version(desk: Desk) -> None:
    note = desk.library.create("a.md", "one").id

    def refuse(_: str, __: object) -> None:
        raise NotFound("this word")

    with pytest.raises(NotFound, match="this word"):
        desk.library.amend(note, refuse)
    assert desk.journal.snapshots(note) == []
    append(desk.library, note, " two")
    assert sequences(desk, note) == [2, 1]
    assert desk.text(note) == "one two"


def test_going_back_is_one_more_change(desk: Desk) -> None:
    note = desk.library.create("a.md", "one\ntwo\nthree\n").id
    desk.library.compact(note)
    peer = Peer(desk.library, note)
    typing = Peer(desk.library, note)
    desk.library.receive(note, [peer.type("spoiled")])
    peer.text.splice([TextSplice(0, 8)])
    desk.library.receive(note, peer.take())
    assert desk.library.read(note).text == "three\nspoiled"
    typing.text.splice([TextSplice(13, 13, "!")])  # in `three`, which both have
    history.restore(desk.library, note, 1, "admin")
    assert desk.text(note) == "one\ntwo\nthree\n"
    assert sequences(desk, note) == [4, 3, 1]
    desk.library.receive(note, typing.take())
    assert desk.text(note) == "one\ntwo\nthree!\n"
    history.restore(desk.library, note, 3)
    assert desk.text(note) == "three\nspoiled"


def test_going_back_to_what_is_there_changes_nothing(desk: Desk) -> None:
    note = desk.library.create("a.md", "one").id
    assert history.restore(desk.library, note, 1).sequence == 1


def test_a_quarantined_note_goes_back_in_a_new_epoch(desk: Desk) -> None:
    entry = desk.library.create("a.md", "good")
    desk.library.compact(entry.id)
    append(desk.library, entry.id, " bad")
    damage(desk, entry.id, 2)
    desk.reopen()
    assert history.restore(desk.library, entry.id, 1).text == "good"
    assert desk.text(entry.id) == "good"
    assert desk.library.catalogue.entry(entry.id).epoch != entry.epoch


def test_the_current_text_of_a_quarantined_note_is_not_made_up(desk: Desk) -> None:
    note = desk.library.create("a.md", "good").id
    damage(desk, note, 1)
    desk.reopen()
    with pytest.raises(Quarantined):
        history.restore(desk.library, note, 1)
    assert history.salvage(desk.library, note) is None


def test_records_beside_the_text_survive_compaction(desk: Desk) -> None:
    note = desk.library.create("a.md", "é old").id
    beside = {"s": NoteRecords({"by": "ann"}, ((2, 5),))}
    desk.library.amend(note, lambda *_: Amendment(records=beside))
    for _ in range(3):
        desk.library.compact(note)
        append(desk.library, note, "!")
    desk.reopen()
    assert desk.library.records(note) == beside


def at(*times: int) -> list[Version]:
    """Snapshots of given times, the newest first."""
    return [Version(len(times) - place, "", time) for place, time in enumerate(times)]


NOON = START - START % DAY + DAY // 2


@pytest.mark.parametrize(
    ("times", "dropped"),
    [
        ([], []),
        ([NOON, NOON - MINUTE, NOON - 2 * MINUTE], []),
        # three of an earlier day: its last one stays
        ([NOON, NOON - 3 * DAY, NOON - 3 * DAY - 1, NOON - 3 * DAY - 2], [2, 1]),
        ([NOON - 2 * DAY, NOON - 3 * DAY, NOON - 4 * DAY], []),
    ],
)
def test_old_snapshots_are_thinned_to_one_a_day(times: list[int], dropped: list[int]) -> None:
    assert thinned(at(*times), NOON) == dropped


def test_thinning_keeps_what_loading_needs(desk: Desk) -> None:
    note = desk.library.create("a.md", "0").id
    for number in range(1, 60):
        desk.time += 3 * 60 * MINUTE
        append(desk.library, note, f" {number}")
    days = [version.time // DAY for version in history.versions(desk.library, note)]
    now = desk.time // DAY
    assert all(newer != older for newer, older in pairwise(days) if newer < now - 1)
    assert len(days) > 60 // 8
    assert desk.text(note) == " ".join(map(str, range(60)))
