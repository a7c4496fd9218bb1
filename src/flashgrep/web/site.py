"""All of a server's routes for people: pages and, with a knowledge base, its notes. Door of `web`.

Each module of this folder returns its routes as a list, and `_routes` adds them, one line each. It
imports them when HTTP starts, and those of the notes only if a knowledge base is mounted, so that a
server without one does not load the notes' engine.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.notes.access.tokens import AgentToken, Tokens, agent_token
from flashgrep.transports.access import Entrance
from flashgrep.transports.http.server import Mounted
from flashgrep.web.pages import failure_page, is_open, page_routes
from flashgrep.web.parts import SiteParts
from flashgrep.web.sessions import LoginSessions
from flashgrep.web.sign_in import sign_in_routes
from flashgrep.web.sign_in_links import SIGN_IN, ServerAddress, SignInLinks, announce

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase
    from flashgrep.web.events import Events
    from flashgrep.web.rooms import Rooms

log = logging.getLogger(__name__)


class Site:
    """The routes of one server, and what runs while they are served."""

    def __init__(self, parts: SiteParts) -> None:
        self._parts = parts
        self._announced: list[Callable[[], None]] = []
        home = parts.notes.home.path if parts.notes else None
        state = parts.state.path if parts.state else None
        self.tokens = Tokens(home) if home else None
        self.sessions = LoginSessions(state, parts.secret, self.tokens)
        self._places = [each for each in (state, home) if each]
        self._links = [SignInLinks(state), *([SignInLinks(home, of_notes=True)] if home else [])]
        self._live = _Live(parts.notes, self.sessions) if parts.notes else None

    def routes(self, entrance: Entrance) -> Sequence[BaseRoute]:
        """Everything beside `/mcp` and `/health`: here each module adds its list."""
        from flashgrep.web.search import search_routes
        from flashgrep.web.status import status_routes

        parts = self._parts
        return [
            *search_routes(parts),
            *page_routes(),
            *sign_in_routes(parts, self.sessions, self._links),
            *status_routes(parts, self.tokens, entrance),
            *(self._live.routes(entrance) if self._live else ()),
        ]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What happens while the server runs."""
        with contextlib.ExitStack() as ends:
            for end in self._announced:
                ends.callback(end)
            if self.tokens:
                ends.callback(self.tokens.uses.close)
            if self._live:
                ends.enter_context(self._live.events.listening())
            yield

    def link(self) -> str:
        """Where the person who starts the server begins, and others find it from now on."""
        parts = self._parts
        address, asks = parts.address, parts.secret is not None
        here = ServerAddress(
            url=address or "",
            asks=asks,
            off=parts.http_off,
            pid=os.getpid(),
            workdir=parts.workdir,
        )
        for place in self._places:
            try:
                self._announced.append(announce(place, here))
            except FlashgrepError as error:
                log.warning("flashgrep open will not find this server: %s", error.message)
        if address is None:
            return ""
        return address + (SIGN_IN + self._code() if asks else "/")

    def _code(self) -> str:
        try:
            return self._links[0].make(limits.LINK_SECONDS)
        except FlashgrepError as error:
            log.warning("the link counts while this server runs: %s", error.message)
            self._links.insert(0, SignInLinks(None))
            return self._links[0].make(limits.LINK_SECONDS)


class _Live:
    """The live side of the notes: who has one open, and who gets the news."""

    def __init__(self, kb: KnowledgeBase, sessions: LoginSessions) -> None:
        from flashgrep.web.events import Events
        from flashgrep.web.rooms import Rooms

        self._kb = kb
        self.rooms: Rooms = Rooms(sessions)
        self.events: Events = Events(kb, sessions, self.rooms)

    def routes(self, entrance: Entrance) -> Sequence[BaseRoute]:
        """Everything under /kb/: here each module of the notes adds its list."""
        from flashgrep.web.comments import comment_routes
        from flashgrep.web.history import history_routes
        from flashgrep.web.links import links_route
        from flashgrep.web.notes import note_routes
        from flashgrep.web.rooms import live_route
        from flashgrep.web.routes import suggestion_routes
        from flashgrep.web.tree import tree_route

        return [
            *suggestion_routes(self._kb),
            *comment_routes(self._kb),
            *history_routes(self._kb),
            *note_routes(self._kb),
            links_route(self._kb),
            tree_route(self._kb),
            self.events.route(entrance),
            live_route(self._kb, self.rooms, entrance),
        ]


def mount(parts: SiteParts, agents_of: str | None = None) -> Mounted:
    """The routes for a server, with or without a knowledge base.

    `agents_of` names the workspace whose agents get a token; None: they need none.
    """
    site = Site(parts)
    kb = parts.notes
    return Mounted(
        routes=site.routes,
        running=site.running,
        is_open=is_open,
        page=failure_page,
        sessions=site.sessions,
        link=site.link(),
        tokens=site.tokens,
        told=_told(kb) if kb else "",
        agent=_agent(kb, agents_of) if kb and agents_of else None,
    )


def _told(kb: KnowledgeBase) -> str:
    count = kb.ask(lambda library: len(library.catalogue.entries()))
    return f"{kb.home.path}, {count:,} note{'' if count == 1 else 's'}"


def _agent(kb: KnowledgeBase, workspace: str) -> AgentToken | None:
    """The token for agents; the server starts without one too."""
    try:
        return agent_token(kb.home.path, workspace)
    except FlashgrepError as error:
        log.warning("no token for agents could be made: %s", error.message)
        return None
