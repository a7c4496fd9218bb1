"""Documents from the journal: loaded, checked, compacted, cached, or read as texts alone.

A snapshot is made from the journal, not from the document in memory, and only if both agree; what a
peer sent too early is in neither (see `causality`), so a snapshot cannot lose it. The snapshot is
stored, read back, loaded and compared before anything is trimmed, all in one transaction, so that a
failure leaves the journal unchanged.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pycrdt import Doc, Text

from flashgrep import limits
from flashgrep.errors import InvalidParams, Unavailable
from flashgrep.notes.document.note import CONTENTS, Note, is_same
from flashgrep.notes.document.text import Panicked, SharedText, catching_panics
from flashgrep.notes.document.updates import clocks
from flashgrep.notes.store.journal import DamagedNote, Head, Journal, NoteSnapshot, Record, Version

LIVE_NOTES: Final = 2_000
"""Documents kept in memory; another is loaded in a fraction of a millisecond."""

COMPACT_RECORDS: Final = 200
"""Updates of a note after its newest snapshot; then another snapshot is taken…"""

COMPACT_BYTES: Final = 1 * limits.MIB
"""…or when they are this large together."""

_SNAPSHOT_SECONDS: Final = 600.0
"""A note that is changed this long after its newest snapshot is kept as it was before."""

_SNAPSHOT_DAYS: Final = 1.0
"""Snapshots older than this are thinned out to one a day."""

log = logging.getLogger(__name__)


# ── changes ──────────────────────────────────────────────────────────────────────────────────────
# What becomes of notes, as values that any thread may hold: texts, changes, versions.


@dataclass(frozen=True, slots=True)
class Published:
    """The text of a note after one of its records: durable and immutable."""

    note: str
    sequence: int
    data: bytes
    """In UTF-8, which is what a search looks at, and what takes the least memory: one emoji makes
    Python hold a text in four bytes a character."""
    author: str
    """Of that record."""
    time: int
    """The same, in milliseconds since 1970."""
    views: tuple[bytes, bytes] | None = field(default=None, compare=False)
    """The accepted and the base view, if already known."""

    @property
    def text(self) -> str:
        return self.data.decode()


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A durable change, as listeners get it."""

    published: Published
    update: bytes
    """For peers, as Yjs encodes it."""
    origin: object
    """A value given by the writer, so that a peer does not get its own change; None sends it to
    all."""


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a peer's updates."""

    sequence: int
    """The note's newest record; all of them are in the journal, but for those that wait."""
    is_waiting: bool
    """One lacks another before it: ask the peer for all that is missing here."""


# ── loading ──────────────────────────────────────────────────────────────────────────────────────


_MILLISECONDS: Final = 1_000
_DAY_SECONDS: Final = 86_400


def load(journal: Journal, note: str) -> Note:
    """A note from its newest snapshot that is whole, and the records after it."""
    head = journal.head(note)
    problems: list[DamagedNote] = []
    for dated in (*(journal.snapshots(note)[:2] if head and head.snapshot else ()), None):
        try:
            snapshot = journal.snapshot(note, dated.sequence) if dated else None
            return Note.load(note, snapshot, journal.read(note, dated.sequence if dated else 0))
        except DamagedNote as error:
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
        except DamagedNote:
            continue
        if best is None or found.sequence > best.sequence:
            best = found
    return best


def _longest(note: str, snapshot: NoteSnapshot | None, good: Sequence[Record]) -> Note:
    records = list(good)
    while True:
        try:
            return Note.load(note, snapshot, records)
        except DamagedNote:
            if not records:
                raise
            records.pop()


def is_due(head: Head) -> bool:
    """Whether a note has so many records after its newest snapshot that loading is slow."""
    return head.sequence - head.snapshot >= COMPACT_RECORDS or head.loose_bytes >= COMPACT_BYTES


def is_dated(head: Head, now: int) -> bool:
    """Whether a note that is about to change should be kept as it is, to go back to."""
    return (
        head.sequence > head.snapshot
        and now - head.snapshot_time >= _SNAPSHOT_SECONDS * _MILLISECONDS
    )


def compact(journal: Journal, live: Note, now: int) -> None:
    """Take a snapshot of a note, and forget the records before the snapshot before it."""
    head = journal.head(live.id)
    if head is None or head.snapshot == head.sequence:
        return
    stored = load(journal, live.id)
    if stored.sequence != live.sequence or not is_same(stored, live):
        raise DamagedNote(live.id, "what is in memory is not what the journal has")
    snapshot = NoteSnapshot(
        live.id, head.sequence, stored.whole(), stored.state(), head.author, head.time
    )
    with journal.transaction():
        journal.add_snapshot(snapshot, now)
        again = Note.load(live.id, journal.snapshot(live.id, snapshot.sequence), [])
        if not is_same(again, stored):
            raise DamagedNote(live.id, "a snapshot of it does not give the same note")
        kept = journal.snapshots(live.id)
        if len(kept) > 1:
            journal.trim(live.id, kept[1].sequence)
        journal.drop_snapshots(live.id, thinned(kept, now))


def thinned(snapshots: Sequence[Version], now: int) -> list[int]:
    """Which snapshots can go: of each day but the latest ones, all but the last."""
    seen: set[str] = set()
    dropped = []
    for dated in sorted(snapshots, key=lambda each: each.sequence, reverse=True):
        age = (now - dated.time) / _MILLISECONDS / _DAY_SECONDS
        moment = datetime.fromtimestamp(dated.time / _MILLISECONDS, UTC)
        day = moment.date().isoformat()
        if age > _SNAPSHOT_DAYS and day in seen:
            dropped.append(dated.sequence)
        seen.add(day)
    return dropped


# ── texts alone ──────────────────────────────────────────────────────────────────────────────────
# The texts of many notes at once, straight from the journal: what a search after a start needs.
#
# A document that is kept for changes costs several times what its text does: it is watched, its
# clocks are taken apart, and it stays in memory. Here it is made, read and thrown away, in a sixth
# of the time. What is checked is what `Note.load` checks; a note that does not pass is left out,
# and loading it says why, or finds an older snapshot that does.


def read_texts(journal: Journal, notes: Sequence[str]) -> dict[str, Published]:
    """The texts by the notes' ids, without those that are damaged in any way."""
    found = {}
    for note, entries in journal.newest(notes).items():
        data = _text(entries)
        if data is not None:
            last = entries[-1]
            found[note] = Published(
                note=note, sequence=last.sequence, data=data, author=last.author, time=last.time
            )
    return found


def _text(entries: Sequence[Record | NoteSnapshot]) -> bytes | None:
    """The text that updates give, if they give the state that was written with them."""
    try:
        with catching_panics():
            doc: Doc[Any] = Doc()
            shared = doc.get(CONTENTS, type=Text)
            with doc.transaction():
                for entry in entries:
                    doc.apply_update(entry.update)
                data, state = SharedText(shared).checked().encode(), doc.get_state()
        return data if entries and _is_same(state, entries[-1].state) else None
    except (ValueError, RuntimeError, InvalidParams, Panicked):
        return None


def _is_same(state: bytes, written: bytes) -> bool:
    return state == written or clocks(state) == clocks(written)


# ── documents in memory ──────────────────────────────────────────────────────────────────────────
# The documents in memory: each loaded once, the longest unused put back, damaged ones closed.


class Quarantined(Unavailable):
    """A note's stored data is damaged; the note is closed, and nothing of it is changed."""


class DocumentCache:
    """All loaded documents. One that is dropped is loaded again from the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._notes: OrderedDict[str, Note] = OrderedDict()
        self._quarantined: dict[str, str] = {}

    def get(self, note: str, shown: str) -> Note:
        """The document; `Quarantined` where what is stored of it is damaged."""
        if found := self._notes.get(note):
            self._notes.move_to_end(note)
            return found
        if note not in self._quarantined:
            try:
                return self.put(load(self._journal, note))
            except DamagedNote as error:
                log.error("%s is quarantined: %s", shown, error)
                self._quarantined[note] = error.reason
        raise Quarantined(
            f"{shown} is quarantined: {self._quarantined[note]}. Nothing of it was changed, other "
            "notes are not touched. Look at it with flashgrep kb history, and go back with "
            "flashgrep kb restore"
        )

    def put(self, note: Note) -> Note:
        """Keep a document; where there are too many, the one unused longest goes.

        Everything in it is in the journal; what a peer sent too early, it is asked for again.
        """
        self._notes[note.id] = note
        self._notes.move_to_end(note.id)
        self._quarantined.pop(note.id, None)
        if len(self._notes) > LIVE_NOTES:
            self._notes.popitem(last=False)
        return note

    def quarantined(self) -> dict[str, str]:
        """The notes that were found to be damaged, and why."""
        return dict(self._quarantined)

    def drop(self, note: str) -> None:
        """Forget a document, and with it all that is not in the journal."""
        self._notes.pop(note, None)

    @contextmanager
    def trusted(self, note: str) -> Iterator[None]:
        """Forget a document whose engine failed in the block."""
        try:
            yield
        except Panicked:
            self.drop(note)
            raise

    @contextmanager
    def undone(self, note: str) -> Iterator[None]:
        """Undo a change that failed in the block, whatever for."""
        try:
            yield
        except BaseException:
            self.drop(note)
            raise
