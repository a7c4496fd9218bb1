"""Where bytes come from and go to: a socket, or the two ends of stdio."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import stat
from typing import Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from flashgrep.system.atomic import write_all
from flashgrep.transports.lines.messages import READ_CHUNK_BYTES


class ByteStream(Protocol):
    """A duplex byte stream."""

    async def receive(self) -> bytes:
        """The next bytes, at most a chunk; empty at the peer's end."""
        ...

    async def send(self, data: bytes) -> None:
        """Send all of `data`; OSError when the peer is gone."""
        ...

    def finish(self) -> None:
        """Send no more: the peer reads what was sent, and then the end."""
        ...

    def gone(self) -> bool:
        """Whether nobody can read what is sent (a peer that only half-closed still can)."""
        ...


class SocketWire:
    """A connected stream socket, driven by the event loop."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection

    async def receive(self) -> bytes:
        # A flood is always ready to be read, and sock_recv then does not yield.
        await anyio.lowlevel.checkpoint()
        loop = asyncio.get_running_loop()
        return await loop.sock_recv(self._socket, READ_CHUNK_BYTES)

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def finish(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def gone(self) -> bool:
        return _hung_up(self._socket.fileno())


class PipeWire:
    """A descriptor to read and one to write: pipes, terminals, files, sockets alike.

    Neither descriptor is made non-blocking: that flag belongs to the open file, which a terminal
    shares with the shell. Reads wait for readiness instead; a write that may block has a thread.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._in = incoming
        self._out = outgoing
        self._waits = _can_be_polled(incoming)
        self._out_is_pipe = stat.S_ISFIFO(os.fstat(outgoing).st_mode)
        self._one_writer = anyio.CapacityLimiter(1)

    async def receive(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        if self._waits:
            await anyio.wait_readable(self._in)
        return os.read(self._in, READ_CHUNK_BYTES)

    async def send(self, data: bytes) -> None:
        if self._fits_at_once(data):
            os.write(self._out, data)
            return
        await anyio.to_thread.run_sync(
            write_all, self._out, data, abandon_on_cancel=True, limiter=self._one_writer
        )

    def finish(self) -> None:
        """Nothing: what stands in a pipe is read whenever its writer ends."""

    def gone(self) -> bool:
        return self._out_is_pipe and _hung_up(self._out)

    def _fits_at_once(self, data: bytes) -> bool:
        """A writable pipe takes PIPE_BUF bytes without blocking."""
        if not self._out_is_pipe or len(data) > select.PIPE_BUF:
            return False
        return bool(select.select([], [self._out], [], 0)[1])


def _can_be_polled(descriptor: int) -> bool:
    """Regular files and /dev/null are always ready, and epoll refuses them."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _hung_up(descriptor: int) -> bool:
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))
