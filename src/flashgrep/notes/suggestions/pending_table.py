"""The pending suggestions of all notes, in the store.

    pending   note     id of the note
              id       of the suggestion
              time     when it was made, in milliseconds since 1970
              author, line, old, new, before, after, source     see `pending.PendingSuggestion`

Rows of notes in the trash stay, but are left out of every answer. Lists come in the order of time
and id, page by page, straight from an index: no answer looks at all notes, and only a search for a
text looks at all rows. `tables` keeps the rows up to date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Final

from flashgrep.notes.access.roles import Author, source_named
from flashgrep.notes.store import paths
from flashgrep.notes.store.database import Database
from flashgrep.notes.suggestions.outcomes import Ended, Outcomes
from flashgrep.notes.suggestions.pending import ListedSuggestion, PendingSuggestion

PENDING_SCHEMA: Final = """
CREATE TABLE pending (
    note TEXT NOT NULL, id TEXT NOT NULL, line INTEGER NOT NULL, author TEXT NOT NULL,
    time INTEGER NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, before TEXT NOT NULL,
    after TEXT NOT NULL, UNIQUE (note, id)
);
CREATE INDEX pending_by_time ON pending (time, id);
CREATE INDEX pending_by_author ON pending (author, time, id);
CREATE INDEX pending_by_id ON pending (id);
"""
PENDING_GAINED: Final = """
ALTER TABLE pending ADD COLUMN source TEXT;
"""
"""The column added in format 3; NULL in older rows."""
_PENDING_COLUMNS: Final = "id, line, author, time, old, new, before, after, source"
_AT_ONCE: Final = 500
"""Rows read at a time, and ids per query: SQLite allows so many values."""


@dataclass(frozen=True, slots=True)
class PendingFilter:
    """Which rows are asked for."""

    note: str | None = None
    author: str | None = None
    older_than: int | None = None
    newer_than: int | None = None
    folder: str | None = None
    """Only in notes below this folder, in the form of `paths.form_key`."""
    text: str | None = None
    """Only where this is in what it takes away or brings, around it or in the note's path; with
    its case folded."""
    after: tuple[int, str] | None = None
    """The time and id of the last row of the page before."""


class PendingTable:
    """The rows. Used on the thread of the notes."""

    def __init__(self, database: Database, outcomes: Outcomes) -> None:
        """`outcomes` hear of those that are pending no longer."""
        self._database = database
        self._outcomes = outcomes
        database.function("holds", _holds)
        database.function("is_below", _is_below)

    def of(self, note: str) -> dict[str, PendingSuggestion]:
        """The rows of a note, by id."""
        rows = self._database.rows(f"SELECT {_PENDING_COLUMNS} FROM pending WHERE note = ?", note)  # noqa: S608
        return {row[0]: _row(row) for row in rows}

    def put(self, note: str, suggestions: Sequence[PendingSuggestion]) -> None:
        """Have these rows, and no others, for a note; only what differs is written."""
        before = self.of(note)
        now = {one.id: one for one in suggestions}
        for gone in before.keys() - now.keys():
            self._database.execute("DELETE FROM pending WHERE note = ? AND id = ?", note, gone)
            self._outcomes.ended(ended(note, before[gone]))
        for name, one in now.items():
            if before.get(name) != one:
                self._database.execute(
                    f"INSERT OR REPLACE INTO pending (note, {_PENDING_COLUMNS})"  # noqa: S608
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    note,
                    *astuple(one),
                )

    def count(self) -> int:
        """How many rows there are, those of notes in the trash included."""
        ((count,),) = self._database.rows("SELECT count(*) FROM pending")
        return int(count)

    def counts(self) -> dict[str, int]:
        """How many rows each note has, by id; those without are left out."""
        return dict(self._database.rows("SELECT note, count(*) FROM pending GROUP BY note"))

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

    def listed(self, wanted: PendingFilter) -> Iterator[ListedSuggestion]:
        """The rows that are asked for, the oldest first; read as far as they are taken."""
        while True:
            rows = [_listed(row) for row in self._rows(wanted)]
            yield from rows
            if len(rows) < _AT_ONCE:
                return
            wanted = replace(wanted, after=(rows[-1].time, rows[-1].id))

    def _rows(self, wanted: PendingFilter) -> list[Any]:
        asked: list[tuple[str, Sequence[Any]]] = [
            ("pending.note = ?", [wanted.note]),
            ("author = ?", [wanted.author]),
            ("time < ?", [wanted.older_than]),
            ("time > ?", [wanted.newer_than]),
            ("is_below(notes.path, ?)", [wanted.folder]),
            ("holds(?, old, new, before, after, notes.path)", [wanted.text]),
            ("(time, pending.id) > (?, ?)", wanted.after or [None]),
        ]
        asked = [(condition, values) for condition, values in asked if values[0] is not None]
        conditions = "".join(f" AND {condition}" for condition, _ in asked)
        return self._database.rows(
            f"SELECT pending.{_PENDING_COLUMNS}, pending.note, notes.path"  # noqa: S608
            " FROM pending JOIN notes ON notes.id = pending.note"
            f" WHERE notes.path IS NOT NULL{conditions} ORDER BY time, pending.id LIMIT {_AT_ONCE}",
            *(value for _, values in asked for value in values),
        )

    def by_author(self) -> list[tuple[str, str, int]]:
        """How many each author has in each note, by the notes' paths."""
        return self._database.rows(
            "SELECT notes.path, author, count(*) FROM pending JOIN notes ON notes.id = pending.note"
            " WHERE notes.path IS NOT NULL GROUP BY pending.note, author"
        )


def _row(row: Sequence[Any]) -> PendingSuggestion:
    one = PendingSuggestion(*row)
    return replace(one, source=source_named(one.source))


def _listed(row: Sequence[Any]) -> ListedSuggestion:
    one = ListedSuggestion(*row)
    return replace(one, source=source_named(one.source))


def ended(note: str, one: PendingSuggestion) -> Ended:
    """A suggestion that is pending no longer."""
    return Ended(
        author=Author(one.author, one.source),
        note=note,
        suggestion=one.id,
        made=one.time,
        old=one.old,
        new=one.new,
    )


def _holds(wanted: str, *texts: str) -> bool:
    """Whether a text is in one of some others, whatever their case; SQLite folds ASCII alone."""
    return any(wanted in text.casefold() for text in texts)


def _is_below(path: str, folder: str) -> bool:
    return paths.form_key(path).startswith(f"{folder}/")
