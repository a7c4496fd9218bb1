"""HTTP connections: uvicorn, adapted to serve beside other listeners, and its websockets.

uvicorn limits neither the time a request head may take nor the number of idle connections, so its
protocol class is extended with both limits. Its server wakes ten times a second; ours does not.

Its websockets read at most one chunk ahead, and ping. They fall short in two ways:

- A frame over the limit is closed with 1009, after which y-websocket sends the same frame again and
  again. The connection also ends at once, and the operating system reports that to a peer that is
  still sending before the peer can read the close. So we read and drop what still arrives.
- A close waits forever for a peer that does not read; so does the one after an unanswered ping.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final

import anyio
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import CloseCode
from websockets.server import ServerProtocol

from flashgrep import limits
from flashgrep.transports.http.guard import WIRE

if TYPE_CHECKING:
    from flashgrep.transports.http.server import Exchanges

PING_SECONDS: Final = 20.0
"""A live connection is pinged this often, and must answer in this time; proxies close silent ones
after a minute."""

CLOSE_SECONDS: Final = 5.0
"""A peer that was asked to close is cut off after this time."""


_KEEP_ALIVE_SECONDS: Final = 60
"""An HTTP connection between two requests."""

TOO_LARGE: Final = 4413


async def serve_http(app: Exchanges, listener: socket.socket) -> None:
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


def _config(app: Exchanges) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_PatientProtocol,
        ws=LiveSocket if app.has_sockets else "none",
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
    """uvicorn without signal handlers, because HTTP is one listener of several, and without its
    clock, which would check ten times a second whether to end, and set the date of coming answers.
    """

    def __init__(self, app: Exchanges) -> None:
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
    """Makes answers' headers when they are needed; knows how many may connect."""

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
        if self.scope is not None:
            self.scope[WIRE] = self.transport  # type: ignore[typeddict-unknown-key]
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

        A websocket that was asked to close, and has not yet, goes before any of them.
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


# ── websockets ───────────────────────────────────────────────────────────────────────────────────


class _Wire(ServerProtocol):
    def fail(self, code: int, reason: str = "") -> None:
        if code == CloseCode.MESSAGE_TOO_BIG:
            code, reason = TOO_LARGE, "too large"
        super().fail(code, reason)


class LiveSocket(WebSocketsSansIOProtocol):
    """One websocket connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Below a warning, both log the address of the request with its token, and its cookies.
        self.logger = logging.getLogger("uvicorn.error.websockets")
        self.logger.setLevel(logging.WARNING)
        self.conn = _Wire(max_size=limits.LIVE_MESSAGE_BYTES, logger=self.logger)
        self._is_deaf = False

    @property
    def is_leaving(self) -> bool:
        """Whether it was asked to close, and only has to confirm."""
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
        if self.read_paused:  # the answer may be after what we do not read yet
            self.pong_timer = self.loop.call_later(PING_SECONDS, self.keepalive_timeout)
            return
        self.loop.call_later(CLOSE_SECONDS, self.transport.abort)
        super().keepalive_timeout()

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.send" and self.close_sent:
            raise ClientDisconnected  # uvicorn takes it for a bug
        if message["type"] == "websocket.close" and self.handshake_complete:
            self.writable.set()
            self.loop.call_later(CLOSE_SECONDS, self.transport.abort)
        await super().send(message)
