"""Plain requests: answered beside the SDK, and exactly as the SDK answers them."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.settings import Settings
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Progress
from flashgrep.transports.access import Authorisation
from flashgrep.transports.lines.session import LineSession, ListenerRules
from flashgrep.transports.lines.sockets import SocketWire
from flashgrep.transports.plain import Offer, is_plain
from tests.transports.clients import HANDSHAKE, request, tool_call
from tests.transports.program import TOOLS, toolbox

TOOLBOX = toolbox(Settings())
LOUD = {"noise", "wait", "hold", "stubborn", "slow", "large", "crash"}
"""Tools that take long, write a file, or fail."""
QUIET = sorted({spec.name for spec in TOOLS} - LOUD)


class Peer:
    """The other end of a session, and which of its calls were plain."""

    def __init__(self, end: socket.socket) -> None:
        self.wire = SocketWire(end)
        self.caller = Caller("me")
        self.plain: list[Mapping[str, Any]] = []
        self._rest = b""

    async def send(self, *values: Any) -> None:
        await self.wire.send(b"".join(json.dumps(value).encode() + b"\n" for value in values))

    async def receive(self) -> Any:
        while b"\n" not in self._rest:
            more = await self.wire.receive()
            assert more, "the session has ended"
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    async def ask(self, value: Any) -> Any:
        await self.send(value)
        return await self.receive()

    async def shake(self, **changed: Any) -> None:
        answer = await self.ask(request("initialize", "start", **(HANDSHAKE | changed)))
        assert "result" in answer, answer


class Recording(Offer):
    """Knows which calls were plain."""

    def __init__(self, plain: list[Mapping[str, Any]], is_plain: bool) -> None:
        super().__init__(TOOLBOX, is_plain=is_plain)
        self._calls = plain

    async def call(
        self, caller: Caller, params: Mapping[str, Any], progress: Progress | None
    ) -> dict[str, Any]:
        self._calls.append(params)
        return await super().call(caller, params, progress)


@asynccontextmanager
async def session(*, is_short: bool = True) -> AsyncIterator[Peer]:
    """A session that answers plain requests, or leaves all to the SDK: the definition."""
    ours, theirs = socket.socketpair()
    with ours, theirs, anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            peer = Peer(theirs)
            manners = ListenerRules(drain_seconds=1.5)
            offer = Recording(peer.plain, is_short)
            lines = LineSession(offer, SocketWire(ours), Authorisation(peer.caller), manners)
            tasks.start_soon(lines.run)
            yield peer
            theirs.shutdown(socket.SHUT_WR)


CALLS: list[dict[str, Any]] = [
    {"name": "echo", "arguments": {"text": "x"}},
    {"name": "echo", "arguments": {"text": "lone \ud800, 日本, \U0001f600, \0"}},
    {"name": "echo", "arguments": {"text": 5}},
    {"name": "echo", "arguments": {"text": "x", "more": 1}},
    {"name": "echo", "arguments": {"tëxt": "x"}},
    {"name": "echo", "arguments": {"\ud800": "x"}},
    {"name": "echo", "arguments": {}},
    {"name": "echo", "arguments": None},
    {"name": "echo", "arguments": [1]},
    {"name": "echo", "arguments": "x"},
    {"name": "echo"},
    {"name": "picture"},
    {"name": "missing", "arguments": {}},
    {"name": "crash", "arguments": {}},
    {"name": "whoami", "arguments": {}},
    {"name": "count", "arguments": {}},
    {"name": "count", "arguments": {}, "_meta": {"progressToken": 7}},
    {"name": "count", "arguments": {}, "_meta": {}},
    {"name": "echo", "arguments": {"text": "x"}, "_meta": 5},
    {"name": "echo", "arguments": {"text": "x"}, "task": {"ttl": 5}},
    {"name": "no such tool", "arguments": {}},
    {"name": "ëcho", "arguments": {}},
    {"name": "", "arguments": {}},
    {"name": 5, "arguments": {}},
    {"name": None, "arguments": {}},
    {"arguments": {"text": "x"}},
    {},
]


async def answers(params: Any, is_short: bool, **changed: Any) -> list[Any]:
    """All that is sent back for one call, with a handshake before it, up to the next answer."""
    async with session(is_short=is_short) as peer:
        await peer.shake(**changed)
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        told = [await peer.receive()]
        while told[-1].get("id") != 1:
            told.append(await peer.receive())
        if is_short:
            assert bool(peer.plain) == is_plain(params)
        return told


@pytest.mark.parametrize("params", CALLS, ids=repr)
def test_a_call_is_answered_as_by_the_sdk(params: dict[str, Any]) -> None:
    assert anyio.run(answers, params, True) == anyio.run(answers, params, False)


@pytest.mark.parametrize(
    "version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"]
)
@pytest.mark.parametrize("name", ["echo", "picture", "missing"])
def test_a_result_is_the_same_in_every_version_of_the_handshake(version: str, name: str) -> None:
    async def main(is_short: bool) -> list[Any]:
        arguments = {"text": "x"} if name == "echo" else {}
        params = {"name": name, "arguments": arguments}
        return await answers(params, is_short, protocolVersion=version)

    assert anyio.run(main, True) == anyio.run(main, False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from([*QUIET, "nothing"]) | JSON,
        "arguments": st.dictionaries(st.just("text") | st.text(max_size=3), JSON) | JSON,
        "_meta": st.dictionaries(st.just("progressToken") | st.text(max_size=3), JSON) | JSON,
        "other": JSON,
    },
)


@given(st.lists(PARAMS, min_size=1, max_size=20))
def test_whatever_is_called_the_answers_are_those_of_the_sdk(calls: list[dict[str, Any]]) -> None:
    async def main(is_short: bool) -> list[Any]:
        told = []
        async with session(is_short=is_short) as peer:
            await peer.shake()
            for number, params in enumerate(calls):
                await peer.send(request("tools/call", number, **params))
                answer = await peer.receive()
                while answer.get("id") != number:
                    answer = await peer.receive()  # progress
                told.append(answer)
        return told

    assert anyio.run(main, True) == anyio.run(main, False)


def test_before_the_handshake_nothing_is_plain() -> None:
    async def main() -> None:
        async with session() as peer:
            answer = await peer.ask(tool_call("echo", 1, text="x"))
            assert answer["error"]["code"] == -32602
            refused = await peer.ask(request("initialize", 2, protocolVersion=5))
            assert "error" in refused
            answer = await peer.ask(tool_call("echo", 3, text="x"))
            assert answer["error"]["code"] == -32602
            await peer.shake()
            answer = await peer.ask(tool_call("echo", 4, text="x"))
            assert answer["result"]["content"] == [{"type": "text", "text": "x"}]
            assert len(peer.plain) == 1

    anyio.run(main)


def test_the_client_is_known_by_the_name_of_its_handshake() -> None:
    async def main() -> None:
        async with session() as peer:
            await peer.shake(clientInfo={"name": "claude", "version": "1"})
            await peer.ask(tool_call("echo", 1, text="x"))
            assert peer.caller.author == "claude"

    anyio.run(main)


def test_plain_calls_share_a_batch_with_all_others() -> None:
    async def main() -> None:
        async with session() as peer:
            await peer.shake()
            asked = [tool_call("echo", 1, text="a"), request("ping", 2), {"jsonrpc": "2.0"}]
            told = await peer.ask([*asked, tool_call("missing", "x")])
            by_id = {answer["id"]: answer for answer in told}
            assert set(by_id) == {1, 2, None, "x"}
            assert by_id["x"]["result"]["isError"]
            assert len(peer.plain) == 2

    anyio.run(main)


async def until(path: Path, text: str) -> None:
    """Wait for what another thread writes to a file."""
    while await anyio.to_thread.run_sync(_read, path) != text:  # noqa: ASYNC110 - a file
        await anyio.sleep(0.005)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.parametrize("is_short", [True, False])
def test_a_cancelled_call_is_stopped_and_not_answered(tmp_path: Path, is_short: bool) -> None:
    path = tmp_path / "wait"

    async def main() -> None:
        async with session(is_short=is_short) as peer:
            await peer.shake()
            await peer.send(tool_call("wait", 1, text=str(path)))
            await until(path, "STARTED")
            note = {"method": "notifications/cancelled", "params": {"requestId": 1}}
            await peer.send({"jsonrpc": "2.0", **note}, request("ping", 2))
            assert (await peer.receive())["id"] == 2
            await until(path, "CANCELLED")

    anyio.run(main)
