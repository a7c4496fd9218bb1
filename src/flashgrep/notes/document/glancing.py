"""The texts of many notes at once, straight from the journal: what a search after a start needs.

A document that is kept for changes costs several times what its text does: it is watched, its
clocks are taken apart, and it stays in memory. Here it is made, read and thrown away, in a sixth
of the time. What is checked is what `Note.load` checks; a note that does not pass is left out, and
loading it tells why, or finds an older snapshot that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycrdt import Doc, Text

from flashgrep.errors import InvalidParams
from flashgrep.notes.document.note import CONTENTS
from flashgrep.notes.document.panics import Panicked, panics_told
from flashgrep.notes.document.text import SharedText
from flashgrep.notes.document.updates import clocks
from flashgrep.notes.store.changes import Published
from flashgrep.notes.store.journal import Journal, Record, Snapshot


def texts(journal: Journal, notes: Sequence[str]) -> dict[str, Published]:
    """The texts by the notes' ids, without those that are damaged in any way."""
    found = {}
    for note, entries in journal.newest(notes).items():
        data = _text(entries)
        if data is not None:
            last = entries[-1]
            found[note] = Published(
                note=note, sequence=last.sequence, data=data, author=last.author, time=last.time
            )
    return found


def _text(entries: Sequence[Record | Snapshot]) -> bytes | None:
    """The text that updates give, if they give the state that was written with them."""
    try:
        with panics_told():
            doc: Doc[Any] = Doc()
            shared = doc.get(CONTENTS, type=Text)
            with doc.transaction():
                for entry in entries:
                    doc.apply_update(entry.update)
                data, state = SharedText(shared).checked().encode(), doc.get_state()
        return data if entries and _is_same(state, entries[-1].state) else None
    except (ValueError, RuntimeError, InvalidParams, Panicked):
        return None


def _is_same(state: bytes, written: bytes) -> bool:
    return state == written or clocks(state) == clocks(written)
