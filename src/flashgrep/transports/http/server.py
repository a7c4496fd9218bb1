"""uvicorn, made to serve beside other listeners, to bear slow peers, and to sleep.

It has no limit on how long a request head may take nor on how many connections may idle, so its
protocol class is extended with both. Its server wakes ten times a second, for ever; ours does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import anyio
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from flashgrep import limits
from flashgrep.transports.http.http import EndableStreams


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
