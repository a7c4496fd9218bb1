"""Versions of a note, listed, read and restored, and whatever can be saved of a damaged note.

The functions run on the thread of the notes. A version is a snapshot of the journal, or the note as
it is now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flashgrep.errors import NotFound
from flashgrep.notes.document import loading
from flashgrep.notes.document.loading import Published, Quarantined
from flashgrep.notes.document.note import Amendment, Note, NoteRecords
from flashgrep.notes.document.text import Push, between, ordered
from flashgrep.notes.library import Library
from flashgrep.notes.store.journal import Version


def versions(library: Library, note: str) -> list[Version]:
    """The versions of a note, the newest first; the note as it is now is at the top."""
    library.catalogue.entry(note)
    found = library.journal.snapshots(note)
    head = library.head(note)
    if head and head.sequence not in {version.sequence for version in found}:
        found.insert(0, Version(head.sequence, head.author, head.time))
    return found


def others(library: Library, note: str) -> dict[int, list[str]]:
    """Who else made a version what it is: the authors of records since the version before.

    As far as they are known: records are forgotten when a snapshot holds what they did.
    """
    known = versions(library, note)[::-1]
    found: dict[int, dict[str, None]] = {version.sequence: {} for version in known}
    at = 0
    for sequence, author in library.journal.authors(note):
        while at < len(known) and known[at].sequence < sequence:
            at += 1
        if at < len(known) and author and author != known[at].author:
            found[known[at].sequence][author] = None
    return {sequence: list(authors) for sequence, authors in found.items()}


def text_at(library: Library, note: str, sequence: int) -> str:
    """The text of a version."""
    known = [version.sequence for version in versions(library, note)]
    if sequence not in known:
        shown = library.catalogue.entry(note).shown
        there = ", ".join(map(str, known))
        raise NotFound(f"{shown} has no version {sequence}; its versions: {there}")
    dated = _snapshot(library, note, sequence)
    return dated.text.read() if dated else library.read(note).text


def _snapshot(library: Library, note: str, sequence: int) -> Note | None:
    """The note as one of its snapshots has it; None where there is no such snapshot."""
    if any(dated.sequence == sequence for dated in library.journal.snapshots(note)):
        return Note.load(note, library.journal.snapshot(note, sequence), [])
    return None


def restore(library: Library, note: str, sequence: int, author: str = "") -> Published:
    """Make a note what it was at a version, as one more change: no history is lost.

    The records of that version come back with its text, so its marks are the suggestions they were.
    A quarantined note begins anew with that text; what is stored of it is set aside.
    """
    text = text_at(library, note, sequence)
    dated = _snapshot(library, note, sequence)
    records = dated.records() if dated else {}
    try:
        library.compact(note)
    except Quarantined:
        return library.rebuild(note, text, author, records)

    def plan(now: str, known: Mapping[str, NoteRecords]) -> Amendment | None:
        if dated is None:  # it is that version
            return None
        splices = ordered(now, between(now, text))
        push = Push(splices)
        # Also those that are where they were: their characters may be others afterwards.
        left = {name: replace(one, spans=push.spans(one.spans)) for name, one in known.items()}
        changed: dict[str, NoteRecords | None] = dict.fromkeys(known.keys() - records.keys())
        changed |= {name: one for name, one in records.items() if left.get(name) != one}
        return Amendment(splices, changed)

    return library.amend(note, plan, author)


def verify(library: Library, note: str) -> None:
    """Load a note from what is stored, whatever is in memory; refused where that is damaged."""
    library.catalogue.entry(note)
    loading.load(library.journal, note)


def salvage(library: Library, note: str) -> tuple[str, dict[str, NoteRecords]] | None:
    """The text and records of a damaged note as far as they can be trusted; None for nothing."""
    library.catalogue.entry(note)
    good = loading.load_good(library.journal, note)
    return (good.text.read(), good.records()) if good else None
