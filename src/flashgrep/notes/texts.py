"""The texts of notes as readers see them: with all suggestions accepted, with none, or as stored.

Most notes hold no mark, and are the same in every view: then the published bytes themselves are
the view. Of the others each view is worked out once, and kept until the note changes. A note is
known to be unchanged by what is published of it being the same object: sequences begin anew when
a note does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError, NotFound
from flashgrep.notes.document.note import Beside
from flashgrep.notes.library import Library
from flashgrep.notes.markup.views import View
from flashgrep.notes.store.changes import Published
from flashgrep.notes.suggestions import records, suggestion
from flashgrep.notes.suggestions.suggestion import Pending

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase

_OPENER: Final = re.compile(rb"\{(?:\+\+|--|~~|>>|==)")
"""What begins a mark (see `critic`): without one a text has none, recorded or not."""


class Shown(StrEnum):
    """A view of a note."""

    ACCEPTED = "accepted"
    BASE = "base"
    RAW = "raw"


@dataclass(frozen=True)
class Reading:
    """A note's text with what is known beside it, both of one moment."""

    published: Published
    besides: Mapping[str, Beside]

    @cached_property
    def pending(self) -> Pending:
        """The text with its marks and the suggestions that hold them."""
        return suggestion.pending(self.published.text, records.recorded(self.besides))

    def view(self, shown: Shown) -> View:
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

    def reading(self, note: str) -> Reading:
        """One note, as it is now; an error where it cannot be read, never an empty text."""
        published = self._notes.read(note)
        if not _OPENER.search(published.data):
            return Reading(published, {})
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
            elif _OPENER.search(one.data):
                marked.append(note)
            else:
                self._views[note] = _Views(one, one.data, one.data)
        for at in range(0, len(marked), limits.NOTES_A_TURN):
            some = marked[at : at + limits.NOTES_A_TURN]
            for note, reading in self._notes.ask(partial(_readings, notes=some)).items():
                if isinstance(reading, Reading):
                    self._views[note] = _views(reading)
                else:
                    failed[note] = reading
        return failed


def _data(published: Published | FlashgrepError) -> bytes | FlashgrepError:
    return published if isinstance(published, FlashgrepError) else published.data


def _views(reading: Reading) -> _Views:
    found = reading.pending.reading
    return _Views(reading.published, found.accepted.text.encode(), found.base.text.encode())


def _reading(library: Library, note: str) -> Reading:
    return Reading(library.read(note), library.records(note))


def _readings(library: Library, notes: Sequence[str]) -> dict[str, Reading | FlashgrepError]:
    found: dict[str, Reading | FlashgrepError] = {}
    for note in notes:
        try:
            found[note] = _reading(library, note)
        except FlashgrepError as error:
            found[note] = error
    return found
