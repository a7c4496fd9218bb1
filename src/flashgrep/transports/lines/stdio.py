"""MCP over stdin and stdout: stdout carries only messages, and the end of stdin ends the server."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

import anyio
import anyio.lowlevel
import anyio.to_thread

from flashgrep.system.atomic import write_all
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.access import Authorisation
from flashgrep.transports.lines.messages import DRAIN_SECONDS, READ_CHUNK_BYTES
from flashgrep.transports.lines.session import LineSession, ListenerRules, hung_up
from flashgrep.transports.plain import Offer
from flashgrep.transports.signals import serve_until_signal


async def serve_stdio(
    toolbox: Toolbox,
    *,
    structured: bool = False,
    begin: Callable[[], None] = lambda: None,
) -> None:
    """Serve one client on our standard streams until it closes our stdin.

    `begin` starts what need not come before the first answer, without waiting.
    """
    offer = Offer(toolbox, structured=structured)
    with private_streams() as (incoming, outgoing):
        wire = PipeWire(incoming, outgoing, begin)
        rules = ListenerRules(drain_seconds=DRAIN_SECONDS)
        session = LineSession(offer, wire, Authorisation(Caller("stdio")), rules)
        await serve_until_signal(session.run)


@contextmanager
def private_streams() -> Iterator[tuple[int, int]]:
    """Take stdin and stdout for ourselves: a stray print goes to stderr, a stray read gets EOF.

    The descriptors are not inherited by child programs.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        # Python's own stdout is buffered: what is in it must not come out once 1 is the wire again.
        with redirect_stdout(sys.stderr):
            yield incoming, outgoing
    finally:
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)
        for descriptor in (nothing, incoming, outgoing):
            os.close(descriptor)


class PipeWire:
    """A descriptor to read and one to write: pipes, terminals, files, sockets alike.

    Neither descriptor is made non-blocking: that flag belongs to the open file, which a terminal
    shares with the shell. Reads wait for readiness instead; a write that may block has a thread.
    """

    def __init__(
        self, incoming: int, outgoing: int, begin: Callable[[], None] = lambda: None
    ) -> None:
        """`begin` is called once, when the first bytes have been handled, or are waited for."""
        self._begin: Callable[[], None] | None = begin
        self._has_read = False
        self._in = incoming
        self._out = outgoing
        self._waits = _can_be_polled(incoming)
        self._out_is_pipe = stat.S_ISFIFO(os.fstat(outgoing).st_mode)
        self._one_writer = anyio.CapacityLimiter(1)

    async def receive(self) -> bytes:
        if self._begin is not None and (self._has_read or not self._has_more()):
            self._begin()
            self._begin = None
        await anyio.lowlevel.checkpoint()
        if self._waits:
            await anyio.wait_readable(self._in)
        self._has_read = True
        return os.read(self._in, READ_CHUNK_BYTES)

    def _has_more(self) -> bool:
        return bool(select.select([self._in], [], [], 0)[0])

    async def send(self, data: bytes) -> None:
        if self._fits_at_once(data):
            os.write(self._out, data)
            return
        await anyio.to_thread.run_sync(
            write_all, self._out, data, abandon_on_cancel=True, limiter=self._one_writer
        )

    def finish(self) -> None:
        """Nothing: what is in a pipe can be read after its writer has ended."""

    def gone(self) -> bool:
        return self._out_is_pipe and hung_up(self._out)

    def _fits_at_once(self, data: bytes) -> bool:
        """A writable pipe takes PIPE_BUF bytes without blocking."""
        if not self._out_is_pipe or len(data) > select.PIPE_BUF:
            return False
        return bool(select.select([], [self._out], [], 0)[1])


def _can_be_polled(descriptor: int) -> bool:
    """Regular files and /dev/null are always ready, and epoll refuses them."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
