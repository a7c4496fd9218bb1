"""Who wrote each character of a note, by the name that Yjs gives the character.

    authors    a Y.Map beside the text. Each entry says who wrote what some clients sent from a
               clock on: key → [name, client, clock, client, clock, …, kind], the kind being one of
               `author.AuthorKind` (older entries have none). The key is unique and means nothing.

The author of a character is that of the entry of its client with the greatest clock that is not
greater than the character's. An editor keeps its client for as long as it is open, so an entry is
written when somebody begins to type, and not at every keystroke. Our own client writes for many
authors: it gets an entry whenever the author changes.

The map is part of the document: it is durable together with the text, and snapshots and backups
have it. Peers cannot change it (see `peerchanges`). Characters of notes that were written before
the map existed have no known author.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

from pycrdt import Map

from flashgrep.notes.access.author import Author, source_named
from flashgrep.notes.document.updates import Name

AUTHORS: Final = "authors"
_NOBODY: Final = Author("")


class Authorship:
    """The authors of one document. What is known is read once; only `add` changes the map."""

    def __init__(self, stored: Map[Any]) -> None:
        self._stored = stored
        self._known: dict[int, list[tuple[int, Author]]] | None = None

    def author_of(self, name: Name) -> Author | None:
        """Who wrote a character; None where that was never recorded."""
        rows = self._rows().get(name.client, [])
        at = bisect_right(rows, name.clock, key=lambda row: row[0])
        found = rows[at - 1][1] if at else _NOBODY
        return found if found.name else None

    def all(self) -> dict[int, list[tuple[int, Author]]]:
        """What is stored: for each client, from which clock on it wrote for whom."""
        found: dict[int, list[tuple[int, Author]]] = {}
        for entry in (self._stored.to_py() or {}).values():
            for client, clock, author in _entry(entry):
                found.setdefault(client, []).append((clock, author))
        return {client: sorted(rows, key=_in_order) for client, rows in found.items()}

    def add(self, author: Author, starts: Mapping[int, int], key: Name) -> bool:
        """Record who wrote what clients sent from a clock on; False if that is known already."""
        rows = self._rows()
        author = author if author.name else _NOBODY
        new = {
            client: clock
            for client, clock in starts.items()
            if author != (rows[client][-1][1] if client in rows else _NOBODY)
        }
        if not new:
            return False
        numbers = [number for pair in new.items() for number in pair]
        kind = [author.source.value] if author.source else []
        self._stored[f"{key.client}.{key.clock}"] = [author.name, *numbers, *kind]
        for client, clock in new.items():
            rows.setdefault(client, []).append((clock, author))
        return True

    def _rows(self) -> dict[int, list[tuple[int, Author]]]:
        if self._known is None:
            self._known = self.all()
        return self._known


def _in_order(row: tuple[int, Author]) -> tuple[int, str, str]:
    clock, author = row
    return clock, author.name, author.source or ""


def _entry(value: Any) -> list[tuple[int, int, Author]]:
    """The rows of an entry; none where it is not one of ours."""
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return []
    name, *numbers = value
    source = source_named(numbers.pop()) if numbers and isinstance(numbers[-1], str) else None
    if len(numbers) % 2 or not all(isinstance(one, int | float) for one in numbers):
        return []
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    author = Author(name, source)
    return [(int(client), int(clock), author) for client, clock in pairs]
