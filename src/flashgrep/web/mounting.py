"""The notes' routes and sockets as one thing to be mounted on the server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from starlette.routing import BaseRoute

from flashgrep.kb.knowledge_base import KnowledgeBase
from flashgrep.kb.tokens import Tokens
from flashgrep.transports.admission import Entrance
from flashgrep.transports.http import Mounted
from flashgrep.web.events import Events
from flashgrep.web.live import live_route
from flashgrep.web.notes import note_routes
from flashgrep.web.room import Rooms
from flashgrep.web.suggestions import suggestion_routes


def mount(kb: KnowledgeBase) -> Mounted:
    """Everything under /kb/ for an open knowledge base."""
    tokens = Tokens(kb.home.path)
    rooms, events = Rooms(kb, tokens), Events(kb, tokens)

    def routes(entrance: Entrance) -> Sequence[BaseRoute]:
        return [
            *suggestion_routes(kb),
            *note_routes(kb),
            events.route(entrance),
            live_route(kb, rooms, entrance),
        ]

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[None]:
        with rooms.listening(), events.listening():
            yield

    return Mounted(routes, running, tokens)
