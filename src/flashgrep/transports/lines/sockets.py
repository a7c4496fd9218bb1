"""TCP and unix socket listeners: one `LineSession` per connection, under a cap.

At the cap a new connection takes the place of the one that has been open longest without a single
accepted message (on a server with `--token`: without `auth`); where every connection has spoken,
the new one is closed. So idle connections, however many, keep nobody out, and no client that
works is ever cut off.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
from mcp.server.lowlevel.server import Server

from flashgrep import limits
from flashgrep.transports.lines.access import Authorisation
from flashgrep.transports.lines.plain_calls import PlainCall
from flashgrep.transports.lines.session import DirectMethod, Joined, LineSession, ListenerRules
from flashgrep.transports.lines.streams import SocketWire
from flashgrep.transports.protocol import Peers

log = logging.getLogger(__name__)

_ACCEPT_PAUSE_SECONDS = 0.1


@dataclass(eq=False)
class _Connection:
    connection: socket.socket
    gate: Authorisation
    session: LineSession
    scope: anyio.CancelScope


class LineListener:
    """Accepts connections on a bound socket and serves each."""

    def __init__(
        self,
        listener: socket.socket,
        server: Server[Peers],
        gate: Callable[[socket.socket], Authorisation | None],
        manners: ListenerRules,
        recognise: Callable[[socket.socket], Awaitable[bool]] | None = None,
    ) -> None:
        """`gate` gives a connection its standing, or None to refuse it.

        `recognise` says whether a locked connection may be opened without a token; it is asked
        before anything is read.
        """
        self._listener = listener
        self._server = server
        self._gate = gate
        self._manners = manners
        self._recognise = recognise
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
        """The connections that nobody has accepted yet."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            entry = self._admit(connection)
            if entry is None:
                connection.close()
            else:
                yield entry

    async def _accept(self) -> _Connection | None:
        try:
            # Where connections wait, sock_accept does not yield: the others must have their turn.
            await anyio.lowlevel.checkpoint()
            connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        except OSError as error:
            # Out of descriptors, or the peer was quicker: neither is the end of the listener.
            log.warning("cannot accept a connection: %s", error)
            self._make_room(0)
            await anyio.sleep(_ACCEPT_PAUSE_SECONDS)
            return None
        entry = self._admit(connection)
        if entry is None:
            connection.close()
        return entry

    def _admit(self, connection: socket.socket) -> _Connection | None:
        gate = self._gate(connection)
        if gate is None:
            log.warning("refused a connection of another user")
            return None
        if not self._make_room(limits.CONNECTIONS - 1):
            log.warning("refused a connection: %d are open", len(self._open))
            return None
        _tune(connection)
        session = LineSession(self._server, SocketWire(connection), gate, self._manners)
        entry = _Connection(
            connection=connection, gate=gate, session=session, scope=anyio.CancelScope()
        )
        self._open.append(entry)
        return entry

    def _make_room(self, most: int) -> bool:
        """Have at most `most` connections open, at the cost of one that never spoke."""
        if len(self._open) <= most:
            return True
        for entry in self._open:
            if not entry.session.established:
                entry.scope.cancel()
                self._open.remove(entry)
                return True
        return False

    async def _serve(self, entry: _Connection) -> None:
        with entry.connection, entry.scope:
            try:
                await self._unlock(entry)
                await entry.session.run()
            except Exception:
                # One connection's failure is its own: the others and the listener go on.
                log.exception("a connection failed")
        if entry in self._open:
            self._open.remove(entry)

    async def _unlock(self, entry: _Connection) -> None:
        if self._recognise is not None and entry.gate.locked:
            entry.gate.locked = not await self._recognise(entry.connection)


def _tune(connection: socket.socket) -> None:
    """Answers leave at once, and a peer that lost its power is noticed some day."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def tcp_manners(
    direct: Mapping[str, DirectMethod], plain: PlainCall | None = None
) -> ListenerRules:
    """How a TCP connection is treated."""
    return ListenerRules(
        drain_seconds=limits.SOCKET_DRAIN_SECONDS,
        line_seconds=limits.LINE_SECONDS,
        strict_first_line=True,
        routes_own_methods=True,
        direct=direct,
        plain=plain,
    )


def unix_manners(
    direct: Mapping[str, DirectMethod],
    plain: PlainCall | None = None,
    join: Callable[[Mapping[str, Any] | None], Joined] | None = None,
) -> ListenerRules:
    """How a connection on the unix socket is treated."""
    return ListenerRules(
        drain_seconds=limits.SOCKET_DRAIN_SECONDS,
        line_seconds=limits.LINE_SECONDS,
        routes_own_methods=True,
        direct=direct,
        plain=plain,
        join=join,
    )
