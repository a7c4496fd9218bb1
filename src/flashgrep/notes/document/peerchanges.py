"""What a peer's updates change in a document: which stretches of the text, and which of our maps.

Peers write the text. The maps beside it are the server's: who suggested what and when, and who
wrote which character. What a peer writes there is put back as it was, so that nobody can write in
another's name. That is a change like any other, told to all, so the peer ends up with the same.

A peer may send its change of the text in one update and be told of the server's answer later; but
inside one `receive` both are one change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pycrdt import Map, Text

Span = tuple[int, int]
_IN_MARKS: Final = frozenset("{}+-~>`$")
"""What delimiters of suggestions are made of, and what makes them code."""


@dataclass
class PeerChanges:
    """What was changed while it was watched."""

    stretches: list[Span] = field(default_factory=list)
    """Changed stretches of the text as it is afterwards, in UTF-8 bytes, from left to right; where
    something was deleted only, the stretch is empty."""
    is_plain: bool = True
    """Nothing was deleted, and nothing came that could be part of a mark."""
    entries: list[tuple[Map[Any], str, Any]] = field(default_factory=list)
    """Changed entries of our maps, and what they were; None for what was not there."""

    def put_back(self) -> bool:
        """Make our maps what they were; False if nobody has touched them."""
        for of, key, before in self.entries:
            if before is not None:
                of[key] = before
            elif key in of:
                del of[key]
        return bool(self.entries)


class PeerWatch:
    """Watches a document while a peer's updates are applied.

    It stays subscribed: pycrdt looks into a callback's signature, which takes longer than a key.
    """

    def __init__(self, text: Text, maps: Sequence[Map[Any]]) -> None:
        self._watching: list[PeerChanges] = []
        watching = self._watching
        self._ends: list[Callable[[], None]] = []
        watch = text.observe(lambda event: _text_changed(watching, event))
        self._ends.append(lambda: text.unobserve(watch))
        for one in maps:
            self._watch_map(one)

    def _watch_map(self, of: Map[Any]) -> None:
        watching = self._watching
        watch = of.observe_deep(lambda events: _map_changed(watching, of, events))
        self._ends.append(lambda: of.unobserve(watch))

    def end(self) -> None:
        """Watch no more; until then the document is kept in memory."""
        for end in self._ends:
            end()
        self._ends.clear()

    @contextmanager
    def watching(self) -> Iterator[PeerChanges]:
        """Watch one transaction; what it changed is known after the block."""
        found = PeerChanges()
        self._watching.append(found)
        try:
            yield found
        finally:
            self._watching.remove(found)


def _text_changed(watching: Sequence[PeerChanges], event: Any) -> None:
    for found in watching:
        at = 0
        for step in event.delta:
            if "retain" in step:
                at += step["retain"]
                continue
            inserted = step.get("insert", "")
            size = len(inserted.encode()) if isinstance(inserted, str) else 1
            found.stretches.append((at, at + size))
            found.is_plain = found.is_plain and bool(size) and _IN_MARKS.isdisjoint(inserted)
            at += size


def _map_changed(watching: Sequence[PeerChanges], of: Map[Any], events: Sequence[Any]) -> None:
    for found in watching:
        for event in events:
            if event.path:  # inside an entry: ours are plain values, so it is a peer's
                found.entries.append((of, str(event.path[0]), None))
                continue
            for key, change in event.keys.items():
                before = change.get("oldValue")
                is_ours = isinstance(before, dict | list)
                found.entries.append((of, key, before if is_ours else None))
