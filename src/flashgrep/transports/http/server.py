"""Streamable HTTP: the routes, and uvicorn made to serve them beside other listeners.

It has no limit on how long a request head may take nor on how many connections may idle, so its
protocol class is extended with both. Its server wakes ten times a second, for ever; ours does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final

import anyio
import h11
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from flashgrep import limits
from flashgrep.tools.dispatch.caller import Caller, Callers
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.hangup import NoticedHangUps
from flashgrep.transports.http.admission import ADMISSION, Admission, ConnectionSlots, Entrance
from flashgrep.transports.http.guard import ENDING, HEALTH, MCP, Guard, Names, broken, not_routed
from flashgrep.transports.http.streams import PING_SECONDS, EndsWithToken, Sessions
from flashgrep.transports.protocol import Context, build_server, client_of

if TYPE_CHECKING:
    from flashgrep.notes.access.tokens import AgentToken, Tokens

_KEEP_ALIVE_SECONDS: Final = 60
"""An HTTP connection between two requests."""


# ── routes ───────────────────────────────────────────────────────────────────────────────────────
# Streamable HTTP: `/mcp` in both protocol eras and `/health`, on a socket bound by us.
#
# Further routes, those of the notes, are mounted beside them by whoever builds the server.
#
# How uvicorn runs them is `server`'s affair; bodies are the guard's.


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
    places: ConnectionSlots | None = None,
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


# ── uvicorn ──────────────────────────────────────────────────────────────────────────────────────


async def serve_http(app: EndableStreams, listener: socket.socket) -> None:
    """Serve until cancelled; open exchanges then have a second to end."""
    server = HttpServer(app)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_shielded, server, listener)
        try:
            await anyio.sleep_forever()
        finally:
            server.end()


async def _shielded(server: uvicorn.Server, listener: socket.socket) -> None:
    with anyio.CancelScope(shield=True):
        await server.serve([listener])


def _sockets(app: EndableStreams) -> Any:
    """The class that serves websockets; none where no route has them."""
    if not app.has_sockets:
        return "none"
    from flashgrep.transports.http.streams import LiveSocket

    return LiveSocket


def _config(app: EndableStreams) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_PatientProtocol,
        ws=_sockets(app),
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=limits.HEADER_BYTES,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(limits.SHUTDOWN_SECONDS),
    )


class HttpServer(uvicorn.Server):
    """uvicorn without its signal handlers, HTTP is one listener of several; and without its clock.

    Ten times a second it would look whether to end, and set the date of the answers to come.
    """

    def __init__(self, app: EndableStreams) -> None:
        super().__init__(_config(app))
        self.server_state = _Dated()
        self.server_state.most = app.connections
        self._app = app
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Begin to shut down."""
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        await self._ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Dated(ServerState):
    """Makes the headers of all answers when they are asked for; knows how many may connect."""

    most = limits.CONNECTIONS

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        return [(b"date", formatdate(usegmt=True).encode("ascii"))]

    @default_headers.setter
    def default_headers(self, _: object) -> None:
        """What uvicorn begins with."""


class _PatientProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for request heads and a cap on connections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self.since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_head()
        most = self.server_state.most if isinstance(self.server_state, _Dated) else 0
        if len(self.connections) > most:
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
        """Close the connection idle longest, or this one where all are busy.

        Before any of them goes a websocket that was told to close, and takes its time.
        """
        for peer in self.connections:
            if getattr(peer, "is_leaving", False):
                peer.transport.abort()
                self.connections.discard(peer)
                return
        idle = [peer for peer in self.connections if isinstance(peer, _PatientProtocol)]
        waiting = [peer for peer in idle if peer.idle and peer is not self]
        oldest = min(waiting, key=lambda peer: peer.since, default=self)
        oldest.transport.close()
        self.connections.discard(oldest)
