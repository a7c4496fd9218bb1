"""Comments: how they are found in a text with its records, and planned.

    {>>text<<}                    a comment on what is before it
    {==passage==}{>>text<<}       on a passage, which stays in the text
    {--old--}{++new++}{>>text<<}  on a suggestion
    {>>text<<}{>>answer<<}        a thread: comments that directly follow each other

`comments_in` is the one definition. The table in the store (`comment_table`) holds what it gives
for each note, and is written with every change.

Each comment has a record as suggestions have (see `pending`), which holds its mark also in code,
and that of the highlight before it where the two were made together. Comments that follow each
other are one thread where their records say so (`answers`); who types a comment right after another
one answers it. All threads of such a row are about the same suggestion or passage.

Author and time are the server's. Nobody's comment is changed here: one is added, or a whole thread
is resolved, which takes its marks out of the text and leaves the passage. A decision takes those on
its suggestion out with the marks (see `decision_log`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams, NotFound, TooLarge
from flashgrep.notes.access.roles import UNKNOWN, Author
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import Push, TextSplice, check_characters, spliced
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import DELIMITERS, WIDTH, Mark, MarkKind, Span
from flashgrep.notes.suggestions.pending import (
    LATEST,
    Pending,
    Recorded,
    comment_beside,
    made_at,
    new_comment_id,
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
    known = [ThreadComment(_record_of(read, mark), mark) for mark in row]
    return [
        CommentThread(
            comments=tuple(some), suggestion=owner, highlight=highlight, row_end=row[-1].end
        )
        for _, some in groupby(known, key=_thread_key)
    ]


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
    """A comment in a note, as one state of the note has it."""

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
    if thread.highlight is None:
        return None
    start, end = thread.highlight.body, thread.highlight.end - WIDTH
    return read.reading.text[start : min(end, start + limits.QUOTED_CHARS)]


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


# ── what a comment may say ───────────────────────────────────────────────────────────────────────


def check_text(text: str) -> None:
    """Refuse a text that no comment can hold."""
    if not text.strip():
        raise InvalidParams("text is empty; say something, or resolve the thread")
    if len(text) > limits.COMMENT_CHARS:
        raise TooLarge(
            f"text has {len(text):,} characters, and a comment at most {limits.COMMENT_CHARS:,}; "
            "say it in several comments, or in a note that the comment links to"
        )
    try:
        check_characters(text)
    except InvalidParams as error:
        raise InvalidParams(f"text: {error.message}") from None
    if found := critic.token(text):
        raise InvalidParams(
            f"text contains {found}, which begins or ends a mark, and marks cannot nest; write it "
            "in other words, or with a space inside"
        )


# ── plans ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class NewComment:
    """What somebody says, and what is written before it (`--kb-markup commentator`)."""

    text: str
    author: Author
    time: int
    prefix: str = ""

    @property
    def mark(self) -> str:
        """As it is in the note."""
        return f"{COMMENT.opener}{self.prefix}{self.text}{COMMENT.closer}"


@dataclass(frozen=True, slots=True)
class CommentPlan:
    """What adds a comment, or takes a thread out."""

    amendment: Amendment
    id: str
    """The comment's."""


def on_suggestion(read: Pending, name: str, new: NewComment) -> CommentPlan:
    """Add a comment on a suggestion, after those that are there."""
    record = next((one for one in read.suggestions if one.id == name), None)
    extent = read.extent(record) if record else None
    if extent is None:
        raise NotFound(f"there is no pending suggestion {name[: limits.QUOTED_CHARS]}")
    threads = [one for one in threads_of(read) if one.suggestion == record]
    ends = [one.row_end for one in threads if one.comments[0].mark.start >= extent[1]]
    return _added(read, [], max(ends, default=extent[1]), new)


def on_passage(read: Pending, span: Span, new: NewComment) -> CommentPlan:
    """Add a comment on a stretch of the text; an empty one is a place."""
    start, end = span
    touching = _inside(read, start, end)
    if len(touching) == 1 and touching[0].kind is MarkKind.HIGHLIGHT:
        mark = touching[0]
        if mark.body <= start and end <= mark.end - WIDTH:
            threads = [one for one in threads_of(read) if one.highlight == mark]
            return _added(read, [], max((one.row_end for one in threads), default=mark.end), new)
    if touching:
        view = read.reading.accepted
        line = view.line(view.to_view(touching[0].start))
        raise Conflict(
            f"the passage overlaps a {touching[0].kind} at line {line}, and marks cannot nest; "
            "choose text outside it, or comment on the suggestion itself"
        )
    if start == end:
        return _added(read, [], end, new)
    return _added(read, [(start, HIGHLIGHT.opener), (end, HIGHLIGHT.closer)], end, new)


def _inside(read: Pending, start: int, end: int) -> Sequence[Mark]:
    """The marks that a stretch shares a character with; an empty one, that it is inside."""
    if start < end:
        return read.touching(start, end)
    return [mark for mark in read.touching(start, start + 1) if mark.start < start]


def answering(read: Pending, name: str, new: NewComment) -> CommentPlan | str:
    """Add a reply to the thread of a comment; the id of one that says the same already."""
    thread = thread_of(read, name)
    for one in thread.comments:
        if one.record.is_by(new.author) and said(read, one.mark) == new.text:
            return one.record.id
    first = thread.comments[0].record
    return _added(read, [], thread.comments[-1].mark.end, new, first.answers or first.id)


def thread_of(read: Pending, name: str) -> CommentThread:
    """The thread that a comment is in."""
    for thread in threads_of(read):
        if any(one.record.id == name for one in thread.comments):
            return thread
    raise no_comment(name)


def no_comment(name: str) -> NotFound:
    """The refusal of an id without a comment."""
    shown = name[: limits.QUOTED_CHARS]
    return NotFound(
        f"there is no open comment {shown}: it was resolved, its suggestion was decided, or it "
        "never was; read lists those of a note"
    )


def _added(
    read: Pending, around: Sequence[tuple[int, str]], at: int, new: NewComment, answers: str = ""
) -> CommentPlan:
    """A comment's mark at a place, after the delimiters of a highlight that comes with it."""
    text, name = read.reading.text, new_comment_id()
    mark = new.mark
    start = at + sum(len(delimiter) for _, delimiter in around)
    spans = [(start, start + len(mark))]
    splices = [TextSplice(at, at, mark)]
    if around:
        (first, opener), (last, closer) = around
        spans.insert(0, (first, last + len(opener) + len(closer)))
        splices = [TextSplice(first, first, opener), TextSplice(last, last, closer + mark)]
    record = Recorded(
        id=name,
        author=new.author.name,
        spans=tuple(spans),
        source=new.author.source,
        is_comment=True,
        answers=answers,
    )
    _verify(read, spliced(text, splices), splices, record, new)
    return CommentPlan(Amendment(splices, {name: comment_beside(record, new.time)}), name)


def _verify(
    read: Pending, after: str, splices: Sequence[TextSplice], record: Recorded, new: NewComment
) -> None:
    """Refuse a comment that would not read back as what was said, or change what the note says."""
    push = Push(splices)
    moved = [replace(one, spans=push.spans(one.spans)) for one in read.records]
    then = pending(after, [*moved, record])
    mark = critic.held(after, record.spans[-1])
    is_said = mark is not None and after[mark.body : mark.end - WIDTH] == new.text
    views = ((then.reading.base, read.reading.base), (then.reading.accepted, read.reading.accepted))
    if not is_said or any(one.text != other.text for one, other in views):
        raise InvalidParams(
            "the comment would not read back as it is, because of the marks, braces or metadata "
            "in or beside it; choose another place or other words"
        )


def resolving(
    read: Pending, besides: Mapping[str, NoteRecords], name: str
) -> tuple[Amendment, CommentThread]:
    """Take the thread of a comment out of the text, and its highlight if no other is about it."""
    thread = thread_of(read, name)
    others = [one for one in threads_of(read) if one.row_end == thread.row_end and one != thread]
    splices = [TextSplice(*one.mark.span) for one in thread.comments]
    records: dict[str, NoteRecords | None] = {
        one.record.id: None for one in thread.comments if one.record.id
    }
    highlight = thread.highlight
    if highlight and not others:
        splices.insert(0, TextSplice(highlight.end - WIDTH, highlight.end))
        splices.insert(0, TextSplice(highlight.start, highlight.body))
    elif highlight and highlight.is_recorded and (heir := others[0].comments[0].record).id:
        spans = {highlight.span, *heir.spans}
        records[heir.id] = replace(besides[heir.id], spans=Push(splices).spans(sorted(spans)))
    return Amendment(splices, records, keeps_version=True), thread
