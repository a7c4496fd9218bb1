"""Streamable HTTP: `/mcp` in both protocol eras and `/health`, on a socket bound by us.

Further routes, those of the notes, are mounted beside them by whoever builds the server.

uvicorn has no limit on how long a request head may take nor on how many connections may idle, so
its protocol class is extended with both; bodies are the guard's.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio
import h11
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from flashgrep import limits
from flashgrep.tools.caller import Caller, Callers
from flashgrep.tools.toolbox import Toolbox
from flashgrep.transports.admission import ADMISSION, Admission, Entrance
from flashgrep.transports.failures import broken, not_routed
from flashgrep.transports.guard import HEALTH, MCP, Guard, Names
from flashgrep.transports.protocol import Context, build_server, client_name

if TYPE_CHECKING:
    from flashgrep.kb.tokens import Tokens


@dataclass(frozen=True)
class Mounted:
    """Routes beside our own."""

    routes: Callable[[Entrance], Sequence[BaseRoute]]
    """Given who knows the tokens: a connection that stays open is looked at again."""
    running: Callable[[], AbstractAsyncContextManager[None]]
    """What runs while the server does."""
    tokens: Tokens


class HttpPeers:
    """Callers on HTTP: the session in the handshake era, else the principal and client name."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def caller_of(self, context: Context) -> Caller:
        request: Request = context.request  # type: ignore[assignment] # always there on HTTP
        name = client_name(context)
        admission: Admission = request.scope[ADMISSION]
        session = request.headers.get("mcp-session-id")
        kind, key = ("session", session) if session is not None else ("http", name)
        # With the token's name, so that nobody else's session gives what was not granted here.
        caller = self._callers.get(f"{kind}:{admission.token}:{key}")
        caller.token = admission.token
        caller.notes_only = admission.principal is not None
        caller.call_itself(name)
        caller.principal = replace(admission.on_tools, name=caller.author)
        return caller


def build_app(
    toolbox: Toolbox,
    callers: Callers,
    names: Names,
    token: str | None,
    structured: bool,
    mounted: Mounted | None = None,
) -> EndableStreams:
    """The ASGI application: the guard, and the routes behind it."""
    entrance = Entrance(token, mounted.tokens if mounted else None)
    server = build_server(toolbox, structured=structured, peers=HttpPeers(callers))
    manager = StreamableHTTPSessionManager(server, max_sessions=limits.REMEMBERED_CALLERS)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run(), mounted.running() if mounted else contextlib.nullcontext():
            yield

    routes: list[BaseRoute] = [
        Route(MCP, StreamableHTTPASGIApp(manager)),
        Route(HEALTH, _health, methods=["GET"]),
        *(mounted.routes(entrance) if mounted else ()),
    ]
    told = {HTTPException: not_routed, Exception: broken}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=told)
    return EndableStreams(Guard(app, names, entrance), has_sockets=mounted is not None)


async def _health(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class EndableStreams:
    """Ends the endless: a client's GET stream is finished when the server stops, not torn down."""

    def __init__(self, app: ASGIApp, has_sockets: bool = False) -> None:
        self._app = app
        self.has_sockets = has_sockets
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
                await self._app(scope, receive, watched)
            finally:
                self._open.discard(ending)
        if ending.cancelled_caught and unfinished:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def end(self) -> None:
        """Finish every open stream."""
        for scope in tuple(self._open):
            scope.cancel()


async def serve_http(app: EndableStreams, listener: socket.socket) -> None:
    """Serve until cancelled; open exchanges then have a second to end."""
    server = _Server(app)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_shielded, server, listener)
        try:
            await anyio.sleep_forever()
        finally:
            server.should_exit = True


async def _shielded(server: uvicorn.Server, listener: socket.socket) -> None:
    with anyio.CancelScope(shield=True):
        await server.serve([listener])


def _sockets(app: EndableStreams) -> Any:
    """The class that serves websockets; none where no route has them."""
    if not app.has_sockets:
        return "none"
    from flashgrep.transports.livesocket import LiveSocket

    return LiveSocket


def _config(app: EndableStreams) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_PatientProtocol,
        ws=_sockets(app),
        ws_ping_interval=limits.PING_SECONDS,
        ws_ping_timeout=limits.PING_SECONDS,
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=limits.HEADER_BYTES,
        timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(limits.SHUTDOWN_SECONDS),
    )


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: HTTP is one listener of several."""

    def __init__(self, app: EndableStreams) -> None:
        super().__init__(_config(app))
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _PatientProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for request heads and a cap on connections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self.since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_head()
        if len(self.connections) > limits.CONNECTIONS:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        self.since = self.loop.time()
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _watch_head(self) -> None:
        """Have a timer exactly while a head is awaited that has begun, or is the first."""
        if self.conn.their_state is not h11.IDLE or not self.idle:
            self._stop_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(limits.HEADER_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._head_timer = None
        if self.idle and not self.transport.is_closing():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _make_room(self) -> None:
        """Close the connection idle longest, or this one where all are busy."""
        idle = [peer for peer in self.connections if isinstance(peer, _PatientProtocol)]
        waiting = [peer for peer in idle if peer.idle and peer is not self]
        oldest = min(waiting, key=lambda peer: peer.since, default=self)
        oldest.transport.close()
        self.connections.discard(oldest)
