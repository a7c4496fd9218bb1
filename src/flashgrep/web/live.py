"""The websocket of a note, `/kb/ws/{path}`: let in or closed with a code, then served."""

from __future__ import annotations

import asyncio

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from flashgrep import limits
from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.kb import notepath
from flashgrep.kb.catalogue import Entry
from flashgrep.kb.knowledge_base import KnowledgeBase
from flashgrep.kb.library import Library
from flashgrep.kb.roles import Role
from flashgrep.transports.admission import ADMISSION, Admission, Entrance
from flashgrep.transports.guard import secret_of
from flashgrep.web.closing import Close, Refused, code_of
from flashgrep.web.peer import Peer, close
from flashgrep.web.room import Rooms


def live_route(kb: KnowledgeBase, rooms: Rooms, entrance: Entrance) -> WebSocketRoute:
    """The route; slashes of the path come plain or escaped."""

    async def live(socket: WebSocket) -> None:
        # Accepted first: a refusal before that is an HTTP 403, which y-websocket tries for ever.
        await socket.accept()
        try:
            entry = await _opened(socket, kb, rooms)
        except Refused as refused:
            await close(socket, refused.code)
            return
        admission: Admission = socket.scope[ADMISSION]
        peer = Peer(socket, kb, entrance, secret_of(socket.scope), entry, admission.key)
        with rooms.entered(peer) as room:
            await peer.run(room)

    return WebSocketRoute("/kb/ws/{path:path}", live)


async def _opened(socket: WebSocket, kb: KnowledgeBase, rooms: Rooms) -> Entry:
    """The note a peer may open; roles first, so that nobody learns what they may not see."""
    admission: Admission = socket.scope[ADMISSION]
    path = socket.path_params["path"]
    try:
        notepath.checked(path)
    except InvalidParams:
        raise Refused(Close.NO_NOTE) from None
    if not admission.on_notes.may(Role.READ, path):
        raise Refused(Close.FORBIDDEN)
    if rooms.count >= limits.PEERS:
        raise Refused(Close.OVERLOADED)
    epoch = socket.query_params.get("epoch")

    def find(library: Library) -> Entry:
        entry = library.find(path)
        if epoch and epoch != entry.epoch:
            raise Refused(Close.OTHER_EPOCH)
        return entry

    try:
        return await asyncio.wrap_future(kb.submit(find))
    except FlashgrepError as error:
        raise Refused(code_of(error)) from error
