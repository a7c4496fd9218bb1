"""The routes of the notes: notes as a whole, and all routes together for the server.

    GET    /kb/notes/{path}    → {"path", "epoch", "text"}
    POST   /kb/notes           {"path", "text"} → 201 {"path", "epoch"}; marks in the text become
                               suggestions of whoever makes the note
    POST   /kb/notes/move      {"from", "to"} → {"path", "epoch"}
    DELETE /kb/notes/{path}    to the trash → {"path"}

A path is asked for by somebody who may not see it with the same answer whether it is there or not.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from flashgrep.errors import AccessDenied, FlashgrepError
from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import AgentToken, Tokens, agent_token
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.suggestions import typed_marks
from flashgrep.system.clock import milliseconds
from flashgrep.transports.access import Admission, Entrance
from flashgrep.transports.http.server import Mounted
from flashgrep.web.answers import handler
from flashgrep.web.events import Events
from flashgrep.web.live import live_route
from flashgrep.web.rooms import Rooms
from flashgrep.web.suggestions import suggestion_routes

log = logging.getLogger(__name__)


Answer = tuple[int, Mapping[str, Any]]


def note_routes(kb: KnowledgeBase) -> list[BaseRoute]:
    """The routes above."""
    routes = _NoteRoutes(kb)
    create = handler(routes.create, {"path": str, "text": str})
    move = handler(routes.move, {"from": str, "to": str})
    return [
        Route("/kb/notes", create, methods=["POST"]),
        Route("/kb/notes/move", move, methods=["POST"]),
        # One route: of two, a method that neither takes would be told of the first alone.
        Route("/kb/notes/{path:path}", handler(routes.one), methods=["GET", "DELETE"]),
    ]


class _NoteRoutes:
    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def one(self, request: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        work = self.delete if request.method == "DELETE" else self.read
        return work(request, who, body)

    def read(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        path = _checked(who, Role.READ, request.path_params["path"])

        def job(library: Library) -> Answer:
            entry = library.find(path)
            text = library.read(entry.id).text
            return 200, {"path": entry.path, "epoch": entry.epoch, "text": text}

        return self._kb.ask(job)

    def create(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        path = _checked(who, Role.WRITE, body["path"])

        def job(library: Library) -> CatalogueEntry:
            with library.together():
                entry = library.create(path, body["text"], who.shown)
                plan = partial(typed_marks.all_recorded, author=who.shown, now=milliseconds())
                library.amend(entry.id, plan, who.shown)
                return entry

        return 201, _told(self._kb.ask(job))

    def move(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        source = _checked(who, Role.WRITE, body["from"])
        target = _checked(who, Role.WRITE, body["to"])
        moved = self._kb.ask(
            lambda library: library.catalogue.move(library.find(source).id, target)
        )
        return 200, _told(moved)

    def delete(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        path = _checked(who, Role.WRITE, request.path_params["path"])
        gone = self._kb.ask(lambda library: library.delete(library.find(path).id))
        return 200, {"path": gone.last_path}


def _checked(who: Admission, role: Role, path: str) -> str:
    paths.checked(path)
    if not who.on_notes.may(role, path):
        raise AccessDenied(f"{who.shown} does not have the role {role.shown} on {path}")
    return path


def _told(entry: CatalogueEntry) -> dict[str, Any]:
    return {"path": entry.path, "epoch": entry.epoch}


# ── all routes ───────────────────────────────────────────────────────────────────────────────────
# The notes' routes and sockets as one thing to be mounted on the server.


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

    count = kb.ask(lambda library: len(library.catalogue.entries()))
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
