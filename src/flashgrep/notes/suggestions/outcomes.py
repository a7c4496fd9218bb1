"""What became of suggestions, and how much of that was reported to their authors.

    outcomes   author       whose suggestion it is…
               source       …and what kind of author (see `roles.AuthorKind`); NULL where that was
                            not recorded
               note         id of the note
               suggestion   its id
               made         when it was made, in milliseconds since 1970
               old, new     what it took away and what it brought when it was pending last
               decision     number of the decision that stands (see `decision_log`); NULL for none
               told         number of the decision that the author was told of last; NULL where the
                            author knows of none, or was told that it was undone. People see what
                            is decided, and are told nothing: theirs is always `decision`
               withdrawn    1 where its author took it back, else 0

A row is added when a suggestion stops being pending, for whatever reason, in the transaction that
ends it, and stays. A suggestion that is in `pending` again is pending, whatever its row says. There
is something to report where `decision` and `told` differ: so a decision undone before anybody heard
of it is never reported, and one undone afterwards is reported as undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flashgrep.notes.access.roles import Author, AuthorKind
from flashgrep.notes.store.database import Database

SCHEMA: Final = """
CREATE TABLE outcomes (
    author TEXT NOT NULL, source TEXT, note TEXT NOT NULL, suggestion TEXT NOT NULL,
    made INTEGER NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, decision INTEGER, told INTEGER,
    withdrawn INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (author, note, suggestion)
) WITHOUT ROWID;
CREATE INDEX outcomes_by_author ON outcomes (author, made, suggestion);
CREATE INDEX outcomes_to_tell ON outcomes (author, note) WHERE decision IS NOT told;
"""

FROM_DECISIONS: Final = """
INSERT OR IGNORE INTO outcomes (author, source, note, suggestion, made, old, new, decision, told)
    SELECT
        coalesce(json_extract(record, '$.author'), ''),
        CASE WHEN json_extract(record, '$.typed') THEN 'person'
            WHEN json_type(record, '$.from') = 'text' THEN json_extract(record, '$.from') END,
        note, suggestion,
        CASE json_type(record, '$.time') WHEN 'integer' THEN json_extract(record, '$.time')
            ELSE 0 END,
        old, new, id, id
    FROM decisions WHERE undone_time IS NULL ORDER BY id DESC;
"""
"""The rows of decisions that are older than this table: nothing is reported of them."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A suggestion that is no longer pending, as it last was."""

    author: Author
    note: str
    suggestion: str
    made: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class News:
    """What an author has yet to learn about one suggestion."""

    suggestion: str
    decision: int | None
    """The decision that stands; None: the one that the author knows of was undone."""
    outcome: str
    """accepted, rejected, edited or undone"""
    by: str
    time: int
    old: str
    new: str
    reason: str | None
    text: str | None


class Outcomes:
    """The rows. Used on the thread of the notes, except where noted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting = {
            (author, note)
            for author, note in database.rows(
                "SELECT DISTINCT author, note FROM outcomes WHERE decision IS NOT told"
            )
        }

    def may_have_news(self, author: str, note: str) -> bool:
        """Whether there is perhaps something to tell; any thread may ask."""
        return (author, note) in self._waiting

    # ── what becomes of suggestions ─────────────────────────────────────────────────────────────

    def ended(self, one: Ended) -> None:
        """Write that a suggestion is pending no longer, whatever the reason."""
        self._put(one, "old = excluded.old, new = excluded.new")

    def withdrawn(self, one: Ended) -> None:
        """Write that its author took a suggestion back; `ended` comes too."""
        self._put(one, "withdrawn = 1", withdrawn=1)

    def decided(self, one: Ended, decision: int) -> None:
        """Record which decision stands."""
        if one.author.source is AuthorKind.PERSON:
            change = "decision = excluded.decision, told = excluded.decision"
            self._put(one, change, decision=decision, told=decision)
        else:
            self._put(one, "decision = excluded.decision", decision=decision)
            self._wait_for(one.author.name, one.note)

    def undone(self, author: Author, note: str, suggestion: str) -> None:
        """Record that no decision stands any more."""
        told = "NULL" if author.source is AuthorKind.PERSON else "told"
        self._database.execute(
            f"UPDATE outcomes SET decision = NULL, told = {told}"  # noqa: S608 - our own words
            " WHERE author = ? AND note = ? AND suggestion = ?",
            *_key(author, note, suggestion),
        )
        self._wait_for(author.name, note)

    def _put(self, one: Ended, change: str, **more: int | None) -> None:
        values = {
            "author": one.author.name,
            "source": one.author.source,
            "note": one.note,
            "suggestion": one.suggestion,
            "made": one.made,
            "old": one.old,
            "new": one.new,
            **more,
        }
        self._database.execute(
            f"INSERT INTO outcomes ({', '.join(values)})"  # noqa: S608 - our own words
            f" VALUES ({', '.join('?' * len(values))})"
            f" ON CONFLICT (author, note, suggestion) DO UPDATE SET {change}",
            *values.values(),
        )

    def _wait_for(self, author: str, note: str) -> None:
        self._database.when_done(lambda: self._waiting.add((author, note)))

    # ── what authors are told ───────────────────────────────────────────────────────────────────

    def news(self, author: Author, note: str, most: int) -> tuple[list[News], int]:
        """What an author has yet to learn about a note, the first decided first; and the total.
        Nobody learns of the suggestions of another kind of author with the same name.
        """
        kind, values = _of_kind(author)
        which = (
            "FROM outcomes AS o JOIN decisions AS d ON d.id = coalesce(o.decision, o.told)"
            f" WHERE o.author = ? AND o.note = ? AND o.decision IS NOT o.told AND {kind}"
        )
        asked = (author.name, note, *values)
        ((count,),) = self._database.rows(f"SELECT count(*) {which}", *asked)
        rows = self._database.rows(
            "SELECT o.suggestion, o.decision, d.action, d.by, d.time, d.undone_by, d.undone_time,"
            f" d.old, d.new, d.reason, d.text {which}"
            " ORDER BY coalesce(d.undone_time, d.time), d.id LIMIT ?",
            *asked,
            most,
        )
        return [_news(row) for row in rows], count

    def tell(self, author: Author, note: str, told: Iterable[News]) -> None:
        """Write what an author was told now."""
        for one in told:
            self._database.execute(
                "UPDATE outcomes SET told = ? WHERE author = ? AND note = ? AND suggestion = ?",
                one.decision,
                *_key(author, note, one.suggestion),
            )
        rows = self._database.rows(
            "SELECT 1 FROM outcomes WHERE author = ? AND note = ? AND decision IS NOT told LIMIT 1",
            author.name,
            note,
        )
        if not rows:
            self._database.when_done(lambda: self._waiting.discard((author.name, note)))


def _key(author: Author, note: str, suggestion: str) -> tuple[str, str, str]:
    return author.name, note, suggestion


def _of_kind(author: Author) -> tuple[str, Sequence[str]]:
    """The condition of a row to be an author's own; where a kind is not known, it may be."""
    if author.source is None:
        return "TRUE", ()
    return "(o.source IS NULL OR o.source = ?)", (author.source.value,)


def _news(row: Sequence[Any]) -> News:
    suggestion, decision, action, by, time, undone_by, undone_time, old, new, reason, text = row
    if decision is None:
        by, time, outcome, reason, text = undone_by or "", undone_time or 0, "undone", None, None
    elif action == "reject":
        outcome = "rejected"
    else:
        outcome = "accepted" if text is None else "edited"
    return News(
        suggestion=suggestion,
        decision=decision,
        outcome=outcome,
        by=by,
        time=time,
        old=old,
        new=new,
        reason=reason,
        text=text,
    )
