"""Tables of suggestions, comments and links, which answer for each note without loading it.

    looked   note       id
             sequence   the record after which the note's rows were worked out
             rules      the number of the rules by which that was done

A note's rows are written in the transaction of its change. For a long note that would take longer
than the change itself: its row in `looked` is deleted instead, in the same transaction, and the
note is read when somebody asks next. So whenever a process ends, the tables are right or known to
be stale: a note is stale if its newest record is not the one in `looked`, or if the rules have
changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final

from flashgrep.errors import Cancelled, FlashgrepError
from flashgrep.notes.comment_table import CommentTable
from flashgrep.notes.document.loading import NoteChange
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.kept_texts import TextTable
from flashgrep.notes.links.parse import Form, Link, LinkChange, links_of, name_of
from flashgrep.notes.markup import critic
from flashgrep.notes.store.database import Database, StorageFull
from flashgrep.notes.suggestions import pending, typed_marks
from flashgrep.notes.suggestions.comments import comments_of
from flashgrep.notes.suggestions.outcomes import Outcomes
from flashgrep.notes.suggestions.own_suggestions import OwnSuggestions
from flashgrep.notes.suggestions.pending import suggestions_of
from flashgrep.notes.suggestions.pending_table import PENDING_SCHEMA, PendingTable

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase
    from flashgrep.notes.library import Library

log = logging.getLogger(__name__)


# ── links ────────────────────────────────────────────────────────────────────────────────────────
# The links of all notes, in the store.
#
#     links    note      id of the note that holds the link
#              place     its number among the note's links, from top to bottom
#              name      the last part of its target as it is compared (see `parse.name_of`)
#              target, anchor, label, form, embed, source, line, pending      see `parse.Link`
#
# Nothing resolved is stored: a new note can change what a link elsewhere means. What is found by
# its index is the links whose target ends with a name; which of them lead to a note is worked out
# from the paths as they are. A link's offset is not stored: it would change with every letter
# before it.


_AT_ONCE: Final = 500
"""Rows read at a time, and names per query: SQLite allows so many values."""

LINKS_SCHEMA: Final = """
CREATE TABLE links (
    note TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, target TEXT NOT NULL,
    anchor TEXT NOT NULL, label TEXT NOT NULL, form TEXT NOT NULL, embed INTEGER NOT NULL,
    source TEXT NOT NULL, line INTEGER NOT NULL, pending TEXT NOT NULL,
    PRIMARY KEY (note, place)
) WITHOUT ROWID;
CREATE INDEX links_by_name ON links (name);
"""
_LINK_COLUMNS: Final = "target, anchor, label, form, embed, source, line, pending"


class LinkTable:
    """The rows. Used on the thread of the notes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, note: str) -> tuple[Link, ...]:
        """The links of a note, from top to bottom."""
        return tuple(map(_link, self._rows(note)))

    def _rows(self, note: str) -> list[Any]:
        return self._database.rows(
            f"SELECT {_LINK_COLUMNS} FROM links WHERE note = ? ORDER BY place",  # noqa: S608
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
                f"INSERT INTO links (note, place, name, {_LINK_COLUMNS})"  # noqa: S608
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                note,
                place,
                name_of(row[0]),
                *row,
            )

    def named(self, names: Sequence[str]) -> list[tuple[str, Link]]:
        """The links that could mean a note of one of these names: paths of notes and their links.

        By path, then from top to bottom where few names are asked for. Notes in the trash are left
        out.
        """
        found = [
            row
            for at in range(0, len(names), _AT_ONCE)
            for row in self._named(names[at : at + _AT_ONCE])
        ]
        return found if len(names) <= _AT_ONCE else sorted(found, key=itemgetter(0))

    def _named(self, names: Sequence[str]) -> list[tuple[str, Link]]:
        places = ", ".join("?" * len(names))
        columns = ", ".join(f"links.{column}" for column in _LINK_COLUMNS.split(", "))
        rows = self._database.rows(
            f"SELECT notes.path, {columns} FROM links JOIN notes ON notes.id = links.note"  # noqa: S608
            f" WHERE name IN ({places}) AND name != '' AND notes.path IS NOT NULL"
            " ORDER BY notes.path, links.note, place",
            *names,
        )
        return [(row[0], _link(row[1:])) for row in rows]


_row: Final[Callable[[Link], tuple[Any, ...]]] = attrgetter(
    "target", "anchor", "label", "form", "is_embed", "source", "line", "pending"
)


def _link(row: Sequence[Any]) -> Link:
    target, anchor, label, form, embed, source, line, pending = row
    return Link(
        target=target,
        anchor=anchor,
        label=label,
        form=Form(form),
        is_embed=bool(embed),
        source=source,
        start=0,  # not known, and not asked for
        line=line,
        pending=LinkChange(pending),
    )


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


RULES: Final = 4
"""To be raised whenever `suggestions_in`, `comments_in` or `links_of` gives something else for the
same note, or every note is to be looked at again (2: for marks without a record, 3: comments,
4: the text around)."""

SCHEMA: Final = f"""{PENDING_SCHEMA}{LINKS_SCHEMA}
CREATE TABLE looked (
    note TEXT NOT NULL PRIMARY KEY, sequence INTEGER NOT NULL, rules INTEGER NOT NULL
) WITHOUT ROWID;
"""


class Tables:
    """The tables, and for which notes they are stale. Used on the thread of the notes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.outcomes = Outcomes(database)
        self.pending = PendingTable(database, self.outcomes)
        self.own = OwnSuggestions(database)
        self.comments = CommentTable(database)
        self.links = LinkTable(database)
        self.texts = TextTable(database)
        self._behind: dict[str, None] = dict.fromkeys(self._found_behind())
        self._unsettled: set[str] = set()
        self.unreadable: dict[str, str] = {}
        """Notes that the tables are behind because they cannot be read, and why."""

    def _found_behind(self) -> Iterator[str]:
        rows = self._database.rows(
            "SELECT heads.note FROM heads JOIN notes ON notes.id = heads.note"
            " LEFT JOIN looked ON looked.note = heads.note"
            " WHERE looked.sequence IS NOT heads.sequence OR looked.rules IS NOT ?",
            RULES,
        )
        return (note for (note,) in rows)

    @property
    def is_behind(self) -> bool:
        """Whether there are notes to be looked at."""
        return bool(self._behind)

    def behind(self, most: int) -> list[str]:
        """Some notes that are to be looked at, the longest waiting first."""
        return [note for note, _ in zip(self._behind, range(most), strict=False)]

    def is_unsettled(self, note: str) -> bool:
        """Whether marks in a note may have come to light, or gone again, without their records."""
        return note in self._unsettled

    def skip(self, note: str) -> None:
        """Wait for a note no longer, whatever becomes of it."""
        self._behind.pop(note, None)

    def wait_for(self, note: str) -> None:
        """Have a note looked at."""
        self._behind[note] = None

    def follow(
        self,
        note: str,
        sequence: int,
        text: str,
        besides: Mapping[str, NoteRecords],
        content: bytes | None = None,
    ) -> bool:
        """Write the rows of a note as it is, in the transaction of its change; whether it could.

        `content` is that of its last record; without it, the row of its text is not written. A
        defect of ours in working them out lets the change through: words come before lists.
        """
        try:
            with self._database.transaction():
                self._put(note, sequence, text, besides, content)
                self._database.when_done(lambda: self._behind.pop(note, None))
        except FlashgrepError:
            raise  # no room, or a broken disk: the change comes to nothing too
        except Exception:
            log.exception("the tables are behind note %s", note)
            self.leave(note)
            return False
        return True

    def follow_plain(self, change: NoteChange, links: Sequence[Link]) -> None:
        """The same for a change of a note without marks whose links are known."""
        note, sequence = change.published.note, change.published.sequence
        with self._database.transaction():
            self.pending.put(note, ())
            self.comments.put(note, ())
            self.links.put(note, links)
            self.texts.follow(note, sequence, change.published.data, change.update)
            self._unsettled.discard(note)
            self._looked(note, sequence)
            self._database.when_done(lambda: self._behind.pop(note, None))

    def _looked(self, note: str, sequence: int) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO looked VALUES (?, ?, ?)", note, sequence, RULES
        )

    def _put(
        self,
        note: str,
        sequence: int,
        text: str,
        besides: Mapping[str, NoteRecords],
        content: bytes | None,
    ) -> None:
        read = pending.pending(text, pending.recorded(besides))
        self.pending.put(note, suggestions_of(read, besides))
        self.comments.put(note, comments_of(read, besides))
        self.links.put(note, links_of(read.reading))
        if content is not None:
            marks = read if read.reading.marks else None
            self.texts.follow(note, sequence, text.encode(), content, marks)
        if typed_marks.is_settled(read.reading, besides):
            self._unsettled.discard(note)
        else:
            self._unsettled.add(note)
        self._looked(note, sequence)

    def leave(self, note: str) -> None:
        """Note that the rows of a note are behind, in the transaction of its change."""
        self._database.execute("DELETE FROM looked WHERE note = ?", note)
        self.texts.leave(note)
        self.wait_for(note)


# ── catching up ──────────────────────────────────────────────────────────────────────────────────


LINKED_NOTES_A_TURN: Final = 10
"""How many notes have their links read (6 ms) before others get a turn."""


def catch_up_all(kb: KnowledgeBase, is_cancelled: Callable[[], bool] = lambda: False) -> None:
    """Have the tables look at all notes that they are behind, in turns; for any thread."""
    kb.ask(retry_unreadable)
    while not kb.ask(catch_up):
        if is_cancelled():
            raise Cancelled("looking at the notes was cancelled")


def retry_unreadable(library: Library) -> None:
    """Have `catch_up` try those again that could not be read for now."""
    if (tables := library.tables) is not None:
        for note in tables.unreadable.keys() - library.quarantined().keys():
            tables.wait_for(note)


def catch_up(library: Library, most: int = 0) -> bool:
    """Look at some notes that the tables are behind; whether there are no more of them."""
    tables = library.tables
    if tables is None or not tables.is_behind:
        return True
    notes = tables.behind(most or LINKED_NOTES_A_TURN)
    library.glance(notes)
    with library.together():
        for note in notes:
            tables.unreadable.pop(note, None)
            try:
                _look_at(library, note, tables)
            except StorageFull:
                raise
            except FlashgrepError as error:
                tables.unreadable[note] = error.message
            tables.skip(note)
    for note in notes:
        settle(library, note, "")
    return not tables.is_behind


def _look_at(library: Library, note: str, tables: Tables) -> None:
    published = library.read(note)
    text = published.text
    besides = library.records(note) if critic.token(text) else {}
    if not tables.follow(note, published.sequence, text, besides):
        tables.unreadable[note] = "its marks and links cannot be read; the log has the reason"


def settle(library: Library, note: str, author: str) -> None:
    """Make records for marks that came to light, by `author` where nobody knows better."""
    if library.tables is None or not library.tables.is_unsettled(note):
        return

    def plan(_: str, __: Mapping[str, NoteRecords]) -> Amendment | None:
        return typed_marks.exposed(library.loaded(note), author, library.now())

    head = library.head(note)
    try:
        library.amend(note, plan, head.author if head else author)
    except StorageFull:
        raise
    except FlashgrepError as error:  # in the trash, or damaged: it is looked at again then
        log.info("marks in note %s have no records: %s", note, error.message)
