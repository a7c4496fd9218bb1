"""What a peer's updates change in a document: which stretches of the text, and which of our maps.

Peers write the text. The maps beside it are the server's: who suggested what and when, and who
wrote which character. What a peer writes there is put back as it was, so that nobody can write in
another's name. That is a change like any other, told to all, so the peer ends up with the same.

A peer may send its change of the text in one update and be told of the server's answer later; but
inside one `receive` both are one change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pycrdt import Map, Text

Span = tuple[int, int]


@dataclass
class PeerChanges:
    """What was changed while it was watched."""

    stretches: list[Span] = field(default_factory=list)
    """Changed stretches of the text as it is afterwards, in UTF-8 bytes, from left to right; where
    something was deleted only, the stretch is empty."""
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


@contextmanager
def watched(text: Text, maps: Sequence[Map[Any]]) -> Iterator[PeerChanges]:
    """Watch one transaction; what it changed is known after the block."""
    found = PeerChanges()
    with ExitStack() as ends:
        _watch_text(text, found, ends)
        for one in maps:
            _watch_map(one, found, ends)
        yield found


def _watch_text(text: Text, found: PeerChanges, ends: ExitStack) -> None:
    def changed(event: Any) -> None:
        found.stretches.extend(_stretches(event.delta))

    ends.callback(text.unobserve, text.observe(changed))


def _watch_map(of: Map[Any], found: PeerChanges, ends: ExitStack) -> None:
    """Note which entries of a map are changed, and what they were."""

    def changed(events: Sequence[Any]) -> None:
        for event in events:
            if event.path:  # inside an entry: ours are plain values, so it is a peer's
                found.entries.append((of, str(event.path[0]), None))
                continue
            for key, change in event.keys.items():
                before = change.get("oldValue")
                is_ours = isinstance(before, dict | list)
                found.entries.append((of, key, before if is_ours else None))

    ends.callback(of.unobserve, of.observe_deep(changed))


def _stretches(delta: Sequence[dict[str, Any]]) -> Iterator[Span]:
    at = 0
    for step in delta:
        if "retain" in step:
            at += step["retain"]
            continue
        inserted = step.get("insert", "")
        size = len(inserted.encode()) if isinstance(inserted, str) else 1
        yield at, at + size
        at += size
