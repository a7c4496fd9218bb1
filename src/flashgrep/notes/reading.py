"""The texts of notes as readers see them: views, the search over them, suggestions and comments.

Most notes hold no mark and look the same in every view: the published bytes are the view. For the
others each view is worked out once and kept until the note changes. A note is unchanged if its
published text is the same object; sequences would not do, because they begin anew when a note does.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import Cancelled, FlashgrepError, NotFound
from flashgrep.notes.document.loading import Published, Quarantined
from flashgrep.notes.document.note import NoteRecords
from flashgrep.notes.library import NOTES_A_TURN, Library
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import MarkupView
from flashgrep.notes.store import paths
from flashgrep.notes.suggestions import comments
from flashgrep.notes.suggestions import pending as pending_suggestions
from flashgrep.notes.suggestions.comments import CommentThread, ThreadComment
from flashgrep.notes.suggestions.pending import Pending, change_of
from flashgrep.search.pattern import check
from flashgrep.search.result import Filters, Report, SearchQuestion
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.texts import Named, TextResult, TextSearch
from flashgrep.system.clock import milliseconds
from flashgrep.workspace.globs import NameFilter

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase, NoteLeaf, NoteTree

NOTES_A_SLICE: Final = 250
"""How many notes a search reads (80 ms at most) before it checks for a cancel."""


_OPENER: Final = re.compile(rb"\{(?:\+\+|--|~~|>>|==)")
"""The openers of marks (see `critic`): a text without one has no mark, recorded or not."""


class Shown(StrEnum):
    """A view of a note."""

    ACCEPTED = "accepted"
    BASE = "base"
    RAW = "raw"


@dataclass(frozen=True)
class NoteReading:
    """A note's text and the records beside it, both from one moment."""

    published: Published
    besides: Mapping[str, NoteRecords]

    @cached_property
    def pending(self) -> Pending:
        """The text with its marks and the suggestions that hold them."""
        return pending_suggestions.pending(
            self.published.text, pending_suggestions.recorded(self.besides)
        )

    def view(self, shown: Shown) -> MarkupView:
        """What a view says, and where."""
        reading = self.pending.reading
        return {
            Shown.ACCEPTED: lambda: reading.accepted,
            Shown.BASE: lambda: reading.base,
            Shown.RAW: lambda: reading.raw,
        }[shown]()


@dataclass(frozen=True, slots=True)
class _Views:
    """The views of a note with marks, as bytes."""

    published: Published
    accepted: bytes
    base: bytes


class NoteTexts:
    """All texts of a knowledge base; any thread may ask."""

    def __init__(self, notes: KnowledgeBase) -> None:
        self._notes = notes
        self._views: dict[str, _Views] = {}

    def forget(self, note: str) -> None:
        """Let go of the views of a note that is no longer searched."""
        self._views.pop(note, None)

    def reading(self, note: str) -> NoteReading:
        """One note, as it is now; an error where it cannot be read, never an empty text."""
        published = self._notes.read(note)
        if not _OPENER.search(published.data):
            return NoteReading(published, {})
        return self._notes.ask(partial(_reading, note=note))

    def all(self, notes: Sequence[str], shown: Shown) -> dict[str, bytes | FlashgrepError]:
        """The texts of many notes in a view, or why one has none."""
        found = self._notes.read_all(notes)
        if shown is Shown.RAW:
            return {note: _data(one) for note, one in found.items()}
        unknown = [note for note, one in found.items() if not self._is_known(note, one)]
        failed = self._take_views(unknown, found) if unknown else {}
        return {note: failed.get(note) or self._shown(note, shown) for note in found}

    def _shown(self, note: str, shown: Shown) -> bytes | FlashgrepError:
        views = self._views.get(note)
        if views is None:
            return NotFound("it was deleted meanwhile")
        return views.base if shown is Shown.BASE else views.accepted

    def _is_known(self, note: str, published: Published | FlashgrepError) -> bool:
        known = self._views.get(note)
        return known is not None and known.published is published

    def _take_views(
        self, notes: Iterable[str], found: Mapping[str, Published | FlashgrepError]
    ) -> dict[str, FlashgrepError]:
        """Work out the views of notes that are new or have changed; why one has none."""
        failed: dict[str, FlashgrepError] = {}
        marked: list[str] = []
        for note in notes:
            one = found[note]
            if isinstance(one, FlashgrepError):
                failed[note] = one
            elif one.views is not None:
                self._views[note] = _Views(one, *one.views)
            elif _OPENER.search(one.data):
                marked.append(note)
            else:
                self._views[note] = _Views(one, one.data, one.data)
        for at in range(0, len(marked), NOTES_A_TURN):
            some = marked[at : at + NOTES_A_TURN]
            for note, reading in self._notes.ask(partial(_readings, notes=some)).items():
                if isinstance(reading, NoteReading):
                    self._views[note] = _views(reading)
                else:
                    failed[note] = reading
        return failed


def _data(published: Published | FlashgrepError) -> bytes | FlashgrepError:
    return published if isinstance(published, FlashgrepError) else published.data


def _views(reading: NoteReading) -> _Views:
    found = reading.pending.reading
    return _Views(reading.published, found.accepted.text.encode(), found.base.text.encode())


def _reading(library: Library, note: str) -> NoteReading:
    return NoteReading(library.read(note), library.records(note))


def _readings(library: Library, notes: Sequence[str]) -> dict[str, NoteReading | FlashgrepError]:
    found: dict[str, NoteReading | FlashgrepError] = {}
    for note in notes:
        try:
            found[note] = _reading(library, note)
        except FlashgrepError as error:
            found[note] = error
    return found


# ── search ───────────────────────────────────────────────────────────────────────────────────────
# A search over notes: the same pattern, counts and excerpts as over files, on texts in memory.


QUARANTINED: Final = "quarantined; see flashgrep kb history, go back with flashgrep kb restore"
"""What an answer says about a damaged note, with the remedy for a person."""


class NoteSearcher:
    """Searches the notes that somebody may see, in one view of them."""

    def __init__(
        self, notes: KnowledgeBase, tree: NoteTree, pool: Pool, shown: Shown = Shown.ACCEPTED
    ) -> None:
        """The pool is for what may take long."""
        self._notes = notes
        self._tree = tree
        self._pool = pool
        self._shown = shown

    def search(
        self, where: str, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> TextResult:
        """Search the notes in a folder, or one note; "" is all of them."""
        check(question.pattern)
        leaves = _kept(self._tree.below(where), where, question.filters)
        skipped: list[tuple[str, str]] = []
        texts = self._readable(leaves, skipped, cancelled, report)
        result = TextResult(TextSearch(question.pattern, self._pool, cancelled), texts, question)
        result.skipped = skipped
        return result

    def _readable(
        self,
        leaves: Sequence[NoteLeaf],
        skipped: list[tuple[str, str]],
        cancelled: CancelFlag,
        report: Report,
    ) -> Iterator[Named]:
        """The texts, some at a time: after a start they have to be loaded, which takes seconds."""
        reported = time.monotonic()
        for at in range(0, len(leaves), NOTES_A_SLICE):
            if cancelled:
                raise Cancelled("The search was cancelled")
            if time.monotonic() - reported > limits.PROGRESS_SECONDS:
                reported = time.monotonic()
                report(at, len(leaves), f"searched {at:,} notes")
            some = leaves[at : at + NOTES_A_SLICE]
            found = self._notes.texts.all([leaf.note for leaf in some], self._shown)
            for leaf in some:
                text = found[leaf.note]
                if isinstance(text, bytes):
                    yield leaf.path, text
                else:
                    skipped.append((leaf.path, reason(text)))


def _kept(leaves: Sequence[NoteLeaf], folder: str, filters: Filters) -> Sequence[NoteLeaf]:
    """Those that pass the filters, which look at paths from the folder on."""
    if not filters:
        return leaves
    kept = [NameFilter(one) for one in filters]
    return [
        leaf
        for leaf in leaves
        if all(names.keeps(paths.from_folder(leaf.path, folder)) for names in kept)
    ]


def reason(error: FlashgrepError) -> str:
    """Why a note is skipped, in a few words, and what a person does about it."""
    if isinstance(error, Quarantined):
        return QUARANTINED
    return error.message


# ── pending block ────────────────────────────────────────────────────────────────────────────────
# The list of pending suggestions that ends a reading of a note.


HEADING: Final = "[Pending suggestions]"
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60))


@dataclass(frozen=True, slots=True)
class _PendingRow:
    """A suggestion: its place in the text, its record, and what it changes."""

    start: int
    named: str
    old: str
    new: str


def pending_block(reading: NoteReading, view: MarkupView, offset: int, room: int) -> str:
    """The suggestions from a line of a view on, as many as there is room for; "" without any.

    Those before that line are counted: a reader of page after page has seen them.
    """
    rows = sorted(_rows(reading), key=lambda row: row.start)
    if not rows:
        return ""
    numbers = _line_numbers(view, [row.start for row in rows])
    first = next((at for at, line in enumerate(numbers) if line >= offset), len(rows))
    shown: list[str] = []
    for row, line in zip(rows[first:], numbers[first:], strict=True):
        text = f"- {row.named}, line {line}: {_short(row.old)} -> {_short(row.new)}"
        room -= len(text) + 1
        if len(shown) == limits.SHOWN_SUGGESTIONS or (room < 0 and shown):
            break
        shown.append(text)
    following = first + len(shown)
    left_out = _left_out(first, numbers[following:])
    return "\n".join([HEADING, *shown, *([left_out] if left_out else [])])


def _left_out(before: int, after: Sequence[int]) -> str:
    """What is not shown, and how to see it."""
    parts = [f"{before} before these lines"] if before else []
    if after:
        parts.append(f"{len(after)} from line {after[0]} on, shown with offset={after[0]}")
    return f"(not shown: {'; '.join(parts)})" if parts else ""


def _rows(reading: NoteReading) -> Iterator[_PendingRow]:
    pending = reading.pending
    now = milliseconds()
    for record in pending.suggestions:
        if extent := pending.extent(record):
            age = _age(now - pending_suggestions.made_at(reading.besides[record.id].value))
            yield _PendingRow(
                extent[0], f"{record.id} by {record.author}{age}", *pending.change(record)
            )
    text = pending.reading.text
    typed = [mark for mark in pending.reading.marks if pending.owner(mark) is None]
    for marks in critic.suggestions(typed):
        yield _PendingRow(
            marks[0].start, "marks in the text, by nobody known", *change_of(text, marks)
        )


def _line_numbers(view: MarkupView, starts: Iterable[int]) -> list[int]:
    """The line of each place of the text, from top to bottom, counted once through it."""
    numbers, line, at = [], 1, 0
    for start in starts:
        place = view.to_view(start)
        line += view.text.count("\n", at, place)
        at = place
        numbers.append(line)
    return numbers


def _age(milliseconds: int) -> str:
    seconds = milliseconds // 1_000
    for unit, length in _UNITS:
        if seconds >= length:
            return f", {seconds // length}{unit} ago"
    return ", just now"


def _short(text: str, most: int = limits.SHORT_DIFF_CHARS) -> str:
    cut = text[:most]
    return json.dumps(cut, ensure_ascii=False) + ("..." if len(text) > len(cut) else "")


# ── comments ─────────────────────────────────────────────────────────────────────────────────────
# The list of open comments that ends a reading of a note, after the suggestions.


COMMENTS_HEADING: Final = "[Comments]"


def comments_block(reading: NoteReading, view: MarkupView, offset: int, room: int) -> str:
    """The threads from a line of a view on, as many as there is room for; "" without any."""
    threads = comments.threads_of(reading.pending)
    if not threads:
        return ""
    numbers = _line_numbers(view, [thread.comments[0].mark.start for thread in threads])
    first = next((at for at, line in enumerate(numbers) if line >= offset), len(threads))
    now, shown, following = milliseconds(), list[str](), first
    for thread, line in zip(threads[first:], numbers[first:], strict=True):
        lines = _thread_lines(reading, thread, line, now)
        room -= sum(len(one) + 1 for one in lines)
        is_full = following - first == limits.SHOWN_COMMENTS
        if is_full or (room < 0 and shown):
            break
        shown += lines
        following += 1
    left_out = _left_out(first, numbers[following:])
    return "\n".join([COMMENTS_HEADING, *shown, *([left_out] if left_out else [])])


def _thread_lines(reading: NoteReading, thread: CommentThread, line: int, now: int) -> list[str]:
    """A comment and the last replies to it."""
    head, replies = thread.comments[0], thread.comments[1:]
    quote = comments.quoted(reading.pending, thread)
    about = ""
    if thread.suggestion:
        about = f", on {thread.suggestion.id}"
    elif quote is not None:
        about = f", on {_short(quote)}"
    lines = [f"- {_who(reading, head, now)}, line {line}{about}: {_said(reading, head)}"]
    if (more := len(replies) - limits.SHOWN_REPLIES) > 0:
        lines.append(f"  ({more} earlier replies are not shown)")
    last = replies[-limits.SHOWN_REPLIES :]
    return lines + [f"  - {_who(reading, one, now)}: {_said(reading, one)}" for one in last]


def _who(reading: NoteReading, one: ThreadComment, now: int) -> str:
    if not one.record.id:
        return "a comment in the text, by nobody known"
    age = _age(now - pending_suggestions.made_at(reading.besides[one.record.id].value))
    return f"{one.record.id} by {one.record.author}{age}"


def _said(reading: NoteReading, one: ThreadComment) -> str:
    return _short(comments.said(reading.pending, one.mark), limits.SHOWN_COMMENT_CHARS)
