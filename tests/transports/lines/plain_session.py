"""A session over a socket pair, which answers plain requests or leaves all to the SDK."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import anyio

from flashgrep.settings import Settings
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Progress, Toolbox
from flashgrep.transports.access import Authorisation
from flashgrep.transports.lines.session import LineSession, ListenerRules
from flashgrep.transports.lines.sockets import SocketWire
from flashgrep.transports.plain import Offer
from tests.transports.clients import HANDSHAKE, request
from tests.transports.program import toolbox

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01")
"""Those with a handshake, the one without, and one that never was."""
TOOLBOX = toolbox(Settings())


class Peer:
    """The other end of a session, and what of it was plain."""

    def __init__(self, end: socket.socket) -> None:
        self.wire = SocketWire(end)
        self.caller = Caller("me")
        self.plain: list[Mapping[str, Any]] = []
        """The calls that were."""
        self.has_sdk = False
        """Whether anything needed the SDK."""
        self._rest = b""

    async def send(self, *values: Any) -> None:
        await self.wire.send(b"".join(json.dumps(value).encode() + b"\n" for value in values))

    async def receive_line(self) -> bytes:
        while b"\n" not in self._rest:
            more = await self.wire.receive()
            assert more, "the session has ended"
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    async def receive(self) -> Any:
        return json.loads(await self.receive_line())

    async def ask(self, value: Any) -> Any:
        await self.send(value)
        return await self.receive()

    async def told(self, method: str, params: Any = None, number: int = 1) -> list[bytes]:
        """The lines that are sent back for a request, up to its answer."""
        given = {} if params is None else {"params": params}
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, **given})
        lines = [await self.receive_line()]
        while json.loads(lines[-1]).get("id") != number:
            lines.append(await self.receive_line())
        return lines

    async def shake(self, **changed: Any) -> None:
        answer = await self.ask(request("initialize", "start", **(HANDSHAKE | changed)))
        assert "result" in answer, answer


class Recording(Offer):
    """Knows which calls were plain, and whether the SDK was needed."""

    def __init__(self, peer: Peer, tools: Toolbox, is_plain: bool, structured: bool) -> None:
        super().__init__(tools, is_plain=is_plain, structured=structured)
        self._peer = peer

    @cached_property
    def server(self) -> Any:
        self._peer.has_sdk = True
        return super().server

    async def call(
        self, caller: Caller, params: Mapping[str, Any], progress: Progress | None
    ) -> dict[str, Any]:
        self._peer.plain.append(params)
        return await super().call(caller, params, progress)


@asynccontextmanager
async def session(
    *,
    is_short: bool = True,
    tools: Toolbox = TOOLBOX,
    structured: bool = False,
    drain_seconds: float = 120,
    offer: Offer | None = None,
) -> AsyncIterator[Peer]:
    """A session that answers plain requests, or leaves all to the SDK: the definition."""
    ours, theirs = socket.socketpair()
    with ours, theirs, anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            peer = Peer(theirs)
            manners = ListenerRules(drain_seconds=drain_seconds)
            own = offer or Recording(peer, tools, is_short, structured)
            lines = LineSession(own, SocketWire(ours), Authorisation(peer.caller), manners)
            tasks.start_soon(lines.run)
            yield peer
            theirs.shutdown(socket.SHUT_WR)
