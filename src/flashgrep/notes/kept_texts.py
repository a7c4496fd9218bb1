"""The texts of all notes as searches see them, kept in the store so that no document is loaded.

    texts    note       id
             sequence   the record after which the note reads like this
             epoch      the note's own at that time: with another one, sequences begin anew
             rules      the number of the rules by which the views were worked out
             checksum   crc32 of everything else, the text included
             place, size    where a part of the text is in the content of the note's last record, or
                        of the snapshot that took its place
             raw        the text after that part; text and views are in UTF-8
             accepted, base    the views; NULL where they are the text itself

If a note was written only once, the journal holds its text in one piece, except for its last
letters (see `document.text`), so the text is not stored twice. The whole table can be rebuilt from
the journal. So it is not part of the format: it is made where it is missing, and a flashgrep that
does not know it leaves it alone. A row counts only if its sequence, epoch and checksum are right,
so it does not matter who changed the note, or when a process was killed: a stale row is ignored,
and the document is loaded instead.

A small row is written in the transaction of the change. A larger one would be rewritten with every
letter, so it stays stale until nobody has changed the note for a while.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.notes.document.text import END_CHARS
from flashgrep.notes.markup import critic
from flashgrep.notes.store.database import Database, StorageFull
from flashgrep.notes.store.journal import Record
from flashgrep.notes.suggestions.pending import Pending, pending, recorded

if TYPE_CHECKING:
    from flashgrep.notes.library import Library

log = logging.getLogger(__name__)

RULES: Final = 1
"""To be raised whenever a view of the same text with the same records is another."""

SHORT_BYTES: Final = 8 * limits.KIB
"""How large a row may be, views included, that is written with every change (0.2 ms)."""

SETTLED_SECONDS: Final = 20.0
"""A larger one is written when the note was not changed for so long."""

LOADED_SECONDS: Final = 2.0
"""Rows that were missing are written when no further note was loaded for so long: in a store that
has none yet, a first search loads them all, and is not to wait for rows to be written."""

_TURN_NOTES: Final = 50
_TURN_SECONDS: Final = 0.02
"""What is written, and how much CPU that takes, before others get a turn…"""
_PAUSE_SECONDS: Final = 0.02
"""…and how long the next turn waits."""

_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS texts (note TEXT NOT NULL PRIMARY KEY, sequence INTEGER NOT NULL,"
    " epoch TEXT NOT NULL, rules INTEGER NOT NULL, checksum INTEGER NOT NULL,"
    " place INTEGER NOT NULL, size INTEGER NOT NULL, raw BLOB NOT NULL, accepted BLOB, base BLOB)"
)
_COLUMNS: Final = "note, sequence, epoch, rules, checksum, place, size, raw, accepted, base"


class KeptText(NamedTuple):
    """A text in its three views, which are the same bytes if there are no marks."""

    raw: bytes
    accepted: bytes
    base: bytes


def views(raw: bytes, read: Pending | None) -> tuple[bytes, bytes]:
    """The accepted and the base view of a text with these marks; None for no marks."""
    if read is None:
        return raw, raw
    return read.reading.accepted.text.encode(), read.reading.base.text.encode()


class TextTable:
    """The rows, and which notes lack a valid one. Used on the thread of the notes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_there = True
        try:
            database.execute(_SCHEMA)
        except StorageFull as error:
            log.warning("texts are not kept: %s", error.message)
            self.is_there = False
        self._missing: dict[str, None] = {}
        """Notes that were found without a row that counts…"""
        self._missed = 0.0
        """…and when the last of them was."""
        self._changed: dict[str, float] = {}
        """Notes with a stale row, and since when; the longest unchanged first."""
        self._wake: Callable[[float], None] = lambda _: None

    def wake_with(self, wake: Callable[[float], None]) -> None:
        """Call something when there is something to be written, with the seconds until then."""
        self._wake = wake

    # ── rows ────────────────────────────────────────────────────────────────────────────────────

    def of(
        self, last: Mapping[str, Record], epoch_of: Callable[[str], str | None]
    ) -> dict[str, KeptText]:
        """What is kept of notes and counts, given their last entries in the journal, as checked."""
        if not self.is_there or not last:
            return {}
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM texts WHERE note IN ({', '.join('?' * len(last))})",  # noqa: S608
            *last,
        )
        found = {}
        for note, sequence, epoch, rules, checksum, place, size, raw, accepted, base in rows:
            entry = last[note]
            if (sequence, epoch, rules) == (entry.sequence, epoch_of(note), RULES):
                try:
                    text = entry.update[place : place + size] + raw
                    is_whole = checksum == _checksum(note, sequence, epoch, text, accepted, base)
                except TypeError:  # a column that is not even of its type
                    continue
                if is_whole:
                    found[note] = KeptText(
                        text, text if accepted is None else accepted, text if base is None else base
                    )
        return found

    def put(
        self, note: str, sequence: int, raw: bytes, shown: tuple[bytes, bytes], content: bytes
    ) -> None:
        """Have this row for a note; in the transaction of its change, or later.

        `content` is that of the note's last entry in the journal.
        """
        ((epoch,),) = self._database.rows("SELECT epoch FROM notes WHERE id = ?", note)
        views = [None if view == raw else view for view in shown]
        place, size = _part(raw, content)
        self._database.execute(
            "INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            note,
            sequence,
            epoch,
            RULES,
            _checksum(note, sequence, epoch, raw, *views),
            place,
            size,
            raw[size:],
            *views,
        )
        self._database.when_done(lambda: self._written(note))

    def _written(self, note: str) -> None:
        self._missing.pop(note, None)
        self._changed.pop(note, None)

    def follow(
        self,
        note: str,
        sequence: int,
        raw: bytes,
        content: bytes,
        read: Pending | None = None,
    ) -> None:
        """Write the row of a note in the transaction of its change, or leave it behind."""
        _, size = _part(raw, content)
        if len(raw) - size + (2 * len(raw) if read else 0) > SHORT_BYTES:
            self.leave(note)
        elif self.is_there:
            self.put(note, sequence, raw, views(raw, read), content)

    def drop(self, note: str) -> None:
        """Forget what is kept of a note that turns out to be another."""
        if self.is_there:
            self._database.execute("DELETE FROM texts WHERE note = ?", note)

    # ── what is behind ──────────────────────────────────────────────────────────────────────────

    def leave(self, note: str) -> None:
        """A note has changed and its row has not."""
        if self.is_there:
            self._changed.pop(note, None)
            self._changed[note] = monotonic()
            self._wake(SETTLED_SECONDS)

    def miss(self, notes: Iterable[str]) -> None:
        """These notes had to be loaded, because nothing that counts was kept of them."""
        before = len(self._missing)
        self._missing.update(dict.fromkeys(notes))
        if len(self._missing) > before:
            self._missed = monotonic()
            self._wake(LOADED_SECONDS)

    def due(self, most: int, settled: float = SETTLED_SECONDS) -> list[str]:
        """Some notes whose rows are to be written."""
        now = monotonic()
        quiet = (note for note, since in self._changed.items() if now - since >= settled)
        has_loaded = now - self._missed >= min(settled, LOADED_SECONDS)
        missing = islice(self._missing, most if has_loaded else 0)
        return [*missing, *islice(quiet, most)][:most]

    def skip(self, notes: Iterable[str]) -> None:
        """Wait for notes no longer, whatever became of them."""
        for note in notes:
            self._written(note)

    @property
    def next_turn(self) -> float | None:
        """In how many seconds there is something to be written; None if there is nothing."""
        now = monotonic()
        turns = [self._missed + LOADED_SECONDS] if self._missing else []
        turns += [since + SETTLED_SECONDS for since in islice(self._changed.values(), 1)]
        return max(_PAUSE_SECONDS, min(turns) - now) if turns else None


def _part(raw: bytes, content: bytes) -> tuple[int, int]:
    """Where the text, or all of it but its end, is in the content of an entry; its size there."""
    for size in (len(raw), len(raw) - END_CHARS):
        if 0 < size <= len(content) and (place := content.find(raw[:size])) >= 0:
            return place, size
    return 0, 0


def _checksum(
    note: str, sequence: int, epoch: str, raw: bytes, accepted: bytes | None, base: bytes | None
) -> int:
    head = (note, sequence, epoch, RULES, len(raw), accepted is None, base is None)
    number = zlib.crc32(raw, zlib.crc32(repr(head).encode()))
    for view in (accepted, base):
        number = zlib.crc32(view, number) if view is not None else number
    return number


# ── writing what is behind ───────────────────────────────────────────────────────────────────────


def keep_some(library: Library, settled: float = SETTLED_SECONDS) -> float | None:
    """Write some rows that are behind; in how many seconds there are more, None for never."""
    table = library.tables.texts if library.tables else None
    if table is None or not table.is_there:
        return None
    began = thread_time()
    notes = table.due(_TURN_NOTES, settled)
    library.glance(notes)
    done = []
    try:
        with library.journal.transaction():
            for note in notes:
                done.append(note)
                _keep(library, table, note)
                if thread_time() - began > _TURN_SECONDS:
                    break
    except StorageFull as error:
        log.warning("texts are not kept: %s", error.message)
        return None
    table.skip(done)
    return table.next_turn


def _keep(library: Library, table: TextTable, note: str) -> None:
    try:
        published = library.read(note)
        if library.kept([note]):
            return
        shown = views(published.data, _read(library, note, published.text))
        last = library.journal.last([note]).get(note)
    except FlashgrepError:
        return  # damaged, or deleted since: nothing to be kept
    except Exception:
        log.exception("the views of note %s cannot be worked out", note)
        return
    if last is not None and last.sequence == published.sequence:
        table.put(note, published.sequence, published.data, shown, last.update)


def _read(library: Library, note: str, text: str) -> Pending | None:
    return pending(text, recorded(library.records(note))) if critic.token(text) else None
