"""The journal: every change of every note, in the order they were committed.

A note's records are numbered from 1 without gaps. `append` names the number before the new one, so
of two writers that saw the same text only one succeeds. What `append` has returned from is durable;
listeners are called only then. A snapshot is a whole note at one of its numbers: a start for
loading, and a version to go back to. Records are trimmed up to the second-newest snapshot, so the
note can be loaded without the newest one if that turns out to be damaged.

This is all that documents know of storage. An engine that spans machines would plug in here: the
protocol says nothing of SQLite, and subscribers learn of records that others have appended.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from flashgrep.errors import Conflict, IOFailure
from flashgrep.notes.store.database import Database


class DamagedNote(IOFailure):
    """A note's stored data is not what was written; it is kept unchanged, and not used."""

    def __init__(self, note: str, reason: str) -> None:
        super().__init__(f"note {note} is damaged: {reason}", {"note": note, "reason": reason})
        self.note = note
        self.reason = reason


class SequenceTaken(Conflict):
    """Somebody else has already appended the record that would have come next."""

    def __init__(self, note: str, expected: int, found: int) -> None:
        super().__init__(
            f"note {note} has {found} records and not {expected}: it changed meanwhile; "
            "read it again"
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One committed change of a note."""

    note: str
    sequence: int
    update: bytes
    """As Yjs encodes it; needs all records before it, and nothing else."""
    state: bytes
    """The state vector of the document after it."""
    author: str
    time: int
    """Milliseconds since 1970, to be shown; the order is the sequence's alone."""


@dataclass(frozen=True, slots=True)
class NoteSnapshot(Record):
    """A whole note after one of its records; author and time are the record's."""


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a note that can be restored: a snapshot without its content."""

    sequence: int
    author: str
    time: int


class Head(NamedTuple):
    """The newest record of a note, without its content, and how far the newest snapshot reaches."""

    sequence: int
    author: str
    time: int
    snapshot: int = 0
    """Sequence of the newest snapshot; 0 if there is none."""
    snapshot_time: int = 0
    """When it was taken, which may be long after the record."""
    loose_bytes: int = 0
    """Size of the records after the newest snapshot."""


class Journal(Protocol):
    """What documents need of storage. Used by one thread."""

    def append(
        self, note: str, expected: int, update: bytes, state: bytes, author: str, time: int
    ) -> Record:
        """Make a change durable as the record after `expected`; `SequenceTaken` otherwise."""

    def read(self, note: str, after: int = 0) -> list[Record]:
        """All records after a number; `DamagedNote` where one is missing or not as written."""

    def read_good(self, note: str, after: int = 0) -> list[Record]:
        """The records after a number up to the first that is missing or not as written."""

    def head(self, note: str) -> Head | None:
        """The newest record; None for a note that was never written."""

    def heads(self) -> dict[str, Head]:
        """The same of all notes."""

    def newest(self, notes: Sequence[str]) -> dict[str, list[Record | NoteSnapshot]]:
        """For many notes, the newest snapshot, if there is one, and all records after it. Notes
        with missing or damaged data are left out.
        """

    def last(self, notes: Sequence[str]) -> dict[str, Record | NoteSnapshot]:
        """The last entry of each note that `newest` gives, checked like there, and faster."""

    def authors(self, note: str) -> list[tuple[int, str]]:
        """Who made each record that is kept, by its number, the oldest first."""

    def snapshots(self, note: str) -> list[Version]:
        """All snapshots, the newest first."""

    def snapshot(self, note: str, sequence: int) -> NoteSnapshot:
        """One snapshot; `DamagedNote` where it is missing or not as written."""

    def add_snapshot(self, snapshot: NoteSnapshot, taken: int) -> None:
        """Keep a snapshot of a sequence that has a record; `taken` is the time now."""

    def trim(self, note: str, through: int) -> None:
        """Forget the records up to a number for which there is a snapshot."""

    def drop_snapshots(self, note: str, sequences: Sequence[int]) -> None:
        """Forget snapshots, but never the newest two."""

    def set_aside(self, note: str, name: str) -> None:
        """Give all that is stored of a note another name, as it is; the note begins anew."""

    def transaction(self) -> AbstractContextManager[None]:
        """Make all that is done in the block durable together, or nothing of it."""

    def subscribe(self, listener: Callable[[Record], None]) -> Callable[[], None]:
        """Call a listener after each durable record, in order; gives the way to stop."""


def checksum(entry: Record | NoteSnapshot) -> int:
    """A number that changes when an entry is no longer what was written."""
    return _checksum(
        entry.note, entry.sequence, entry.update, entry.state, entry.author, entry.time
    )


def _checksum(note: str, sequence: int, update: bytes, state: bytes, author: str, time: int) -> int:
    head = repr((note, sequence, author, time, len(update)))
    return zlib.crc32(state, zlib.crc32(update, zlib.crc32(head.encode())))


def check_row(note: str, found: Sequence[Record], after: int, last: int) -> None:
    """Refuse records that do not follow each other from `after` to `last`."""
    expected = range(after + 1, last + 1)
    if [record.sequence for record in found] != list(expected):
        have = {record.sequence for record in found}
        missing = next((number for number in expected if number not in have), last + 1)
        raise DamagedNote(note, f"record {missing} of {last} is not where it should be")


# ── sqlite journal ───────────────────────────────────────────────────────────────────────────────
# The journal in SQLite.
#
#     records     one row a record: note (id), sequence, time, author, content (the Yjs update),
#                 state (the state vector after it), checksum (crc32 of all the others)
#     snapshots   the same columns; content is compressed (zlib), the checksum is of it uncompressed
#     heads       one row a note: its newest record and newest snapshot. `append` moves it on from
#                 the expected sequence, which makes of two writers one; a row of `records` that
#                 vanished from the end is noticed by it
#
# A note's first record has the sequence 1. Rows are found by (note, sequence); they are stored in
# the order of writing, since a large row in the key's own tree would make the tree shallow in vain.


Entry = TypeVar("Entry", Record, NoteSnapshot)

_ENTRY: Final = """
    note TEXT NOT NULL, sequence INTEGER NOT NULL, time INTEGER NOT NULL, author TEXT NOT NULL,
    content BLOB NOT NULL, state BLOB NOT NULL, checksum INTEGER NOT NULL,
    UNIQUE (note, sequence)
"""
SCHEMA: Final = f"""
CREATE TABLE records ({_ENTRY});
CREATE TABLE snapshots ({_ENTRY});
CREATE TABLE heads (
    note TEXT NOT NULL PRIMARY KEY, sequence INTEGER NOT NULL, author TEXT NOT NULL,
    time INTEGER NOT NULL, snapshot INTEGER NOT NULL, snapshot_time INTEGER NOT NULL,
    loose_bytes INTEGER NOT NULL
) WITHOUT ROWID;
"""
_HEAD: Final = "sequence, author, time, snapshot, snapshot_time, loose_bytes"
_ROW: Final = "note, sequence, content, state, author, time, checksum"


class SqliteJournal:
    """The records, snapshots and heads of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listeners: list[Callable[[Record], None]] = []

    # ── records ─────────────────────────────────────────────────────────────────────────────────

    def append(
        self, note: str, expected: int, update: bytes, state: bytes, author: str, time: int
    ) -> Record:
        record = Record(
            note=note, sequence=expected + 1, update=update, state=state, author=author, time=time
        )
        with self._database.transaction():
            self._move_head(record)
            self._insert("records", record, update)
            self._database.when_done(lambda: self._notify(record))
        return record

    def _move_head(self, record: Record) -> None:
        if record.sequence == 1 and self.head(record.note) is None:
            self._database.execute("INSERT INTO heads VALUES (?, 0, '', 0, 0, 0, 0)", record.note)
        moved = self._database.execute(
            "UPDATE heads SET sequence = ?, author = ?, time = ?, loose_bytes = loose_bytes + ?"
            " WHERE note = ? AND sequence = ?",
            record.sequence,
            record.author,
            record.time,
            len(record.update),
            record.note,
            record.sequence - 1,
        )
        if moved.rowcount != 1:
            head = self.head(record.note)
            raise SequenceTaken(record.note, record.sequence - 1, head.sequence if head else 0)

    def read(self, note: str, after: int = 0) -> list[Record]:
        head = self.head(note)
        found = [self._checked(record, stored) for record, stored in self._stored(note, after)]
        check_row(note, found, after, max(after, head.sequence if head else 0))
        return found

    def read_good(self, note: str, after: int = 0) -> list[Record]:
        found: list[Record] = []
        for record, stored in self._stored(note, after):
            try:
                self._checked(record, stored)
            except DamagedNote:
                break
            if record.sequence != after + len(found) + 1:
                break
            found.append(record)
        return found

    def _stored(self, note: str, after: int) -> list[tuple[Record, Any]]:
        rows = self._database.rows(
            f"SELECT {_ROW} FROM records WHERE note = ? AND sequence > ? ORDER BY sequence",  # noqa: S608
            note,
            after,
        )
        return [(Record(*row[:-1]), row[-1]) for row in rows]

    def head(self, note: str) -> Head | None:
        rows = self._database.rows(f"SELECT {_HEAD} FROM heads WHERE note = ?", note)  # noqa: S608
        return Head(*rows[0]) if rows else None

    def heads(self) -> dict[str, Head]:
        rows = self._database.rows(f"SELECT note, {_HEAD} FROM heads")  # noqa: S608
        return {row[0]: Head._make(row[1:]) for row in rows}

    def authors(self, note: str) -> list[tuple[int, str]]:
        return self._database.rows(
            "SELECT sequence, author FROM records WHERE note = ? ORDER BY sequence", note
        )

    # ── many notes ──────────────────────────────────────────────────────────────────────────────

    def newest(self, notes: Sequence[str]) -> dict[str, list[Record | NoteSnapshot]]:
        return {
            note: [*(NoteSnapshot(*row[:6]) for row in kept), *(Record(*row[:6]) for row in rest)]
            for note, kept, rest in self._intact(notes)
        }

    def last(self, notes: Sequence[str]) -> dict[str, Record | NoteSnapshot]:
        return {
            note: Record(*rest[-1][:6]) if rest else NoteSnapshot(*kept[-1][:6])
            for note, kept, rest in self._intact(notes)
        }

    def _intact(self, notes: Sequence[str]) -> Iterator[tuple[str, list[Any], list[Any]]]:
        """Of each note that is whole its newest snapshot and the records after it, as rows."""
        records: dict[str, list[Any]] = {}
        for row in self._rows_of(notes, "records", ">"):
            records.setdefault(row[0], []).append(row)
        dated = [note for note, rows in records.items() if rows[0][-1]]
        snapshots = {row[0]: _unzipped(row) for row in self._rows_of(dated, "snapshots", "=")}
        for note, rest in records.items():
            last, snapshot = rest[0][-2:]
            if rest[0][1] is None:  # no record after the snapshot
                rest = []
            kept = [snapshots[note]] if snapshot else []
            in_row = len(rest) == last - snapshot and all(
                row[1] == number for number, row in enumerate(rest, snapshot + 1)
            )
            if (kept or rest) and in_row and all(map(_is_whole, kept + rest)):
                yield note, kept, rest

    def _rows_of(self, notes: Sequence[str], table: str, beside_snapshot: str) -> list[Any]:
        """Rows of notes, NULL for one without any, and the heads' last record and snapshot."""
        if not notes:
            return []
        columns = ", ".join(f"stored.{column}" for column in _ROW.split(", ")[1:])
        return self._database.rows(
            f"SELECT heads.note, {columns}, heads.sequence, heads.snapshot"  # noqa: S608
            f" FROM heads LEFT JOIN {table} AS stored ON stored.note = heads.note"
            f" AND stored.sequence {beside_snapshot} heads.snapshot"
            f" WHERE heads.note IN ({_places(notes)}) ORDER BY heads.note, stored.sequence",
            *notes,
        )

    # ── snapshots ───────────────────────────────────────────────────────────────────────────────

    def snapshots(self, note: str) -> list[Version]:
        rows = self._database.rows(
            "SELECT sequence, author, time FROM snapshots WHERE note = ? ORDER BY sequence DESC",
            note,
        )
        return [Version(*row) for row in rows]

    def snapshot(self, note: str, sequence: int) -> NoteSnapshot:
        rows = self._database.rows(
            f"SELECT {_ROW} FROM snapshots WHERE note = ? AND sequence = ?",  # noqa: S608
            note,
            sequence,
        )
        return self._unpacked(rows[0] if rows else None, note, sequence)

    def _unpacked(self, row: Any, note: str, sequence: int) -> NoteSnapshot:
        if row is None:
            raise DamagedNote(note, f"there is no snapshot {sequence}")
        name, number, packed, state, author, time, stored = row
        try:
            content = zlib.decompress(packed)
        except (zlib.error, TypeError):
            raise DamagedNote(note, f"snapshot {sequence} cannot be unpacked") from None
        return self._checked(NoteSnapshot(name, number, content, state, author, time), stored)

    def add_snapshot(self, snapshot: NoteSnapshot, taken: int) -> None:
        with self._database.transaction():
            self._insert("snapshots", snapshot, zlib.compress(snapshot.update, 1))
            self._database.execute(
                "UPDATE heads SET snapshot = max(snapshot, ?), snapshot_time = ? WHERE note = ?",
                snapshot.sequence,
                taken,
                snapshot.note,
            )
            self._database.execute(
                "UPDATE heads SET loose_bytes = (SELECT coalesce(sum(length(content)), 0)"
                " FROM records WHERE note = heads.note AND sequence > heads.snapshot)"
                " WHERE note = ?",
                snapshot.note,
            )

    def trim(self, note: str, through: int) -> None:
        if all(kept.sequence != through for kept in self.snapshots(note)):
            raise DamagedNote(note, f"there is no snapshot {through} to trim to")
        self._database.execute(
            "DELETE FROM records WHERE note = ? AND sequence <= ?", note, through
        )

    def drop_snapshots(self, note: str, sequences: Sequence[int]) -> None:
        newest = [kept.sequence for kept in self.snapshots(note)[:2]]
        with self._database.transaction():
            for sequence in set(sequences) - set(newest):
                self._database.execute(
                    "DELETE FROM snapshots WHERE note = ? AND sequence = ?", note, sequence
                )

    # ── the rest ────────────────────────────────────────────────────────────────────────────────

    def set_aside(self, note: str, name: str) -> None:
        with self._database.transaction():
            for table in ("records", "snapshots", "heads"):
                self._database.execute(
                    f"UPDATE {table} SET note = ? WHERE note = ?",  # noqa: S608
                    name,
                    note,
                )

    def transaction(self) -> AbstractContextManager[None]:
        return self._database.transaction()

    def subscribe(self, listener: Callable[[Record], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _notify(self, record: Record) -> None:
        for listener in list(self._listeners):
            listener(record)

    def _insert(self, table: str, entry: Record | NoteSnapshot, content: bytes) -> None:
        self._database.execute(
            f"INSERT INTO {table} ({_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            entry.note,
            entry.sequence,
            content,
            entry.state,
            entry.author,
            entry.time,
            checksum(entry),
        )

    @staticmethod
    def _checked(entry: Entry, stored: Any) -> Entry:
        kind = "snapshot" if isinstance(entry, NoteSnapshot) else "record"
        try:
            is_whole = checksum(entry) == stored
        except TypeError:  # a column that is not even of its type
            is_whole = False
        if not is_whole:
            raise DamagedNote(entry.note, f"{kind} {entry.sequence} has a wrong checksum")
        return entry


def _unzipped(row: Any) -> Any:
    """The row of a snapshot with its content as it was; None where it is damaged."""
    try:
        return (*row[:2], zlib.decompress(row[2]), *row[3:])
    except (zlib.error, TypeError):
        return None


def _is_whole(row: Any) -> bool:
    try:
        return row is not None and _checksum(*row[:6]) == row[6]
    except TypeError:  # a column that is not even of its type
        return False


def _places(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
