"""The open notes: the peers of each, and the websocket `/kb/ws/{path}` on which they connect.

The thread of the notes reports a change once it is durable; the server's loop puts it into the
queue of each peer except the one that made it. A peer enters its room before it asks for the note's
state, so no change falls between the two; a change that arrives twice does nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.notes.access.roles import Role
from flashgrep.notes.document.loading import NoteChange
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.transports.access import (
    ADMISSION,
    Admission,
    Entrance,
    NoPlace,
    TokenWatch,
    Watchable,
)
from flashgrep.transports.http.guard import secret_of
from flashgrep.web import protocol
from flashgrep.web.peer import Peer, close
from flashgrep.web.protocol import Close, Presence, Refused, Speaker, refusal


class Room:
    """The peers of one note."""

    def __init__(self) -> None:
        self.members: dict[Peer, Speaker] = {}
        self.presence = Presence()

    def hear(self, member: Peer, data: bytes) -> None:
        """Pass on what a peer tells of its clients, as far as it is sound and news."""
        if news := self.presence.take(self.members[member], data):
            self.tell(protocol.presence(news), besides=member)

    def tell(self, frame: bytes, besides: object = None) -> None:
        """Put a frame into the queue of every peer but one."""
        for member in tuple(self.members):
            if member is not besides:
                member.offer(frame)


class Rooms:
    """All open notes. Used on the server's loop."""

    def __init__(self, tokens: Watchable) -> None:
        self._watch = TokenWatch(tokens, self._recheck)
        self._rooms: dict[str, Room] = {}

    @property
    def count(self) -> int:
        """How many peers there are."""
        return self._watch.count

    @contextmanager
    def entered(self, member: Peer) -> Iterator[Room]:
        """Be in a room for the block; the others then hear that the peer's clients left."""
        room = self._rooms.setdefault(member.note, Room())
        room.members[member] = room.presence.join(member.token)
        try:
            with self._watch.held():
                # Its token may have been revoked since it was admitted.
                member.recheck()
                yield room
        finally:
            if gone := room.presence.leave(room.members.pop(member)):
                room.tell(protocol.presence(gone))
            if not room.members:
                self._rooms.pop(member.note, None)

    def spread(self, change: NoteChange) -> None:
        """Send a change to the peers of its note."""
        if room := self._rooms.get(change.published.note):
            room.tell(protocol.update(change.update), change.origin)

    def filed(self, entry: CatalogueEntry) -> None:
        """A note was moved, deleted or begun anew: close its peers."""
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


# ── the websocket ────────────────────────────────────────────────────────────────────────────────


def live_route(kb: KnowledgeBase, rooms: Rooms, entrance: Entrance) -> WebSocketRoute:
    """The route; slashes of the path come plain or escaped."""

    async def live(socket: WebSocket) -> None:
        # Accepted first: a refusal before that is an HTTP 403, which y-websocket tries for ever.
        await socket.accept()
        admission: Admission = socket.scope[ADMISSION]
        secret = secret_of(socket.scope)
        try:
            path = _checked_path(socket, admission)
            with entrance.places.taken(admission.key, admission.may_write_notes) as place:
                entry = await _opened(socket, kb, path)
                peer = Peer(socket, kb, entrance, secret, entry, admission.key)
                place.when_lost(lambda: peer.close(Close.OVERLOADED))
                with rooms.entered(peer) as room:
                    await peer.run(room)
        except NoPlace as full:
            await close(socket, Close.OVERLOADED, f"the server is busy: {full.message}")
        except Refused as refused:
            await close(socket, refused.code, refused.reason)

    return WebSocketRoute("/kb/ws/{path:path}", live)


def _checked_path(socket: WebSocket, admission: Admission) -> str:
    """The path of a note that a peer may open; nobody learns what they may not see."""
    path: str = socket.path_params["path"]
    try:
        paths.checked(path)
    except InvalidParams:
        raise Refused(Close.NO_NOTE) from None
    if not admission.on_notes.may(Role.READ, path):
        raise Refused(Close.FORBIDDEN)
    return path


async def _opened(socket: WebSocket, kb: KnowledgeBase, path: str) -> CatalogueEntry:
    epoch = socket.query_params.get("epoch")

    def find(library: Library) -> CatalogueEntry:
        entry = library.find(path)
        if epoch and epoch != entry.epoch:
            raise Refused(Close.OTHER_EPOCH)
        return entry

    try:
        return await asyncio.wrap_future(kb.submit(find))
    except FlashgrepError as error:
        raise refusal(error) from error
