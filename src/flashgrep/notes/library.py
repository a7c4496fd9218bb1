"""All notes: read, changed, received from peers, moved, kept. Lives on the thread that owns them.

A change goes one way: the document in memory is changed, what is new in it is appended to the
journal, and once that is durable the text is published and those who listen are told. Nothing of a
change is seen before it is durable, and a change that fails on the way, for a full disk or a panic
of the engine, is undone by throwing the document away and loading it again.

`published` is the exception to the one thread: what is put there is immutable and may be read by
any. All methods are called through `KnowledgeBase.submit`.

Over 400 lines, because everything that changes a note goes through the same few private steps at
the end, and a second file would have to reach into this one for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Conflict, FlashgrepError, NotFound
from flashgrep.notes.access.roles import Author, AuthorKind
from flashgrep.notes.document import loading
from flashgrep.notes.document.anchors import Anchor, Anchors
from flashgrep.notes.document.loading import (
    DocumentCache,
    NoteChange,
    Published,
    Quarantined,
    Received,
    Version,
)
from flashgrep.notes.document.note import NOTHING, Amendment, Note, NoteRecords
from flashgrep.notes.document.text import (
    Panicked,
    TextSplice,
    between,
    check_characters,
    check_size,
)
from flashgrep.notes.markup import critic
from flashgrep.notes.store.catalogue import Catalogue, CatalogueEntry
from flashgrep.notes.store.database import StorageFull
from flashgrep.notes.store.journal import DamagedNote, Head, Journal, Record
from flashgrep.notes.suggestions import typed_marks
from flashgrep.notes.tables import Tables
from flashgrep.system.clock import milliseconds

NOTES_A_TURN: Final = 50
"""Of many notes that are read at once, how many are loaded (10 ms) before others get a turn."""

PENDING_BYTES: Final = 1 * limits.MIB
"""Updates of a note that wait for one before them; with more, all of them are forgotten, and the
peers are asked for what is missing."""

FOLLOWED_CHARS: Final = 256 * limits.KIB
"""Suggestions and links of a longer note are not worked out with every change of it (256 KiB take
some 30 ms) but when somebody asks for them…"""

TYPED_CHARS: Final = 16 * limits.KIB
"""…and those of a note longer than this not with every letter that is typed in it (2 ms)."""

log = logging.getLogger(__name__)

Plan = Callable[[str, Mapping[str, NoteRecords]], Amendment | None]


def _at_once(job: Callable[[], None]) -> None:
    job()


class Library:
    """Every note of a knowledge base."""

    def __init__(
        self,
        journal: Journal,
        catalogue: Catalogue,
        now: Callable[[], int] = milliseconds,
        later: Callable[[Callable[[], None]], None] = _at_once,
        tables: Tables | None = None,
    ) -> None:
        """`later` runs a job when what is being answered has been answered.

        `tables` are kept up with every change, in its transaction.
        """
        self.published: dict[str, Published] = {}
        self._journal = journal
        self._catalogue = catalogue
        self._now = now
        self._later = later
        self._shelf = DocumentCache(journal)
        self._heads = journal.heads()
        self._unpublished: dict[tuple[str, int], NoteChange] = {}
        self._tables = tables
        self._depth = 0
        """Of blocks of `together` inside each other."""
        self._unfollowed: dict[str, int] = {}
        """Notes changed in the outermost of them, whose tables are written at its end, and how long
        a text may be for that."""
        self._passed_over: dict[str, str] = {}
        """Notes that cannot be read, so that the tables are behind them, and why."""
        self._listeners: list[Callable[[NoteChange], None]] = []
        journal.subscribe(self._committed)
        catalogue.watch(self._forget_deleted)

    # ── the catalogue ───────────────────────────────────────────────────────────────────────────

    def entries(self) -> list[CatalogueEntry]:
        """All notes that are not in the trash, by path."""
        return self._catalogue.entries()

    @property
    def generation(self) -> int:
        """Another number whenever a note came, went or moved."""
        return self._catalogue.generation

    def trash(self) -> list[CatalogueEntry]:
        """The notes in the trash, the latest first."""
        return self._catalogue.trash()

    def entry(self, note: str) -> CatalogueEntry:
        """A note by its id."""
        return self._catalogue.entry(note)

    def find(self, path: str) -> CatalogueEntry:
        """The note at a path."""
        entry = self._catalogue.find(path)
        if entry is None:
            raise NotFound(f"Document not found: {path}. File does not exist.")
        return entry

    def head(self, note: str) -> Head | None:
        """Who changed a note last, and when, without loading it."""
        return self._heads.get(note)

    def create(
        self,
        path: str,
        text: str = "",
        author: str = "",
        properties: Mapping[str, Any] | None = None,
    ) -> CatalogueEntry:
        """A new note. Only here does a text become a note's beginning: a peer never seeds one."""
        check_characters(text)
        check_size(text)
        with self.together():
            entry = self._catalogue.add(path, self._now(), properties or {})
            self._seed(entry.id, text, author)
        return entry

    def watch(self, told: Callable[[CatalogueEntry], None]) -> Callable[[], None]:
        """Be told of every note that came, went, moved or began anew, once that is durable."""
        return self._catalogue.watch(told)

    def move(self, note: str, path: str) -> CatalogueEntry:
        """Another path for a note; brings one back from the trash too."""
        return self._catalogue.move(note, path)

    def delete(self, note: str) -> CatalogueEntry:
        """To the trash: the path is free, and all else is kept."""
        return self._catalogue.to_trash(note, self._now())

    def set_properties(self, note: str, properties: Mapping[str, Any]) -> CatalogueEntry:
        """What is kept of a file beside its text."""
        return self._catalogue.set_properties(note, properties)

    # ── reading ─────────────────────────────────────────────────────────────────────────────────

    def read(self, note: str) -> Published:
        """The text as it is; inside `together` with what is not durable yet."""
        found = self.published.get(note)
        if found and not self._unpublished:
            return found
        with self._shelf.trusted(note):
            return self._publish(self._loaded(note))

    def glance(self, notes: Sequence[str]) -> None:
        """Publish the texts of notes that are not loaded yet, as far as they are whole."""
        known = self.published.keys() | self._shelf.quarantined().keys()
        if not self._unpublished:
            unread = [note for note in notes if note not in known]
            self.published |= loading.read_texts(self._journal, unread)

    def records(self, note: str) -> dict[str, NoteRecords]:
        """What is known beside the text, in the order it was made."""
        with self._shelf.trusted(note):
            return self._loaded(note).records()

    def state(self, note: str) -> bytes:
        """The state vector, for a peer to say what is missing here."""
        with self._shelf.trusted(note):
            return self._loaded(note).state()

    def missing(self, note: str, state: bytes) -> bytes:
        """The update for a peer with this state vector."""
        with self._shelf.trusted(note):
            return self._loaded(note).missing(state)

    def anchors(self, note: str) -> Anchors:
        """The names of the characters as they are; made anew after each change."""
        with self._shelf.trusted(note):
            return self._loaded(note).anchors()

    def writers(self, note: str, start: int, end: int) -> list[tuple[Anchor, Author | None]]:
        """The characters of a stretch of the text, and who wrote each; None if nobody knows."""
        with self._shelf.trusted(note):
            return self._loaded(note).writers(start, end)

    @contextmanager
    def looking(self, note: str) -> Iterator[Anchors]:
        """The same for a block that asks for many: one look at the document, and not one each."""
        with self._shelf.trusted(note), self._loaded(note).looking() as anchors:
            yield anchors

    def quarantined(self) -> dict[str, str]:
        """The notes that were found to be damaged since the start, by id, and why."""
        return self._shelf.quarantined()

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def edit(
        self,
        note: str,
        splices: Sequence[TextSplice],
        at: int,
        author: str = "",
        origin: object = None,
    ) -> Published:
        """Change a text that was read; refused where it is no longer that of the sequence `at`."""

        def plan(_: str, __: Mapping[str, NoteRecords]) -> Amendment:
            if self._loaded(note).sequence != at:
                shown = self._catalogue.entry(note).shown
                raise Conflict(f"{shown} has changed since; read it again")
            return Amendment(splices)

        return self.amend(note, plan, author, origin)

    def amend(
        self,
        note: str,
        plan: Plan,
        author: str = "",
        origin: object = None,
        source: AuthorKind = AuthorKind.PERSON,
    ) -> Published:
        """Change a note as `plan` says, which is given its text and records as they are now.

        Nobody else comes between the two. The plan only looks; to refuse, it raises. `source` is
        what kind of author writes.
        """
        with self._changing(note) as live:
            with self._shelf.trusted(note):
                text, besides = live.text.checked(), live.records()
                change = plan(text, besides)
            if change is not None and (change.splices or change.records):
                with self._kept_before(note, change):
                    live = self._loaded(note)
                    with self._shelf.undone(note):
                        live.amend(change, author, source)
                        if typed_marks.may_expose(text, besides, change):
                            found = typed_marks.exposed(live, author, self._now())
                            live.amend(found or Amendment())
                        self._append(live, author, origin)
        return self.read(note)

    @contextmanager
    def _kept_before(self, note: str, change: Amendment) -> Iterator[None]:
        """Keep the note as it is as a version, together with the change, if that asks for it."""
        if not change.keeps_version:
            yield
            return
        with self.together():
            self._snapshot(note)
            yield

    def receive(
        self,
        note: str,
        updates: Sequence[bytes],
        author: str = "",
        origin: object = None,
        in_trash: bool = False,
    ) -> Received:
        """Take updates of a peer; on return they are durable, but for those that wait.

        `in_trash`: also into a note that was deleted since they came.
        """
        with self._changing(note, in_trash) as live, self._shelf.undone(note):
            taken = live.receive(updates, author)
            made = typed_marks.recorded(live, taken, author, self._now())
            if made:
                live.amend(made, author)
            told = None if taken.is_answered or made else origin
            self._append(live, author, told, TYPED_CHARS)
        if live.waiting_bytes > PENDING_BYTES:
            log.warning("note %s: forgetting updates whose predecessors never came", note)
            self._shelf.drop(note)
        self._forget_deleted(self._catalogue.entry(note))
        return Received(live.sequence, live.is_waiting)

    @contextmanager
    def together(self) -> Iterator[None]:
        """All changes in the block become durable together, or none of them happens."""
        before = set(self._unpublished)
        self._depth += 1
        try:
            with self._journal.transaction():
                yield
                if self._depth == 1:
                    self._follow_changes()
        except BaseException:
            for key in set(self._unpublished) - before:
                self._shelf.drop(key[0])
                del self._unpublished[key]
            raise
        finally:
            self._depth -= 1
            if not self._depth:
                self._unfollowed.clear()

    # ── the tables ──────────────────────────────────────────────────────────────────────────────

    def _follow_changes(self) -> None:
        """Write the tables' rows of the notes that the block has changed."""
        if self._tables is None:
            return
        changed = {note for note, _ in self._unpublished}
        for note, most_chars in self._unfollowed.items():
            if note in changed:  # and not undone since by a block inside
                self._follow(note, self._tables, most_chars)

    def _follow(self, note: str, tables: Tables, most_chars: int) -> None:
        self._passed_over.pop(note, None)
        try:
            with self._shelf.trusted(note):
                live = self._loaded(note)
                text = live.text.read()
                is_long = len(text) > most_chars
                besides = live.records() if not is_long and critic.token(text) else {}
        except Panicked as error:  # by what a peer wrote beside the text; the text itself is sound
            log.warning("the tables are behind note %s: %s", note, error.message)
            is_long = True
        if is_long:
            tables.leave(note)
        else:
            tables.follow(note, live.sequence, text, besides)

    def catch_up(self, most: int) -> bool:
        """Look at some notes that the tables are behind; whether there are no more of them."""
        tables = self._tables
        if tables is None or not tables.is_behind:
            return True
        notes = tables.behind(most)
        self.glance(notes)
        with self._journal.transaction():
            for note in notes:
                self._passed_over.pop(note, None)
                try:
                    self._look_at(note, tables)
                except StorageFull:
                    raise
                except FlashgrepError as error:
                    self._passed_over[note] = error.message
                tables.pass_over(note)
        for note in notes:
            self._settle(note, "")
        return not tables.is_behind

    def _look_at(self, note: str, tables: Tables) -> None:
        published = self.read(note)
        text = published.text
        besides = self.records(note) if critic.token(text) else {}
        if not tables.follow(note, published.sequence, text, besides):
            self._passed_over[note] = "its marks and links cannot be read; the log has the reason"

    def _settle(self, note: str, author: str) -> None:
        """Make records for marks that came to light, by `author` where nobody knows better."""
        if self._tables is None or not self._tables.is_unsettled(note):
            return

        def plan(_: str, __: Mapping[str, NoteRecords]) -> Amendment | None:
            return typed_marks.exposed(self._loaded(note), author, self._now())

        head = self._heads.get(note)
        try:
            self.amend(note, plan, head.author if head else author)
        except StorageFull:
            raise
        except FlashgrepError as error:  # in the trash, or damaged: it is looked at again then
            log.info("marks in note %s have no records: %s", note, error.message)

    def look_again(self) -> None:
        """Have `catch_up` try those again that could not be read for now."""
        for note in self._passed_over.keys() - self._shelf.quarantined().keys():
            if self._tables is not None:
                self._tables.wait_for(note)

    def passed_over(self) -> dict[str, str]:
        """The notes that the tables are behind because they cannot be read, and why."""
        return dict(self._passed_over)

    def listen(self, told: Callable[[NoteChange], None]) -> Callable[[], None]:
        """Be told of every change once it is durable; gives the way to end that."""
        self._listeners.append(told)
        return lambda: self._listeners.remove(told)

    # ── going back ──────────────────────────────────────────────────────────────────────────────

    def history(self, note: str) -> list[Version]:
        """What can be gone back to, the newest first; the note as it is now stands at the top."""
        self._catalogue.entry(note)
        dated = self._journal.snapshots(note)
        found = [Version(one.sequence, one.author, one.time) for one in dated]
        head = self._heads.get(note)
        if head and head.sequence not in {version.sequence for version in found}:
            found.insert(0, Version(head.sequence, head.author, head.time))
        return found

    def text_at(self, note: str, sequence: int) -> str:
        """The text of a version."""
        known = [version.sequence for version in self.history(note)]
        if sequence not in known:
            there = ", ".join(map(str, known))
            shown = self._catalogue.entry(note).shown
            raise NotFound(f"{shown} has no version {sequence}; its versions: {there}")
        dated = self._dated(note, sequence)
        return dated.text.read() if dated else self.read(note).text

    def _dated(self, note: str, sequence: int) -> Note | None:
        """The note as one of its snapshots has it; None where there is no such snapshot."""
        if any(dated.sequence == sequence for dated in self._journal.snapshots(note)):
            return Note.load(note, self._journal.snapshot(note, sequence), [])
        return None

    def restore(self, note: str, sequence: int, author: str = "") -> Published:
        """Make the note what it was, as one more change: nothing of the history goes away.

        What was known beside the text comes back with it: marks that stood in that version are the
        suggestions they were. A quarantined note begins anew with that text; what is stored of it
        is set aside.
        """
        text = self.text_at(note, sequence)
        dated = self._dated(note, sequence)
        records = dated.records() if dated else {}
        try:
            self.compact(note)
        except Quarantined:
            return self.rebuild(note, text, author, records)

        def plan(now: str, known: Mapping[str, NoteRecords]) -> Amendment | None:
            if dated is None:  # it is that version
                return None
            changed: dict[str, NoteRecords | None] = dict.fromkeys(known.keys() - records.keys())
            changed |= {name: one for name, one in records.items() if known.get(name) != one}
            return Amendment(between(now, text), changed)

        return self.amend(note, plan, author)

    def verify(self, note: str) -> None:
        """Load a note from what is stored, whatever is in memory; refused where that is damaged."""
        self._catalogue.entry(note)
        loading.load(self._journal, note)

    def salvage(self, note: str) -> tuple[str, dict[str, NoteRecords]] | None:
        """As much of a damaged note as can be trusted, text and records; None for nothing."""
        self._catalogue.entry(note)
        good = loading.load_good(self._journal, note)
        return (good.text.read(), good.records()) if good else None

    def rebuild(
        self,
        note: str,
        text: str,
        author: str = "",
        records: Mapping[str, NoteRecords] | None = None,
    ) -> Published:
        """Begin a note anew, in a new epoch; all that is stored of it is set aside, not deleted."""
        check_characters(text)
        check_size(text)
        with self.together():
            old = self._catalogue.entry(note).epoch
            self._journal.set_aside(note, f"{note}.{old}")
            self._catalogue.begin_epoch(note)
            self._shelf.drop(note)
            self._seed(note, text, author, records)
        return self.read(note)

    def compact(self, note: str) -> None:
        """Take a snapshot; where it cannot be proved, nothing is changed and that is logged."""
        self._snapshot(note)
        self._take_head(note)

    def _snapshot(self, note: str) -> None:
        live = self._loaded(note)
        try:
            loading.compact(self._journal, live, self._now())
        except DamagedNote as error:
            log.error("no snapshot: %s", error)
            self._shelf.drop(note)

    # ── loading and committing ──────────────────────────────────────────────────────────────────

    def _loaded(self, note: str) -> Note:
        shown = self._catalogue.entry(note).shown
        try:
            return self._shelf.get(note, shown)
        except Quarantined:
            self.published.pop(note, None)
            raise

    @contextmanager
    def _changing(self, note: str, in_trash: bool = False) -> Iterator[Note]:
        """A note for a block that changes it; kept as it is where the last one kept is old.

        Both become durable together, which takes one wait for the disk and not two. The new head
        is taken when the change is told; a snapshot without a change is found by the next one.
        """
        entry = self._catalogue.entry(note)
        if entry.path is None and not in_trash:
            raise NotFound(f"{entry.shown} is in the trash; move it back first")
        if not self._is_dated(note):
            yield self._loaded(note)
            return
        with self.together():
            self._snapshot(note)
            yield self._loaded(note)

    def _is_dated(self, note: str) -> bool:
        """Asked of the heads in memory first; inside `together` the journal knows more."""
        known, now = self._heads.get(note), self._now()
        if known is None or not loading.is_dated(known, now):
            return False
        head = self._journal.head(note)
        return head is not None and loading.is_dated(head, now)

    def _seed(
        self, note: str, text: str, author: str, records: Mapping[str, NoteRecords] | None = None
    ) -> None:
        live = self._shelf.put(Note(note))
        with self._shelf.undone(note):
            live.amend(Amendment([TextSplice(0, 0, text)], records or {}), author)
            self._append(live, author, None, is_first=True)

    def _append(
        self,
        live: Note,
        author: str,
        origin: object,
        followed_chars: int | None = None,
        is_first: bool = False,
    ) -> None:
        update = live.take_new() or (NOTHING if is_first else None)
        if update is None:
            return
        now, before = self._now(), live.sequence
        live.sequence += 1
        key = (live.id, live.sequence)
        published = Published(*key, live.text.read().encode(), author, now)
        self._unpublished[key] = NoteChange(published, update, origin)
        most = FOLLOWED_CHARS if followed_chars is None else followed_chars
        self._unfollowed[live.id] = max(most, self._unfollowed.get(live.id, 0))
        try:
            with self.together():
                self._journal.append(live.id, before, update, live.state(), author, now)
        except BaseException:
            self._unpublished.pop(key, None)
            raise

    def _committed(self, record: Record) -> None:
        change = self._unpublished.pop((record.note, record.sequence), None)
        head = self._take_head(record.note)
        if change is None:  # another writer's
            self._shelf.drop(record.note)
            change = NoteChange(self._publish(self._loaded(record.note)), record.update, None)
        self.published[record.note] = change.published
        for told in list(self._listeners):
            try:
                told(change)
            except Exception:
                log.exception("a listener failed on note %s", record.note)
        if self._tables is not None and self._tables.is_unsettled(record.note):
            self._later(lambda: self._settle_later(record.note, change.published.author))
        if head and loading.is_due(head):
            self._later(lambda: self._compact_later(record.note))

    def _settle_later(self, note: str, author: str) -> None:
        try:
            self._settle(note, author)
        except StorageFull as error:
            log.warning("marks in note %s have no records: %s", note, error)

    def _compact_later(self, note: str) -> None:
        try:
            self.compact(note)
        except FlashgrepError as error:
            log.warning("no snapshot of note %s: %s", note, error)

    def _publish(self, live: Note) -> Published:
        head = self._heads.get(live.id)
        if head is None or head.sequence != live.sequence:  # not durable yet
            head = self._journal.head(live.id) or Head(live.sequence, "", 0)
        data = live.text.read().encode()
        found = Published(
            note=live.id, sequence=live.sequence, data=data, author=head.author, time=head.time
        )
        if not self._unpublished:
            self.published[live.id] = found
        return found

    def _forget_deleted(self, entry: CatalogueEntry) -> None:
        """What is in the trash is seldom read again, and then as the journal has it."""
        if entry.path is None:
            self.published.pop(entry.id, None)
            self._shelf.drop(entry.id)

    def _take_head(self, note: str) -> Head | None:
        head = self._journal.head(note)
        if head:
            self._heads[note] = head
        return head
