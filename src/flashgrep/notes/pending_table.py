"""The pending suggestions of all notes, in the store.

    pending   note     id of the note
              id       of the suggestion
              time     when it was made, in milliseconds since 1970
              author, line, old, new, before, after      see `pendinglist.Standing`

Rows of notes in the trash stay, and are left out of every answer. Lists come in the order of time
and id, page by page, straight from an index: no answer looks at all notes, nor at all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

from flashgrep.notes.store.database import Database
from flashgrep.notes.suggestions.pending import Found, Standing

SCHEMA: Final = """
CREATE TABLE pending (
    note TEXT NOT NULL, id TEXT NOT NULL, line INTEGER NOT NULL, author TEXT NOT NULL,
    time INTEGER NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, before TEXT NOT NULL,
    after TEXT NOT NULL, UNIQUE (note, id)
);
CREATE INDEX pending_by_time ON pending (time, id);
CREATE INDEX pending_by_author ON pending (author, time, id);
CREATE INDEX pending_by_id ON pending (id);
"""
_COLUMNS: Final = "id, line, author, time, old, new, before, after"
_AT_ONCE: Final = 500
"""Rows that are read at a time, and ids that are asked for: SQLite allows so many values."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows are asked for."""

    note: str | None = None
    author: str | None = None
    older_than: int | None = None
    newer_than: int | None = None
    after: tuple[int, str] | None = None
    """The time and id of the last row of the page before."""


class PendingTable:
    """The rows. Used on the thread of the notes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, note: str) -> dict[str, Standing]:
        """The rows of a note, by id."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM pending WHERE note = ?", note)  # noqa: S608
        return {row[0]: Standing(*row) for row in rows}

    def put(self, note: str, standing: Sequence[Standing]) -> None:
        """Have these rows, and no others, for a note; only what differs is written."""
        before = self.of(note)
        now = {one.id: one for one in standing}
        for gone in before.keys() - now.keys():
            self._database.execute("DELETE FROM pending WHERE note = ? AND id = ?", note, gone)
        for name, one in now.items():
            if before.get(name) != one:
                self._database.execute(
                    f"INSERT OR REPLACE INTO pending (note, {_COLUMNS})"  # noqa: S608
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    note,
                    *astuple(one),
                )

    def count(self) -> int:
        """How many rows there are, those of notes in the trash included."""
        ((count,),) = self._database.rows("SELECT count(*) FROM pending")
        return int(count)

    def notes_of(self, ids: Sequence[str]) -> dict[str, str]:
        """By the ids of pending suggestions, the notes they are in."""
        found: dict[str, str] = {}
        for at in range(0, len(ids), _AT_ONCE):
            some = ids[at : at + _AT_ONCE]
            places = ", ".join("?" * len(some))
            found |= dict(
                self._database.rows(
                    "SELECT pending.id, note FROM pending JOIN notes ON notes.id = note"  # noqa: S608
                    f" WHERE notes.path IS NOT NULL AND pending.id IN ({places}) ORDER BY note",
                    *some,
                )
            )
        return found

    def listed(self, wanted: Wanted) -> Iterator[Found]:
        """The rows that are asked for, the oldest first; read as far as they are taken."""
        while True:
            rows = self._rows(wanted)
            yield from (Found(*row) for row in rows)
            if len(rows) < _AT_ONCE:
                return
            last = Found(*rows[-1])
            wanted = Wanted(
                note=wanted.note,
                author=wanted.author,
                older_than=wanted.older_than,
                newer_than=wanted.newer_than,
                after=(last.time, last.id),
            )

    def _rows(self, wanted: Wanted) -> list[Any]:
        asked: list[tuple[str, tuple[Any, ...]]] = []
        if wanted.note is not None:
            asked.append(("pending.note = ?", (wanted.note,)))
        if wanted.author is not None:
            asked.append(("author = ?", (wanted.author,)))
        if wanted.older_than is not None:
            asked.append(("time < ?", (wanted.older_than,)))
        if wanted.newer_than is not None:
            asked.append(("time > ?", (wanted.newer_than,)))
        if wanted.after is not None:
            asked.append(("(time, pending.id) > (?, ?)", wanted.after))
        conditions = "".join(f" AND {condition}" for condition, _ in asked)
        return self._database.rows(
            "SELECT pending.id, pending.note, notes.path, line, author, time, old, new, before,"  # noqa: S608
            " after FROM pending JOIN notes ON notes.id = pending.note"
            f" WHERE notes.path IS NOT NULL{conditions} ORDER BY time, pending.id LIMIT {_AT_ONCE}",
            *(value for _, values in asked for value in values),
        )
