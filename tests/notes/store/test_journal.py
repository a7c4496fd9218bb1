"""One suite for every journal: numbers without gaps, all or nothing, told once it is durable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from flashgrep.notes.store.database import Database, StorageFull
from flashgrep.notes.store.journal import (
    SCHEMA,
    DamagedNote,
    Head,
    Journal,
    NoteSnapshot,
    Record,
    SequenceTaken,
    SqliteJournal,
    Version,
)
from tests.notes.memory_journal import MemoryJournal


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    Database.create(tmp_path / "notes.db", SCHEMA)
    made = Database(tmp_path / "notes.db")
    yield made
    made.close()


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest) -> Journal:
    if request.param == "memory":
        return MemoryJournal()
    return SqliteJournal(request.getfixturevalue("database"))


def write(journal: Journal, note: str, count: int, start: int = 0) -> list[Record]:
    return [
        journal.append(note, number, b"u%d" % number, b"s%d" % number, "ann", 1000 + number)
        for number in range(start, start + count)
    ]


def snapshot(note: str, sequence: int) -> NoteSnapshot:
    return NoteSnapshot(note, sequence, b"whole" * sequence, b"state", "ann", 1000 + sequence)


def test_what_is_appended_is_read(journal: Journal) -> None:
    records = write(journal, "a", 3)
    assert [record.sequence for record in records] == [1, 2, 3]
    assert journal.read("a") == records
    assert journal.read("a", 1) == journal.read_good("a", 1) == records[1:]
    assert journal.read("a", 3) == []


def test_notes_are_numbered_apart(journal: Journal) -> None:
    write(journal, "a", 2)
    (only,) = write(journal, "b", 1)
    assert journal.read("b") == [only]
    assert journal.heads() == {
        "a": Head(2, "ann", 1001, loose_bytes=4),
        "b": Head(1, "ann", 1000, loose_bytes=2),
    }


def test_a_note_that_was_never_written_has_nothing(journal: Journal) -> None:
    assert journal.read("x") == []
    assert journal.head("x") is None
    assert journal.snapshots("x") == []


@pytest.mark.parametrize("expected", [0, 1, 3, 99, -1])
def test_only_the_writer_that_saw_the_newest_record_gets_through(
    journal: Journal, expected: int
) -> None:
    records = write(journal, "a", 2)
    with pytest.raises(SequenceTaken, match="2 records"):
        journal.append("a", expected, b"x", b"", "bob", 0)
    assert journal.read("a") == records


def test_a_first_record_is_number_one(journal: Journal) -> None:
    with pytest.raises(SequenceTaken):
        journal.append("a", 1, b"x", b"", "bob", 0)
    assert journal.head("a") is None


def test_bytes_and_names_of_any_kind_come_back(journal: Journal) -> None:
    made = journal.append("a", 0, bytes(range(256)) * 300, b"\0\xff", "Ann/客户 😀", 2**50)
    empty = journal.append("a", 1, b"", b"", "", 0)
    assert journal.read("a") == [made, empty]


# ── transactions ────────────────────────────────────────────────────────────────────────────────


class Change(Exception):
    """Of mind."""


@contextmanager
def given_up(transaction: AbstractContextManager[None]) -> Iterator[None]:
    """A transaction that ends with an error after its block."""
    with suppress(Change), transaction:
        yield
        raise Change


def test_a_transaction_is_all_or_nothing(journal: Journal) -> None:
    first = write(journal, "a", 1)
    with given_up(journal.transaction()):
        write(journal, "a", 2, start=1)
        write(journal, "b", 1)
    assert journal.read("a") == first
    assert set(journal.heads()) == {"a"}


def test_one_inside_another_can_fail_alone(journal: Journal) -> None:
    with journal.transaction():
        first = write(journal, "a", 1)
        with given_up(journal.transaction()):
            write(journal, "a", 1, start=1)
        last = write(journal, "a", 1, start=1)
    assert journal.read("a") == first + last


def test_a_transaction_that_fails_takes_the_inner_ones_with_it(journal: Journal) -> None:
    with given_up(journal.transaction()), journal.transaction():
        write(journal, "a", 1)
    assert journal.heads() == {}


# ── subscribers ─────────────────────────────────────────────────────────────────────────────────


def test_subscribers_are_told_in_order_until_they_leave(journal: Journal) -> None:
    told: list[Record] = []
    leave = journal.subscribe(told.append)
    records = write(journal, "a", 2)
    assert told == records
    leave()
    write(journal, "a", 1, start=2)
    assert told == records


def test_nobody_is_told_before_it_is_durable(journal: Journal) -> None:
    told: list[Record] = []
    journal.subscribe(told.append)
    with journal.transaction():
        records = write(journal, "a", 2)
        with given_up(journal.transaction()):
            write(journal, "b", 1)
        assert told == []
    assert told == records


def test_nobody_is_told_of_what_came_to_nothing(journal: Journal) -> None:
    told: list[Record] = []
    journal.subscribe(told.append)
    with given_up(journal.transaction()):
        write(journal, "a", 2)
    write(journal, "b", 1)
    assert [record.note for record in told] == ["b"]


def test_a_subscriber_may_write(journal: Journal) -> None:
    def answer(record: Record) -> None:
        if record.note == "a":
            journal.append("b", record.sequence - 1, b"", b"", "", 0)

    journal.subscribe(answer)
    write(journal, "a", 2)
    assert len(journal.read("b")) == 2


# ── snapshots ───────────────────────────────────────────────────────────────────────────────────


def test_a_snapshot_is_kept_beside_the_records(journal: Journal) -> None:
    records = write(journal, "a", 5)
    journal.add_snapshot(snapshot("a", 2), 2000)
    journal.add_snapshot(snapshot("a", 4), 2000)
    assert journal.read("a") == records
    assert journal.snapshot("a", 4) == snapshot("a", 4)
    assert journal.snapshots("a") == [Version(4, "ann", 1004), Version(2, "ann", 1002)]
    assert journal.head("a") == Head(5, "ann", 1004, 4, 2000, loose_bytes=2)


def test_a_trimmed_note_is_read_from_its_snapshot_on(journal: Journal) -> None:
    records = write(journal, "a", 5)
    journal.add_snapshot(snapshot("a", 3), 2000)
    journal.trim("a", 3)
    assert journal.read("a", 3) == records[3:]
    (later,) = write(journal, "a", 1, start=5)
    assert later.sequence == 6
    with pytest.raises(DamagedNote, match="note a is damaged: record 3 of 6"):
        journal.read("a", 2)


def test_records_without_a_snapshot_are_not_trimmed(journal: Journal) -> None:
    records = write(journal, "a", 3)
    with pytest.raises(DamagedNote, match="no snapshot 2"):
        journal.trim("a", 2)
    assert journal.read("a") == records


def test_a_snapshot_that_is_not_there_is_no_empty_note(journal: Journal) -> None:
    write(journal, "a", 1)
    with pytest.raises(DamagedNote, match="no snapshot 1"):
        journal.snapshot("a", 1)


def test_the_newest_two_snapshots_stay(journal: Journal) -> None:
    write(journal, "a", 5)
    for sequence in (1, 2, 3, 4):
        journal.add_snapshot(snapshot("a", sequence), 2000)
    journal.drop_snapshots("a", [1, 3, 4])
    assert [kept.sequence for kept in journal.snapshots("a")] == [4, 3, 2]


def test_what_is_set_aside_is_kept_and_the_note_begins_anew(journal: Journal) -> None:
    write(journal, "a", 3)
    journal.add_snapshot(snapshot("a", 2), 2000)
    journal.set_aside("a", "a.old")
    assert journal.head("a") is None
    assert journal.head("a.old") == Head(3, "ann", 1002, 2, 2000, loose_bytes=2)
    assert [record.sequence for record in write(journal, "a", 2)] == [1, 2]


# ── SQLite alone: damage, room, and the next process ────────────────────────────────────────────


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("UPDATE records SET content = x'00' WHERE sequence = 2", "record 2 has a wrong checksum"),
        ("UPDATE records SET content = 'u1' WHERE sequence = 2", "record 2 has a wrong checksum"),
        ("UPDATE records SET state = x'' WHERE sequence = 2", "record 2 has a wrong checksum"),
        ("UPDATE records SET author = 'eve' WHERE sequence = 2", "record 2 has a wrong checksum"),
        ("UPDATE records SET time = 1 WHERE sequence = 2", "record 2 has a wrong checksum"),
        ("UPDATE records SET sequence = 9 WHERE sequence = 2", "record 9 has a wrong checksum"),
        ("DELETE FROM records WHERE sequence = 2", "record 2 of 3"),
        ("DELETE FROM records WHERE sequence = 3", "record 3 of 3"),
        ("DELETE FROM records", "record 1 of 3"),
    ],
)
def test_damage_is_told_with_the_note_and_never_read_as_empty(
    database: Database, harm: str, told: str
) -> None:
    journal = SqliteJournal(database)
    write(journal, "a", 3)
    write(journal, "b", 1)
    database.execute(harm + (" AND" if "WHERE" in harm else " WHERE") + " note = 'a'")
    with pytest.raises(DamagedNote, match=f"note a is damaged: {told}"):
        journal.read("a")
    good = 0 if told == "record 1 of 3" else 2 if told == "record 3 of 3" else 1
    assert [record.sequence for record in journal.read_good("a")] == list(range(1, good + 1))
    assert len(journal.read("b")) == 1


@pytest.mark.parametrize("harm", ["content = x'00'", "content = 'text'", "state = x'01'"])
def test_a_damaged_snapshot_is_told(database: Database, harm: str) -> None:
    journal = SqliteJournal(database)
    write(journal, "a", 3)
    journal.add_snapshot(snapshot("a", 2), 2000)
    database.execute("UPDATE snapshots SET " + harm)  # noqa: S608
    with pytest.raises(DamagedNote, match="note a is damaged: snapshot 2"):
        journal.snapshot("a", 2)


def test_without_room_nothing_is_written_and_all_is_read(database: Database) -> None:
    journal = SqliteJournal(database)
    told: list[Record] = []
    journal.subscribe(told.append)
    records = write(journal, "a", 3)
    ((pages,),) = database.rows("PRAGMA page_count")
    database.execute(f"PRAGMA max_page_count = {pages + 4}")
    with pytest.raises(StorageFull, match="nothing was changed, notes can be read"):
        journal.append("a", 3, b"x" * 100_000, b"", "bob", 0)
    assert journal.read("a") == records == told
    database.execute(f"PRAGMA max_page_count = {pages + 400}")
    journal.append("a", 3, b"x" * 100_000, b"", "bob", 0)
    assert len(journal.read("a")) == 4


def test_what_is_full_in_the_middle_is_given_up_as_a_whole(database: Database) -> None:
    """SQLite rolls all of it back; who catches the error must not write on outside of it."""
    journal = SqliteJournal(database)
    ((pages,),) = database.rows("PRAGMA page_count")
    database.execute(f"PRAGMA max_page_count = {pages + 4}")

    def write_on() -> None:
        with journal.transaction():
            write(journal, "a", 1)
            with suppress(StorageFull):
                journal.append("b", 0, b"x" * 100_000, b"", "bob", 0)
            write(journal, "c", 1)

    with pytest.raises(StorageFull):
        write_on()
    assert journal.heads() == {}
    assert len(write(journal, "a", 1)) == 1


def test_another_process_reads_what_was_committed(database: Database) -> None:
    records = write(SqliteJournal(database), "a", 3)
    other = Database(database.path)
    assert SqliteJournal(other).read("a") == records
    other.close()


def test_the_journal_is_kept_as_it_promises(database: Database) -> None:
    assert database.rows("PRAGMA journal_mode") == [("wal",)]
    assert database.rows("PRAGMA synchronous") == [(2,)]
    assert database.path.stat().st_mode & 0o077 == 0
