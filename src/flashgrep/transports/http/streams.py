"""Streams that stay open on HTTP, and how they end: slow peers, revoked tokens, idle sessions.

uvicorn reads ahead no further than one piece of a connection, and pings. What it lacks:

- A frame over the ceiling is closed with 1009, after which y-websocket comes again with the same
  frame, for ever. The connection is gone at once, too, and a peer that is still sending is told
  that by the operating system before it has read any close: so what comes is read and dropped.
- A close waits, without end, behind what a peer does not read; so does the one after a ping that
  nobody answered.
"""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from typing import Any, Final

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode
from websockets.server import ServerProtocol

from flashgrep import limits
from flashgrep.transports.http.admission import ADMISSION, Admission, Entrance
from flashgrep.transports.http.guard import Refusal, secret_of

PING_SECONDS: Final = 20.0
"""A live connection is pinged this often, and must answer in this time; proxies close silent ones
after a minute."""

CLOSE_SECONDS: Final = 5.0
"""A peer that was told to close is cut off after this time."""

TOO_LARGE: Final = 4413


class _Wire(ServerProtocol):
    def fail(self, code: int, reason: str = "") -> None:
        if code == CloseCode.MESSAGE_TOO_BIG:
            code, reason = TOO_LARGE, "too large"
        super().fail(code, reason)


class LiveSocket(WebSocketsSansIOProtocol):
    """One websocket connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        logger = logging.getLogger("uvicorn.error")
        self.conn = _Wire(max_size=limits.LIVE_MESSAGE_BYTES, logger=logger)
        self._is_deaf = False

    @property
    def is_leaving(self) -> bool:
        """Whether it was told to close, and has only to say that it heard."""
        return bool(self.close_sent)

    def data_received(self, data: bytes) -> None:
        if not self._is_deaf:
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        self._is_deaf = True
        told = self.conn.close_sent
        event = {"type": "websocket.disconnect", "code": told.code if told else 1006}
        self.queue.put_nowait(event)  # type: ignore[arg-type]
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.write_eof()
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(CLOSE_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        if self.read_paused:  # the answer may be behind what we do not read yet
            self.pong_timer = self.loop.call_later(PING_SECONDS, self.keepalive_timeout)
            return
        self.loop.call_later(CLOSE_SECONDS, self.transport.abort)
        super().keepalive_timeout()

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.send" and self.close_sent:
            raise ClientDisconnected  # uvicorn takes it for a defect of ours
        if message["type"] == "websocket.close" and self.handshake_complete:
            self.writable.set()
            self.loop.call_later(CLOSE_SECONDS, self.transport.abort)
        await super().send(message)


# ── revoked tokens ───────────────────────────────────────────────────────────────────────────────
# A stream that stays open ends with the token that opened it.


class EndsWithToken:
    """Ends a GET stream of a token of the knowledge base when that is taken back or expires.

    The server's own token lives as long as the server. Any other request is over soon, and the
    next one is checked by the guard.
    """

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app = app
        self._entrance = entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission: Admission = scope[ADMISSION]
        if scope["method"] != "GET" or admission.principal is None:
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        with anyio.CancelScope() as ending:
            await self._run(scope, receive, watched, ending)
        if ending.cancelled_caught and has_begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif ending.cancelled_caught:
            refusal = Refusal(401, "the token was taken back or has expired")
            await refusal.response(scope["path"])(scope, receive, send)

    async def _run(
        self, scope: Scope, receive: Receive, send: Send, ending: anyio.CancelScope
    ) -> None:
        secret, loop = secret_of(scope), asyncio.get_running_loop()

        def look() -> None:
            if self._entrance.admit(secret) is None:
                ending.cancel()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(look)

        unwatch = self._entrance.watch(tell)
        try:
            look()  # it may have been taken back before anybody watched
            await self._app(scope, receive, send)
        finally:
            unwatch()


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────
# The SDK's sessions on HTTP: at the limit, the one idle longest makes room for a new one.
#
# The SDK refuses whoever comes when there are as many as may be. A script that begins a session for
# every call and ends none would lock everybody out for half an hour.


class Sessions(StreamableHTTPSessionManager):
    """Sessions that come and go."""

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
        """End the session whose last request is longest ago; none where all are being served."""
        ends = {key: _end(session) for key, session in self._server_instances.items()}
        key = min(ends, key=ends.__getitem__)
        if ends[key] < math.inf:
            session = self._server_instances.pop(key)
            self._session_owners.pop(key, None)
            if session.idle_scope is not None:
                session.idle_scope.cancel()


def _end(session: StreamableHTTPServerTransport) -> float:
    """When a session would be ended for being idle."""
    return math.inf if session.idle_scope is None else session.idle_scope.deadline
