"""Suggestions as a text and its records show them: who proposes what, and where it stands."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from flashgrep.notes.access.author import Author, AuthorKind
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import Mark, Reading, Span


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the record beside the text says about one suggestion."""

    id: str
    author: str
    spans: tuple[Span, ...]
    """Where its marks stand, delimiters included; those that no longer read as marks count not."""
    asked: str = ""
    """The digest of the edit that made it what it is: a retried call is known by it."""
    source: AuthorKind | None = None
    """What kind of author it is; None where an older flashgrep recorded it."""

    def is_by(self, author: Author) -> bool:
        """Whether it is somebody's own."""
        return Author(self.author, self.source).is_same(author)


def digest(old: str, new: str) -> str:
    """What `Recorded.asked` holds for an edit."""
    return hashlib.sha256(json.dumps([old, new]).encode()).hexdigest()


@dataclass(frozen=True)
class Pending:
    """A text read together with its records, which come in the order they were made."""

    reading: Reading
    records: tuple[Recorded, ...]

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
        return sorted(touched, key=lambda record: self._order[record.id])

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
        marks = self.marks_of(record)
        return self._joined(mark.old for mark in marks), self._joined(mark.new for mark in marks)

    def _joined(self, spans: Iterable[Span]) -> str:
        return "".join(self.reading.text[start:end] for start, end in spans)


def pending(text: str, records: Sequence[Recorded]) -> Pending:
    """Read a text with its records."""
    spans = [span for record in records for span in record.spans]
    return Pending(critic.read(text, spans), tuple(records))
