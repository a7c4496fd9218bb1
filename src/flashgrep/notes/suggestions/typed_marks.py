"""Marks that people type: each becomes a suggestion or comment of its author once it is complete.

    {++new++}  {--old--}  {~~old~>new~~}     a suggestion, when its closer is committed
    {>>text<<}                               a comment, in the thread of the one it directly follows
    {==text==}                               a highlight: no record

This runs at every keystroke, so it looks at little: the new characters, and the two on either side
of them. The whole note is read only when a closer has arrived, or another delimiter of a mark that
begins and ends in that line. Only then is it known whether the mark is in code, or inside another
suggestion.

An opener alone is not enough: the text where it would end was not typed as its closer. Somebody who
types `{++x++}` letter by letter inside backticks types the second backtick last. So a mark that its
own author turns into code, in the same line, is no longer a suggestion.

A mark that is typed inside another suggestion is that one's text. When the other one is decided,
and the mark comes to light, it is a suggestion of the author of its closer. So is one that comes to
light in any other way: the code around it is code no more, its opener was typed last, or the note
is older than these records. No keystroke looks for such marks. They are found when a note's tables
are written, which reads the note anyway, and their records are made then (`exposed`). Nobody
completed them, so these records follow the text: a mark that is code again, or ends elsewhere, is
no longer a suggestion. Starting a block of code above another one exposes, for a moment, the marks
in that one.

Deleting a suggestion and undoing that (or cutting and pasting it) brings its marks back as new
characters. Marks that arrive whole, and match a record that has lost its own marks, are that
suggestion again: with its author, who then learns what becomes of it.

Metadata that an editor writes into a mark is ignored: the author is the connection's, the time the
server's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from flashgrep import limits
from flashgrep.notes.access.roles import UNKNOWN, Author, AuthorKind
from flashgrep.notes.document.note import Amendment, NoteRecords, Taken
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import (
    DELIMITERS,
    RECORDED,
    WIDTH,
    Mark,
    MarkKind,
    ParsedMarkup,
    Span,
)
from flashgrep.notes.suggestions.pending import (
    FOUND,
    TYPED,
    Pending,
    Recorded,
    beside,
    change_of,
    comment_beside,
    comment_span,
    digest,
    new_comment_id,
    new_id,
    pending,
)
from flashgrep.notes.suggestions.pending import recorded as recorded_in

_DELIMITER: Final = re.compile(rb"\{\+\+|\+\+\}|\{--|--\}|\{~~|~~\}|~>|\{>>|<<\}")
"""What suggestions and comments are made of."""
_OPENERS: Final = {
    DELIMITERS[kind].closer.encode(): DELIMITERS[kind].opener.encode() for kind in RECORDED
}
_REACH: Final = 4 * (limits.MARK_CHARS + 2 * WIDTH)
"""Bytes in which the opener of a closer is, if it has one."""
_BESIDE: Final = WIDTH - 1
"""Bytes beside a change that can be part of a delimiter that the change is part of."""


class _Text(Protocol):
    def read(self) -> str: ...


class Live(Protocol):
    """What this module needs of a note."""

    @property
    def text(self) -> _Text: ...

    def records(self) -> dict[str, NoteRecords]: ...

    def writers_at(self, places: Sequence[int]) -> list[Author | None]: ...


def recorded(note: Live, taken: Taken, author: str, now: int) -> Amendment | None:
    """Records for the marks that a peer's change completed."""
    stretches = taken.stretches
    if not stretches:
        return None
    text = note.text.read()
    data = text.encode()
    records = _made_literal(note, text, data, stretches, author)
    if any(_may_complete(data, stretch) for stretch in stretches):
        changed = _in_characters(data, stretches)
        besides = note.records()
        completed, found = _by_origin(besides)
        read = pending(text, completed)
        marks = [mark for mark in read.reading.marks if _is_typed(text, mark, changed)]
        groups = critic.suggestions(marks)
        back = _returned(read, groups, changed, completed)
        records |= {key: replace(besides[key], spans=spans) for spans, key in back.items()}
        new = [group for group in groups if _spans(group) not in back]
        records |= _records(read, new, besides, author, now)
        records |= _comments(Threads(text, [*completed, *found]), marks, author, now)
        records |= dict.fromkeys(one.id for one in found if _overlaps(one, marks))
    return Amendment(records=records) if records else None


def may_expose(text: str, besides: Mapping[str, NoteRecords], change: Amendment) -> bool:
    """Whether a change takes records away, and there are more openers than records hold marks.

    Then one of them may begin a mark as soon as the other marks are gone.
    """
    if not any(one is None and name in besides for name, one in change.records.items()):
        return False
    openers = [DELIMITERS[kind].opener for kind in RECORDED]
    spans = [span for one in besides.values() for span in one.spans]
    held = sum(text[start : start + WIDTH] in openers for start, _ in spans)
    return sum(map(text.count, openers)) > held


def is_settled(reading: ParsedMarkup, besides: Mapping[str, NoteRecords]) -> bool:
    """Whether `exposed` has nothing to do in a text that was read with its records."""
    return not any(
        mark.kind in RECORDED and not mark.is_recorded for mark in reading.marks
    ) and not any(one.value.get(FOUND) for one in besides.values())


def exposed(note: Live, author: str, now: int) -> Amendment | None:
    """Records for the marks that came to light without one; those that went again lose theirs.

    Each belongs to the author of its closer, or, where that is not known, to `author`, who brought
    it to light. An opener of that author counts for more: then the opener came last.
    """
    text, besides = note.text.read(), note.records()
    completed, found = _by_origin(besides)
    read = pending(text, completed)
    marks = [mark for mark in read.reading.marks if not mark.is_recorded]
    groups = {tuple(mark.span for mark in group) for group in critic.suggestions(marks)}
    comments = {(mark.span,) for mark in marks if mark.kind is MarkKind.COMMENT}
    groups |= comments
    held = {tuple(sorted(one.spans)): one.id for one in found}
    records: dict[str, NoteRecords | None] = {
        one.id: None for one in found if tuple(sorted(one.spans)) not in groups
    }
    threads = Threads(text, [*completed, *(one for one in found if one.id not in records)])
    new = sorted(groups - held.keys())
    openers = note.writers_at([spans[0][0] for spans in new])
    closers = note.writers_at([spans[-1][1] - 1 for spans in new])
    for spans, opener, closer in zip(new, openers, closers, strict=True):
        writer = opener if opener and opener.name == author else closer
        name = writer.name if writer else author or UNKNOWN
        if spans in comments:
            key, made = threads.comment(spans[0], name, now)
        else:
            record = Recorded(
                id="", author=name, spans=spans, asked=_asked(read, spans), source=AuthorKind.PERSON
            )
            key, made = new_id(), beside(record, now)
        records[key] = replace(made, value={**made.value, TYPED: True, FOUND: True})
    return Amendment(records=records) if records else None


def _by_origin(besides: Mapping[str, NoteRecords]) -> tuple[list[Recorded], list[Recorded]]:
    """The marks that somebody completed, and those that were found."""
    completed: list[Recorded] = []
    found: list[Recorded] = []
    for one in recorded_in(besides):
        (found if besides[one.id].value.get(FOUND) else completed).append(one)
    return completed, found


def _overlaps(one: Recorded, marks: Sequence[Mark]) -> bool:
    return any(start < mark.end and mark.start < end for start, end in one.spans for mark in marks)


def all_recorded(text: str, besides: Mapping[str, NoteRecords], author: str, now: int) -> Amendment:
    """Records for all marks of a text that have none."""
    read = pending(text, recorded_in(besides))
    marks = [mark for mark in read.reading.marks if not mark.is_recorded]
    made = _records(read, critic.suggestions(marks), besides, author, now)
    return Amendment(records=made | _comments(Threads(text, read.records), marks, author, now))


def _made_literal(
    note: Live, text: str, data: bytes, stretches: Sequence[Span], author: str
) -> dict[str, NoteRecords | None]:
    """Remove the records of marks that their own author has just made code."""
    lines = [_line(data, stretch) for stretch in stretches if _may_quote(data, stretch)]
    if not any(closer in data[slice(*line)] for line in lines for closer in _OPENERS):
        return {}
    besides = note.records()
    known = recorded_in(besides)
    typed = [one for one in known if one.author == author and besides[one.id].value.get(TYPED)]
    if not typed:
        return {}
    besides_typed = [span for one in known if one not in typed for span in one.spans]
    # Whether they still read as marks says less: one that is typed inside another ends that
    # elsewhere, and is only its text.
    places = [start for one in typed for start, _ in one.spans]
    literal = critic.literal_places(text, places, besides_typed)
    changed = _in_characters(data, lines)
    hidden = [
        one.id
        for one in typed
        if one.spans
        and all(start in literal for start, _ in one.spans)
        and any(_touches(s, changed) for s in one.spans)
    ]
    return dict.fromkeys(hidden)


# ── whether there is anything to do ─────────────────────────────────────────────────────────────


def _may_complete(data: bytes, stretch: Span) -> bool:
    """Whether a change brought a delimiter that could complete a mark; linear in the change."""
    start, end = max(stretch[0] - _BESIDE, 0), stretch[1] + _BESIDE
    openers: dict[bytes, int] = {}
    last = -1
    """Of the openers and arrows that came."""
    for found in _DELIMITER.finditer(data[start:end]):
        at = start + found.start()
        if not _touches((at, at + len(found[0])), [stretch]):
            continue
        opener = _OPENERS.get(found[0])
        if opener is None:
            openers[found[0]] = last = at
            continue
        if opener not in openers:
            openers[opener] = data.rfind(opener, max(start - _REACH, 0), at)
        if openers[opener] >= 0 and at - openers[opener] <= _REACH:
            return True
    if last < 0 or data.find(b"\n", last, end) >= 0:
        return False
    line = data.find(b"\n", last)
    rest = data[last : line if line >= 0 else len(data)]
    return any(closer in rest for closer in _OPENERS)


def _may_quote(data: bytes, stretch: Span) -> bool:
    """Whether a change could have closed inline code, mathematics or a comment."""
    return any(quote in data[slice(*stretch)] for quote in (b"`", b"$", b">"))


def _line(data: bytes, stretch: Span) -> Span:
    """The lines of a change."""
    end = data.find(b"\n", stretch[1])
    return data.rfind(b"\n", 0, stretch[0]) + 1, end if end >= 0 else len(data)


def _is_typed(text: str, mark: Mark, changed: Sequence[Span]) -> bool:
    """Whether a mark has no record, and the change completed it."""
    if mark.is_recorded or mark.kind not in RECORDED:
        return False
    if _touches((mark.end - WIDTH, mark.end), changed):
        return True
    parts = [(mark.start, mark.start + WIDTH)]
    if mark.kind is MarkKind.SUBSTITUTION:
        parts.append((mark.arrow, mark.arrow + len(critic.ARROW)))
    is_one_line = text.find("\n", mark.start, mark.end) < 0
    return is_one_line and any(_touches(part, changed) for part in parts)


def _touches(part: Span, changed: Sequence[Span]) -> bool:
    """Whether a change brought a character of a delimiter, or removed one from inside it."""
    first = bisect_right(changed, part[0], key=lambda stretch: stretch[1])
    return first < len(changed) and changed[first][0] < part[1]


def _in_characters(data: bytes, stretches: Iterable[Span]) -> list[Span]:
    """Stretches of the text's bytes as stretches of its characters."""
    found, at, characters = [], 0, 0
    for start, end in stretches:
        first = characters + len(data[at:start].decode())
        characters = first + len(data[start:end].decode())
        at = end
        found.append((first, characters))
    return found


# ── the records ─────────────────────────────────────────────────────────────────────────────────


def _records(
    read: Pending,
    groups: Iterable[tuple[Mark, ...]],
    besides: Mapping[str, NoteRecords],
    author: str,
    now: int,
) -> dict[str, NoteRecords | None]:
    found: dict[str, NoteRecords | None] = {}
    for marks in groups:
        made = _recorded(read, marks, author)
        joined = _deletion_before(read, marks, author)
        if joined is None:
            new = beside(made, now)
            found[new_id()] = replace(new, value={**new.value, TYPED: True})
        else:
            spans = (*joined.spans, *made.spans)
            known = replace(joined, spans=spans, asked=_asked(read, spans))
            found[joined.id] = beside(known, now, besides[joined.id].value)
    return found


def _returned(
    read: Pending,
    groups: Iterable[tuple[Mark, ...]],
    changed: Sequence[Span],
    known: Iterable[Recorded],
) -> dict[tuple[Span, ...], str]:
    """The marks that a change brought back, and the record that each of them had."""
    lost: dict[str, list[str]] = {}
    for one in known:
        if not one.spans and not one.is_comment:
            lost.setdefault(one.asked, []).append(one.id)
    found: dict[tuple[Span, ...], str] = {}
    for marks in groups if lost else ():
        start, end = marks[0].start, marks[-1].end
        is_whole = any(first <= start and end <= last for first, last in changed)
        if is_whole and (ids := lost.get(_asked(read, _spans(marks)))):
            found[_spans(marks)] = ids.pop(0)
    return found


def _spans(marks: Sequence[Mark]) -> tuple[Span, ...]:
    return tuple(mark.span for mark in marks)


def _recorded(read: Pending, marks: Sequence[Mark], author: str) -> Recorded:
    spans = _spans(marks)
    return Recorded(
        id="", author=author, spans=spans, asked=_asked(read, spans), source=AuthorKind.PERSON
    )


def _asked(read: Pending, spans: Sequence[Span]) -> str:
    marks = [mark for span in spans for mark in read.touching(*span) if mark.span == span]
    return digest(*change_of(read.reading.text, marks))


def _deletion_before(read: Pending, marks: Sequence[Mark], author: str) -> Recorded | None:
    """The author's deletion that an insertion was typed right after: the two are one change."""
    if len(marks) != 1 or marks[0].kind is not MarkKind.INSERTION or not marks[0].start:
        return None
    for before in read.touching(marks[0].start - 1, marks[0].start):
        owner = read.owner(before)
        is_alone = owner is not None and len(owner.spans) == 1
        is_own = owner and owner.author == author and owner.source is AuthorKind.PERSON
        if owner and is_own and is_alone and before.kind is MarkKind.DELETION:
            return owner
    return None


# ── comments ────────────────────────────────────────────────────────────────────────────────────


class Threads:
    """The threads of a text: a new comment joins that of the comment it directly follows."""

    def __init__(self, text: str, records: Iterable[Recorded]) -> None:
        self._ends: dict[int, str] = {}
        """Where comments end, and the first comment of the thread of each."""
        for one in records:
            if one.is_comment and (span := comment_span(text, one)):
                self._ends[span[1]] = one.answers or one.id

    def comment(self, span: Span, author: str, now: int) -> tuple[str, NoteRecords]:
        """An id and the record for a comment; to be asked from left to right."""
        name, first = new_comment_id(), self._ends.get(span[0], "")
        self._ends[span[1]] = first or name
        record = Recorded(
            id=name,
            author=author,
            spans=(span,),
            source=AuthorKind.PERSON,
            is_comment=True,
            answers=first,
        )
        return name, comment_beside(record, now)


def _comments(
    threads: Threads, marks: Iterable[Mark], author: str, now: int
) -> dict[str, NoteRecords | None]:
    """Records for the comments among marks."""
    found: dict[str, NoteRecords | None] = {}
    for mark in marks:
        if mark.kind is MarkKind.COMMENT:
            name, made = threads.comment(mark.span, author, now)
            found[name] = replace(made, value={**made.value, TYPED: True})
    return found
