"""Which suggestions are pending in all notes, known from one look at each note as it is."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.kb import records
from flashgrep.kb.library import Library
from flashgrep.kb.suggestion import Pending, Recorded, pending

if TYPE_CHECKING:
    from flashgrep.kb.knowledge_base import KnowledgeBase

_CLOSERS: Final = (b"--}", b"++}", b"~~}")
"""A note without any has no suggestions, whatever its records say; most are passed over so."""


@dataclass(frozen=True, slots=True)
class Found:
    """A pending suggestion."""

    id: str
    note: str
    """The note's id…"""
    path: str
    """…and where it is."""
    line: int
    """Of the accepted view, which is what `read` shows."""
    author: str
    time: int
    old: str
    new: str
    before: str
    """What stands before it in the accepted view, as far as it takes to know the place…"""
    after: str
    """…and what stands behind it."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A note as it was looked at."""

    path: str
    epoch: str
    sequence: int


class PendingList:
    """The suggestions of all notes; for any thread but that of the notes."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._lock = threading.Lock()
        self._looks: dict[str, _Look] = {}
        self._found: dict[str, tuple[Found, ...]] = {}

    def all(self) -> list[Found]:
        """Every pending suggestion, as the notes are now."""
        with self._lock:
            looks = self._kb.ask(_looks)
            for gone in self._looks.keys() - looks.keys():
                del self._looks[gone]
                self._found.pop(gone, None)
            stale = [note for note, look in looks.items() if self._looks.get(note) != look]
            for at in range(0, len(stale), limits.NOTES_A_TURN):
                self._kb.ask(partial(self._look, notes=stale[at : at + limits.NOTES_A_TURN]))
            return [one for found in self._found.values() for one in found]

    def _look(self, library: Library, notes: Sequence[str]) -> None:
        looks = _looks(library)
        for note in notes:
            self._found.pop(note, None)
            self._looks.pop(note, None)
            if look := looks.get(note):
                try:
                    found = tuple(_suggestions(library, note, look.path))
                except FlashgrepError:
                    continue  # quarantined, or unreadable for now: looked at again the next time
                self._looks[note] = look
                if found:
                    self._found[note] = found


def _looks(library: Library) -> dict[str, _Look]:
    looks = {}
    for entry in library.entries():
        head = library.head(entry.id)
        looks[entry.id] = _Look(entry.path or "", entry.epoch, head.sequence if head else 0)
    return looks


def _suggestions(library: Library, note: str, path: str) -> Iterator[Found]:
    data = library.read(note).data
    if not any(closer in data for closer in _CLOSERS):
        return
    besides = library.records(note)
    read = pending(data.decode(), records.recorded(besides))
    for record in read.records:
        if read.extent(record):
            yield _found(read, record, note, path, records.made_at(besides[record.id].value))


def _found(read: Pending, record: Recorded, note: str, path: str, made: int) -> Found:
    view = read.reading.accepted
    start, end = read.extent(record) or (0, 0)
    first, last = view.to_view(start), view.to_view(end)
    old, new = read.change(record)
    before = view.text[max(first - limits.CONTEXT_CHARS, 0) : first]
    after = view.text[last : last + limits.CONTEXT_CHARS]
    line = view.line(first)
    return Found(record.id, note, path, line, record.author, made, old, new, before, after)
