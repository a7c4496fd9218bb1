"""A library to be tried out in the test's own thread, closed and opened again at will."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pycrdt import Doc, Text

from flashgrep.notes.document.loading import NoteChange
from flashgrep.notes.document.note import CONTENTS
from flashgrep.notes.document.text import SharedText
from flashgrep.notes.home import Home
from flashgrep.notes.library import Library
from flashgrep.notes.store.catalogue import Catalogue
from flashgrep.notes.store.database import Database
from flashgrep.notes.store.journal import SqliteJournal

MINUTE = 60_000
START = 1_700_000_000_000


class Desk:
    """`library`, what it tells, and a clock."""

    def __init__(self, path: Path) -> None:
        self.home = Home.create(path)
        self.time = START
        self.told: list[NoteChange] = []
        self._open()

    def _open(self) -> None:
        self.database = Database(self.home.database)
        self.journal = SqliteJournal(self.database)
        self.library = Library(self.journal, Catalogue(self.database), now=lambda: self.time)
        self.library.listen(self.told.append)

    def reopen(self) -> None:
        """As another process would find it."""
        self.close()
        self._open()

    def close(self) -> None:
        self.database.close()

    def text(self, note: str) -> str:
        """The text as it is read, which must be the one that is stored."""
        shown = self.library.read(note).text
        self.reopen()
        assert self.library.read(note).text == shown
        return shown


class Peer:
    """A Yjs peer of one note, and the updates it has not sent."""

    def __init__(self, library: Library, note: str, client: int | None = None) -> None:
        self.note = note
        self.doc: Doc[Any] = Doc(client_id=client)
        self.shared = self.doc.get(CONTENTS, type=Text)
        self.text = SharedText(self.shared)
        self.doc.apply_update(library.missing(note, self.doc.get_state()))
        self.unsent: list[bytes] = []
        unsent = self.unsent
        self._watch = self.doc.observe(lambda event: unsent.append(event.update))

    def take(self) -> list[bytes]:
        """What was typed since."""
        taken = list(self.unsent)
        self.unsent.clear()
        return taken

    def type(self, text: str) -> bytes:
        """Append to the text; gives the update."""
        self.shared += text
        (update,) = self.take()
        return update

    def hear(self, update: bytes) -> None:
        """Take an update of the server's."""
        self.doc.apply_update(update)
        self.take()
