"""The notes that are open: who is in each, told of what was committed, closed when it went away.

A change is told by the thread of the notes once it is durable; here it is handed to the server's
loop and put into each peer's queue, but not into that of the peer who made it. A peer enters its
room before it asks for the note's state, so that no change falls between the two; one that comes
twice does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.store.catalogue import Entry
from flashgrep.notes.store.changes import Change
from flashgrep.web import protocol
from flashgrep.web.closing import Close
from flashgrep.web.presence import Presence, Speaker
from flashgrep.web.threads import to_this_loop


class Member(Protocol):
    """A peer as its room knows it."""

    note: str
    path: str
    epoch: str
    token: str
    """Which token it came with, in a form that tells it from all others."""

    def offer(self, frame: bytes) -> None: ...

    def close(self, code: Close) -> None: ...

    def recheck(self) -> None: ...


class Room:
    """The peers of one note."""

    def __init__(self) -> None:
        self.members: dict[Member, Speaker] = {}
        self.presence = Presence()

    def hear(self, member: Member, data: bytes) -> None:
        """Pass on what a peer tells of its clients, as far as it is sound and news."""
        if news := self.presence.take(self.members[member], data):
            self.tell(protocol.presence(news), besides=member)

    def tell(self, frame: bytes, besides: object = None) -> None:
        """Put a frame into the queue of every peer but one."""
        for member in tuple(self.members):
            if member is not besides:
                member.offer(frame)


class Rooms:
    """All notes that are open. Used on the server's loop."""

    def __init__(self, kb: KnowledgeBase, tokens: Tokens) -> None:
        self._kb = kb
        self._tokens = tokens
        self._rooms: dict[str, Room] = {}
        self._count = 0

    @property
    def count(self) -> int:
        """How many peers there are."""
        return self._count

    @contextmanager
    def entered(self, member: Member) -> Iterator[Room]:
        """Be in a room for the block; whoever is left learns that the peer's clients went."""
        room = self._rooms.setdefault(member.note, Room())
        room.members[member] = room.presence.join(member.token)
        try:
            with self._counted():
                # What was taken back since it was let in, nobody has told it: it was not here yet.
                member.recheck()
                yield room
        finally:
            if gone := room.presence.leave(room.members.pop(member)):
                room.tell(protocol.presence(gone))
            if not room.members:
                self._rooms.pop(member.note, None)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Tokens are watched from the first peer to the last: it wakes the machine every second."""
        if not self._count:
            on_loop = to_this_loop()
            self._unwatch = self._tokens.watch(lambda: on_loop(self._recheck))
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._unwatch()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear of changes for the block."""
        on_loop = to_this_loop()

        def changed(change: Change) -> None:
            if change.published.note in self._rooms:
                on_loop(lambda: self._spread(change))

        def filed(entry: Entry) -> None:
            if entry.id in self._rooms:
                on_loop(lambda: self._filed(entry))

        with ExitStack() as ends:
            ends.callback(self._kb.ask(lambda library: library.listen(changed)))
            ends.callback(self._kb.ask(lambda library: library.watch(filed)))
            yield

    def _spread(self, change: Change) -> None:
        if room := self._rooms.get(change.published.note):
            room.tell(protocol.update(change.update), change.origin)

    def _filed(self, entry: Entry) -> None:
        """A note was moved, deleted or begun anew: its peers hold what is no more."""
        room = self._rooms.get(entry.id)
        for member in tuple(room.members) if room else ():
            if entry.path != member.path:
                member.close(Close.NO_NOTE)
            elif entry.epoch != member.epoch:
                member.close(Close.OTHER_EPOCH)

    def _recheck(self) -> None:
        for room in tuple(self._rooms.values()):
            for member in tuple(room.members):
                member.recheck()
