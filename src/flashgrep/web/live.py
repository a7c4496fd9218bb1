"""The websocket of a note, `/kb/ws/{path}`: let in or closed with a code, then served."""

from __future__ import annotations

import asyncio

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.notes.access.roles import Role
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.transports.access import ADMISSION, Admission, Entrance, NoPlace
from flashgrep.transports.http.guard import secret_of
from flashgrep.web.peer import Peer, close
from flashgrep.web.rooms import Close, Refused, Rooms, code_of


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
            await close(socket, Close.OVERLOADED, full.message)
        except Refused as refused:
            await close(socket, refused.code)

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
        raise Refused(code_of(error)) from error
