"""What an update needs before a document can take it, and what it changes in the document.

The engine accepts any update silently. An update that lacks its predecessor may show nothing, or
may show at once although it is in no state vector, event or snapshot, and so be gone after a
restart; given many of them out of order, the engine occasionally loses one for good. So the engine
only gets updates that are ready: everything before them is there. The rest is kept beside the
document, and no peer is told that it is durable. Yjs does the same internally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pycrdt import Map, Text

from flashgrep.notes.document.updates import Name, Struct, Update


@dataclass(frozen=True, slots=True)
class Split:
    """An update in two parts."""

    ready: Update
    rest: Update
    clocks: dict[int, int]
    """What a document has after the part that is ready."""


def is_empty(update: Update) -> bool:
    """Whether there is nothing in it."""
    return not update.structs and not update.deletions


def split(update: Update, clocks: Mapping[int, int]) -> Split:
    """Take an update apart for a document that has this much of each client's typing."""
    have = dict(clocks)
    done = dict.fromkeys(update.structs, 0)
    is_moving = True
    while is_moving:
        is_moving = False
        for client, row in update.structs.items():
            start = done[client]
            done[client] = _advance(client, row, start, have)
            is_moving = is_moving or done[client] > start
    ready, rest = {}, {}
    for client, row in update.structs.items():
        known = clocks.get(client, 0)
        if new := [one for one in row[: done[client]] if one.end > known and not one.is_skip]:
            ready[client] = new
        if later := _without_skips(row[done[client] :]):
            rest[client] = later
    now, later_ones = _deletions(update, have)
    return Split(Update(ready, now), Update(rest, later_ones), have)


def says_again(update: Update, clocks: Mapping[int, int]) -> bool:
    """Whether a struct begins with units that the document has, and continues with others.

    Honest peers send such structs too, after a reconnection, and say the same of those units. One
    that says something else makes the engine put the others where nobody who loads the note
    afterwards finds them.
    """
    return any(
        struct.clock < clocks.get(client, 0) < struct.end
        for client, row in update.structs.items()
        for struct in row
    )


def _advance(client: int, row: list[Struct], at: int, have: dict[int, int]) -> int:
    """Go on with one client for as long as everything before the next struct is there."""
    while at < len(row):
        struct, known = row[at], have.get(client, 0)
        if struct.end > known and not struct.is_skip:
            if struct.clock > known or not _has_needs(client, struct, have):
                break
            have[client] = struct.end
        at += 1
    return at


def _has_needs(client: int, struct: Struct, have: Mapping[int, int]) -> bool:
    for need in (struct.left, struct.right, struct.parent):
        is_own = need is not None and need.client == client and need.clock < struct.clock
        if need is not None and not is_own and need.clock >= have.get(need.client, 0):
            return False
    return True


def halves(update: Update) -> Iterator[Name]:
    """The second units of characters that have two, such as emoji."""
    for client, row in update.structs.items():
        for struct in row:
            for clock in struct.halves:
                yield Name(client, clock)


def parts_a_character(update: Update, seconds: Set[Name]) -> bool:
    """Whether an update puts something between the two units of a character, or deletes one.

    A script can do that with Yjs. The engine then counts one unit too many or too few, and a
    peer that loads or syncs the note afterwards has another note.
    """
    for client, clock, length in update.deletions:
        if Name(client, clock) in seconds or Name(client, clock + length) in seconds:
            return True
    for row in update.structs.values():
        for struct in row:
            left = struct.left and Name(struct.left.client, struct.left.clock + 1)
            if left in seconds or struct.right in seconds:
                return True
    return False


def _without_skips(row: list[Struct]) -> list[Struct]:
    """What waits, from its first unit to its last."""
    start = next((at for at, struct in enumerate(row) if not struct.is_skip), len(row))
    return row[start:]


def _deletions(
    update: Update, have: Mapping[int, int]
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    ready, rest = [], []
    for client, clock, length in update.deletions:
        known = min(max(have.get(client, 0) - clock, 0), length)
        if known:
            ready.append((client, clock, known))
        if known < length:
            rest.append((client, clock + known, length - known))
    return ready, rest


# ── what an update changes ───────────────────────────────────────────────────────────────────────
# What a peer's updates change in a document: which stretches of the text, and which of our maps.
#
# Peers write the text. The maps beside it are the server's: who suggested what and when, and who
# wrote which character. What a peer writes there is put back as it was, so that nobody can write in
# another's name. That is a change like any other, sent to all, so the peer ends up with the same.
#
# A peer may send its change of the text in one update and get the server's answer later; but
# inside one `receive` both are one change.


Span = tuple[int, int]
_IN_MARKS: Final = frozenset("{}+-~<>`$")
"""What delimiters of suggestions and comments are made of, and what makes them code."""


@dataclass
class PeerChanges:
    """What changed while the document was watched."""

    stretches: list[Span] = field(default_factory=list)
    """Changed stretches of the new text, in UTF-8 bytes, from left to right; a mere deletion is an
    empty stretch."""
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

    It stays subscribed: pycrdt inspects each callback's signature, which takes longer than a key.
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
