"""An author's own suggestions with their states, the newest first.

    pending     waits for a decision
    accepted, rejected, edited     what was decided (see `verdict.Outcome`)
    withdrawn   its author took it back
    gone        its marks were edited away by hand, its note was deleted or began anew

Nothing is stored here: the rows come from `pending` and `outcomes`, read page by page through their
indexes by author and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from typing import Any, Final

from flashgrep.notes.access.roles import Author
from flashgrep.notes.store.database import Database

STATES: Final = ("pending", "accepted", "rejected", "edited", "withdrawn", "gone")
NEWEST: Final = (2**62 + 1, "")
_AT_ONCE: Final = 200
"""Rows that are read at a time."""

_PENDING: Final = """
SELECT o.time AS made, o.id AS id, CASE WHEN n.path IS NULL THEN 'gone' ELSE 'pending' END AS state,
    o.note, coalesce(n.path, n.last_path, ''), o.line, o.old, o.new, NULL, NULL, NULL, NULL
FROM pending AS o JOIN notes AS n ON n.id = o.note
"""
_ENDED: Final = """
SELECT o.made AS made, o.suggestion AS id,
    CASE WHEN o.decision IS NULL THEN CASE WHEN o.withdrawn THEN 'withdrawn' ELSE 'gone' END
        WHEN d.action = 'reject' THEN 'rejected'
        WHEN d.text IS NULL THEN 'accepted' ELSE 'edited' END AS state,
    o.note, coalesce(n.path, n.last_path, ''), NULL, o.old, o.new, d.by, d.time, d.reason, d.text
FROM outcomes AS o JOIN notes AS n ON n.id = o.note LEFT JOIN decisions AS d ON d.id = o.decision
"""
_NOT_PENDING: Final = (
    " AND NOT EXISTS (SELECT 1 FROM pending AS p WHERE p.note = o.note AND p.id = o.suggestion)"
)


@dataclass(frozen=True, slots=True)
class OwnSuggestion:
    """A suggestion as its author sees it."""

    made: int
    """When it was made, in milliseconds since 1970."""
    id: str
    state: str
    note: str
    """The note's id…"""
    path: str
    """…and where it is, or was before it was deleted."""
    line: int | None
    """Of the accepted view; None unless it is pending."""
    old: str
    new: str
    by: str | None
    """Who decided…"""
    decided: int | None
    """…and when; None where nobody did."""
    reason: str | None
    text: str | None
    """What was accepted instead of `new`, if that was edited."""


@dataclass(frozen=True, slots=True)
class OwnFilter:
    """Which suggestions to list, and whose."""

    author: Author
    note: str | None = None
    state: str | None = None
    before: tuple[int, str] = NEWEST
    """The time and id of the last one of the page before."""


class OwnSuggestions:
    """Reads the rows. Used on the thread of the notes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def listed(self, wanted: OwnFilter) -> Iterator[OwnSuggestion]:
        """The newest first; read as far as they are taken."""
        while True:
            rows = self._rows(wanted)
            yield from rows
            if len(rows) < _AT_ONCE:
                return
            wanted = replace(wanted, before=(rows[-1].made, rows[-1].id))

    def _rows(self, wanted: OwnFilter) -> list[OwnSuggestion]:
        pending = self._of(_PENDING, "o.time, o.id", "", wanted)
        ended = self._of(_ENDED, "o.made, o.suggestion", _NOT_PENDING, wanted)
        rows = merge(pending, ended, key=lambda row: tuple(row[:2]), reverse=True)
        return [OwnSuggestion(*row) for row in islice(rows, _AT_ONCE)]

    def _of(self, select: str, order: str, more: str, wanted: OwnFilter) -> Sequence[Any]:
        kind = wanted.author.source.value if wanted.author.source else None
        last_made, last_id = (f"{column} DESC" for column in order.split(", "))
        return self._database.rows(
            f"{select} WHERE o.author = ? AND (o.source IS NULL OR ? IS NULL OR o.source = ?)"
            f" AND (? IS NULL OR o.note = ?) AND ({order}) < (?, ?){more}"
            f" AND (? IS NULL OR state = ?) ORDER BY {last_made}, {last_id} LIMIT {_AT_ONCE}",
            wanted.author.name,
            kind,
            kind,
            wanted.note,
            wanted.note,
            *wanted.before,
            wanted.state,
            wanted.state,
        )
