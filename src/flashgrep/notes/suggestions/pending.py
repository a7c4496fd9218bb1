"""The pending suggestions of a note: what its text and its records say of each, as lists show it.

`standing` is the one definition. The table in the store (`pending_table`) holds what it gives for
each note, and is written with every change; from the notes themselves it can be made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from flashgrep import limits
from flashgrep.notes.document.note import Beside
from flashgrep.notes.suggestions import records
from flashgrep.notes.suggestions.suggestion import Pending, Recorded, pending

_CLOSERS: Final = ("--}", "++}", "~~}")
_LATEST: Final = 2**62
"""Peers can write any number as a time; a larger one does not fit into the table."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A pending suggestion, as one state of its note has it."""

    id: str
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
class Found:
    """A pending suggestion, and where it is; its fields are those of `Standing`."""

    id: str
    note: str
    """The note's id…"""
    path: str
    """…and where it is."""
    line: int
    author: str
    time: int
    old: str
    new: str
    before: str
    after: str


def may_stand(text: str) -> bool:
    """Whether a text can hold a suggestion; one without a closer has none, whatever records say."""
    return any(closer in text for closer in _CLOSERS)


def standing(text: str, besides: Mapping[str, Beside]) -> list[Standing]:
    """The pending suggestions of a note's state, from top to bottom."""
    if not may_stand(text):
        return []
    read = pending(text, records.recorded(besides))
    placed = [(extent, record) for record in read.records if (extent := read.extent(record))]
    placed.sort(key=lambda pair: (pair[0], pair[1].id))
    found, line, at = [], 1, 0
    for (start, end), record in placed:
        first = read.reading.accepted.to_view(start)
        line += read.reading.accepted.text.count("\n", at, first)
        at = first
        made = min(records.made_at(besides[record.id].value), _LATEST)
        found.append(_standing(read, record, first, end, line, made))
    return found


def _standing(
    read: Pending, record: Recorded, first: int, end: int, line: int, made: int
) -> Standing:
    view = read.reading.accepted
    last = view.to_view(end)
    before = view.text[max(first - limits.CONTEXT_CHARS, 0) : first]
    after = view.text[last : last + limits.CONTEXT_CHARS]
    return Standing(record.id, line, record.author, made, *read.change(record), before, after)
