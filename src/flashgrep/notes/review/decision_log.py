"""The log of decisions: who accepted or rejected which suggestion, and what an undo needs.

    decisions   id           counts up, never given twice; shown as a `decision_numbers` number
                suggestion   its id
                note         id of the note
                action       accept or reject
                by, time     who decided, and when (milliseconds since 1970)
                record       JSON: what was recorded beside the text (author, time, …)
                old, new     what the suggestion takes away and what it brings
                cuts         JSON: [place, removed text, anchor before it, anchor after it] each,
                             an anchor being [client, clock] or null (see `anchors`)
                marks        JSON: where each mark began and ended, see `decide.Decision.marks`
                undone_by, undone_time   NULL where it was not undone
                reason       why it was rejected; NULL where nobody said
                text         what the person put in the place of `new` before accepting it; NULL
                             where nothing was changed
                put          JSON: the characters that were put in for that, which an undo takes
                             out again, as [client, clock, UTF-16 units] each; NULL without `text`
                comments     JSON: the comments on it that left the text with its marks, which an
                             undo brings back, as [id, record, text] each; NULL without any

A row is written in the transaction of its change: there is no decision without its
row, and no row without its decision. Peers can write anything into a document, but not in here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from flashgrep.errors import NotFound
from flashgrep.notes.access.roles import Author
from flashgrep.notes.document.anchors import Anchor
from flashgrep.notes.document.order import Run
from flashgrep.notes.review.decide import Cut, Edge
from flashgrep.notes.review.decision_numbers import DecisionNumbers
from flashgrep.notes.review.verdict import Action, Outcome
from flashgrep.notes.store.database import Database
from flashgrep.notes.suggestions.outcomes import Ended, Outcomes
from flashgrep.notes.suggestions.pending import LATEST, made_at, source_of

SCHEMA: Final = """
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, suggestion TEXT NOT NULL, note TEXT NOT NULL,
    action TEXT NOT NULL, by TEXT NOT NULL, time INTEGER NOT NULL, record TEXT NOT NULL,
    old TEXT NOT NULL, new TEXT NOT NULL, cuts TEXT NOT NULL, marks TEXT NOT NULL,
    undone_by TEXT, undone_time INTEGER
);
CREATE INDEX decisions_of_suggestion ON decisions (suggestion);
CREATE INDEX decisions_of_note ON decisions (note);
"""
GAINED: Final = """
ALTER TABLE decisions ADD COLUMN reason TEXT;
ALTER TABLE decisions ADD COLUMN text TEXT;
ALTER TABLE decisions ADD COLUMN put TEXT;
ALTER TABLE decisions ADD COLUMN comments TEXT;
CREATE INDEX decisions_by_decider ON decisions (by, id);
"""
"""What the table gained in format 3."""
_COLUMNS: Final = (
    "id, suggestion, note, action, by, time, record, old, new, cuts, marks, undone_by, undone_time,"
    " reason, text, put, comments"
)


_NEWER_THAN_ALL: Final = 2**62
_AT_ONCE: Final = 500
"""Ids per query: SQLite allows so many values."""


@dataclass(frozen=True, slots=True)
class Cutting:
    """What was cut out of a text, and between which characters it was."""

    cut: Cut
    before: Anchor | None
    behind: Anchor | None


class LeftComment(NamedTuple):
    """A comment that left the text with the marks of its suggestion."""

    id: str
    record: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class Decided:
    """One row of the log."""

    id: int
    """Its number, as people see it."""
    suggestion: str
    note: str
    action: Action
    by: str
    time: int
    record: Mapping[str, Any]
    old: str
    new: str
    cuttings: tuple[Cutting, ...]
    marks: tuple[tuple[Edge, Edge], ...]
    undone_by: str | None = None
    undone_time: int | None = None
    reason: str | None = None
    text: str | None = None
    put: tuple[Run, ...] = ()
    comments: tuple[LeftComment, ...] = ()

    @property
    def is_undone(self) -> bool:
        return self.undone_time is not None

    @property
    def outcome(self) -> Outcome:
        """What became of the suggestion."""
        if self.action is Action.REJECT:
            return Outcome.REJECTED
        return Outcome.ACCEPTED if self.text is None else Outcome.EDITED

    @property
    def author(self) -> Author:
        """Who made the suggestion."""
        return Author(str(self.record.get("author", "")), source_of(self.record))


class Decisions:
    """All rows. Used on the thread of the notes, inside `Library.together`."""

    def __init__(self, database: Database, outcomes: Outcomes) -> None:
        """`outcomes` follow each decision."""
        self._database = database
        self._outcomes = outcomes
        self._numbers = DecisionNumbers(database)

    def add(self, decided: Decided) -> Decided:
        """Write a row, which is given its number."""
        cuts = [[*one.cut, one.before, one.behind] for one in decided.cuttings]
        cursor = self._database.execute(
            "INSERT INTO decisions (suggestion, note, action, by, time, record, old, new, cuts,"
            " marks, reason, text, put, comments)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            decided.suggestion,
            decided.note,
            decided.action.value,
            decided.by,
            decided.time,
            json.dumps(decided.record),
            decided.old,
            decided.new,
            json.dumps(cuts),
            json.dumps(decided.marks),
            decided.reason,
            decided.text,
            json.dumps(decided.put) if decided.text is not None else None,
            json.dumps(decided.comments) if decided.comments else None,
        )
        row = cursor.lastrowid or 0
        added = replace(decided, id=self._numbers.shown(row))
        self._outcomes.decided(
            Ended(
                author=added.author,
                note=added.note,
                suggestion=added.suggestion,
                made=min(made_at(added.record), LATEST),
                old=added.old,
                new=added.new,
            ),
            row,
        )
        return added

    def undo(self, number: int, by: str, time: int) -> Decided:
        """Record that a decision was undone."""
        self._database.execute(
            "UPDATE decisions SET undone_by = ?, undone_time = ? WHERE id = ?",
            by,
            time,
            self._numbers.row(number),
        )
        undone = self.get(number)
        self._outcomes.undone(undone.author, undone.note, undone.suggestion)
        return undone

    def get(self, number: int) -> Decided:
        """One decision."""
        rows = self._rows("id = ?", self._numbers.row(number))
        if not rows:
            raise no_decision()
        return rows[0]

    def latest(self, suggestion: str) -> Decided | None:
        """The decision on a suggestion that was not undone."""
        rows = self._rows("suggestion = ? AND undone_time IS NULL ORDER BY id DESC", suggestion)
        return rows[0] if rows else None

    def said_on(self, suggestions: Sequence[str]) -> dict[str, tuple[LeftComment, ...]]:
        """What was said about decided suggestions, as far as their comments left the text."""
        found: dict[str, tuple[LeftComment, ...]] = {}
        for at in range(0, len(suggestions), _AT_ONCE):
            some = suggestions[at : at + _AT_ONCE]
            rows = self._database.rows(
                "SELECT suggestion, comments FROM decisions WHERE undone_time IS NULL"  # noqa: S608
                f" AND comments IS NOT NULL AND suggestion IN ({', '.join('?' * len(some))})"
                " ORDER BY id",
                *some,
            )
            found |= {
                name: tuple(LeftComment(*one) for one in json.loads(comments))
                for name, comments in rows
            }
        return found

    def page(
        self,
        count: int,
        before: int | None,
        wanted: Callable[[str], bool],
        note: str | None = None,
        by: str | None = None,
    ) -> list[Decided]:
        """The newest decisions, or those before one of them, of the notes that are wanted.

        Of one `note`, or made `by` one person, where that is asked for.
        """
        end = _NEWER_THAN_ALL
        if before is not None:
            if not wanted(self.get(before).note):  # or numbers could be tried, to count decisions
                raise no_decision()
            end = self._numbers.row(before) or end
        asked = {"note = ?": note, "by = ?": by}
        given = {condition: value for condition, value in asked.items() if value is not None}
        which = "".join(f"{condition} AND " for condition in given)
        found: list[Decided] = []
        while len(found) < count:
            rows = self._rows(
                f"{which}id < ? ORDER BY id DESC LIMIT ?", *given.values(), end, count
            )
            found += [row for row in rows if wanted(row.note)]
            if len(rows) < count:
                break
            end = self._numbers.row(rows[-1].id) or end
        return found[:count]

    def _rows(self, condition: str, *values: Any) -> list[Decided]:
        query = f"SELECT {_COLUMNS} FROM decisions WHERE {condition}"  # noqa: S608 - our own words
        found = self._database.rows(query, *values)
        return [_decided(self._numbers.shown(number), rest) for number, *rest in found]


def no_decision() -> NotFound:
    """For a number that no decision has, and for one of a note that may not be read."""
    return NotFound("there is no such decision")


def _decided(number: int, row: Sequence[Any]) -> Decided:
    suggestion, note, action, by, time, record, old, new, cuts, marks, *rest = row
    undone_by, undone_time, reason, text, put, comments = rest
    cuttings = tuple(
        Cutting(Cut(at, removed), _anchor(before), _anchor(behind))
        for at, removed, before, behind in json.loads(cuts)
    )
    edges = tuple((_edge(start), _edge(end)) for start, end in json.loads(marks))
    return Decided(
        id=number,
        suggestion=suggestion,
        note=note,
        action=Action(action),
        by=by,
        time=time,
        record=json.loads(record),
        old=old,
        new=new,
        cuttings=cuttings,
        marks=edges,
        undone_by=undone_by,
        undone_time=undone_time,
        reason=reason,
        text=text,
        put=tuple(Run(*one) for one in json.loads(put or "[]")),
        comments=tuple(LeftComment(*one) for one in json.loads(comments or "[]")),
    )


def _anchor(stored: Sequence[int] | None) -> Anchor | None:
    return Anchor(*stored) if stored else None


def _edge(stored: Sequence[int]) -> Edge:
    return stored[0], stored[1]
