"""Commenting: comments listed, made, answered and resolved.

A list of comments comes from a table in the store (`comment_table`), which every change updates, so
it loads no note. A comment is added, and a thread resolved, on the thread of the notes, in one
transaction with its record, or with its row in the log of what was resolved.

    made, replied   role suggest on the note
    resolved        role write: the words leave the text; the note as it was is kept as a version

Comments that somebody types into the text reach the same table, without any of this.

The methods wait for the thread of the notes; call them from any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from flashgrep import limits
from flashgrep.errors import AccessDenied, Conflict, InvalidParams, NotFound
from flashgrep.notes.access.roles import Author, AuthorKind, Principal, Role
from flashgrep.notes.comment_table import ResolvedThread, Saying
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import with_lf
from flashgrep.notes.library import Library
from flashgrep.notes.review.decision_log import LeftComment
from flashgrep.notes.suggestions import comment_plan, comments
from flashgrep.notes.suggestions.comment_plan import CommentPlan, NewComment
from flashgrep.notes.suggestions.comments import ListedComment, in_threads
from flashgrep.notes.suggestions.pending import ANSWERS, Pending, made_at, pending, recorded
from flashgrep.notes.suggestions.propose import Markup, metadata
from flashgrep.notes.tables import catch_up_all
from flashgrep.system.clock import milliseconds

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase

Was = Literal["made", "replied", "resolved"]
Plan = Callable[[Pending, NewComment], CommentPlan | str]


@dataclass(frozen=True, slots=True)
class CommentedPassage:
    """A stretch of a note's raw text, in UTF-16 units, and what its sender sees there."""

    start: int
    end: int
    quote: str

    def found(self, text: str) -> tuple[int, int]:
        """Where it is in characters; refused where something else is there."""
        data = text.encode("utf-16-le")
        if not 0 <= self.start <= self.end <= len(data) // 2:
            raise Conflict(
                f"the passage {self.start} to {self.end} is outside the note, which has "
                f"{len(data) // 2} UTF-16 units; load the note again"
            )
        try:
            before = data[: 2 * self.start].decode("utf-16-le")
            there = data[2 * self.start : 2 * self.end].decode("utf-16-le")
        except UnicodeDecodeError:
            raise InvalidParams("the passage begins or ends inside a character") from None
        if there != self.quote:
            shown = there[: limits.QUOTED_CHARS]
            raise Conflict(
                f"the note says {shown!r} there now, and not the quote; load the note again"
            )
        return len(before), len(before) + len(there)


@dataclass(frozen=True, slots=True)
class Said:
    """What became of a comment: its thread, and whether it was already there."""

    id: str
    thread: dict[str, Any]
    """As `comments.in_threads` has it."""
    is_repeated: bool = False

    @property
    def reply(self) -> dict[str, Any]:
        """The comment alone, as a reply is answered."""
        (found,) = [one for one in (self.thread, *self.thread["replies"]) if one["id"] == self.id]
        return {name: found[name] for name in ("id", "author", "time", "text")}


class Commenting:
    """The comments of a knowledge base."""

    def __init__(self, kb: KnowledgeBase, now: Callable[[], int] = milliseconds) -> None:
        self._kb = kb
        self._now = now
        self._listeners: list[Callable[[str, str, Was], None]] = []

    def listen(self, listener: Callable[[str, str, Was], None]) -> Callable[[], None]:
        """Call a listener, in any thread, with a note's id, a comment's, and what was done."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # ── listing ─────────────────────────────────────────────────────────────────────────────────

    def listed(self, who: Principal, path: str | None = None) -> tuple[list[dict[str, Any]], bool]:
        """The open comments that somebody may see, of a note or of all; whether there are more."""
        return self._list(
            path,
            lambda note: self._kb.tables.comments.listed(note, limits.LISTED_COMMENTS + 1),
            lambda rows: in_threads(row for row in rows if who.may(Role.READ, row.path)),
        )

    def resolved(
        self, who: Principal, path: str | None = None
    ) -> tuple[list[dict[str, Any]], bool]:
        """The threads that were resolved last, the newest first; whether there are more."""
        return self._list(
            path,
            lambda note: self._kb.tables.comments.resolved(note, limits.LISTED_COMMENTS + 1),
            lambda rows: [one.as_json(path) for path, one in rows if who.may(Role.READ, path)],
        )

    def _list(
        self,
        path: str | None,
        look: Callable[[str | None], list[Any]],
        shown: Callable[[Iterable[Any]], list[dict[str, Any]]],
    ) -> tuple[list[dict[str, Any]], bool]:
        catch_up_all(self._kb)

        def job(library: Library) -> list[Any]:
            if path is None:
                return look(None)
            entry = library.catalogue.find(path)
            return look(entry.id) if entry else []

        rows = self._kb.ask(job)
        return shown(rows[: limits.LISTED_COMMENTS]), len(rows) > limits.LISTED_COMMENTS

    def on_suggestions(self, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
        """What was said about suggestions, pending or decided, by their ids.

        Threads that were resolved come first, then those that are in the text, or were when the
        suggestion was decided.
        """
        wanted = list(names)
        rows, resolved, left = self._kb.ask(
            lambda _: (
                self._kb.tables.comments.on(wanted),
                self._kb.tables.comments.resolved_on(wanted),
                self._kb.decisions.said_on(wanted),
            )
        )
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in wanted}
        for path, one in resolved:
            found[one.suggestion or ""].append(one.as_json(path))
        for name, comments_left in left.items():
            found[name] += _left_threads(name, comments_left)
        for thread in in_threads(rows):
            found[thread["suggestion"]].append(thread)
        return found

    # ── adding ──────────────────────────────────────────────────────────────────────────────────

    def on_suggestion(
        self, path: str, suggestion: str, text: str, who: Principal, author: Author
    ) -> Said:
        """Comment on a suggestion of the note at a path."""

        def plan(read: Pending, new: NewComment) -> CommentPlan:
            return comment_plan.on_suggestion(read, suggestion, new)

        return self._add(self._at(path, who), text, author, plan, "made")

    def on_passage(
        self, path: str, passage: CommentedPassage, text: str, who: Principal, author: Author
    ) -> Said:
        """Comment on a passage of the note at a path; an empty one is a place."""

        def plan(read: Pending, new: NewComment) -> CommentPlan:
            return comment_plan.on_passage(read, passage.found(read.reading.text), new)

        return self._add(self._at(path, who), text, author, plan, "made")

    def reply(
        self,
        name: str,
        text: str,
        who: Principal,
        author: Author,
        markup: Markup = Markup.PLAIN,
    ) -> Said:
        """Answer a comment; what its author has said in that thread already is not said twice."""

        def plan(read: Pending, new: NewComment) -> CommentPlan | str:
            return comment_plan.answering(read, name, new)

        return self._add(self._of(name, who), text, author, plan, "replied", markup)

    def _add(
        self,
        note: str,
        text: str,
        author: Author,
        plan: Plan,
        was: Was,
        markup: Markup = Markup.PLAIN,
    ) -> Said:
        now = self._now()
        said = with_lf(text).strip()
        comment_plan.check_text(said)
        prefix = metadata(author.name, now) if markup is Markup.COMMENTATOR else ""
        new = NewComment(text=said, author=author, time=now, prefix=prefix)
        made: list[CommentPlan | str] = []

        def amended(found: str, besides: Mapping[str, NoteRecords]) -> Amendment | None:
            planned = plan(pending(found, recorded(besides)), new)
            made[:] = [planned]
            return planned.amendment if isinstance(planned, CommentPlan) else None

        def job(library: Library) -> tuple[str, bool, dict[str, Any]]:
            library.amend(note, amended, author.name, source=author.source or AuthorKind.PERSON)
            (planned,) = made
            is_repeated = isinstance(planned, str)
            name = planned if isinstance(planned, str) else planned.id
            return name, is_repeated, _thread(library, note, name)

        name, is_repeated, thread = self._kb.ask(job)
        if not is_repeated:
            self._tell(note, name, was)
        return Said(name, thread, is_repeated)

    # ── resolving ───────────────────────────────────────────────────────────────────────────────

    def resolve(self, name: str, who: Principal, by: str = "") -> ResolvedThread:
        """Take the thread of a comment out of the text; what was said is kept."""
        note = self._of(name, who, Role.WRITE)
        done: list[ResolvedThread] = []
        now = self._now()

        def plan(text: str, besides: Mapping[str, NoteRecords]) -> Amendment:
            read = pending(text, recorded(besides))
            amendment, thread = comment_plan.resolving(read, besides, name)
            done[:] = [_resolved(read, besides, thread, note, by or who.name, now)]
            return amendment

        def job(library: Library) -> ResolvedThread:
            with library.together():
                library.amend(note, plan, by or who.name)
                (resolved,) = done
                self._kb.tables.comments.resolve(resolved)
                return resolved

        resolved = self._kb.ask(job)
        self._tell(note, resolved.thread, "resolved")
        return resolved

    # ── who may ─────────────────────────────────────────────────────────────────────────────────

    def _at(self, path: str, who: Principal) -> str:
        """The note at a path, for somebody who may comment on it."""

        def job(library: Library) -> str:
            entry = library.find(path)
            _check_role(who, Role.SUGGEST, entry.path or "")
            return entry.id

        return self._kb.ask(job)

    def _of(self, name: str, who: Principal, role: Role = Role.SUGGEST) -> str:
        """The note that a comment is in, for somebody with a role on it."""
        catch_up_all(self._kb)

        def job(library: Library) -> str:
            note = self._kb.tables.comments.note_of(name)
            path = library.catalogue.entry(note).path if note else None
            if note is None or path is None or not who.may(Role.READ, path):
                raise comment_plan.no_comment(name)
            _check_role(who, role, path)
            return note

        return self._kb.ask(job)

    def _tell(self, note: str, name: str, was: Was) -> None:
        for listener in list(self._listeners):
            listener(note, name, was)


def _check_role(who: Principal, role: Role, path: str) -> None:
    if not who.may(Role.READ, path):
        raise NotFound(f"Document not found: {path}. File does not exist.")
    if not who.may(role, path):
        what = "resolving a comment" if role is Role.WRITE else "commenting"
        raise AccessDenied(
            f"{what} needs the role {role.shown} on {path}; ask for a token made by: "
            f"flashgrep kb token make NAME --role {role.shown}"
        )


def _thread(library: Library, note: str, name: str) -> dict[str, Any]:
    """The thread of a comment as it is now, whether or not the table is behind."""
    path = library.catalogue.entry(note).path or ""
    rows = comments.comments_in(library.read(note).text, library.records(note))
    (thread,) = {row.thread for row in rows if row.id == name}
    some = (row for row in rows if row.thread == thread)
    listed = [ListedComment(**asdict(row), note=note, path=path) for row in some]
    return in_threads(listed)[0]


def _left_threads(suggestion: str, left: Iterable[LeftComment]) -> list[dict[str, Any]]:
    """Comments that left the text with their suggestion, as threads."""
    found: list[dict[str, Any]] = []
    for _, some in groupby(left, key=lambda one: one.record.get(ANSWERS) or one.id):
        first, *rest = [
            {
                "id": one.id,
                "author": str(one.record.get("author", "")),
                "time": made_at(one.record),
                "text": one.text,
            }
            for one in some
        ]
        found.append({**first, "suggestion": suggestion, "quote": None, "replies": rest})
    return found


def _resolved(
    read: Pending,
    besides: Mapping[str, NoteRecords],
    thread: comments.CommentThread,
    note: str,
    by: str,
    now: int,
) -> ResolvedThread:
    return ResolvedThread(
        thread=thread.id,
        note=note,
        suggestion=thread.suggestion.id if thread.suggestion else None,
        by=by,
        time=now,
        said=sayings(read, besides, thread),
        quote=comments.quoted(read, thread),
    )


def sayings(
    read: Pending, besides: Mapping[str, NoteRecords], thread: comments.CommentThread
) -> tuple[Saying, ...]:
    """What was said in a thread."""
    return tuple(
        Saying(
            id=one.record.id,
            author=one.record.author,
            time=made_at(besides[one.record.id].value) if one.record.id else 0,
            text=comments.said(read, one.mark),
        )
        for one in thread.comments
    )
