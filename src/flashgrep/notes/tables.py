"""What is known of each note without loading it: its pending suggestions and its links.

    looked   note       id
             sequence   the record after which the note's rows were worked out
             rules      the number of the rules by which that was done

The rows of a note (see `pending_table`, `link_table`) are written in the transaction of the change
they follow from. Those of a long note would take longer than the change itself: there the row in
`looked` is taken away instead, in the same transaction, and the note is looked at when somebody
asks next. So the tables are right or known to be behind, whenever a process ends; a note is behind
where its newest record is not the one in `looked`, or other rules are in force.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Final

from flashgrep.errors import FlashgrepError
from flashgrep.notes import link_table, pending_table
from flashgrep.notes.document.note import Beside
from flashgrep.notes.link_table import LinkTable
from flashgrep.notes.links.parse import links_of
from flashgrep.notes.markup import critic
from flashgrep.notes.pending_table import PendingTable
from flashgrep.notes.store.database import Database
from flashgrep.notes.suggestions import records, typed_marks
from flashgrep.notes.suggestions.pending import standing

log = logging.getLogger(__name__)

RULES: Final = 2
"""To be raised whenever `standing` or `links_of` gives something else for the same note, or every
note is to be looked at again (2: for marks without a record)."""

SCHEMA: Final = f"""{pending_table.SCHEMA}{link_table.SCHEMA}
CREATE TABLE looked (
    note TEXT NOT NULL PRIMARY KEY, sequence INTEGER NOT NULL, rules INTEGER NOT NULL
) WITHOUT ROWID;
"""


class Tables:
    """The tables, and which notes they are behind. Used on the thread of the notes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.pending = PendingTable(database)
        self.links = LinkTable(database)
        self._behind: dict[str, None] = dict.fromkeys(self._found_behind())
        self._unsettled: set[str] = set()

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

    def pass_over(self, note: str) -> None:
        """Wait for a note no longer, whatever becomes of it."""
        self._behind.pop(note, None)

    def wait_for(self, note: str) -> None:
        """Have a note looked at."""
        self._behind[note] = None

    def follow(self, note: str, sequence: int, text: str, besides: Mapping[str, Beside]) -> bool:
        """Write the rows of a note as it is, in the transaction of its change; whether it could.

        A defect of ours in working them out lets the change through: words come before lists.
        """
        try:
            with self._database.transaction():
                self._put(note, sequence, text, besides)
                self._database.when_done(lambda: self._behind.pop(note, None))
        except FlashgrepError:
            raise  # no room, or a broken disk: the change comes to nothing too
        except Exception:
            log.exception("the tables are behind note %s", note)
            self.leave(note)
            return False
        return True

    def _put(self, note: str, sequence: int, text: str, besides: Mapping[str, Beside]) -> None:
        self.pending.put(note, standing(text, besides))
        spans = [span for one in records.recorded(besides) for span in one.spans]
        reading = critic.read(text, spans)
        self.links.put(note, links_of(reading))
        if typed_marks.is_settled(reading, besides):
            self._unsettled.discard(note)
        else:
            self._unsettled.add(note)
        self._database.execute(
            "INSERT OR REPLACE INTO looked VALUES (?, ?, ?)", note, sequence, RULES
        )

    def leave(self, note: str) -> None:
        """Note that the rows of a note are behind, in the transaction of its change."""
        self._database.execute("DELETE FROM looked WHERE note = ?", note)
        self.wait_for(note)
