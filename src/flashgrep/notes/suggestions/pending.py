"""Pending suggestions: how they are recorded, found in a text and listed.

`suggestions_in` is the one definition. The table in the store (`tables`) holds what it gives for
each note, and is written with every change; it can be made again from the notes.

How a suggestion is written as a record beside a note's text, and read back.

    kind      "suggestion"
    author    who proposes it
    from      what kind of author that is (see `roles.AuthorKind`); older records do not say
    time      when it was made, in milliseconds since 1970
    changed   when its author changed it last; not there where that never was
    asked     the digest of the edit that made it what it is (see `pending.digest`)
    typed     true for a mark that a person typed into the text (see `typed_marks`)
    found     true for a mark that nobody completed but that came to light; its record lasts as long
              as the text alone shows the mark

    kind      "comment": the rest as of a suggestion, without `asked` and `changed` (see `comments`)
    answers   the id of the first comment of its thread; not there for that one itself

    kind      "withdrawn": the last edit of an author that took a suggestion back
    author    whose
    time      when
    asked     as above
    text      the digest of the note's text after it

An id is given once and stays: `s_…` of a suggestion, `c_…` of a comment; that of a withdrawn edit
is its author's, so that there is one for each. Records are part of the document. Peers cannot write
them (see `causality`), but with older versions they could: what is not of these shapes is skipped.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from flashgrep import limits
from flashgrep.notes.access.roles import Author, AuthorKind, source_named
from flashgrep.notes.document.note import NoteRecords
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import Mark, MarkKind, ParsedMarkup, Span

# ── suggestions in a text ────────────────────────────────────────────────────────────────────────
# Suggestions as a text and its records show them: who proposes what, and where it is.


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the record beside the text says about one suggestion, or one comment."""

    id: str
    author: str
    spans: tuple[Span, ...]
    """Where its marks are, delimiters included; spans that no longer read as marks do not count."""
    asked: str = ""
    """The digest of the edit that made it what it is: a retried call is known by it."""
    source: AuthorKind | None = None
    """The kind of author; None if an older flashgrep recorded it."""
    is_comment: bool = False
    answers: str = ""
    """For a comment, the first one in its thread; empty for that one itself."""

    def is_by(self, author: Author) -> bool:
        """Whether it is somebody's own."""
        return Author(self.author, self.source).is_same(author)


def digest(old: str, new: str) -> str:
    """What `Recorded.asked` holds for an edit."""
    return hashlib.sha256(json.dumps([old, new]).encode()).hexdigest()


def proposal_digest(old: str, new: str) -> str:
    """Of what a suggestion takes away and brings: what a person who decides says that they saw.

    It is as long as it takes for an author not to find two proposals of one digest, and show the
    one and have the other accepted: of 16 digits somebody who chooses both finds a pair within
    the hour. The texts themselves would be too long to send for thousands of suggestions.
    """
    return digest(old, new)[:_PROPOSAL_DIGITS]


@dataclass(frozen=True)
class Pending:
    """A text read with its records, in the order they were made."""

    reading: ParsedMarkup
    records: tuple[Recorded, ...]

    @cached_property
    def suggestions(self) -> tuple[Recorded, ...]:
        """The records that can be decided."""
        return tuple(record for record in self.records if not record.is_comment)

    @cached_property
    def _owners(self) -> dict[Span, Recorded]:
        return {span: record for record in self.records for span in record.spans}

    @cached_property
    def _starts(self) -> list[int]:
        return [mark.start for mark in self.reading.marks]

    @cached_property
    def _order(self) -> dict[str, int]:
        return {record.id: at for at, record in enumerate(self.records)}

    def owner(self, mark: Mark) -> Recorded | None:
        """The record that holds a mark; None for one that somebody typed."""
        return self._owners.get(mark.span) if mark.is_recorded else None

    def touching(self, start: int, end: int) -> Sequence[Mark]:
        """The marks that share a character with a span."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        last = bisect_left(self._starts, end)
        return [mark for mark in self.reading.marks[first:last] if mark.end > start]

    def owners(self, start: int, end: int) -> list[Recorded]:
        """The suggestions whose marks a span touches, in the order they were made."""
        touched = {owner for mark in self.touching(start, end) if (owner := self.owner(mark))}
        found = [owner for owner in touched if not owner.is_comment]
        return sorted(found, key=lambda record: self._order[record.id])

    def marks_of(self, record: Recorded) -> list[Mark]:
        """The marks a record holds now; people may have deleted some."""
        found = []
        for start, end in sorted(record.spans):
            found += [mark for mark in self.touching(start, end) if mark.span == (start, end)]
        return found

    def extent(self, record: Recorded) -> Span | None:
        """From its first mark to its last, with what was typed between; None if all are gone."""
        marks = self.marks_of(record)
        return (marks[0].start, marks[-1].end) if marks else None

    def change(self, record: Recorded) -> tuple[str, str]:
        """What the record's marks take away, and what they bring."""
        return change_of(self.reading.text, self.marks_of(record))


def change_of(text: str, marks: Iterable[Mark]) -> tuple[str, str]:
    """The text that marks take away, and the text that they bring."""
    spans = [(mark.old, mark.new) for mark in marks]
    old = "".join(text[slice(*span)] for span, _ in spans)
    return old, "".join(text[slice(*span)] for _, span in spans)


def pending(text: str, records: Sequence[Recorded]) -> Pending:
    """Read a text with its records."""
    spans = [span for record in records for span in record.spans]
    return Pending(critic.read(text, spans), tuple(records))


# ── records ──────────────────────────────────────────────────────────────────────────────────────


SUGGESTION: Final = "suggestion"
COMMENT: Final = "comment"
ANSWERS: Final = "answers"
CHANGED: Final = "changed"
FROM: Final = "from"
TYPED: Final = "typed"
FOUND: Final = "found"
WITHDRAWN: Final = "withdrawn"
_ID_BYTES: Final = 8
_PROPOSAL_DIGITS: Final = 32


def new_id() -> str:
    """An id for a suggestion."""
    return f"s_{secrets.token_hex(_ID_BYTES)}"


def new_comment_id() -> str:
    """An id for a comment."""
    return f"c_{secrets.token_hex(_ID_BYTES)}"


def recorded(besides: Mapping[str, NoteRecords]) -> list[Recorded]:
    """The suggestions and comments among a note's records, in the order they were made."""
    return [
        Recorded(
            id=name,
            author=_text(found.value, "author"),
            spans=found.spans,
            asked=_text(found.value, "asked"),
            source=source_of(found.value),
            is_comment=found.value["kind"] == COMMENT,
            answers=_text(found.value, ANSWERS),
        )
        for name, found in besides.items()
        if is_suggestion(found.value) or is_comment(found.value)
    ]


def is_suggestion(value: Mapping[str, Any]) -> bool:
    """Whether a record is of a suggestion."""
    return value.get("kind") == SUGGESTION and isinstance(value.get("author"), str)


def is_comment(value: Mapping[str, Any]) -> bool:
    """Whether a record is of a comment."""
    return value.get("kind") == COMMENT and isinstance(value.get("author"), str)


def source_of(value: Mapping[str, Any]) -> AuthorKind | None:
    """What kind of author a record is of; a mark that was typed is a person's."""
    return AuthorKind.PERSON if value.get(TYPED) else source_named(value.get(FROM))


def beside(
    record: Recorded, made_at_ms: int, before: Mapping[str, Any] | None = None
) -> NoteRecords:
    """The record of a suggestion; `before` is what it was, for one that its author changed."""
    value = {"kind": SUGGESTION, "author": record.author, "asked": record.asked}
    if record.source:
        value[FROM] = record.source.value
    if before is None:
        return NoteRecords({**value, "time": made_at_ms}, record.spans)
    return NoteRecords({**before, **value, CHANGED: made_at_ms}, record.spans)


def comment_beside(record: Recorded, made_at_ms: int) -> NoteRecords:
    """The record of a comment."""
    value: dict[str, Any] = {"kind": COMMENT, "author": record.author, "time": made_at_ms}
    if record.source:
        value[FROM] = record.source.value
    if record.answers:
        value[ANSWERS] = record.answers
    return NoteRecords(value, record.spans)


def comment_span(text: str, record: Recorded) -> Span | None:
    """Where a comment's own mark is; its record may hold the highlight before it as well."""
    opener = critic.DELIMITERS[MarkKind.COMMENT].opener
    return next((span for span in record.spans if text.startswith(opener, span[0])), None)


def made_at(value: Mapping[str, Any]) -> int:
    """When a suggestion was made, in milliseconds since 1970; 0 where that is not known."""
    made = value.get("time")
    return made if isinstance(made, int) and not isinstance(made, bool) and made >= 0 else 0


# ── edits that took a suggestion back ───────────────────────────────────────────────────────────


def withdrawn_id(author: str) -> str:
    """Where the author's last withdrawn edit is recorded."""
    return f"w_{hashlib.sha256(author.encode()).hexdigest()[: 2 * _ID_BYTES]}"


def withdrawn(author: str, asked: str, text: str, made_at_ms: int) -> NoteRecords:
    """The record of an edit that left `text` without the suggestion there was."""
    value = {"kind": WITHDRAWN, "author": author, "asked": asked, "text": text_digest(text)}
    return NoteRecords({**value, "time": made_at_ms})


def is_withdrawn(value: Mapping[str, Any], asked: str, text: str | None = None) -> bool:
    """Whether a record is of this very edit, and, where one is given, of this text after it."""
    is_this = value.get("kind") == WITHDRAWN and value.get("asked") == asked
    return is_this and (text is None or value.get("text") == text_digest(text))


def text_digest(text: str) -> str:
    """What `text` of a withdrawn edit holds."""
    return hashlib.sha256(text.encode()).hexdigest()


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


# ── pending ──────────────────────────────────────────────────────────────────────────────────────


_CLOSERS: Final = ("--}", "++}", "~~}")
LATEST: Final = 2**62
"""Peers can write any number as a time; a larger one does not fit into the table."""


@dataclass(frozen=True, slots=True)
class PendingSuggestion:
    """A pending suggestion in one state of its note."""

    id: str
    line: int
    """Of the accepted view, which is what `read` shows."""
    author: str
    time: int
    old: str
    new: str
    before: str
    """What precedes it in the note as it is now, with nothing pending applied: enough to know the
    place…"""
    after: str
    """…and what follows it."""
    source: AuthorKind | None
    """The kind of author; None if not recorded."""


@dataclass(frozen=True, slots=True)
class ListedSuggestion(PendingSuggestion):
    """A pending suggestion, and where it is."""

    note: str
    """The note's id…"""
    path: str
    """…and where it is."""

    def as_json(self) -> dict[str, Any]:
        """As routes and commands answer it."""
        return {
            "id": self.id,
            "note": self.path,
            "line": self.line,
            "author": self.author,
            "time": self.time,
            "old": self.old,
            "new": self.new,
            "context": {"before": self.before, "after": self.after},
            "digest": proposal_digest(self.old, self.new),
        }


def may_stand(text: str) -> bool:
    """Whether a text can hold a suggestion; one without a closer has none, whatever records say."""
    return any(closer in text for closer in _CLOSERS)


def suggestions_in(text: str, besides: Mapping[str, NoteRecords]) -> list[PendingSuggestion]:
    """The pending suggestions of a note's state, from top to bottom."""
    if not may_stand(text):
        return []
    return suggestions_of(pending(text, recorded(besides)), besides)


def suggestions_of(read: Pending, besides: Mapping[str, NoteRecords]) -> list[PendingSuggestion]:
    """The same of a text that was read with its records."""
    placed = [(extent, record) for record in read.suggestions if (extent := read.extent(record))]
    placed.sort(key=lambda pair: (pair[0], pair[1].id))
    found, line, at = [], 1, 0
    for (start, end), record in placed:
        first = read.reading.accepted.to_view(start)
        line += read.reading.accepted.text.count("\n", at, first)
        at = first
        made = min(made_at(besides[record.id].value), LATEST)
        found.append(_described(read, record, (start, end), line, made))
    return found


def _described(
    read: Pending, record: Recorded, extent: Span, line: int, made: int
) -> PendingSuggestion:
    view = read.reading.base
    first, last = map(view.to_view, extent)
    before = view.text[max(first - limits.CONTEXT_CHARS, 0) : first]
    after = view.text[last : last + limits.CONTEXT_CHARS]
    old, new = read.change(record)
    return PendingSuggestion(
        id=record.id,
        line=line,
        author=record.author,
        time=made,
        old=old,
        new=new,
        before=before,
        after=after,
        source=record.source,
    )
