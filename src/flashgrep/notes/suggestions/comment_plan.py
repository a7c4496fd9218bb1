"""Plans that add a comment to a note, or take a resolved thread out of it.

Author and time are the server's. Nobody's comment is changed: one is added, or a whole thread is
resolved, which takes its marks out of the text and leaves the passage. Before a plan is handed out
it is tried: the note's views must not change, and the comment must be what was said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams, NotFound, TooLarge
from flashgrep.notes.access.roles import Author
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import Push, TextSplice, check_characters, spliced
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import WIDTH, Mark, MarkKind, Span
from flashgrep.notes.suggestions.comments import (
    COMMENT,
    HIGHLIGHT,
    CommentThread,
    passage_of,
    said,
    threads_of,
)
from flashgrep.notes.suggestions.pending import (
    Pending,
    Recorded,
    comment_beside,
    new_comment_id,
    pending,
)

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
    """How to add a comment, or to take a thread out."""

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
            f"the passage overlaps {_named(touching[0].kind)} at line {line}, and marks cannot "
            "nest; choose text outside it, or comment on the suggestion itself"
        )
    if start == end:
        return _added(read, [], end, new)
    return _added(read, [(start, HIGHLIGHT.opener), (end, HIGHLIGHT.closer)], end, new)


def _named(kind: MarkKind) -> str:
    return f"{'an' if kind is MarkKind.INSERTION else 'a'} {kind}"


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
    passage = passage_of(read, thread)
    if not others:
        for mark in passage:
            splices += [TextSplice(mark.start, mark.body), TextSplice(mark.end - WIDTH, mark.end)]
        splices.sort(key=lambda splice: splice.start)
    elif passage and (heir := others[0].comments[0].record).id:
        held = {mark.span for mark in passage if mark.is_recorded}
        spans = Push(splices).spans(sorted(held.union(heir.spans)))
        records[heir.id] = replace(besides[heir.id], spans=spans)
    return Amendment(splices, records, keeps_version=True), thread
