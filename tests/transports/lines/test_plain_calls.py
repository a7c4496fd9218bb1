"""Plain requests: answered beside the SDK, and exactly as the SDK answers them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.transports.lines.messages import OpenRequest, OpenRequests
from flashgrep.transports.plain import is_plain
from tests.transports.clients import request, tool_call
from tests.transports.lines.plain_session import VERSIONS, session
from tests.transports.program import TOOLS

CASES = 300 if os.environ.get("FLASHGREP_HEAVY") == "1" else 30
LOUD = {"noise", "wait", "hold", "stubborn", "slow", "large", "crash"}
"""Tools that take long, write a file, or fail."""
QUIET = sorted({spec.name for spec in TOOLS} - LOUD)


MODERN = "io.modelcontextprotocol/protocolVersion"
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
    {"name": "count", "arguments": {}, "_meta": None},
    {"name": "count", "arguments": {}, "_meta": {"progressToken": ""}},
    {"name": "count", "arguments": {}, "_meta": {"progressToken": "t", "claude/id": {"a": [1]}}},
    {"name": "count", "arguments": {}, "_meta": {"progressToken": True}},
    {"name": "count", "arguments": {}, "_meta": {"progressToken": 1.0}},
    {"name": "count", "arguments": {}, "_meta": {"progressToken": None}},
    {"name": "count", "arguments": {}, "_meta": {"progressToken": -(2**70)}},
    {"name": "count", "arguments": {}, "_meta": {"progressToken": "\ud800"}},
    {"name": "count", "arguments": {}, "_meta": {"progress_token": 7}},
    {"name": "count", "arguments": {}, "_meta": {"mine": "\ud800", "\ud800": 1}},
    {"name": "count", "arguments": {}, "_meta": {"mine": "\ud800"}},
    {"name": "echo", "arguments": {"text": "x"}, "_meta": {MODERN: "2026-07-28"}},
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


async def answers(params: Any, is_short: bool, **changed: Any) -> list[bytes]:
    """All that is sent back for one call, with a handshake before it, up to its answer."""
    async with session(is_short=is_short) as peer:
        await peer.shake(**changed)
        told = await peer.told("tools/call", params)
        if is_short:
            assert bool(peer.plain) == is_plain(params)
        return told


def same(ours: list[bytes], theirs: list[bytes]) -> bool:
    """Whether the same was sent; the order of fields in a result of a tool is free."""
    return [json.loads(line) for line in ours] == [json.loads(line) for line in theirs]


@pytest.mark.parametrize("params", CALLS, ids=repr)
def test_a_call_is_answered_as_by_the_sdk(params: dict[str, Any]) -> None:
    assert same(anyio.run(answers, params, True), anyio.run(answers, params, False))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["echo", "picture", "missing", "count"])
def test_a_result_is_the_same_in_every_version_of_the_handshake(version: str, name: str) -> None:
    async def main(is_short: bool) -> list[bytes]:
        arguments = {"text": "x"} if name == "echo" else {}
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": "t"}}
        return await answers(params, is_short, protocolVersion=version)

    assert same(anyio.run(main, True), anyio.run(main, False))


def test_the_progress_of_a_plain_call_is_reported_before_its_answer() -> None:
    told = anyio.run(answers, {"name": "count", "_meta": {"progressToken": 0, "mine": 1}}, True)
    *reports, answer = map(json.loads, told)
    assert [report["params"]["progress"] for report in reports] == [1, 2, 3]
    assert {report["params"]["progressToken"] for report in reports} == {0}
    assert answer["result"]["content"] == [{"type": "text", "text": "counted"}]


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


@settings(max_examples=CASES)
@given(st.lists(PARAMS, min_size=1, max_size=20))
def test_whatever_is_called_the_answers_are_those_of_the_sdk(calls: list[dict[str, Any]]) -> None:
    async def main(is_short: bool) -> list[Any]:
        told = []
        async with session(is_short=is_short) as peer:
            await peer.shake()
            for number, params in enumerate(calls):
                lines = await peer.told("tools/call", params, number)
                told += [json.loads(line) for line in lines]
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


@pytest.mark.parametrize("is_short", [True, False])
def test_a_call_that_still_runs_when_the_connection_ends_is_told_so_unless_it_was_cancelled(
    tmp_path: Path, is_short: bool
) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]

    async def main() -> list[Any]:
        async with session(is_short=is_short, drain_seconds=0.1) as peer:
            await peer.shake()
            for number, path in enumerate(paths):
                await peer.send(tool_call("wait", number, text=str(path)))
                await until(path, "STARTED")
            note = {"method": "notifications/cancelled", "params": {"requestId": 0}}
            await peer.send({"jsonrpc": "2.0", **note})
            peer.wire.finish()
            return [await peer.receive()]

    closed = {"code": -32000, "message": "Connection closed"}
    assert anyio.run(main) == [{"jsonrpc": "2.0", "id": 1, "error": closed}]


def test_at_the_end_only_calls_that_were_not_cancelled_before_are_cut_off() -> None:
    async def main() -> None:
        async def send(_: Any) -> None:
            raise AssertionError("nothing is answered")

        requests = OpenRequests(send, anyio.Semaphore(4))
        numbers = [
            await requests.begin(OpenRequest(name, None, scope))
            for name, scope in (("a", anyio.CancelScope()), ("b", anyio.CancelScope()), ("c", None))
        ]
        assert requests.cancel("a") is None
        assert requests.cancel_own() == {numbers[1]}

    anyio.run(main)
