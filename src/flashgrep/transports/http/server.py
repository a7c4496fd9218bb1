"""Streamable HTTP: `/mcp` in both protocol eras and `/health`, sessions, and how streams end.

The routes of the notes are mounted beside them. `connections` says how uvicorn serves them, `guard`
what a request must pass first.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.lowlevel
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import (
    StreamableHTTPASGIApp,
    StreamableHTTPSessionManager,
)
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flashgrep import limits
from flashgrep.tools.dispatch.caller import Caller, Callers
from flashgrep.tools.dispatch.delivery import DELIVERY, Deliveries, Delivery, RequestId
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.access import ADMISSION, Admission, Entrance, SessionSource
from flashgrep.transports.http.guard import (
    ENDING,
    HEALTH,
    MCP,
    WIRE,
    FailurePage,
    Guard,
    Names,
    Refusal,
    broken,
    failed,
    is_browsing,
    not_routed,
    secret_of,
)
from flashgrep.transports.protocol import Context, ToolCall, build_server, client_of

if TYPE_CHECKING:
    from flashgrep.notes.access.tokens import AgentToken, Tokens

_CALLS: Final = "flashgrep.calls"
"""The key of a request's calls in an ASGI scope."""
_CANCELLED: Final = b"notifications/cancelled"
_CANCELLED_BYTES: Final = 4_096
"""A longer message is no cancellation, or one with a very long reason."""
_UNREAD: Final[dict[str, Any]] = {
    "content": [{"type": "text", "text": "The connection was closed"}],
    "isError": True,
}
"""In place of an answer that nobody is there to read."""


@dataclass(frozen=True)
class Mounted:
    """Routes beside our own."""

    routes: Callable[[Entrance], Sequence[BaseRoute]]
    """Given the entrance, by which connections that stay open are checked again."""
    running: Callable[[], AbstractAsyncContextManager[None]]
    """What runs while the server does."""
    is_open: Callable[[str], bool] = lambda path: False
    """Whether a path is answered without a login; its route then looks itself who asks."""
    page: FailurePage | None = None
    """What a browser gets where there is no page, or no login."""
    sessions: SessionSource | None = None
    """Those who have signed in."""
    link: str = ""
    """Where a person begins, with what signs them in; empty where HTTP is off."""
    tokens: Tokens | None = None
    """Those of the knowledge base; None where there is none."""
    told: str = ""
    """What is mounted of notes, for the person who starts the server."""
    agent: AgentToken | None = None
    """The token for agents; None where none is asked for, or none could be made."""


class HttpPeers:
    """Callers on HTTP: the session in the handshake era, else the principal and client name."""

    def __init__(self, callers: Callers, deliveries: Deliveries) -> None:
        self._callers = callers
        self._deliveries = deliveries

    def caller_of(self, context: Context) -> Caller:
        request: Request = context.request  # type: ignore[assignment] # always there on HTTP
        name, version = client_of(context)
        admission: Admission = request.scope[ADMISSION]
        session = request.headers.get("mcp-session-id")
        kind, key = ("session", session) if session is not None else ("http", name)
        # With the token's name: a session id of another token gives nothing here.
        caller = self._callers.get(f"{kind}:{admission.token}:{key}")
        caller.token = admission.token
        caller.notes_only = not admission.opens_files
        caller.call_itself(name, version)
        caller.principal = replace(admission.on_tools, name=caller.author)
        return caller

    async def run(self, context: Context, call: ToolCall) -> dict[str, Any]:
        request: Request = context.request  # type: ignore[assignment] # always there on HTTP
        calls: _OpenCalls = request.scope[_CALLS]
        whose = _whose(request.scope)
        self._deliveries.asks(whose)
        calls.request = (whose, context.request_id) if context.request_id is not None else None
        return await calls.run(call)


def build_app(
    toolbox: Toolbox,
    callers: Callers,
    names: Names,
    entrance: Entrance,
    structured: bool,
    mounted: Mounted | None = None,
    remedy: str = "",
    notes_remedy: str = "",
) -> Exchanges:
    """The ASGI application: the guard, and the routes after it.

    The remedies are for requests without a token, see `Guard`.
    """
    deliveries = Deliveries()
    peers = HttpPeers(callers, deliveries)
    server = build_server(toolbox, structured=structured, peers=peers)
    manager = Sessions(server, limits.REMEMBERED_CALLERS)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run(), mounted.running() if mounted else contextlib.nullcontext():
            yield
            deliveries.end()

    mcp = Withdrawals(StreamableHTTPASGIApp(manager), deliveries)
    routes: list[BaseRoute] = [
        Route(MCP, EndsWithToken(mcp, entrance)),
        Route(HEALTH, _health, methods=["GET"]),
        *(mounted.routes(entrance) if mounted else ()),
    ]
    page = mounted.page if mounted else None

    async def missing(request: Request, error: Exception) -> Response:
        if page and getattr(error, "status_code", 0) == 404 and is_browsing(request.scope):
            return page(404, request.url.path)
        return await not_routed(request, error)

    told = {HTTPException: missing, Exception: broken}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=told)
    more = entrance.places.most - limits.LIVE_CONNECTIONS
    is_open = mounted.is_open if mounted else None
    guarded = Guard(app, names, entrance, remedy, notes_remedy, is_open, page)
    has_sockets = mounted is not None and mounted.tokens is not None
    return Exchanges(guarded, deliveries, has_sockets, limits.CONNECTIONS + max(more, 0))


async def _health(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class _OpenCalls:
    """The calls of one request; they end when its client hangs up.

    The protocol with a handshake lets a client come back for an answer it missed, if the server
    keeps answers. Ours keeps none, so nobody could ever read it.
    """

    def __init__(self) -> None:
        self._running: set[anyio.CancelScope] = set()
        self.is_over = False
        self.delivery = Delivery()
        self.request: tuple[str, RequestId] | None = None
        """Whose it is, and its id."""

    def end(self) -> None:
        self.is_over = True
        for scope in tuple(self._running):
            scope.cancel()

    async def run(self, call: ToolCall) -> dict[str, Any]:
        with anyio.CancelScope() as scope:
            if self.is_over:
                scope.cancel()
            self._running.add(scope)
            DELIVERY.set(self.delivery)  # of this request's task alone
            try:
                return await call()
            finally:
                self._running.discard(scope)
        return _UNREAD


class Exchanges:
    """Ends what is open: calls whose client hangs up, and streams when the server stops.

    A stream is finished, not torn down.
    """

    def __init__(
        self,
        app: ASGIApp,
        deliveries: Deliveries,
        has_sockets: bool = False,
        connections: int = limits.CONNECTIONS,
    ) -> None:
        """`connections` is how many may be open."""
        self._app = app
        self.has_sockets = has_sockets
        self.connections = connections
        self._open: set[anyio.CancelScope] = set()
        self.deliveries = deliveries

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        calls = scope[_CALLS] = _OpenCalls()

        async def noticing() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                calls.end()
            return message

        if scope["method"] == "GET":
            await self._endable(scope, noticing, send)
        else:
            await self._answering(scope, noticing, send, calls)

    async def _answering(
        self, scope: Scope, receive: Receive, send: Send, calls: _OpenCalls
    ) -> None:
        async def watched(message: Message) -> None:
            # What waits was added when the answer was made, so the answer is in what comes next.
            is_answer = bool(calls.delivery and message.get("body"))
            if is_answer:
                await _give_the_loop_a_look()
            await send(message)
            # Later is too late: a client may close the stream as soon as it has its answer.
            is_sent = is_answer and not calls.is_over and not scope[WIRE].is_closing()
            if is_sent and calls.request is not None:
                self.deliveries.written(*calls.request, calls.delivery)

        await self._app(scope, receive, watched)

    async def _endable(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = unfinished = False

        async def watched(message: Message) -> None:
            nonlocal has_begun, unfinished
            has_begun = True
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
        elif ending.cancelled_caught and not has_begun:
            await failed(503, "unavailable", "the stream ended before it began")(
                scope, receive, send
            )

    def end(self) -> None:
        """Finish every open stream."""
        for scope in tuple(self._open):
            scope.cancel()


async def _give_the_loop_a_look() -> None:
    """Have the loop learn what the system knows of connections: which were closed or reset."""
    for _ in range(2):  # one look at the sockets for sure
        await anyio.lowlevel.checkpoint()


class EndsWithToken:
    """Ends a GET stream when the knowledge base token that opened it is no longer valid.

    The server's own token lives as long as the server. Any other request is over soon, and the
    guard checks the next one.
    """

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app = app
        self._entrance = entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission: Admission = scope[ADMISSION]
        if scope["method"] != "GET" or admission.principal is None:
            await self._app(scope, receive, send)
            return
        secret = secret_of(scope)

        def look() -> None:
            if self._entrance.admit(secret) is None:
                scope[ENDING].cancel()

        unwatch = self._entrance.watch(look)
        try:
            if self._entrance.admit(secret) is None:  # revoked before anything watched
                refusal = Refusal(401, "the token was revoked or has expired")
                await refusal.response(scope["path"])(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        finally:
            unwatch()


class Withdrawals:
    """Notes which requests clients withdraw, in case the answers are already on their way."""

    def __init__(self, app: ASGIApp, deliveries: Deliveries) -> None:
        self._app = app
        self._deliveries = deliveries

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def seeing() -> Message:
            message = await receive()
            body: bytes = message.get("body", b"")
            if _CANCELLED in body and len(body) < _CANCELLED_BYTES:
                self._deliveries.withdrawn(_whose(scope), _cancelled(body))
            return message

        await self._app(scope, seeing if scope["method"] == "POST" else receive, send)


def _cancelled(body: bytes) -> object:
    """The id of the request that a message withdraws; None for another message."""
    with contextlib.suppress(ValueError):  # the SDK refuses it
        told = json.loads(body)
        if isinstance(told, dict) and told.get("method") == _CANCELLED.decode():
            params = told.get("params")
            return params.get("requestId") if isinstance(params, dict) else None
    return None


def _whose(scope: Scope) -> str:
    """The session of a request, or the token where it has none."""
    admission: Admission = scope[ADMISSION]
    session = Headers(scope=scope).get("mcp-session-id", "")
    return f"{admission.key}:{session}"


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────
# The SDK refuses a new session when there are as many as allowed. A script that begins a session
# for every call and ends none would lock all clients out for half an hour: so the session that has
# been idle longest makes room.


class Sessions(StreamableHTTPSessionManager):
    """The open sessions; when there are too many, the idlest is dropped."""

    def __init__(self, server: Any, most: int) -> None:
        super().__init__(server, max_sessions=most)
        self._most = most

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        if len(self._server_instances) >= self._most:
            self._end_idlest()
        return super()._admit_session(requestor)

    def _end_idlest(self) -> None:
        """End the session that has been idle longest, unless all are being served."""
        ends = {key: _end(session) for key, session in self._server_instances.items()}
        key = min(ends, key=ends.__getitem__)
        if ends[key] < math.inf:
            session = self._server_instances.pop(key)
            self._session_owners.pop(key, None)
            if session.idle_scope is not None:
                session.idle_scope.cancel()


def _end(session: StreamableHTTPServerTransport) -> float:
    """When a session would end for being idle."""
    return math.inf if session.idle_scope is None else session.idle_scope.deadline
