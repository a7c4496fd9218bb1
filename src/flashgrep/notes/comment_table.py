"""Comments in the store: the open ones, updated with every change, and the resolved threads.

    comments   note, id       of the note and of the comment
               place          its number among the note's comments, from top to bottom
               thread, suggestion, line, author, time, text, quote      see `comments.OpenComment`

    resolved   thread         id of the first comment of the thread
               note           id of the note
               suggestion     what it was about, NULL where that was no suggestion
               by, time       who resolved it, and when (milliseconds since 1970)
               said           JSON: its comments, [id, author, time, text] each
               quote          the passage it was about; NULL where there was none

Rows of `comments` can be rebuilt from the notes, those of `resolved` cannot: a resolved thread has
left the text. Rows of notes in the trash stay, but are left out of every answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

from flashgrep.notes.store.database import Database
from flashgrep.notes.suggestions.comments import ListedComment, OpenComment

SCHEMA: Final = """
CREATE TABLE comments (
    note TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, thread TEXT NOT NULL,
    suggestion TEXT, line INTEGER NOT NULL, author TEXT NOT NULL, time INTEGER NOT NULL,
    text TEXT NOT NULL, quote TEXT, PRIMARY KEY (note, id)
) WITHOUT ROWID;
CREATE INDEX comments_by_id ON comments (id);
CREATE INDEX comments_of_suggestion ON comments (suggestion) WHERE suggestion IS NOT NULL;
CREATE TABLE resolved (
    thread TEXT NOT NULL, note TEXT NOT NULL, suggestion TEXT, by TEXT NOT NULL,
    time INTEGER NOT NULL, said TEXT NOT NULL, quote TEXT
);
CREATE INDEX resolved_by_time ON resolved (time);
CREATE INDEX resolved_of_note ON resolved (note, time);
CREATE INDEX resolved_of_suggestion ON resolved (suggestion) WHERE suggestion IS NOT NULL;
"""
_COLUMNS: Final = "id, place, thread, suggestion, line, author, time, text, quote"
_LISTED: Final = ", ".join(f"comments.{column}" for column in _COLUMNS.split(", "))
_AT_ONCE: Final = 500
"""Ids per query: SQLite allows so many values."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A comment that is no longer in any text."""

    id: str
    author: str
    time: int
    text: str


@dataclass(frozen=True, slots=True)
class ResolvedThread:
    """A thread that left the text."""

    thread: str
    note: str
    """The note's id."""
    suggestion: str | None
    by: str
    time: int
    said: tuple[Saying, ...]
    quote: str | None

    def as_json(self, path: str) -> dict[str, Any]:
        """As routes and tools answer it, like an open one."""
        first, *rest = [
            {"id": one.id, "author": one.author, "time": one.time, "text": one.text}
            for one in self.said
        ]
        return {
            **first,
            "note": path,
            "suggestion": self.suggestion,
            "quote": self.quote,
            "replies": rest,
            "resolved": {"by": self.by, "time": self.time},
        }


class CommentTable:
    """The rows of both tables. Used on the thread of the notes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # ── open ────────────────────────────────────────────────────────────────────────────────────

    def of(self, note: str) -> dict[str, OpenComment]:
        """The rows of a note, by id."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM comments WHERE note = ?", note)  # noqa: S608
        return {row[0]: OpenComment(*row) for row in rows}

    def put(self, note: str, comments: Sequence[OpenComment]) -> None:
        """Have these rows, and no others, for a note; only what differs is written."""
        before = self.of(note)
        now = {one.id: one for one in comments}
        for gone in before.keys() - now.keys():
            self._database.execute("DELETE FROM comments WHERE note = ? AND id = ?", note, gone)
        for name, one in now.items():
            if before.get(name) != one:
                self._database.execute(
                    f"INSERT OR REPLACE INTO comments (note, {_COLUMNS})"  # noqa: S608
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    note,
                    *astuple(one),
                )

    def note_of(self, name: str) -> str | None:
        """The note that a comment is in."""
        rows = self._database.rows(
            "SELECT note FROM comments JOIN notes ON notes.id = note"
            " WHERE comments.id = ? AND notes.path IS NOT NULL ORDER BY note",
            name,
        )
        return rows[0][0] if rows else None

    def listed(self, note: str | None, most: int) -> list[ListedComment]:
        """The comments of a note, or of all, by path and from top to bottom."""
        where = "comments.note = ? AND " if note is not None else ""
        rows = self._database.rows(
            f"SELECT {_LISTED}, comments.note, notes.path"  # noqa: S608
            " FROM comments JOIN notes ON notes.id = comments.note"
            f" WHERE {where}notes.path IS NOT NULL ORDER BY notes.path, comments.note, place"
            " LIMIT ?",
            *([note] if note is not None else []),
            most,
        )
        return [ListedComment(*row) for row in rows]

    def on(self, suggestions: Iterable[str]) -> list[ListedComment]:
        """The comments on some suggestions, by path and from top to bottom."""
        found: list[ListedComment] = []
        wanted = list(suggestions)
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            rows = self._database.rows(
                f"SELECT {_LISTED}, comments.note, notes.path"  # noqa: S608
                " FROM comments JOIN notes ON notes.id = comments.note"
                f" WHERE suggestion IN ({', '.join('?' * len(some))}) AND notes.path IS NOT NULL"
                " ORDER BY notes.path, comments.note, place",
                *some,
            )
            found += [ListedComment(*row) for row in rows]
        return found

    # ── resolved ────────────────────────────────────────────────────────────────────────────────

    def resolve(self, one: ResolvedThread) -> None:
        """Log that a thread was resolved, in the transaction that takes it out of the text."""
        said = json.dumps([astuple(saying) for saying in one.said])
        self._database.execute(
            "INSERT INTO resolved (thread, note, suggestion, by, time, said, quote)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(one.thread, one.note, one.suggestion, one.by, one.time, said, one.quote),
        )

    def resolved(self, note: str | None, most: int) -> list[tuple[str, ResolvedThread]]:
        """The threads that were resolved last, of a note or of all, with the note's path."""
        where = "note = ? AND " if note is not None else ""
        return self._resolved(
            f"{where}notes.path IS NOT NULL ORDER BY resolved.time DESC LIMIT ?",
            *([note] if note is not None else []),
            most,
        )

    def resolved_on(self, suggestions: Iterable[str]) -> list[tuple[str, ResolvedThread]]:
        """The resolved threads on some suggestions, the oldest first."""
        found: list[tuple[str, ResolvedThread]] = []
        wanted = list(suggestions)
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            places = ", ".join("?" * len(some))
            found += self._resolved(
                f"suggestion IN ({places}) AND notes.path IS NOT NULL ORDER BY resolved.time", *some
            )
        return found

    def _resolved(self, condition: str, *values: Any) -> list[tuple[str, ResolvedThread]]:
        rows = self._database.rows(
            "SELECT notes.path, thread, note, suggestion, by, resolved.time, said, quote"  # noqa: S608
            f" FROM resolved JOIN notes ON notes.id = note WHERE {condition}",
            *values,
        )
        return [(path, _thread(rest)) for path, *rest in rows]


def _thread(row: Sequence[Any]) -> ResolvedThread:
    thread, note, suggestion, by, time, said, quote = row
    return ResolvedThread(
        thread=thread,
        note=note,
        suggestion=suggestion,
        by=by,
        time=time,
        said=tuple(Saying(*one) for one in json.loads(said)),
        quote=quote,
    )
