"""An open knowledge base: one owner, one thread with all documents, and the tree of its notes.

pycrdt's documents belong to one thread. It runs an event loop; other threads submit a job and get a
future. Jobs run one after the other, each to its end, so a note is loaded once however many ask for
it at the same time, and nothing comes between looking at a note and changing it.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import shutil
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from flashgrep.errors import (
    Cancelled,
    Conflict,
    FlashgrepError,
    NotFound,
    Unavailable,
    from_os_error,
)
from flashgrep.notes.access.roles import Principal, Role
from flashgrep.notes.document.loading import Published
from flashgrep.notes.document.text import catching_panics, check_offsets
from flashgrep.notes.home import ATTACHMENTS, DATABASE, Home
from flashgrep.notes.kept_texts import keep_some
from flashgrep.notes.library import KEPT_A_TURN, NOTES_A_TURN, Library
from flashgrep.notes.links.index import Linking
from flashgrep.notes.reading import NoteTexts
from flashgrep.notes.review.commenting import Commenting
from flashgrep.notes.review.decision_log import Decisions
from flashgrep.notes.review.review import Review
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import Catalogue, CatalogueEntry
from flashgrep.notes.store.journal import SqliteJournal
from flashgrep.notes.tables import Tables
from flashgrep.search.result import walk_key

# ── tree ─────────────────────────────────────────────────────────────────────────────────────────
# The notes as a tree of files, as somebody may see it: folders are what paths have in common.
#
# In walk order, as a directory is searched: depth first, names by their bytes.


_LIKENESS: Final = 0.6
"""How much of two paths must be alike for one to be offered in place of the other."""

_PLACED: Final = 200
"""How many notes that came, went or moved are put in place one by one; more are sorted anew."""


@dataclass(frozen=True, slots=True)
class NoteLeaf:
    """A note in the tree."""

    path: str
    note: str
    """Its id."""


class NoteList:
    """All notes in walk order, kept so as notes come, go and move."""

    def __init__(self, notes: KnowledgeBase) -> None:
        self._notes = notes
        self._known: Sequence[NoteLeaf] | None = None
        self._keys: list[str] = []
        """What the known ones are sorted by."""
        self._filed: dict[str, CatalogueEntry] = {}
        """What changed since, by id."""
        self._where: dict[str, str] = {}
        notes.ask(lambda library: library.catalogue.watch(self._note_filed))

    def all(self) -> Sequence[NoteLeaf]:
        """As they are now."""
        return self._notes.ask(self._listed)

    def changed(self) -> dict[str, int]:
        """When each note was changed last, by its id, in milliseconds since 1970."""
        return self._notes.ask(_changed)

    def quarantined(self) -> dict[str, str]:
        """The notes that are known to be damaged, by id, and why."""
        return self._notes.ask(lambda library: library.quarantined())

    def _note_filed(self, entry: CatalogueEntry) -> None:
        if self._known is not None:
            self._filed[entry.id] = entry

    def _listed(self, library: Library) -> Sequence[NoteLeaf]:
        if self._known is None or len(self._filed) > _PLACED:
            self._keys, self._known = _leaves(library)
            self._where = {leaf.note: leaf.path for leaf in self._known}
        elif self._filed:
            self._known = self._placed(list(self._known))
        self._filed.clear()
        return self._known

    def _placed(self, leaves: list[NoteLeaf]) -> Sequence[NoteLeaf]:
        """The leaves as what was filed since leaves them; others may still hold the old list."""
        for entry in self._filed.values():
            if (before := self._where.pop(entry.id, None)) is not None:
                at = bisect_left(self._keys, walk_key(before))
                del self._keys[at], leaves[at]
        for entry in self._filed.values():
            if entry.path is not None:
                self._where[entry.id] = entry.path
                at = bisect_left(self._keys, key := walk_key(entry.path))
                self._keys.insert(at, key)
                leaves.insert(at, NoteLeaf(entry.path, entry.id))
        return leaves


def _leaves(library: Library) -> tuple[list[str], list[NoteLeaf]]:
    """All notes and what they are sorted by."""
    there = library.catalogue.placed()
    keyed = sorted((walk_key(path), path, note) for note, path in there.items())
    return [key for key, _, _ in keyed], [NoteLeaf(path, note) for _, path, note in keyed]


def _changed(library: Library) -> dict[str, int]:
    heads = {entry.id: library.head(entry.id) for entry in library.catalogue.entries()}
    return {note: head.time if head else 0 for note, head in heads.items()}


class NoteTree:
    """What one principal sees of the notes.

    A note that the principal may not see is missing from every result.
    """

    def __init__(
        self,
        notes: KnowledgeBase,
        principal: Principal,
        prefix: str = "",
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """`prefix` begins every path in messages."""
        self._is_cancelled = is_cancelled
        self._notes = notes
        self._principal = principal
        self.prefix = prefix

    def find(self, path: str) -> NoteLeaf:
        """The note at a path; one that is not there is refused with a near one that is."""
        try:
            entry: CatalogueEntry = self._notes.ask(
                lambda library: library.find(path), self._is_cancelled
            )
        except NotFound:
            raise self.missing(path) from None
        if entry.path is None or not self._principal.may(Role.READ, entry.path):
            raise self.missing(path)
        return NoteLeaf(entry.path, entry.id)

    def all(self) -> Sequence[NoteLeaf]:
        """Every note there is to see."""
        leaves, who = self._notes.listing.all(), self._principal
        if who.may(Role.READ, ""):
            return leaves
        return [leaf for leaf in leaves if who.may(Role.READ, leaf.path)]

    def below(self, folder: str) -> Sequence[NoteLeaf]:
        """The notes in a folder and below it, or the one note of that path; all for ""."""
        leaves = self.all()
        if not folder:
            return leaves
        wanted = paths.form_key(folder)
        found = [leaf for leaf in leaves if _is_below(paths.form_key(leaf.path), wanted)]
        if not found:
            raise self.missing(folder)
        return found

    def missing(self, path: str) -> NotFound:
        """The refusal of a path without a note, with what was perhaps meant."""
        near = self._near(path)
        hint = f" Did you mean {self.prefix}{near}?" if near else ""
        return NotFound(f"Document not found: {self.prefix}{path}. File does not exist.{hint}")

    def _near(self, path: str) -> str | None:
        """The path in another spelling, the same name elsewhere, or what is most like it."""
        wanted = _key(path)
        known: dict[str, str] = {}
        for leaf in self.all():
            known.setdefault(_key(leaf.path), leaf.path)
        if wanted in known:
            return known[wanted]
        name = "/" + wanted.rpartition("/")[2]
        elsewhere = next((key for key in known if ("/" + key).endswith(name)), None)
        close = difflib.get_close_matches(wanted, known, 1, _LIKENESS) if not elsewhere else []
        found = elsewhere or (close[0] if close else None)
        return known[found] if found else None


def _is_below(path: str, wanted: str) -> bool:
    return path.startswith(wanted) and (len(path) == len(wanted) or path[len(wanted)] == "/")


def _key(path: str) -> str:
    return paths.twin_key(path.removesuffix(paths.ENDING))


# ── knowledge base ───────────────────────────────────────────────────────────────────────────────


_CANCEL_LOOK_SECONDS: Final = 0.05
"""How often a call that waits for its turn at the notes looks whether it was cancelled."""

_CLOSING_SECONDS: Final = 0.2
"""How long texts are written that the store is behind, before a knowledge base is closed."""

log = logging.getLogger(__name__)

Value = TypeVar("Value")


class KnowledgeBase:
    """All notes of a directory, for as long as they are open."""

    def __init__(self, path: Path) -> None:
        """Open a knowledge base and own it; `Owned` where another process does."""
        check_offsets()
        self.home = Home(path)
        self.home.own()
        self._thread = threading.Thread(target=self._run, name="flashgrep-notes", daemon=True)
        self._closing = threading.Lock()
        self._is_closed = False
        self._keeping: asyncio.TimerHandle | None = None
        """Set for when texts are to be written that the store is behind."""
        with ExitStack() as undoing:  # or nobody could open these notes until the process ends
            undoing.callback(self.home.disown)
            self._loop = asyncio.new_event_loop()
            undoing.callback(self._loop.close)
            self._database = self.home.opened()
            undoing.callback(self._database.close)
            journal, catalogue = SqliteJournal(self._database), Catalogue(self._database)
            self.tables = Tables(self._database)
            """For jobs on the thread of the notes, after `tables.catch_up`."""
            self._library = Library(journal, catalogue, later=self._later, tables=self.tables)
            self.decisions = Decisions(self._database, self.tables.outcomes)
            """For jobs on the thread of the notes."""
            self.review = Review(self)
            self.commenting = Commenting(self)
            self.texts = NoteTexts(self)
            self._library.catalogue.watch(self._forget_deleted)
            self._thread.start()
            undoing.callback(self._end_thread)
            self.listing = NoteList(self)
            self.links = Linking(self)
            self.ask(lambda _: self.tables.texts.wake_with(self._keep_texts_in))
            undoing.pop_all()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _forget_deleted(self, entry: CatalogueEntry) -> None:
        if entry.path is None:
            self.texts.forget(entry.id)

    def _later(self, job: Callable[[], None]) -> None:
        self._loop.call_soon(job)

    def _keep_texts_in(self, seconds: float) -> None:
        """Have texts written that the store is behind; on the thread of the notes."""
        due = self._loop.time() + seconds
        if self._keeping is not None and self._keeping.when() <= due:
            return
        if self._keeping is not None:
            self._keeping.cancel()
        self._keeping = self._loop.call_at(due, self._keep_texts)

    def _keep_texts(self) -> None:
        self._keeping = None
        try:
            with catching_panics():
                seconds = keep_some(self._library)
        except FlashgrepError as error:
            log.warning("texts are not kept: %s", error.message)
            return
        if seconds is not None:
            self._keep_texts_in(seconds)

    def submit(self, job: Callable[[Library], Value]) -> Future[Value]:
        """Have a job done on the thread of the notes, by its turn."""
        future: Future[Value] = Future()
        with self._closing:
            if self._is_closed:
                raise Unavailable("the knowledge base is closed")
            self._loop.call_soon_threadsafe(self._do, job, future)
        return future

    def ask(
        self, job: Callable[[Library], Value], is_cancelled: Callable[[], bool] | None = None
    ) -> Value:
        """The same, waited for. Cancelled before its turn came, it is not done."""
        if threading.current_thread() is self._thread:
            return job(self._library)
        future = self.submit(job)
        while is_cancelled is not None and not wait([future], _CANCEL_LOOK_SECONDS).done:
            if is_cancelled() and future.cancel():
                raise Cancelled("cancelled before its turn came; nothing was changed")
        return future.result()

    def read(self, note: str) -> Published:
        """The text of a note. One that was read before is given without a turn."""
        return self._library.published.get(note) or self.ask(lambda library: library.read(note))

    def read_all(self, notes: Iterable[str]) -> dict[str, Published | FlashgrepError]:
        """The texts of many notes, or why one has none; others get their turns meanwhile."""
        found: dict[str, Published | FlashgrepError | None] = {}
        for note in notes:
            found[note] = self._library.published.get(note)
        # In the order of ids, which is that of the tables: what lies together is read together.
        unread = sorted(note for note, known in found.items() if known is None)
        for at in range(0, len(unread), KEPT_A_TURN):
            found |= self.ask(partial(_read_kept, notes=unread[at : at + KEPT_A_TURN]))
        unread = [note for note in unread if found[note] is None]
        for at in range(0, len(unread), NOTES_A_TURN):
            found |= self.ask(partial(_read_each, notes=unread[at : at + NOTES_A_TURN]))
        return {note: one for note, one in found.items() if one is not None}

    def _do(self, job: Callable[[Library], Value], future: Future[Value]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with catching_panics():
                result = job(self._library)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def check(self) -> list[str]:
        """What is wrong with the database as a whole; each note is `Library.verify`'s affair."""
        rows = self.ask(lambda _: self._database.rows("PRAGMA integrity_check"))
        return [problem for (problem,) in rows if problem != "ok"]

    def backup(self, target: Path) -> None:
        """Copy all notes as they are now into a new directory; changes continue meanwhile.

        The database comes last: an interrupted copy is not a knowledge base.
        """
        try:
            target.mkdir(mode=0o700, parents=True)
            shutil.copytree(self.home.attachments, target / ATTACHMENTS, symlinks=True)
            self._database.backup(target / DATABASE)
        except FileExistsError:
            raise Conflict(f"{target} is there already; name a new directory") from None
        except OSError as error:
            raise from_os_error(error, str(target)) from None

    def _keep_last_texts(self) -> None:
        """Long notes that were changed just now, as far as that keeps nobody waiting."""
        until = time.monotonic() + _CLOSING_SECONDS
        try:
            with catching_panics():
                while keep_some(self._library, 0) is not None and time.monotonic() < until:
                    pass
        except FlashgrepError as error:
            log.warning("texts are not kept: %s", error.message)

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def close(self) -> None:
        """Do what was handed in, then let go; another process may own the notes."""
        self.review.jobs.close()
        self.links.close()
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
            self._loop.call_soon_threadsafe(self._keep_last_texts)
        self._end_thread()
        self._loop.close()
        self._database.close()
        self.home.disown()


def _read_kept(library: Library, notes: Sequence[str]) -> dict[str, Published]:
    library.glance(notes, only_kept=True)
    return {note: library.published[note] for note in notes if note in library.published}


def _read_each(library: Library, notes: Sequence[str]) -> dict[str, Published | FlashgrepError]:
    found: dict[str, Published | FlashgrepError] = {}
    library.glance(notes)
    for note in notes:
        try:
            found[note] = library.read(note)
        except FlashgrepError as error:
            found[note] = error
    return found
