"""Reads, changes, moves and keeps all notes, and takes what peers send. Lives on their thread.

Every change takes the same way: the document in memory is changed, the difference is appended to
the journal, and once that is durable the text is published and listeners are called. Nobody sees a
change before it is durable, and a change that fails on the way, because of a full disk or a panic
of the engine, is undone by throwing the document away and loading it again.

`published` is the exception to the one thread: its contents are immutable, and any thread may read
them. All methods are called through `KnowledgeBase.submit`.

Over 400 lines, because everything that changes a note goes through the same few private steps at
the end, and a second file would have to reach into this one for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError, NotFound
from flashgrep.notes.access.roles import Author, AuthorKind
from flashgrep.notes.document import loading
from flashgrep.notes.document.anchors import Anchor, Anchors
from flashgrep.notes.document.loading import (
    DocumentCache,
    NoteChange,
    Published,
    Quarantined,
    Received,
)
from flashgrep.notes.document.note import NOTHING, Amendment, Note, NoteRecords, Span
from flashgrep.notes.document.text import (
    Panicked,
    TextSplice,
    check_characters,
    check_size,
)
from flashgrep.notes.markup import critic
from flashgrep.notes.store.catalogue import Catalogue, CatalogueEntry
from flashgrep.notes.store.database import StorageFull
from flashgrep.notes.store.journal import DamagedNote, Head, Journal, Record
from flashgrep.notes.suggestions import typed_marks
from flashgrep.notes.tables import Tables, settle
from flashgrep.system.clock import milliseconds

if TYPE_CHECKING:
    from flashgrep.notes.links.parse import Link

NOTES_A_TURN: Final = 50
"""How many of many notes read at once are loaded (10 ms) before others get a turn…"""

KEPT_A_TURN: Final = 250
"""…and of how many the texts that are kept are read (the same)."""

PENDING_BYTES: Final = 1 * limits.MIB
"""Updates of a note that wait for an earlier one; with more, all are dropped, and the peers are
asked for what is missing."""

FOLLOWED_CHARS: Final = 256 * limits.KIB
"""Suggestions and links of a longer note are not worked out with every change of it (256 KiB take
some 30 ms) but when somebody asks for them…"""

TYPED_CHARS: Final = 16 * limits.KIB
"""…and those of a note longer than this not with every letter that is typed in it (2 ms)…"""

TYPED_MARKS: Final = 50
"""…nor those of one with more marks: to find where the record of each is takes 0.06 ms."""

log = logging.getLogger(__name__)

Plan = Callable[[str, Mapping[str, NoteRecords]], Amendment | None]


@dataclass(frozen=True, slots=True)
class ReadyText:
    """A change of a note without marks that adds none."""

    published: Published
    """The note as it is."""
    splices: Sequence[TextSplice]
    links: Sequence[Link]
    """All of the note, after it."""


@dataclass(frozen=True, slots=True)
class ReadyChange:
    """A change that was worked out but not made."""

    text: ReadyText
    update: bytes
    state: bytes
    data: bytes
    author: str


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
        self.journal = journal
        self.catalogue = catalogue
        self.now = now
        self._later = later
        self._cache = DocumentCache(journal)
        self._heads = journal.heads()
        self.changes = 0
        """Another number after every durable change of a text."""
        self._unpublished: dict[tuple[str, int], NoteChange] = {}
        self.tables = tables
        self._depth = 0
        """How deeply blocks of `together` are nested."""
        self._unfollowed: dict[str, int] = {}
        """Notes changed in the outermost of them, whose tables are written at its end, and how long
        a text may be for that."""
        self._ready_links: dict[str, tuple[int, Sequence[Link]]] = {}
        """Links of those notes that are already known, and after which record."""
        self._listeners: list[Callable[[NoteChange], None]] = []
        journal.subscribe(self._committed)
        catalogue.watch(self._forget_deleted)

    # ── the catalogue ───────────────────────────────────────────────────────────────────────────

    def find(self, path: str) -> CatalogueEntry:
        """The note at a path."""
        entry = self.catalogue.find(path)
        if entry is None:
            raise NotFound(f"Document not found: {path}. File does not exist.")
        return entry

    def head(self, note: str) -> Head | None:
        """Who changed a note last, and when, without loading it."""
        return self._heads.get(note)

    def heads(self) -> dict[str, Head]:
        """The same of all notes, by id; a copy."""
        return dict(self._heads)

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
            entry = self.catalogue.add(path, self.now(), properties or {})
            self._seed(entry.id, text, author)
        return entry

    def delete(self, note: str) -> CatalogueEntry:
        """Move a note to the trash: its path becomes free, its content is kept."""
        return self.catalogue.to_trash(note, self.now())

    # ── reading ─────────────────────────────────────────────────────────────────────────────────

    def read(self, note: str) -> Published:
        """The current text; inside `together`, with changes that are not committed yet."""
        found = self.published.get(note)
        if found and not self._unpublished:
            return found
        if found is None and self.tables is not None:
            self.glance([note], only_kept=True)
            if note in self.published and not self._unpublished:
                return self.published[note]
            self.tables.texts.miss([note])
        with self._cache.trusted(note):
            return self._publish(self.loaded(note))

    def glance(self, notes: Sequence[str], only_kept: bool = False) -> None:
        """Publish the texts of notes that are not loaded yet, as far as they are whole.

        `only_kept`: no more than the tables have, which is fast.
        """
        if self._unpublished:
            return
        closed = self._cache.quarantined()
        unread = [note for note in notes if note not in self.published and note not in closed]
        self.published |= self.kept(unread)
        if only_kept:
            return
        unkept = [note for note in unread if note not in self.published]
        found = loading.read_texts(self.journal, unkept)
        self.published |= found
        if self.tables is not None:
            self.tables.texts.miss(found)

    def kept(self, notes: Sequence[str]) -> dict[str, Published]:
        """The texts that the tables have, of notes that are whole in the journal."""
        if self.tables is None:
            return {}
        last = self.journal.last(notes)
        kept = self.tables.texts.of(last, self.catalogue.epoch_of)
        found = {}
        for note, one in kept.items():
            entry = last[note]
            found[note] = Published(
                note=note,
                sequence=entry.sequence,
                data=one.raw,
                author=entry.author,
                time=entry.time,
                views=(one.accepted, one.base),
            )
        return found

    def records(self, note: str) -> dict[str, NoteRecords]:
        """What is known beside the text, in the order it was made."""
        with self._cache.trusted(note):
            return self.loaded(note).records()

    def state(self, note: str) -> bytes:
        """The state vector, for a peer to say what is missing here."""
        with self._cache.trusted(note):
            return self.loaded(note).state()

    def missing(self, note: str, state: bytes) -> bytes:
        """The update for a peer with this state vector."""
        with self._cache.trusted(note):
            return self.loaded(note).missing(state)

    def anchors(self, note: str) -> Anchors:
        """The names of the characters as they are; valid until the next change."""
        with self._cache.trusted(note):
            return self.loaded(note).anchors()

    def whole(self, note: str) -> bytes:
        """All of a note as one update."""
        with self._cache.trusted(note):
            return self.loaded(note).whole()

    def writers(self, note: str, start: int, end: int) -> list[tuple[Anchor, Author | None]]:
        """The characters of a stretch of the text, and who wrote each; None if nobody knows."""
        with self._cache.trusted(note):
            return self.loaded(note).writers(start, end)

    def authors(self, note: str, spans: Sequence[Span]) -> list[Set[Author | None]]:
        """Who wrote the characters of each span; None is in it where nobody knows."""
        with self._cache.trusted(note):
            return self.loaded(note).authors(spans)

    @contextmanager
    def looking(self, note: str, many: int = 0) -> Iterator[Anchors]:
        """The same for a block that asks for about as `many`, and changes nothing."""
        with self._cache.trusted(note), self.loaded(note).looking(many) as anchors:
            yield anchors

    def quarantined(self) -> dict[str, str]:
        """The notes that were found to be damaged since the start, by id, and why."""
        return self._cache.quarantined()

    # ── changing ────────────────────────────────────────────────────────────────────────────────

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
            with self._cache.trusted(note):
                text, besides = live.text.checked(), live.records()
                change = plan(text, besides)
            if change is not None and (change.splices or change.records):
                with self._kept_before(note, change):
                    live = self.loaded(note)
                    with self._cache.undone(note):
                        live.amend(change, author, source)
                        if typed_marks.may_expose(text, besides, change):
                            found = typed_marks.exposed(live, author, self.now())
                            live.amend(found or Amendment())
                        self._append(live, author, origin)
        return self.read(note)

    def ready(self, note: str, change: ReadyText, author: str = "") -> ReadyChange | None:
        """Work a change out beside the note, to be made later in a fraction of the time.

        None for a note that has changed since.
        """
        now = self.read(note)
        if now is not change.published:
            return None
        if self._is_dated(note):
            self.compact(note)
        live = self.loaded(note)
        self._cache.drop(note)  # it is ours now, and the next one who asks loads another
        live.amend(Amendment(change.splices), author)
        update = live.take_new()
        if update is None or live.sequence != now.sequence:
            return None
        return ReadyChange(
            text=change,
            update=update,
            state=live.state(),
            data=live.text.read().encode(),
            author=author,
        )

    def make(self, ready: ReadyChange, origin: object = None) -> bool:
        """Make a change that was worked out; False where the note is another since."""
        before = ready.text.published
        note = before.note
        if self.published.get(note) is not before or self.catalogue.entry(note).path is None:
            return False
        now, sequence = self.now(), before.sequence + 1
        published = Published(
            note=note, sequence=sequence, data=ready.data, author=ready.author, time=now
        )
        self._cache.drop(note)  # the journal knows more than the document in memory
        self._unpublished[note, sequence] = NoteChange(published, ready.update, origin)
        self._unfollowed[note] = FOLLOWED_CHARS
        self._ready_links[note] = sequence, ready.text.links
        try:
            with self.together():
                self.journal.append(
                    note, before.sequence, ready.update, ready.state, ready.author, now
                )
        except BaseException:
            self._unpublished.pop((note, sequence), None)
            raise
        return True

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
        with self._changing(note, in_trash) as live, self._cache.undone(note):
            taken = live.receive(updates, author)
            made = typed_marks.recorded(live, taken, author, self.now())
            if made:
                live.amend(made, author)
            sender = None if taken.is_answered or made else origin
            self._append(live, author, sender, TYPED_CHARS)
        if live.waiting_bytes > PENDING_BYTES:
            log.warning("note %s: forgetting updates whose predecessors never came", note)
            self._cache.drop(note)
        self._forget_deleted(self.catalogue.entry(note))
        return Received(live.sequence, live.is_waiting)

    @contextmanager
    def together(self) -> Iterator[None]:
        """All changes in the block become durable together, or none of them happens."""
        before = len(self._unpublished)  # and no copy: a block may hold thousands of others
        self._depth += 1
        try:
            with self.journal.transaction():
                yield
                if self._depth == 1:
                    self._follow_changes()
        except BaseException:
            for key in list(self._unpublished)[before:]:
                self._cache.drop(key[0])
                del self._unpublished[key]
            raise
        finally:
            self._depth -= 1
            if not self._depth:
                self._unfollowed.clear()
                self._ready_links.clear()

    # ── the tables ──────────────────────────────────────────────────────────────────────────────

    def _follow_changes(self) -> None:
        """Write the tables' rows of the notes that the block has changed."""
        if self.tables is None:
            return
        changed = {note for note, _ in self._unpublished}
        for note, most_chars in self._unfollowed.items():
            if note in changed:  # and not undone since by a block inside
                self._follow(note, self.tables, most_chars)

    def _follow(self, note: str, tables: Tables, most_chars: int) -> None:
        tables.unreadable.pop(note, None)
        sequence, links = self._ready_links.get(note, (0, ()))
        if (note, sequence) in self._unpublished and (note, sequence + 1) not in self._unpublished:
            tables.follow_plain(self._unpublished[note, sequence], links)
            return
        try:
            with self._cache.trusted(note):
                live = self.loaded(note)
                text = live.text.read()
                is_long = len(text) > most_chars
                if most_chars == TYPED_CHARS and not is_long:
                    is_long = critic.count_openers(text) > TYPED_MARKS
                besides = live.records() if not is_long and critic.token(text) else {}
        except Panicked as error:  # by what a peer wrote beside the text; the text itself is sound
            log.warning("the tables are behind note %s: %s", note, error.message)
            is_long = True
        if is_long:
            tables.leave(note)
        else:
            change = self._unpublished.get((note, live.sequence))
            content = change.update if change else b""
            tables.follow(note, live.sequence, text, besides, content)

    def listen(self, listener: Callable[[NoteChange], None]) -> Callable[[], None]:
        """Call a listener after every durable change; gives the way to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # ── going back ──────────────────────────────────────────────────────────────────────────────

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
            old = self.catalogue.entry(note).epoch
            self.journal.set_aside(note, f"{note}.{old}")
            self.catalogue.begin_epoch(note)
            self._cache.drop(note)
            self._seed(note, text, author, records)
        return self.read(note)

    def compact(self, note: str) -> None:
        """Take a snapshot; where it cannot be proved, nothing is changed and that is logged."""
        self._snapshot(note)
        self._take_head(note)
        if self.tables is not None:
            self.tables.texts.leave(note)  # the row may speak of the record

    def _snapshot(self, note: str) -> None:
        live = self.loaded(note)
        try:
            loading.compact(self.journal, live, self.now())
        except DamagedNote as error:
            log.error("no snapshot: %s", error)
            self._cache.drop(note)
            if self.tables is not None:
                self.tables.texts.drop(note)

    # ── loading and committing ──────────────────────────────────────────────────────────────────

    def loaded(self, note: str) -> Note:
        """The document of a note; see `DocumentCache.trusted`."""
        shown = self.catalogue.entry(note).shown
        try:
            return self._cache.get(note, shown)
        except Quarantined:
            self.published.pop(note, None)
            raise

    @contextmanager
    def _changing(self, note: str, in_trash: bool = False) -> Iterator[Note]:
        """Open a note for a change, and keep a version first if the last one is old.

        Both become durable together, which takes one wait for the disk and not two. The new head
        is taken when the change is published; a snapshot without a change is found by the next one.
        """
        entry = self.catalogue.entry(note)
        if entry.path is None and not in_trash:
            raise NotFound(f"{entry.shown} is in the trash; move it back first")
        if not self._is_dated(note):
            yield self.loaded(note)
            return
        with self.together():
            self._snapshot(note)
            yield self.loaded(note)

    def _is_dated(self, note: str) -> bool:
        """Asked of the heads in memory first; inside `together` the journal knows more."""
        known, now = self._heads.get(note), self.now()
        if known is None or not loading.is_dated(known, now):
            return False
        head = self.journal.head(note)
        return head is not None and loading.is_dated(head, now)

    def _seed(
        self, note: str, text: str, author: str, records: Mapping[str, NoteRecords] | None = None
    ) -> None:
        live = self._cache.put(Note(note))
        with self._cache.undone(note):
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
        now, before = self.now(), live.sequence
        live.sequence += 1
        key = (live.id, live.sequence)
        published = Published(*key, live.text.read().encode(), author, now)
        self._unpublished[key] = NoteChange(published, update, origin)
        most = FOLLOWED_CHARS if followed_chars is None else followed_chars
        self._unfollowed[live.id] = max(most, self._unfollowed.get(live.id, 0))
        try:
            with self.together():
                self.journal.append(live.id, before, update, live.state(), author, now)
        except BaseException:
            self._unpublished.pop(key, None)
            raise

    def _committed(self, record: Record) -> None:
        change = self._unpublished.pop((record.note, record.sequence), None)
        self.changes += 1
        head = self._take_head(record.note)
        if change is None:  # another writer's
            self._cache.drop(record.note)
            change = NoteChange(self._publish(self.loaded(record.note)), record.update, None)
        self.published[record.note] = change.published
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception:
                log.exception("a listener failed on note %s", record.note)
        if self.tables is not None and self.tables.is_unsettled(record.note):
            self._later(lambda: self._settle_later(record.note, change.published.author))
        if head and loading.is_due(head):
            self._later(lambda: self._compact_later(record.note))

    def _settle_later(self, note: str, author: str) -> None:
        try:
            settle(self, note, author)
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
            head = self.journal.head(live.id) or Head(live.sequence, "", 0)
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
            self._cache.drop(entry.id)

    def _take_head(self, note: str) -> Head | None:
        head = self.journal.head(note)
        if head:
            self._heads[note] = head
        return head
