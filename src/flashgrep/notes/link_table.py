"""The links of all notes, in the store.

    links    note      id of the note that holds the link
             place     its number among the note's links, from top to bottom
             name      the last part of its target as it is compared (see `resolving.name_of`)
             target, anchor, label, form, embed, source, line, pending      see `links.Link`

Nothing resolved is stored: a new note can change what a link elsewhere means. What is found by its
index is the links whose target ends with a name; which of them lead to a note is worked out from
the paths as they are. A link's offset is not stored: it would change with every letter before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flashgrep.notes.links.parse import Change, Form, Link
from flashgrep.notes.links.resolve import name_of
from flashgrep.notes.store.database import Database

SCHEMA: Final = """
CREATE TABLE links (
    note TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, target TEXT NOT NULL,
    anchor TEXT NOT NULL, label TEXT NOT NULL, form TEXT NOT NULL, embed INTEGER NOT NULL,
    source TEXT NOT NULL, line INTEGER NOT NULL, pending TEXT NOT NULL,
    PRIMARY KEY (note, place)
) WITHOUT ROWID;
CREATE INDEX links_by_name ON links (name);
"""
_COLUMNS: Final = "target, anchor, label, form, embed, source, line, pending"


class LinkTable:
    """The rows. Used on the thread of the notes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, note: str) -> tuple[Link, ...]:
        """The links of a note, from top to bottom."""
        return tuple(map(_link, self._rows(note)))

    def _rows(self, note: str) -> list[Any]:
        return self._database.rows(
            f"SELECT {_COLUMNS} FROM links WHERE note = ? ORDER BY place",  # noqa: S608
            note,
        )

    def put(self, note: str, links: Sequence[Link]) -> None:
        """Have these rows, and no others, for a note; nothing is written where they are there."""
        rows = list(map(_row, links))
        if rows == self._rows(note):
            return
        self._database.execute("DELETE FROM links WHERE note = ?", note)
        for place, row in enumerate(rows):
            self._database.execute(
                f"INSERT INTO links (note, place, name, {_COLUMNS})"  # noqa: S608
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                note,
                place,
                name_of(row[0]),
                *row,
            )

    def named(self, names: Sequence[str]) -> list[tuple[str, Link]]:
        """The links that could mean a note of one of these names: paths of notes and their links.

        By path, then from top to bottom. Notes in the trash are left out.
        """
        places = ", ".join("?" * len(names))
        columns = ", ".join(f"links.{column}" for column in _COLUMNS.split(", "))
        rows = self._database.rows(
            f"SELECT notes.path, {columns} FROM links JOIN notes ON notes.id = links.note"  # noqa: S608
            f" WHERE name IN ({places}) AND name != '' AND notes.path IS NOT NULL"
            " ORDER BY notes.path, links.note, place",
            *names,
        )
        return [(row[0], _link(row[1:])) for row in rows]


def _row(link: Link) -> tuple[Any, ...]:
    return (
        link.target,
        link.anchor,
        link.label,
        link.form.value,
        int(link.is_embed),
        link.source,
        link.line,
        link.pending.value,
    )


def _link(row: Sequence[Any]) -> Link:
    target, anchor, label, form, embed, source, line, pending = row
    start = 0  # not known, and not asked for
    return Link(
        target=target,
        anchor=anchor,
        label=label,
        form=Form(form),
        is_embed=bool(embed),
        source=source,
        start=start,
        line=line,
        pending=Change(pending),
    )
