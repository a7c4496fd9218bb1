"""TCP and unix socket listeners: one `LineSession` per connection, under a cap.

At the cap a new connection replaces the oldest one without an accepted message (on a server with
`--token`, without `auth`); if every connection has one, the new one is closed. So idle connections,
however many, keep no client out, and no working client is cut off.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from flashgrep import limits
from flashgrep.tools.dispatch.activity import Activity
from flashgrep.transports.access import Authorisation
from flashgrep.transports.lines.messages import READ_CHUNK_BYTES, DirectMethod
from flashgrep.transports.lines.peer_user import PeerUsers
from flashgrep.transports.lines.session import (
    Join,
    LineSession,
    ListenerRules,
    hung_up,
)
from flashgrep.transports.plain import Offer

log = logging.getLogger(__name__)

_ACCEPT_PAUSE_SECONDS = 0.1


@dataclass(eq=False)
class _Connection:
    connection: socket.socket
    gate: Authorisation
    session: LineSession
    scope: anyio.CancelScope


class SocketWire:
    """A connected stream socket, driven by the event loop."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection

    async def receive(self) -> bytes:
        try:
            data = self._socket.recv(READ_CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return await asyncio.get_running_loop().sock_recv(self._socket, READ_CHUNK_BYTES)
        # A flood is always ready to be read: others come first.
        await anyio.lowlevel.checkpoint()
        return data

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def finish(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def gone(self) -> bool:
        return hung_up(self._socket.fileno())


class LineListener:
    """Accepts connections on a bound socket and serves each."""

    def __init__(
        self,
        listener: socket.socket,
        offer: Offer,
        gate: Callable[[socket.socket], Authorisation | None],
        rules: ListenerRules,
        admits_own: bool = False,
        activity: Activity | None = None,
    ) -> None:
        """`gate` authorises a connection, or returns None to refuse it.

        `admits_own`: a locked connection of our own user on TCP is opened without a token, before
        anything is read. `activity` is told who is connected.
        """
        self._listener = listener
        self._offer = offer
        self._gate = gate
        self._rules = rules
        self._users = PeerUsers.of(listener) if admits_own else None
        self._activity = activity or Activity()
        self._open: list[_Connection] = []
        self._accepting: anyio.CancelScope

    async def run(self) -> None:
        """Accept until cancelled, or until all connections have ended after `drain`."""
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as self._accepting:
                while True:
                    entry = await self._accept()
                    if entry is not None:
                        tasks.start_soon(self._serve, entry)
            for entry in self._waiting():
                tasks.start_soon(self._serve, entry)
            for entry in self._open:
                # What the peer has sent is still read; what it sends from now on fails there.
                with suppress(OSError):
                    entry.connection.shutdown(socket.SHUT_RD)

    def drain(self) -> None:
        """Read no more, answer what was asked, and hang up; on the loop's thread."""
        self._accepting.cancel()

    def _waiting(self) -> Iterator[_Connection]:
        """The connections that are not accepted yet."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if entry := self._admit(connection):
                yield entry

    async def _accept(self) -> _Connection | None:
        try:
            # While connections wait, sock_accept does not yield to others.
            await anyio.lowlevel.checkpoint()
            connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        except OSError as error:
            # Out of descriptors, or the peer has gone: the listener continues.
            log.warning("cannot accept a connection: %s", error)
            self._make_room(0)
            await anyio.sleep(_ACCEPT_PAUSE_SECONDS)
            return None
        return self._admit(connection)

    def _admit(self, connection: socket.socket) -> _Connection | None:
        gate = self._gate(connection)
        if gate is None or not self._make_room(limits.CONNECTIONS - 1):
            why = "of another user" if gate is None else f": {len(self._open)} are open"
            log.warning("refused a connection %s", why)
            connection.close()
            return None
        _tune(connection)
        session = LineSession(self._offer, SocketWire(connection), gate, self._rules)
        entry = _Connection(
            connection=connection, gate=gate, session=session, scope=anyio.CancelScope()
        )
        self._open.append(entry)
        return entry

    def _make_room(self, most: int) -> bool:
        """Have at most `most` connections open; one without a message is closed for that."""
        if len(self._open) <= most:
            return True
        for entry in self._open:
            if not entry.session.established:
                entry.scope.cancel()
                self._open.remove(entry)
                return True
        return False

    async def _serve(self, entry: _Connection) -> None:
        with entry.connection, entry.scope, self._activity.connected(entry.gate.caller):
            try:
                await self._unlock(entry)
                await entry.session.run()
            except Exception:
                # The other connections and the listener continue.
                log.exception("a connection failed")
        if entry in self._open:
            self._open.remove(entry)

    async def _unlock(self, entry: _Connection) -> None:
        if self._users is not None and entry.gate.locked:
            entry.gate.locked = not await self._users.is_us(entry.connection)


def _tune(connection: socket.socket) -> None:
    """Answers leave at once, and a peer that lost power is noticed in the end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def socket_rules(
    direct: Mapping[str, DirectMethod],
    *,
    join: Join | None = None,
    strict_first_line: bool = False,
    message_bytes: int = limits.MESSAGE_BYTES,
) -> ListenerRules:
    """The rules of a connection on TCP or a unix socket."""
    return ListenerRules(
        drain_seconds=limits.SOCKET_DRAIN_SECONDS,
        line_seconds=limits.LINE_SECONDS,
        strict_first_line=strict_first_line,
        routes_own_methods=True,
        direct=direct,
        message_bytes=message_bytes,
        join=join,
    )
