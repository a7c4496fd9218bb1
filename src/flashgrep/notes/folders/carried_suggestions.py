"""Suggestions that travel with an export: what the marks in a file do not say about them.

A file has the marks; `.flashgrep-export` (see `note_file`) has beside it, for each suggestion and
comment of the note:

    {"id": "s_0123456789abcdef",           c_… for a comment
     "answers": "c_0123456789abcdef",      only of a reply: the first comment of its thread
     "author": "robot/agent", "time": 1700000000000,
     "changed": 1700000000001,             only where its author changed it later
     "from": "token",                      the kind of its author (`roles.AuthorKind`), where known
     "own": true,                          only where nobody else has typed into it
     "marks": [[12, 9, "16 hex digits"]]}  for each mark: its first character and its length, in
                                           characters of the text with LF line ends and without a
                                           byte order mark, and the start of the SHA-256 of its text

By it an import finds marks that nothing else shows to be suggestions, those in code and those
longer than `limits.MARK_CHARS`, and knows whose each is. In a file that was changed meanwhile, a
mark is looked for where the marks before it have moved to, then anywhere; of marks that read alike
the first is the first one, if there are as many as there were. A suggestion comes back if all of
its marks are there unchanged; the import lists the others.

The file comes from anywhere: every field is checked, an entry that is not of this shape is skipped
and counted, and no search takes longer than the text is long, times a constant.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.notes.access.roles import Author, AuthorKind, source_named
from flashgrep.notes.document.note import NoteRecords
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import DELIMITERS, WIDTH, MarkKind, Span
from flashgrep.notes.suggestions.pending import (
    ANSWERS,
    CHANGED,
    FROM,
    Pending,
    made_at,
    pending,
    recorded,
)

Authors = Callable[[Sequence[Span]], Sequence[Set[Author | None]]]
"""Who wrote the characters of each of some spans; None is in it where nobody knows."""

SEARCHED_TEXTS: Final = 8
"""How many times a file's characters may be looked at to find its suggestions again."""

CARRIED_AUTHOR_CHARS: Final = 1_000
"""Longest name of an author that an import takes from an export; no metadata holds a longer one."""

OWN: Final = "own"
_ID: Final = re.compile(r"[cs]_[0-9a-f]{16}")
_COMMENT_ID: Final = re.compile(r"c_[0-9a-f]{16}")
_DIGEST: Final = re.compile(r"[0-9a-f]{16}")
_MARKS: Final = 16
"""Marks of one suggestion; we write at most two."""
_LAST_TIME: Final = 2**53
_NEARBY: Final = 32
"""Openers to try, on either side, for a mark that is no longer where it was."""
_OPENER: Final = re.compile(
    "|".join(sorted(re.escape(delimiters.opener) for delimiters in DELIMITERS.values()))
)
MARK_CLOSERS: Final = re.compile(rb"--\}|\+\+\}|~~\}|<<\}")
"""A text without any of them has no suggestions and no comments."""
_DELIMITER: Final = re.compile(
    "|".join(sorted(re.escape(part) for delimiters in DELIMITERS.values() for part in delimiters))
)
_CLOSERS: Final = {delimiters.opener: delimiters.closer for delimiters in DELIMITERS.values()}
_OF_COMMENTS: Final = tuple(
    DELIMITERS[kind].opener for kind in (MarkKind.COMMENT, MarkKind.HIGHLIGHT)
)
"""How the marks of a comment begin; those of a suggestion never do."""


class CarriedMark(NamedTuple):
    """A mark where it was when it was exported."""

    at: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class ExportedSuggestion:
    """A suggestion or comment as an export describes it."""

    id: str
    author: str
    time: int
    changed: int | None
    marks: tuple[CarriedMark, ...]
    source: AuthorKind | None = None
    answers: str = ""
    is_own: bool = False
    """All that it brings is its author's own words."""

    @property
    def is_comment(self) -> bool:
        return bool(_COMMENT_ID.fullmatch(self.id))

    def as_json(self) -> dict[str, Any]:
        """As the file has it."""
        found: dict[str, Any] = {
            "id": self.id,
            "author": self.author,
            "time": self.time,
            "marks": [list(mark) for mark in self.marks],
        }
        if self.changed is not None:
            found[CHANGED] = self.changed
        if self.answers:
            found[ANSWERS] = self.answers
        if self.source:
            found[FROM] = self.source.value
        if self.is_own:
            found[OWN] = True
        return found


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def described(
    text: str, besides: Mapping[str, NoteRecords], authors: Authors
) -> list[dict[str, Any]]:
    """The pending suggestions and the comments of a note, as JSON has them."""
    read = pending(text, recorded(besides))
    own = _own(read, authors)
    found = []
    for record in read.records:
        marks = read.marks_of(record)
        if all(mark.kind is MarkKind.HIGHLIGHT for mark in marks):
            continue
        value = besides[record.id].value
        changed = value.get(CHANGED)
        one = ExportedSuggestion(
            id=record.id,
            author=record.author,
            time=made_at(value),
            changed=changed if isinstance(changed, int) else None,
            marks=tuple(
                CarriedMark(mark.start, mark.end - mark.start, _digest(text[slice(*mark.span)]))
                for mark in marks
            ),
            source=record.source,
            answers=record.answers,
            is_own=record.id in own,
        )
        found.append(one.as_json())
    return found


def _own(read: Pending, authors: Authors) -> set[str]:
    """The ids of suggestions that bring nothing but their author's words."""
    brought = {one.id: [mark.new for mark in read.marks_of(one)] for one in read.suggestions}
    spans = [span for found in brought.values() for span in found if span[0] < span[1]]
    wrote = dict(zip(spans, authors(spans), strict=True))
    return {
        one.id
        for one in read.suggestions
        if all(
            writer is not None and writer.is_same(Author(one.author, one.source))
            for span in brought[one.id]
            for writer in wrote.get(span, ())
        )
    }


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def parsed(given: Any) -> tuple[list[ExportedSuggestion], int]:
    """The suggestions that an export describes, and how many of its entries are none."""
    if not isinstance(given, list | tuple):
        return [], 0
    found = [_carried(one) for one in given]
    return [one for one in found if one is not None], found.count(None)


def fit_to_send(given: Sequence[Any]) -> list[dict[str, Any] | None]:
    """What of a file's entries goes to the owner: None for each that it would not take.

    They can hold what no message can: NaN, half characters, more levels than are read.
    """
    return [one.as_json() if (one := _carried(entry)) else None for entry in given]


def _carried(given: Any) -> ExportedSuggestion | None:
    if not isinstance(given, dict):
        return None
    name, author = given.get("id"), given.get("author")
    made, changed, marks = given.get("time"), given.get(CHANGED), given.get("marks")
    is_named = isinstance(name, str) and _ID.fullmatch(name)
    is_authored = isinstance(author, str) and 0 < len(author) <= CARRIED_AUTHOR_CHARS
    if not is_named or not is_authored or not str(author).isprintable():
        return None
    if not _is_time(made) or not (changed is None or _is_time(changed)):
        return None
    if not isinstance(marks, list) or not 0 < len(marks) <= _MARKS:
        return None
    places = [_carried_mark(mark) for mark in marks]
    known = tuple(place for place in places if place is not None)
    if len(known) != len(places):
        return None
    source, answers = source_named(given.get(FROM)), given.get(ANSWERS, "")
    if not isinstance(answers, str) or (answers and not _COMMENT_ID.fullmatch(answers)):
        return None
    return ExportedSuggestion(
        id=str(name),
        author=str(author),
        time=int(made or 0),
        changed=changed,
        marks=known,
        source=source,
        answers=answers,
        is_own=given.get(OWN) is True,
    )


def _carried_mark(given: Any) -> CarriedMark | None:
    if not isinstance(given, list) or len(given) != 3:
        return None
    at, size, digest = given
    is_place = _is_number(at) and _is_number(size) and size >= 2 * WIDTH
    if not is_place or at + size > limits.NOTE_BYTES:
        return None
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return None
    return CarriedMark(at, size, digest)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_time(value: Any) -> bool:
    return _is_number(value) and value < _LAST_TIME


# ── finding the marks again ─────────────────────────────────────────────────────────────────────


@dataclass
class PlacedSuggestions:
    """Which suggestions were found again in a text, and which were not."""

    found: list[tuple[ExportedSuggestion, tuple[Span, ...]]] = field(default_factory=list)
    lost: list[ExportedSuggestion] = field(default_factory=list)


def whole(
    text: str, read: Pending, carried: Sequence[ExportedSuggestion]
) -> dict[str, ExportedSuggestion]:
    """Those whose records hold all their marks, by id.

    A record that has lost one of them no longer says what was suggested.
    """
    named = {one.id for one in carried}
    held = {
        record.id: Counter(_digest(text[slice(*mark.span)]) for mark in read.marks_of(record))
        for record in read.records
        if record.id in named
    }
    return {
        one.id: one
        for one in carried
        if one.id in held and not Counter(mark.digest for mark in one.marks) - held[one.id]
    }


def fitted(
    text: str, carried: Sequence[ExportedSuggestion], held: Iterable[Span] = ()
) -> PlacedSuggestions:
    """Look for suggestions in a text, of which records hold some spans already."""
    search = _MarkSearch(text, held, carried)
    done = PlacedSuggestions()
    for one in sorted(carried, key=lambda one: one.marks[0].at):
        spans = search.spans(one)
        if spans is None:
            done.lost.append(one)
        else:
            done.found.append((one, spans))
    return done


class _MarkSearch:
    def __init__(
        self, text: str, held: Iterable[Span], carried: Iterable[ExportedSuggestion]
    ) -> None:
        self._text = text
        self._were: dict[str, list[int]] = {}
        """Where the marks were, by digest."""
        for at, _, digest in sorted(mark for one in carried for mark in one.marks):
            self._were.setdefault(digest, []).append(at)
        self._held = sorted(held)
        self._openers = [found.start() for found in _OPENER.finditer(text)]
        self._drift = 0
        """How far the last mark that was found has moved."""
        self._unhashed = SEARCHED_TEXTS * len(text)
        """Characters that may still be looked at."""
        self._by_digest: dict[str, list[int]] | None = None

    def spans(self, one: ExportedSuggestion) -> tuple[Span, ...] | None:
        """Where the marks of a suggestion are; None unless all are found."""
        found: list[Span] = []
        before = self._drift
        for mark in one.marks:
            places = (
                at
                for at in self._places(mark)
                if self._text.startswith(_OF_COMMENTS, at) is one.is_comment
            )
            place = next((at for at in places if self._is_at(mark, at, found)), None)
            if place is None:
                self._drift = before
                return None
            self._drift = place - mark.at
            found.append((place, place + mark.size))
        for span in found:
            insort(self._held, span)
        return tuple(found)

    def _places(self, mark: CarriedMark) -> Iterator[int]:
        """Where a mark could be, likely places first."""
        expected = mark.at + self._drift
        known, were = self._known().get(mark.digest, []), self._were[mark.digest]
        if len(known) == len(were):
            yield known[bisect_left(were, mark.at)]
        yield expected
        at = bisect_left(known, expected)
        yield from sorted(known[max(at - 2, 0) : at + 2], key=lambda place: abs(place - expected))
        at = bisect_left(self._openers, expected)
        yield from self._openers[max(at - _NEARBY, 0) : at + _NEARBY]

    def _known(self) -> dict[str, list[int]]:
        """Where marks without another opener or closer of their kind in them are, by digest;
        without those that records hold from the start."""
        if self._by_digest is None:
            self._by_digest = {}
            free = (span for span in self._plain_marks() if not self._is_held(span))
            for start, end in sorted(free):
                self._by_digest.setdefault(_digest(self._text[start:end]), []).append(start)
        return self._by_digest

    def _plain_marks(self) -> Iterator[Span]:
        """From each closer back to the last opener of its kind: none of a kind overlap."""
        openers: dict[str, int] = {}
        for found in _DELIMITER.finditer(self._text):
            if found[0] in _CLOSERS:
                openers[_CLOSERS[found[0]]] = found.start()
            elif (start := openers.pop(found[0], None)) is not None:
                yield start, found.end()

    def _is_at(self, mark: CarriedMark, place: int, besides: Sequence[Span]) -> bool:
        span = start, end = place, place + mark.size
        closer = _CLOSERS.get(self._text[start : start + WIDTH]) if start >= 0 else None
        if closer is None or self._text[end - WIDTH : end] != closer or self._is_held(span):
            return False
        if any(first < end and start < last for first, last in besides):
            return False
        self._unhashed -= mark.size
        if self._unhashed < 0 or _digest(self._text[start:end]) != mark.digest:
            return False
        return critic.held(self._text, span) is not None

    def _is_held(self, span: Span) -> bool:
        at = bisect_left(self._held, span)
        beside = self._held[max(at - 1, 0) : at + 1]
        return any(start < span[1] and span[0] < end for start, end in beside)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
