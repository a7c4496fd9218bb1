"""The notes that are open: who is in each, told of commits, and why a connection is closed.

A change is told by the thread of the notes once it is durable; here it is handed to the server's
loop and put into each peer's queue, but not into that of the peer who made it. A peer enters its
room before it asks for the note's state, so that no change falls between the two; one that comes
twice does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import IntEnum
from typing import Final, Protocol

from flashgrep.errors import FlashgrepError, InvalidParams, NotFound, TooLarge
from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.document.loading import NoteChange
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.store.database import StorageFull
from flashgrep.transports.access import to_this_loop
from flashgrep.web import protocol
from flashgrep.web.protocol import Presence, Speaker

# ── why connections close ────────────────────────────────────────────────────────────────────────
# Why a live connection is closed, in the numbers that y-websocket's client understands.
#
# Codes from 4400 to 4499 are final for it: it does not come again. After any other it comes again,
# with growing pauses, and both sides say anew what they have; nothing is lost by that.


class Close(IntEnum):
    """The codes."""

    TEXT = 1003
    """A frame of text; the protocol has none."""
    MALFORMED = 1007
    """A frame, or an update, that cannot be read."""
    FAILED = 1011
    """The note cannot be given now: it is quarantined, or its engine failed."""
    OVERLOADED = 1013
    """Too many peers, a peer that does not keep up, or no room on the disk."""
    UNAUTHENTICATED = 4401
    FORBIDDEN = 4403
    NO_NOTE = 4404
    OTHER_EPOCH = 4409
    TOO_LARGE = 4413


REASONS: Final = {
    Close.TEXT: "send binary frames",
    Close.MALFORMED: "malformed",
    Close.FAILED: "the note cannot be read now",
    Close.OVERLOADED: "overloaded; come again",
    Close.UNAUTHENTICATED: "a valid token is needed",
    Close.FORBIDDEN: "not allowed on this note",
    Close.NO_NOTE: "no such note",
    Close.OTHER_EPOCH: "the note has begun anew; load it again",
    Close.TOO_LARGE: "too large",
}


class Refused(Exception):
    """A peer that is to be closed with a code."""

    def __init__(self, code: Close) -> None:
        super().__init__(REASONS[code])
        self.code = code


def code_of(error: FlashgrepError) -> Close:
    """The code for what a note answered to a peer."""
    if isinstance(error, InvalidParams):
        return Close.MALFORMED
    if isinstance(error, TooLarge):
        return Close.TOO_LARGE
    if isinstance(error, NotFound):
        return Close.NO_NOTE
    return Close.OVERLOADED if isinstance(error, StorageFull) else Close.FAILED


# ── rooms ────────────────────────────────────────────────────────────────────────────────────────


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

        def changed(change: NoteChange) -> None:
            if change.published.note in self._rooms:
                on_loop(lambda: self._spread(change))

        def filed(entry: CatalogueEntry) -> None:
            if entry.id in self._rooms:
                on_loop(lambda: self._filed(entry))

        with ExitStack() as ends:
            ends.callback(self._kb.ask(lambda library: library.listen(changed)))
            ends.callback(self._kb.ask(lambda library: library.catalogue.watch(filed)))
            yield

    def _spread(self, change: NoteChange) -> None:
        if room := self._rooms.get(change.published.note):
            room.tell(protocol.update(change.update), change.origin)

    def _filed(self, entry: CatalogueEntry) -> None:
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
