"""The documents in memory: each loaded once, the longest unused put back, damaged ones closed."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from flashgrep import limits
from flashgrep.errors import Unavailable
from flashgrep.notes.document import loading
from flashgrep.notes.document.note import Note
from flashgrep.notes.document.panics import Panicked
from flashgrep.notes.store.journal import Damaged, Journal

log = logging.getLogger(__name__)


class Quarantined(Unavailable):
    """What is stored of a note is damaged; the note is closed, and nothing of it is changed."""


class Shelf:
    """All documents that are loaded. What is dropped is loaded again as the journal has it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._notes: OrderedDict[str, Note] = OrderedDict()
        self._quarantined: dict[str, str] = {}

    def get(self, note: str, shown: str) -> Note:
        """The document; `Quarantined` where what is stored of it is damaged."""
        if found := self._notes.get(note):
            self._notes.move_to_end(note)
            return found
        if note not in self._quarantined:
            try:
                return self.put(loading.load(self._journal, note))
            except Damaged as error:
                log.error("%s is quarantined: %s", shown, error)
                self._quarantined[note] = error.reason
        raise Quarantined(
            f"{shown} is quarantined: {self._quarantined[note]}. Nothing of it was changed, other "
            "notes are not touched. Look at it with flashgrep kb history, and go back with "
            "flashgrep kb restore"
        )

    def put(self, note: Note) -> Note:
        """Keep a document; where there are too many, the one unused longest goes.

        Everything in it is in the journal; what a peer sent too early, it is asked for again.
        """
        self._notes[note.id] = note
        self._notes.move_to_end(note.id)
        self._quarantined.pop(note.id, None)
        if len(self._notes) > limits.LIVE_NOTES:
            self._notes.popitem(last=False)
        return note

    def quarantined(self) -> dict[str, str]:
        """The notes that were found to be damaged, and why."""
        return dict(self._quarantined)

    def drop(self, note: str) -> None:
        """Forget a document, and with it all that is not in the journal."""
        self._notes.pop(note, None)

    @contextmanager
    def trusted(self, note: str) -> Iterator[None]:
        """Forget a document whose engine failed in the block."""
        try:
            yield
        except Panicked:
            self.drop(note)
            raise

    @contextmanager
    def undone(self, note: str) -> Iterator[None]:
        """Undo a change that failed in the block, whatever for."""
        try:
            yield
        except BaseException:
            self.drop(note)
            raise
