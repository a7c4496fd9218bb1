"""Turns files into notes, and changed files into edits. Runs on the thread of the notes.

Three digests decide what happens to a file: of its bytes, of the file that the note would be now,
and of the file at the last exchange with its folder (an import from it or an export to it). Each
folder has its own: what another one brought since is an edit like any other.

    no such note                     it is created; a conflict where the note that came from this
                                     path was moved or deleted here since
    the file is what the note is     nothing
    the file is as it was            nothing: the note is newer
    the note is as it was            the note is edited: only what differs is replaced, so that
                                     what somebody is typing elsewhere in it stays
    both changed                     a conflict; with `force` the file wins, and the note's
                                     history has what it said before

So importing again changes nothing. Suggestions and comments that an export describes beside the
file come back as they were, author, time and id, as far as their marks are still there. Then a
record is made for each other mark that the text has outside literal zones and that no record holds.

An id is kept where this knowledge base cannot already have it: in a note made from another one's
export for the first time, and in a note that holds it. Otherwise a suggestion gets a new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from flashgrep.errors import FlashgrepError, NotFound
from flashgrep.notes.access.roles import Author, AuthorKind
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import between
from flashgrep.notes.document.updates import clocks
from flashgrep.notes.folders import carried_suggestions, note_file
from flashgrep.notes.folders.carried_suggestions import ExportedSuggestion, PlacedSuggestions
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.store.database import StorageFull
from flashgrep.notes.suggestions import typed_marks
from flashgrep.notes.suggestions.pending import (
    CHANGED,
    Pending,
    Recorded,
    beside,
    change_of,
    comment_beside,
    digest,
    new_comment_id,
    new_id,
    pending,
    recorded,
)
from flashgrep.system.clock import milliseconds

_MOST_SECONDS: Final = 10**11
"""A time beyond this is in milliseconds: as seconds it would be in the year 5138."""


class ImportedAs(StrEnum):
    """What became of a file."""

    CREATED = "created"
    CHANGED = "changed"
    SAME = "same"
    NEWER = "newer"
    """The note was edited since, and the file was not."""
    CONFLICT = "conflict"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class IncomingNote:
    """A file to import."""

    path: str
    data: bytes
    folder: str = ""
    """The folder that it comes from, by its real path."""
    note: str = ""
    """The id of the note that the folder's last export wrote there."""
    exported: frozenset[str] = frozenset()
    """The digests of what it wrote."""
    suggestions: Any = ()
    """What the export said about the suggestions in the file, unchecked (see
    `carried_suggestions`)."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of it, and if it was not imported, why."""

    path: str
    fate: ImportedAs
    reason: str = ""
    restored: int = 0
    """How many suggestions are again what an export says of them."""
    lost: tuple[str, ...] = ()
    """The authors of those that are not, and why."""


def take(
    library: Library, arrivals: Sequence[IncomingNote], author: str, force: bool = False
) -> list[ImportResult]:
    """Take files in, all of them durable together; a file that cannot be taken holds up no other.

    Without room nothing of them is taken, and that is raised.
    """
    taking = _Taking(library, author, force)
    with library.together():
        return [taking.one(arrival) for arrival in arrivals]


@dataclass
class _Taking:
    library: Library
    author: str
    force: bool
    _origins: dict[str, CatalogueEntry] = field(default_factory=dict)
    """Path of a file → the note that came from it, wherever that is now."""
    _notes: set[str] = field(default_factory=set)
    """The ids of all notes, here and where they were exported."""

    def __post_init__(self) -> None:
        for entry in (*self.library.catalogue.trash(), *self.library.catalogue.entries()):
            self._notes |= {entry.id, note_file.exported_as(entry.properties)}
            path, _ = note_file.origin(entry.properties)
            if path:
                self._origins[paths.form_key(path)] = entry

    def one(self, arrival: IncomingNote) -> ImportResult:
        try:
            with self.library.together():
                return self._decide(arrival)
        except StorageFull:
            raise
        except FlashgrepError as error:
            return ImportResult(arrival.path, ImportedAs.REFUSED, error.message)

    def _decide(self, arrival: IncomingNote) -> ImportResult:
        paths.checked(arrival.path)
        held = note_file.read_file(arrival.data)
        try:
            entry = self.library.find(arrival.path)
        except NotFound:
            return self._create(arrival, held)
        return self._compare(arrival, held, entry)

    def _create(self, arrival: IncomingNote, held: note_file.Held) -> ImportResult:
        gone = self._gone(arrival)
        if gone and not self.force:
            return ImportResult(arrival.path, ImportedAs.CONFLICT, _gone_reason(gone))
        is_first = bool(arrival.note) and arrival.note not in self._notes
        properties = note_file.stamped(
            {}, arrival.folder, arrival.path, arrival.data, held, arrival.note
        )
        entry = self.library.create(arrival.path, held.text, self.author, properties)
        self._notes |= {entry.id, arrival.note}
        restored, lost = self._record_marks(entry.id, arrival, {}, is_first)
        return ImportResult(
            path=arrival.path, fate=ImportedAs.CREATED, reason="", restored=restored, lost=lost
        )

    def _gone(self, arrival: IncomingNote) -> CatalogueEntry | None:
        """The note that was at this path when the file was last exchanged."""
        if arrival.note:
            try:
                return self.library.catalogue.entry(arrival.note)
            except NotFound:
                pass  # exported from another knowledge base
        return self._origins.get(paths.form_key(arrival.path))

    def _compare(
        self, arrival: IncomingNote, held: note_file.Held, entry: CatalogueEntry
    ) -> ImportResult:
        text = self.library.read(entry.id).text
        is_now = note_file.file_bytes(text, entry.properties)
        _, imported = note_file.origin(entry.properties)
        before = arrival.exported | {imported.get(arrival.folder, "")} - {""}
        if is_now == arrival.data:
            self._stamp(entry, arrival, held)
            return ImportResult(arrival.path, ImportedAs.SAME)
        if note_file.digest(arrival.data) in before and not self.force:
            return ImportResult(arrival.path, ImportedAs.NEWER)
        is_edited = note_file.digest(is_now) not in before
        if is_edited and not self.force:
            return ImportResult(
                arrival.path, ImportedAs.CONFLICT, _changed_reason(bool(before or imported))
            )
        state = clocks(self.library.state(entry.id))
        self.library.amend(
            entry.id,
            lambda now, _: Amendment(between(now, held.text), keeps_version=is_edited),
            self.author,
        )
        restored, lost = self._record_marks(entry.id, arrival, state, is_first=False)
        self._stamp(entry, arrival, held)
        return ImportResult(
            path=arrival.path, fate=ImportedAs.CHANGED, reason="", restored=restored, lost=lost
        )

    def _stamp(self, entry: CatalogueEntry, arrival: IncomingNote, held: note_file.Held) -> None:
        properties = note_file.stamped(
            entry.properties, arrival.folder, arrival.path, arrival.data, held
        )
        if properties != entry.properties:
            self.library.catalogue.set_properties(entry.id, properties)

    def _record_marks(
        self, note: str, arrival: IncomingNote, before: Mapping[int, int], is_first: bool
    ) -> tuple[int, tuple[str, ...]]:
        """Records for the marks in a file; how many an export described, and which are lost.

        Words that the note had `before` stay their writers', whatever an export says of them.
        """
        carried, strange = carried_suggestions.parsed(arrival.suggestions)
        restoring = _Restoring(carried, is_first)

        def plan(text: str, besides: Mapping[str, NoteRecords]) -> Amendment:
            back = restoring.plan(text, besides)
            known = {
                name: one for name, one in {**besides, **back.records}.items() if one is not None
            }
            # In one change: between two, a mark whose record goes would be nobody's.
            new = _marks_recorded(text, known, self.author, milliseconds())
            return replace(back, records={**back.records, **new}, since=before)

        self.library.amend(note, plan, self.author)
        malformed = [f"{strange} that the export does not describe properly"] if strange else []
        return restoring.restored, (*restoring.lost, *malformed)


def _gone_reason(entry: CatalogueEntry) -> str:
    there = f"is at {entry.path} now" if entry.path else "is in the trash now"
    return f"its note {there}; --force makes another one here"


def _changed_reason(is_known: bool) -> str:
    if not is_known:
        return "there is another note at this path; --force overwrites it, its history stays"
    return "both the file and the note changed; --force takes the file, the history stays"


# ── suggestions of an export ────────────────────────────────────────────────────────────────────


@dataclass
class _Restoring:
    """The suggestions that an export describes, on their way into a note."""

    carried: Sequence[ExportedSuggestion]
    is_first: bool
    """No suggestion of this knowledge base can have one of their ids."""
    restored: int = 0
    lost: tuple[str, ...] = ()

    def plan(self, text: str, besides: Mapping[str, NoteRecords]) -> Amendment:
        read = pending(text, recorded(besides))
        kept = carried_suggestions.whole(text, read, self.carried)
        missing = [one for one in self.carried if one.id not in kept]
        sought = {one.id for one in missing}
        held = [span for record in read.records if record.id not in sought for span in record.spans]
        found = carried_suggestions.fitted(text, missing, held)
        self.restored = len(self.carried) - len(found.lost)
        self.lost = tuple(f"{one.id} by {one.author}" for one in found.lost)
        names: dict[str, str] = {}
        for one, _ in found.found:
            is_kept = (self.is_first or one.id in besides) and one.id not in names
            fresh = new_comment_id() if one.is_comment else new_id()
            names[one.id] = one.id if is_kept else fresh
        put: dict[str, NoteRecords | None] = dict.fromkeys(_remains(read, found))
        written: list[tuple[critic.Span, Author]] = []
        for one, spans in found.found:
            answers = names.get(one.answers, one.answers)
            put[names[one.id]] = _as_it_was(text, replace(one, answers=answers), spans)
            if one.is_own:
                author = Author(one.author, one.source)
                written += [(part, author) for part in _brought(text, spans)]
        return Amendment(records=put, written=written)


def _remains(read: Pending, found: PlacedSuggestions) -> Iterator[str]:
    """The records that only hold a part of a suggestion that is not in the text any more.

    Without them all that is left of it is the importer's, as one suggestion. One that holds as many
    marks as there were has been reworded, and stays its author's.
    """
    records = {record.id: record for record in read.records}
    taken = {span for _, spans in found.found for span in spans}
    for one in found.lost:
        record = records.get(one.id)
        if record is None:
            continue
        marks = [mark.span for mark in read.marks_of(record)]
        is_part = not one.is_comment and 0 < len(marks) < len(one.marks)
        if is_part or not taken.isdisjoint(marks):
            yield one.id


def _brought(text: str, spans: Sequence[critic.Span]) -> Iterator[critic.Span]:
    """What the marks of a suggestion hold besides the text they take away."""
    for span in spans:
        if mark := critic.held(text, span):
            start, end = mark.old
            parts = [(mark.start, start), (end, mark.end)] if start < end else [span]
            yield from (part for part in parts if part[0] < part[1])


def _as_it_was(text: str, one: ExportedSuggestion, spans: tuple[critic.Span, ...]) -> NoteRecords:
    if one.is_comment:
        said = Recorded(
            id=one.id,
            author=one.author,
            spans=spans,
            source=one.source,
            is_comment=True,
            answers=one.answers,
        )
        return comment_beside(said, one.time)
    marks = [mark for span in spans if (mark := critic.held(text, span))]
    found = beside(
        Recorded(
            id=one.id,
            author=one.author,
            spans=spans,
            asked=digest(*change_of(text, marks)),
            source=one.source,
        ),
        one.time,
    )
    changed = {} if one.changed is None else {CHANGED: one.changed}
    return NoteRecords({**found.value, **changed}, found.spans)


# ── marks ───────────────────────────────────────────────────────────────────────────────────────


def _marks_recorded(
    text: str, besides: Mapping[str, NoteRecords], author: str, now: int
) -> dict[str, NoteRecords | None]:
    """Records for the suggestions and comments in a text that have none."""
    known = recorded(besides)
    marks = [mark for mark in pending(text, known).reading.marks if not mark.is_recorded]
    records: dict[str, NoteRecords | None] = {
        new_id(): _record(text, one, author, now) for one in critic.suggestions(marks)
    }
    threads = typed_marks.Threads(text, known)
    for mark in marks:
        if mark.kind is critic.MarkKind.COMMENT:
            by, said = _said(text, mark, author)
            name, made = threads.comment(mark.span, by, _made_at(said) or now)
            records[name] = made
    return records


def _said(text: str, mark: critic.Mark, author: str) -> tuple[str, Mapping[str, Any]]:
    """A mark's author by its metadata, and everything else the metadata says."""
    said = critic.metadata(text, mark)
    name = said.get("author", said.get("a"))
    return name if isinstance(name, str) and name else author, said


def _record(text: str, marks: Sequence[critic.Mark], author: str, now: int) -> NoteRecords:
    by, said = _said(text, marks[0], author)
    spans = tuple(mark.span for mark in marks)
    record = Recorded(
        id="",
        author=by,
        spans=spans,
        asked=digest(*change_of(text, marks)),
        source=AuthorKind.PERSON,
    )
    return beside(record, _made_at(said) or now)


def _made_at(said: Mapping[str, Any]) -> int:
    """When the metadata says that a mark was made, in milliseconds; 0 where it does not."""
    for key in ("time", "t", "timestamp"):
        value = said.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value if value > _MOST_SECONDS else value * 1_000
    return 0
