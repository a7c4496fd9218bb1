"""Streamable HTTP: `/mcp` in both protocol eras and `/health`, on a socket bound by us.

Further routes, those of the notes, are mounted beside them by whoever builds the server.

How uvicorn runs them is `server`'s affair; bodies are the guard's.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flashgrep import limits
from flashgrep.tools.dispatch.caller import Caller, Callers
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.hangup import NoticedHangUps
from flashgrep.transports.http.admission import ADMISSION, Admission, Entrance
from flashgrep.transports.http.failures import broken, not_routed
from flashgrep.transports.http.guard import ENDING, HEALTH, MCP, Guard, Names
from flashgrep.transports.http.places import Places
from flashgrep.transports.http.revoking import EndsWithToken
from flashgrep.transports.http.sessions import Sessions
from flashgrep.transports.protocol import Context, build_server, client_of

if TYPE_CHECKING:
    from flashgrep.notes.access.tokens import AgentToken, Tokens


@dataclass(frozen=True)
class Mounted:
    """Routes beside our own."""

    routes: Callable[[Entrance], Sequence[BaseRoute]]
    """Given who knows the tokens: a connection that stays open is looked at again."""
    running: Callable[[], AbstractAsyncContextManager[None]]
    """What runs while the server does."""
    tokens: Tokens
    told: str
    """What is mounted, for the person who starts the server."""
    agent: AgentToken | None = None
    """The token for agents; None where none is asked for, or none could be made."""


class HttpPeers:
    """Callers on HTTP: the session in the handshake era, else the principal and client name."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def caller_of(self, context: Context) -> Caller:
        request: Request = context.request  # type: ignore[assignment] # always there on HTTP
        name, version = client_of(context)
        admission: Admission = request.scope[ADMISSION]
        session = request.headers.get("mcp-session-id")
        kind, key = ("session", session) if session is not None else ("http", name)
        # With the token's name, so that nobody else's session gives what was not granted here.
        caller = self._callers.get(f"{kind}:{admission.token}:{key}")
        caller.token = admission.token
        caller.notes_only = not admission.opens_files
        caller.call_itself(name, version)
        caller.principal = replace(admission.on_tools, name=caller.author)
        return caller


def build_app(
    toolbox: Toolbox,
    callers: Callers,
    names: Names,
    token: str | None,
    structured: bool,
    mounted: Mounted | None = None,
    places: Places | None = None,
    remedy: str = "",
) -> EndableStreams:
    """The ASGI application: the guard, and the routes behind it.

    `remedy` is what whoever comes without a token is told.
    """
    agent = mounted.agent.secret if mounted and mounted.agent else None
    entrance = Entrance(token, mounted.tokens if mounted else None, places, agent)
    server = build_server(toolbox, structured=structured, peers=HttpPeers(callers))
    manager = Sessions(server, limits.REMEMBERED_CALLERS)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run(), mounted.running() if mounted else contextlib.nullcontext():
            yield

    routes: list[BaseRoute] = [
        Route(MCP, EndsWithToken(StreamableHTTPASGIApp(manager), entrance)),
        Route(HEALTH, _health, methods=["GET"]),
        *(mounted.routes(entrance) if mounted else ()),
    ]
    told = {HTTPException: not_routed, Exception: broken}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=told)
    more = entrance.places.most - limits.LIVE_CONNECTIONS
    guarded = NoticedHangUps(Guard(app, names, entrance, remedy))
    return EndableStreams(guarded, mounted is not None, limits.CONNECTIONS + max(more, 0))


async def _health(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class EndableStreams:
    """Ends the endless: a client's GET stream is finished when the server stops, not torn down."""

    def __init__(
        self, app: ASGIApp, has_sockets: bool = False, connections: int = limits.CONNECTIONS
    ) -> None:
        """`connections` is how many may be open."""
        self._app = app
        self.has_sockets = has_sockets
        self.connections = connections
        self._open: set[anyio.CancelScope] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        unfinished = False

        async def watched(message: Message) -> None:
            nonlocal unfinished
            unfinished = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as ending:
            self._open.add(ending)
            try:
                await self._app({**scope, ENDING: ending}, receive, watched)
            finally:
                self._open.discard(ending)
        if ending.cancelled_caught and unfinished:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def end(self) -> None:
        """Finish every open stream."""
        for scope in tuple(self._open):
            scope.cancel()
