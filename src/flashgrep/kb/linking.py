"""The links of all notes of an open knowledge base, known a little later than the notes.

Reading the links of a note takes about as long as loading it, so ten thousand notes would hold up
whoever starts. They are read in turns, between which others have theirs, and a question that comes
earlier reads what is left. A changed note is read again when the next question comes: what somebody
is typing in for an hour is looked at once.

All of it happens on the thread of the notes, so that nothing needs a lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import Cancelled, FlashgrepError, Unavailable
from flashgrep.kb import critic, records
from flashgrep.kb.changes import Change
from flashgrep.kb.library import Library
from flashgrep.kb.linkindex import LinkIndex, NoteLinks
from flashgrep.kb.links import Link, links_of

if TYPE_CHECKING:
    from flashgrep.kb.knowledge_base import KnowledgeBase

_PAUSE_SECONDS: Final = 0.02
"""Between two turns of reading ahead: the first calls of a session matter more."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A note's links, and what could not be looked at."""

    links: NoteLinks
    attachments: frozenset[str]
    """Files beside the notes, which links lead to as well."""
    skipped: tuple[tuple[str, str], ...]
    """Notes that cannot be read, and why: links from them are missing."""


class Linking:
    """Which note links to which, in an open knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._index = LinkIndex()
        self._generation: int | None = None
        self._paths: dict[str, str] = {}
        """Of the notes that are in the index: id → path."""
        self._unread: dict[str, None] = {}
        """Ids of notes whose links are to be read, the longest waiting first."""
        self._skipped: dict[str, str] = {}
        self._attachments: frozenset[str] = frozenset()
        self._is_closing = threading.Event()
        self._ahead: threading.Thread | None = None
        kb.ask(lambda library: library.listen(self._changed))

    def start(self) -> None:
        """Begin to read ahead, in a thread of its own."""
        self._ahead = threading.Thread(target=self._read_ahead, name="flashgrep-links", daemon=True)
        self._ahead.start()

    def close(self) -> None:
        """Stop reading ahead; the notes are still open."""
        self._is_closing.set()
        if self._ahead:
            self._ahead.join()

    def _read_ahead(self) -> None:
        try:
            self._read_texts()
            while not self._is_closing.wait(_PAUSE_SECONDS):
                if self._kb.ask(self._read_some):
                    return
        except Unavailable:
            return

    def _read_texts(self) -> None:
        """Have all texts in memory first: a search is likely to come before a look at links."""
        notes = [leaf.note for leaf in self._kb.listing.all()]
        for at in range(0, len(notes), limits.NOTES_A_TURN):
            if self._is_closing.wait(_PAUSE_SECONDS / 4):
                return
            self._kb.read_all(notes[at : at + limits.NOTES_A_TURN])

    def links_of(self, path: str, is_cancelled: Callable[[], bool] = lambda: False) -> Linked:
        """The links from and to the note at a path, as all notes are now."""
        attachments = frozenset(_files(self._kb.home.attachments))
        while not self._kb.ask(self._read_some):
            if is_cancelled():
                raise Cancelled("reading the links was cancelled")
        return self._kb.ask(lambda library: self._answer(library, path, attachments))

    def _answer(self, library: Library, path: str, attachments: frozenset[str]) -> Linked:
        entry = library.find(path)
        while not self._read_some(library):
            pass  # what came in between two turns: a few notes at most
        if entry.id in self._skipped:
            library.read(entry.id)  # tells why
        self._take(attachments)
        skipped = sorted((self._paths[note], why) for note, why in self._skipped.items())
        links = self._index.links_of(entry.path or path)
        return Linked(links, attachments, tuple(skipped))

    # ── keeping up ──────────────────────────────────────────────────────────────────────────────

    def _changed(self, change: Change) -> None:
        if change.published.note in self._paths:
            self._unread[change.published.note] = None

    def _read_some(self, library: Library) -> bool:
        """Read the links of some notes; whether all are read."""
        if self._generation != library.generation:
            self._follow(library)
        some = list(self._unread)[: limits.LINKED_NOTES_A_TURN]
        library.glance(some)
        for note in some:
            del self._unread[note]
            self._index.put(self._paths[note], self._links(library, note))
        return not self._unread

    def _links(self, library: Library, note: str) -> tuple[Link, ...]:
        self._skipped.pop(note, None)
        try:
            text = library.read(note).text
            held = records.recorded(library.records(note)) if critic.token(text) else []
        except FlashgrepError as error:
            self._skipped[note] = error.message
            return ()
        return links_of(critic.read(text, [span for one in held for span in one.spans]))

    def _follow(self, library: Library) -> None:
        """Take in which notes there are, and where."""
        now = {entry.id: entry.path for entry in library.entries() if entry.path is not None}
        for note, path in list(self._paths.items()):
            if now.get(note) != path:
                self._index.remove(path)
                self._skipped.pop(note, None)
                self._unread.pop(note, None)
                del self._paths[note]
        for note, path in now.items():
            if note not in self._paths:
                self._paths[note] = path
                self._index.put(path)
                self._unread[note] = None
        self._generation = library.generation

    def _take(self, attachments: frozenset[str]) -> None:
        for path in self._attachments - attachments:
            self._index.remove(path)
        for path in attachments - self._attachments:
            self._index.put(path)
        self._attachments = attachments


def _files(directory: Path) -> Iterable[str]:
    """The paths of all files below a directory, with slashes; names that are no text left out."""
    for folder, _, names in os.walk(directory):
        below = Path(folder).relative_to(directory)
        for name in names:
            path = (below / name).as_posix()
            if path.isprintable():
                yield path
