"""A knowledge base that is open: one owner, one thread with all documents, one way in.

pycrdt's documents belong to one thread. It runs an event loop; whoever wants something of the
notes, from whatever thread, hands a job in and gets a future. Jobs run one after the other and
each runs to its end, so that a note is loaded once however many ask for it at the same time, and
nothing comes between looking at a note and changing it.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from flashgrep.errors import Cancelled, Conflict, FlashgrepError, Unavailable, from_os_error
from flashgrep.notes.document.text import check_offsets, panics_told
from flashgrep.notes.home import ATTACHMENTS, DATABASE, Home
from flashgrep.notes.library import NOTES_A_TURN, Library
from flashgrep.notes.links.index import Linking
from flashgrep.notes.review.decision_log import Decisions
from flashgrep.notes.review.review import Review
from flashgrep.notes.store.catalogue import Catalogue, CatalogueEntry
from flashgrep.notes.store.changes import Published
from flashgrep.notes.store.sqlite_journal import SqliteJournal
from flashgrep.notes.tables import Tables
from flashgrep.notes.texts import NoteTexts
from flashgrep.notes.tree import NoteList

_CANCEL_LOOK_SECONDS: Final = 0.05
"""How often a call that waits for its turn at the notes looks whether it was cancelled."""

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
        with ExitStack() as undoing:  # or nobody could open these notes until the process ends
            undoing.callback(self.home.disown)
            self._loop = asyncio.new_event_loop()
            undoing.callback(self._loop.close)
            self._database = self.home.opened()
            undoing.callback(self._database.close)
            journal, catalogue = SqliteJournal(self._database), Catalogue(self._database)
            self.tables = Tables(self._database)
            """For jobs on the thread of the notes, after `Library.catch_up`."""
            self._library = Library(journal, catalogue, later=self._later, tables=self.tables)
            self.decisions = Decisions(self._database)
            """For jobs on the thread of the notes."""
            self.review = Review(self)
            self.texts = NoteTexts(self)
            self._library.watch(self._forget_deleted)
            self.listing = NoteList(self)
            self._thread.start()
            undoing.callback(self._end_thread)
            self.links = Linking(self)
            undoing.pop_all()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _forget_deleted(self, entry: CatalogueEntry) -> None:
        if entry.path is None:
            self.texts.forget(entry.id)

    def _later(self, job: Callable[[], None]) -> None:
        self._loop.call_soon(job)

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
        unread = [note for note, known in found.items() if known is None]
        for at in range(0, len(unread), NOTES_A_TURN):
            found |= self.ask(partial(_read_each, notes=unread[at : at + NOTES_A_TURN]))
        return {note: one for note, one in found.items() if one is not None}

    def _do(self, job: Callable[[Library], Value], future: Future[Value]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with panics_told():
                result = job(self._library)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def check(self) -> list[str]:
        """What is wrong with the database as a whole; each note is `Library.verify`'s affair."""
        rows = self.ask(lambda _: self._database.rows("PRAGMA integrity_check"))
        return [told for (told,) in rows if told != "ok"]

    def backup(self, target: Path) -> None:
        """Copy all notes as they are now into a new directory; changes go on meanwhile.

        The database comes last: a copy that was cut short is no knowledge base.
        """
        try:
            target.mkdir(mode=0o700, parents=True)
            shutil.copytree(self.home.attachments, target / ATTACHMENTS, symlinks=True)
            self._database.backup(target / DATABASE)
        except FileExistsError:
            raise Conflict(f"{target} is there already; name a new directory") from None
        except OSError as error:
            raise from_os_error(error, str(target)) from None

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
        self._end_thread()
        self._loop.close()
        self._database.close()
        self.home.disown()


def _read_each(library: Library, notes: Sequence[str]) -> dict[str, Published | FlashgrepError]:
    found: dict[str, Published | FlashgrepError] = {}
    library.glance(notes)
    for note in notes:
        try:
            found[note] = library.read(note)
        except FlashgrepError as error:
            found[note] = error
    return found
