"""The journal: every change of every note, in the order they were committed. It is the truth.

A note's records are numbered from 1 without gaps. `append` names the number before the new one, so
of two writers that saw the same text only one gets through. What `append` has returned from is
durable; only then may anybody be told. A snapshot is a note as a whole at one of its numbers: a
start for loading, and what `history` offers to go back to. Records are trimmed up to the snapshot
before the newest one, so that a snapshot that turns out to be damaged can be done without.

This is all that documents know of storage. An engine that spans machines goes in here: nothing
below is about SQLite, and subscribers learn of records that others have appended.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from flashgrep.errors import Conflict, IOFailure


class DamagedNote(IOFailure):
    """What was stored of a note is not what was written; it is kept as it is, and not used."""

    def __init__(self, note: str, reason: str) -> None:
        super().__init__(f"note {note} is damaged: {reason}", {"note": note, "reason": reason})
        self.note = note
        self.reason = reason


class StorageFull(IOFailure):
    """There is no room for another record; reading goes on."""


class SequenceTaken(Conflict):
    """Somebody else has appended the record that would have come next."""

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
class NoteSnapshot:
    """A note as a whole, after one of its records."""

    note: str
    sequence: int
    update: bytes
    state: bytes
    author: str
    """Of the record, as the time."""
    time: int


@dataclass(frozen=True, slots=True)
class Dated:
    """A snapshot without its content."""

    sequence: int
    author: str
    time: int


@dataclass(frozen=True, slots=True)
class Head:
    """The newest record of a note, without its content, and how far the newest snapshot is."""

    sequence: int
    author: str
    time: int
    snapshot: int = 0
    """Sequence of the newest snapshot; 0 where there is none."""
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
        ...

    def read(self, note: str, after: int = 0) -> list[Record]:
        """All records after a number; `DamagedNote` where one is missing or not as written."""
        ...

    def read_good(self, note: str, after: int = 0) -> list[Record]:
        """The records after a number up to the first that is missing or not as written."""
        ...

    def head(self, note: str) -> Head | None:
        """The newest record; None for a note that was never written."""
        ...

    def heads(self) -> dict[str, Head]:
        """The same of all notes."""
        ...

    def newest(self, notes: Sequence[str]) -> dict[str, list[Record | NoteSnapshot]]:
        """Of many notes the newest snapshot, where there is one, and all records after it.

        A note of which something is missing or not as written is left out.
        """
        ...

    def snapshots(self, note: str) -> list[Dated]:
        """All snapshots, the newest first."""
        ...

    def snapshot(self, note: str, sequence: int) -> NoteSnapshot:
        """One snapshot; `DamagedNote` where it is missing or not as written."""
        ...

    def add_snapshot(self, snapshot: NoteSnapshot, taken: int) -> None:
        """Keep a snapshot of a sequence that has a record; `taken` is the time now."""
        ...

    def trim(self, note: str, through: int) -> None:
        """Forget the records up to a number for which there is a snapshot."""
        ...

    def drop_snapshots(self, note: str, sequences: Sequence[int]) -> None:
        """Forget snapshots, but never the newest two."""
        ...

    def set_aside(self, note: str, name: str) -> None:
        """Give all that is stored of a note another name, as it is; the note begins anew."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Make all that is done in the block durable together, or nothing of it."""
        ...

    def subscribe(self, told: Callable[[Record], None]) -> Callable[[], None]:
        """Be told of each record once it is durable, in order; gives the way to end that."""
        ...


def checksum(entry: Record | NoteSnapshot) -> int:
    """A number that tells whether an entry is still what was written."""
    head = repr((entry.note, entry.sequence, entry.author, entry.time, len(entry.update)))
    return zlib.crc32(entry.state, zlib.crc32(entry.update, zlib.crc32(head.encode())))


def check_row(note: str, found: Sequence[Record], after: int, last: int) -> None:
    """Refuse records that do not follow each other from `after` to `last`."""
    expected = range(after + 1, last + 1)
    if [record.sequence for record in found] != list(expected):
        have = {record.sequence for record in found}
        missing = next((number for number in expected if number not in have), last + 1)
        raise DamagedNote(note, f"record {missing} of {last} is not where it should be")
