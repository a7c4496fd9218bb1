"""The notes' routes and sockets as one thing to be mounted on the server."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Sequence

from starlette.routing import BaseRoute

from flashgrep.errors import FlashgrepError
from flashgrep.notes.access.tokens import AgentToken, Tokens, agent_token
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.transports.http.admission import Entrance
from flashgrep.transports.http.server import Mounted
from flashgrep.web.events import Events
from flashgrep.web.live import live_route
from flashgrep.web.rooms import Rooms
from flashgrep.web.routes import note_routes
from flashgrep.web.suggestions import suggestion_routes

log = logging.getLogger(__name__)


def mount(kb: KnowledgeBase, agents_of: str | None = None) -> Mounted:
    """Everything under /kb/ for an open knowledge base.

    `agents_of` names the workspace whose agents are to have a token; None: they need none.
    """
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

    count = kb.ask(lambda library: len(library.entries()))
    told = f"{kb.home.path}, {count:,} note{'' if count == 1 else 's'}"
    return Mounted(
        routes=routes,
        running=running,
        tokens=tokens,
        told=told,
        agent=_agent(kb, agents_of) if agents_of else None,
    )


def _agent(kb: KnowledgeBase, workspace: str) -> AgentToken | None:
    """The token for agents; without one the server is of use to everybody else."""
    try:
        return agent_token(kb.home.path, workspace)
    except FlashgrepError as error:
        log.warning("no token for agents could be made: %s", error.message)
        return None
