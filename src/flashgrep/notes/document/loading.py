"""Snapshots: taken, proved, and thinned out. Everything here ends by comparing content.

A snapshot is made from what the journal has, not from the document in memory, and only where both
are the same; what a peer sent too early is in neither (see `causality`), so that a snapshot cannot
lose it. It is stored, read back, loaded and compared before anything is trimmed; all in one
transaction, so that a failure leaves the journal as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from flashgrep import limits
from flashgrep.notes.document.note import Note, is_same
from flashgrep.notes.store.journal import Damaged, Dated, Head, Journal, Record, Snapshot

_MILLISECONDS: Final = 1_000
_DAY_SECONDS: Final = 86_400


def load(journal: Journal, note: str) -> Note:
    """A note from its newest snapshot that is whole, and the records after it."""
    head = journal.head(note)
    problems: list[Damaged] = []
    for dated in (*(journal.snapshots(note)[:2] if head and head.snapshot else ()), None):
        try:
            snapshot = journal.snapshot(note, dated.sequence) if dated else None
            return Note.load(note, snapshot, journal.read(note, dated.sequence if dated else 0))
        except Damaged as error:
            problems.append(error)
    raise problems[0]


def load_good(journal: Journal, note: str) -> Note | None:
    """As much of a damaged note as can be trusted; None for nothing."""
    best: Note | None = None
    for dated in (*journal.snapshots(note), None):
        try:
            snapshot = journal.snapshot(note, dated.sequence) if dated else None
            good = journal.read_good(note, dated.sequence if dated else 0)
            found = _longest(note, snapshot, good)
        except Damaged:
            continue
        if best is None or found.sequence > best.sequence:
            best = found
    return best


def _longest(note: str, snapshot: Snapshot | None, good: Sequence[Record]) -> Note:
    records = list(good)
    while True:
        try:
            return Note.load(note, snapshot, records)
        except Damaged:
            if not records:
                raise
            records.pop()


def is_due(head: Head) -> bool:
    """Whether a note has so many records after its newest snapshot that loading is slow."""
    return (
        head.sequence - head.snapshot >= limits.COMPACT_RECORDS
        or head.loose_bytes >= limits.COMPACT_BYTES
    )


def is_dated(head: Head, now: int) -> bool:
    """Whether a note that is about to change should be kept as it is, to go back to."""
    return (
        head.sequence > head.snapshot
        and now - head.snapshot_time >= limits.SNAPSHOT_SECONDS * _MILLISECONDS
    )


def compact(journal: Journal, live: Note, now: int) -> None:
    """Take a snapshot of a note, and forget the records before the snapshot before it."""
    head = journal.head(live.id)
    if head is None or head.snapshot == head.sequence:
        return
    stored = load(journal, live.id)
    if stored.sequence != live.sequence or not is_same(stored, live):
        raise Damaged(live.id, "what is in memory is not what the journal has")
    snapshot = Snapshot(
        live.id, head.sequence, stored.whole(), stored.state(), head.author, head.time
    )
    with journal.transaction():
        journal.add_snapshot(snapshot, now)
        again = Note.load(live.id, journal.snapshot(live.id, snapshot.sequence), [])
        if not is_same(again, stored):
            raise Damaged(live.id, "a snapshot of it does not give the same note")
        kept = journal.snapshots(live.id)
        if len(kept) > 1:
            journal.trim(live.id, kept[1].sequence)
        journal.drop_snapshots(live.id, thinned(kept, now))


def thinned(snapshots: Sequence[Dated], now: int) -> list[int]:
    """Which snapshots can go: of each day but the latest ones, all but the last."""
    seen: set[str] = set()
    dropped = []
    for dated in sorted(snapshots, key=lambda each: each.sequence, reverse=True):
        age = (now - dated.time) / _MILLISECONDS / _DAY_SECONDS
        moment = datetime.fromtimestamp(dated.time / _MILLISECONDS, UTC)
        day = moment.date().isoformat()
        if age > limits.SNAPSHOT_DAYS and day in seen:
            dropped.append(dated.sequence)
        seen.add(day)
    return dropped
