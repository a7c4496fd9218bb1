"""Comments: how they are found in a text with its records, and listed.

    {>>text<<}                    a comment on what is before it
    {==passage==}{>>text<<}       on a passage, which stays in the text
    {--old--}{++new++}{>>text<<}  on a suggestion
    {>>text<<}{>>answer<<}        a thread: comments that directly follow each other

`comments_in` is the one definition. The table in the store (`comment_table`) holds what it gives
for each note, and is written with every change.

Each comment has a record like a suggestion's (see `pending`), which holds its mark even in code,
and that of the highlight before it if the two were made together. Comments that follow each other
form one thread if their records say so (`answers`); a comment typed right after another answers it.
All threads of such a row are about the same suggestion or passage.

An edit in a passage opens its highlight, and the record then holds what is left of it (see
`commented`). A decision takes the comments on its suggestion out with the marks (see
`decision_log`); `comment_plan` adds one, and takes a resolved thread out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from flashgrep import limits
from flashgrep.notes.access.roles import UNKNOWN
from flashgrep.notes.document.note import NoteRecords
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import DELIMITERS, WIDTH, Mark, MarkKind
from flashgrep.notes.suggestions.pending import (
    LATEST,
    Pending,
    Recorded,
    made_at,
    pending,
    recorded,
)

COMMENT: Final = DELIMITERS[MarkKind.COMMENT]
HIGHLIGHT: Final = DELIMITERS[MarkKind.HIGHLIGHT]


# ── comments in a text ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ThreadComment:
    """One comment in a thread: its record and its mark."""

    record: Recorded
    """Of one that has none yet, without an id."""
    mark: Mark


@dataclass(frozen=True, slots=True)
class CommentThread:
    """Comments that belong together, the first one first."""

    comments: tuple[ThreadComment, ...]
    suggestion: Recorded | None
    """What it is about…"""
    highlight: Mark | None
    """…or the passage…"""
    row_end: int
    """…and where the row of comments ends that are about the same."""

    @property
    def id(self) -> str:
        """That of its first comment."""
        return self.comments[0].record.id


def threads_of(read: Pending) -> list[CommentThread]:
    """The threads of a text, from top to bottom."""
    found: list[CommentThread] = []
    row: list[Mark] = []
    before: Mark | None = None
    for mark in read.reading.marks:
        is_comment = mark.kind is MarkKind.COMMENT
        if row and (not is_comment or row[-1].end != mark.start):
            found += _row(read, row, before)
            row, before = [], row[-1]
        if is_comment:
            row.append(mark)
        else:
            before = mark
    return found + (_row(read, row, before) if row else [])


def _row(read: Pending, row: Sequence[Mark], before: Mark | None) -> list[CommentThread]:
    """The threads of comments that directly follow each other."""
    is_about = before is not None and before.end == row[0].start
    about = before if is_about else None
    highlight = about if about and about.kind is MarkKind.HIGHLIGHT else None
    owner = read.owner(about) if about and about.kind in critic.SUGGESTIONS else None
    found = []
    known = [ThreadComment(_record_of(read, mark), mark) for mark in row]
    for _, some in groupby(known, key=_thread_key):
        thread = CommentThread(
            comments=tuple(some), suggestion=owner, highlight=highlight, row_end=row[-1].end
        )
        if owner and passage_of(read, thread):  # which an edit has been made in
            thread = replace(thread, suggestion=None)
        found.append(thread)
    return found


def _record_of(read: Pending, mark: Mark) -> Recorded:
    """The record of a comment; where there is none, one without an id."""
    owner = read.owner(mark)
    return owner if owner and owner.is_comment else Recorded("", UNKNOWN, ())


def _thread_key(one: ThreadComment) -> str:
    return one.record.answers or one.record.id


def on_each(read: Pending) -> dict[str, list[ThreadComment]]:
    """The comments on suggestions that have records, by the suggestion's id."""
    found: dict[str, list[ThreadComment]] = {}
    if COMMENT.closer in read.reading.text:
        for thread in threads_of(read):
            known = [one for one in thread.comments if one.record.id]
            if thread.suggestion and known:
                found.setdefault(thread.suggestion.id, []).extend(known)
    return found


def said(read: Pending, mark: Mark) -> str:
    """What a comment says."""
    return read.reading.text[mark.body : mark.end - WIDTH]


@dataclass(frozen=True, slots=True)
class OpenComment:
    """A comment in one state of a note."""

    id: str
    place: int
    """Its number among the note's comments, from top to bottom."""
    thread: str
    """The id of the first comment of its thread, itself perhaps."""
    suggestion: str | None
    """The id of the suggestion that it is about."""
    line: int
    """Of the accepted view, which is what `read` shows."""
    author: str
    time: int
    text: str
    quote: str | None
    """The passage that it is about."""


@dataclass(frozen=True, slots=True)
class ListedComment(OpenComment):
    """A comment, and where it is."""

    note: str
    """The note's id…"""
    path: str
    """…and where it is."""


def comments_in(text: str, besides: Mapping[str, NoteRecords]) -> list[OpenComment]:
    """The comments of a note's state that have records, from top to bottom."""
    if COMMENT.closer not in text:
        return []
    return comments_of(pending(text, recorded(besides)), besides)


def comments_of(read: Pending, besides: Mapping[str, NoteRecords]) -> list[OpenComment]:
    """The same of a text that was read with its records."""
    if COMMENT.closer not in read.reading.text:
        return []
    found: list[OpenComment] = []
    view, line, at = read.reading.accepted, 1, 0
    for thread in threads_of(read):
        place = view.to_view(thread.comments[0].mark.start)
        line += view.text.count("\n", at, place)
        at = place
        quote = quoted(read, thread)
        for one in thread.comments:
            if one.record.id:
                found.append(
                    OpenComment(
                        id=one.record.id,
                        place=len(found),
                        thread=thread.id or one.record.id,
                        suggestion=thread.suggestion.id if thread.suggestion else None,
                        line=line,
                        author=one.record.author,
                        time=min(made_at(besides[one.record.id].value), LATEST),
                        text=said(read, one.mark),
                        quote=quote,
                    )
                )
    return found


def quoted(read: Pending, thread: CommentThread) -> str | None:
    """The passage that a thread is about, as far as it takes to know it."""
    passage = passage_of(read, thread)
    if not passage:
        return None
    view = read.reading.accepted
    start = view.to_view(passage[0].start)
    end = view.to_view(max(passage[-1].end, thread.comments[0].mark.start))
    return view.text[start : min(end, start + limits.QUOTED_CHARS)]


def passage_of(read: Pending, thread: CommentThread) -> list[Mark]:
    """The highlights of a thread, from left to right: an edit may have left several of one."""
    records = [one.record for one in thread.comments if one.record.id]
    held = [mark for record in records for mark in read.marks_of(record)]
    found = {mark for mark in held if mark.kind is MarkKind.HIGHLIGHT}
    if thread.highlight:
        found.add(thread.highlight)
    return sorted(found, key=lambda mark: mark.start)


def in_threads(comments: Iterable[ListedComment]) -> list[dict[str, Any]]:
    """Comments as routes and tools answer them: one for each thread, with the replies to it."""
    found: list[dict[str, Any]] = []
    for _, some in groupby(comments, key=lambda one: (one.note, one.thread)):
        first, *rest = some
        found.append(
            {
                "id": first.id,
                "note": first.path,
                "line": first.line,
                "author": first.author,
                "time": first.time,
                "text": first.text,
                "suggestion": first.suggestion,
                "quote": first.quote,
                "replies": [reply_json(one) for one in rest],
            }
        )
    return found


def reply_json(one: OpenComment) -> dict[str, Any]:
    """A reply as routes and tools answer it."""
    return {"id": one.id, "author": one.author, "time": one.time, "text": one.text}
