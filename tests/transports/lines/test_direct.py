"""Direct methods on a line session: answered beside the SDK, failures with number and name."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from flashgrep.errors import NotFound
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.transports.access import Authorisation, Entrance
from flashgrep.transports.lines.session import LineSession, ListenerRules
from flashgrep.transports.lines.sockets import SocketWire
from flashgrep.transports.plain import Offer
from tests.transports.clients import request
from tests.transports.program import toolbox

STOPPED: list[str] = []


async def double(caller: Caller, params: Mapping[str, Any] | None) -> Any:
    return {"caller": caller.key, "twice": (params or {})["n"] * 2}


async def fail(caller: Caller, params: Mapping[str, Any] | None) -> Any:
    raise NotFound("Path not found: x")


async def hang(caller: Caller, params: Mapping[str, Any] | None) -> Any:
    try:
        await anyio.sleep_forever()
    finally:
        STOPPED.append("hang")


MANNERS = ListenerRules(
    drain_seconds=1.5,
    routes_own_methods=True,
    direct={"double": double, "fail": fail, "hang": hang},
)


class Peer:
    """The other end of a socket pair."""

    def __init__(self, end: socket.socket) -> None:
        self.wire = SocketWire(end)
        self._rest = b""

    async def send(self, value: Any) -> None:
        await self.wire.send(json.dumps(value).encode() + b"\n")

    async def receive(self) -> Any:
        while b"\n" not in self._rest:
            self._rest += await self.wire.receive()
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)


@asynccontextmanager
async def session(gate: Authorisation | None = None) -> AsyncIterator[Peer]:
    ours, theirs = socket.socketpair()
    server = Offer(toolbox(Settings()))
    with ours, theirs, anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            line_session = LineSession(
                server, SocketWire(ours), gate or Authorisation(Caller("me")), MANNERS
            )
            tasks.start_soon(line_session.run)
            yield Peer(theirs)
            theirs.shutdown(socket.SHUT_WR)


def test_a_direct_method_answers_before_any_handshake() -> None:
    async def main() -> None:
        async with session() as peer:
            await peer.send(request("double", "x", n=4))
            assert (await peer.receive()) == {
                "jsonrpc": "2.0",
                "id": "x",
                "result": {"caller": "me", "twice": 8},
            }
            await peer.send(request("fail", 2))
            error = (await peer.receive())["error"]
            assert (error["code"], error["data"]) == (-32002, {"code": "not_found"})

    anyio.run(main)


def test_the_log_says_that_a_line_did_not_end_in_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "flashgrep.transports")
    hurried = ListenerRules(drain_seconds=1.5, line_seconds=0.01)

    async def main() -> None:
        ours, theirs = socket.socketpair()
        server = Offer(toolbox(Settings()))
        with ours, theirs, anyio.fail_after(120):
            theirs.sendall(b"{")
            gate = Authorisation(Caller("me"))
            await LineSession(server, SocketWire(ours), gate, hurried).run()

    anyio.run(main)
    told = "connection ends: _Closed('a line was begun and not ended in time')"
    assert told in caplog.messages


def test_direct_methods_and_the_sdk_share_a_batch() -> None:
    async def main() -> None:
        async with session() as peer:
            ping = request("ping", 3)
            note = {"jsonrpc": "2.0", "method": "double", "params": {"n": 1}}
            await peer.send([request("double", 1, n=1), request("fail", 2), note, ping])
            answers = {answer["id"]: answer for answer in await peer.receive()}
            assert sorted(answers) == [1, 2, 3]
            assert answers[1]["result"]["twice"] == 2

    anyio.run(main)


@pytest.mark.parametrize("end", ["cancelled", "half-closed"])
def test_a_direct_method_can_be_stopped(end: str) -> None:
    STOPPED.clear()

    async def main() -> None:
        async with session() as peer:
            await peer.send(request("hang", 1))
            if end == "cancelled":
                params = {"requestId": 1}
                await peer.send(
                    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
                )
                await peer.send(request("double", 2, n=1))
                assert (await peer.receive())["id"] == 2

    anyio.run(main)
    assert STOPPED == ["hang"]


def test_a_locked_connection_has_no_direct_methods() -> None:
    async def main() -> None:
        async with session(Authorisation(Caller("me"), Entrance("T"), locked=True)) as peer:
            await peer.send(request("double", 1, n=1))
            assert (await peer.receive())["error"]["code"] == -32001
            await peer.send(request("auth", 2, token="T"))
            await peer.receive()
            await peer.send(request("double", 3, n=1))
            assert (await peer.receive())["result"]["twice"] == 2

    anyio.run(main)


def test_more_requests_than_fit_at_once_are_all_answered() -> None:
    async def main() -> None:
        async with session() as peer:

            async def send_all() -> None:
                for number in range(1000):
                    await peer.send(request("ping", number))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send_all)
                answered = [(await peer.receive())["id"] for _ in range(1000)]
            assert sorted(answered) == list(range(1000))

    anyio.run(main)
