"""MCP over stdin and stdout: messages only on stdout, and the end of stdin is the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.lines.access import Authorisation
from flashgrep.transports.lines.messages import DRAIN_SECONDS
from flashgrep.transports.lines.plain_calls import plain_calls
from flashgrep.transports.lines.session import LineSession, ListenerRules
from flashgrep.transports.lines.streams import PipeWire
from flashgrep.transports.protocol import build_server
from flashgrep.transports.signals import serve_until_signal


async def serve_stdio(toolbox: Toolbox, *, structured: bool = False) -> None:
    """Serve one client on our standard streams until it closes our stdin."""
    server = build_server(toolbox, structured=structured)
    with private_streams() as (incoming, outgoing):
        wire = PipeWire(incoming, outgoing)
        manners = ListenerRules(
            drain_seconds=DRAIN_SECONDS, plain=plain_calls(toolbox, structured=structured)
        )
        session = LineSession(server, wire, Authorisation(Caller("stdio")), manners)
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
