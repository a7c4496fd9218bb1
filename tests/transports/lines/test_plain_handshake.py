"""The handshake, `ping` and the listing: answered before the SDK is there, and exactly as by it."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import version as sdk

from flashgrep.settings import Settings
from flashgrep.tools.catalog import all_tools, offered
from flashgrep.tools.dispatch.activity import Activity
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.plain import HANDSHAKE_VERSIONS
from tests.transports.clients import HANDSHAKE, request, tool_call
from tests.transports.lines.plain_session import VERSIONS, Peer, session

CASES = 1_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 40
CLIENT = HANDSHAKE["clientInfo"]
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

PLAIN: list[dict[str, Any]] = [
    *({**HANDSHAKE, "protocolVersion": version} for version in [*VERSIONS, ""]),
    {**HANDSHAKE, "capabilities": {"roots": {"listChanged": True}, "sampling": {}}},
    {**HANDSHAKE, "capabilities": {"sampling": {"tools": {}, "context": {}}, "roots": {}}},
    {**HANDSHAKE, "capabilities": {"elicitation": {"form": {}, "url": {}}}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "title": "T", "websiteUrl": "x", "description": ""}},
    {**HANDSHAKE, "clientInfo": {"name": "", "version": ""}},
]
BAD: tuple[Any, ...] = (None, 5, [])
OTHERS: list[Any] = [
    None,
    {},
    *({key: HANDSHAKE[key] for key in HANDSHAKE if key != gone} for gone in HANDSHAKE),
    *({**HANDSHAKE, key: value} for key in HANDSHAKE for value in BAD),
    *({**HANDSHAKE, key: "x"} for key in ("capabilities", "clientInfo")),
    {**HANDSHAKE, "protocolVersion": "\ud800"},
    {**HANDSHAKE, "protocolVersion": "é"},
    {**HANDSHAKE, "_meta": {"progressToken": 1}},
    {**HANDSHAKE, "_meta": MODERN},
    {**HANDSHAKE, "more": 1},
    {**HANDSHAKE, "client_info": CLIENT},
    {**HANDSHAKE, "capabilities": {"roots": True}},
    {**HANDSHAKE, "capabilities": {"roots": {"listChanged": "yes"}}},
    {**HANDSHAKE, "capabilities": {"roots": {"listChanged": 1}}},
    {**HANDSHAKE, "capabilities": {"roots": {"listChanged": None}}},
    {**HANDSHAKE, "capabilities": {"roots": {"more": 1}}},
    {**HANDSHAKE, "capabilities": {"sampling": {"tools": 5}}},
    {**HANDSHAKE, "capabilities": {"elicitation": None}},
    {**HANDSHAKE, "capabilities": {"elicitation": {"form": {"applyDefaults": True}}}},
    {**HANDSHAKE, "capabilities": {"experimental": {"x": {}}}},
    {**HANDSHAKE, "capabilities": {"experimental": {"x": 5}}},
    {**HANDSHAKE, "capabilities": {"tasks": {"list": {}, "requests": {}}}},
    {**HANDSHAKE, "capabilities": {"extensions": {}}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "name": 5}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "name": "\ud800"}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "name": "日本"}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "title": None}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "icons": [{"src": "x"}]}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "more": "x"}},
]


async def opening(params: Any, is_short: bool) -> tuple[list[bytes], Peer]:
    """The lines of a connection that opens with a handshake, and asks what every client asks."""
    async with session(is_short=is_short) as peer:
        lines = await peer.told("initialize", params, 1)
        await peer.send(INITIALIZED)
        lines += await peer.told("ping", None, 2)
        lines += await peer.told("ping", {}, 3)
        lines += await peer.told("tools/list", None, 4)
        lines += await peer.told("tools/list", {}, 5)
        return lines, peer


@pytest.mark.parametrize("params", PLAIN, ids=repr)
def test_a_connection_opens_as_with_the_sdk_to_the_byte(params: dict[str, Any]) -> None:
    ours, peer = anyio.run(opening, params, True)
    theirs, defined = anyio.run(opening, params, False)
    assert ours == theirs
    assert peer.caller.author == defined.caller.author
    assert (peer.has_sdk, defined.has_sdk) == (False, True)


@pytest.mark.parametrize("params", OTHERS, ids=repr)
def test_a_handshake_that_is_not_plain_is_the_sdks(params: Any) -> None:
    ours, peer = anyio.run(opening, params, True)
    theirs, defined = anyio.run(opening, params, False)
    assert ours == theirs
    assert peer.caller.author == defined.caller.author
    assert peer.has_sdk


def test_the_versions_of_the_handshake_are_those_of_the_sdk() -> None:
    assert HANDSHAKE_VERSIONS == sdk.HANDSHAKE_PROTOCOL_VERSIONS
    assert HANDSHAKE_VERSIONS[-1] == sdk.LATEST_HANDSHAKE_VERSION


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


def _objects(*keys: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(keys) | st.sampled_from(keys) | st.text(max_size=3)
    return st.dictionaries(names, values | values | JSON, max_size=3)


WORDS = st.text(max_size=3) | st.sampled_from([*VERSIONS, "claude"])
PARTS = _objects("listChanged", "tools", "context", "form", "url", values=st.just({}))
PARAMS = st.fixed_dictionaries(
    {
        "protocolVersion": WORDS,
        "capabilities": _objects("roots", "sampling", "elicitation", "tasks", values=PARTS),
        "clientInfo": _objects("title", "description", "websiteUrl", values=WORDS).map(
            lambda more: {**CLIENT, **more}
        ),
    },
    optional={"_meta": JSON, "more": JSON},
)


@settings(max_examples=CASES)
@given(PARAMS | JSON.filter(lambda value: isinstance(value, dict)))
def test_whatever_a_handshake_says_the_answers_are_those_of_the_sdk(params: Any) -> None:
    async def main(is_short: bool) -> tuple[list[bytes], str]:
        async with session(is_short=is_short) as peer:
            told = await peer.told("initialize", params, 1)
            told += await peer.told("ping", None, 2)
            told += await peer.told("tools/call", {}, 3)
            return told, peer.caller.author

    assert anyio.run(main, True) == anyio.run(main, False)


# ── the listing ──────────────────────────────────────────────────────────────────────────────────

CHOICES = [
    {"anthropic_compat": compat, "read_only": read_only, **notes}
    for compat, read_only, notes in itertools.product(
        (False, True), (False, True), ({}, {"kb": Path("kb")})
    )
]


@pytest.mark.parametrize("chosen", CHOICES, ids=repr)
def test_every_tool_is_listed_as_by_the_sdk_to_the_byte(chosen: dict[str, Any]) -> None:
    settings = Settings(**chosen)
    services = cast(Any, SimpleNamespace(activity=Activity()))
    tools = Toolbox(offered(all_tools(), settings), services, settings, "é\n")

    async def main(is_short: bool) -> list[bytes]:
        async with session(is_short=is_short, tools=tools) as peer:
            lines = await peer.told("initialize", HANDSHAKE)
            lines += await peer.told("tools/list")
            assert peer.has_sdk is not is_short
            return lines

    ours = anyio.run(main, True)
    assert ours == anyio.run(main, False)
    assert len(json.loads(ours[1])["result"]["tools"]) > 3


# ── the SDK takes over ───────────────────────────────────────────────────────────────────────────

LATER: list[tuple[str, Any]] = [
    ("resources/list", None),
    ("prompts/list", {}),
    ("logging/setLevel", {"level": "debug"}),
    ("server/discover", {"_meta": MODERN}),
    ("tools/list", {"_meta": MODERN}),
    ("tools/list", {"cursor": "x"}),
    ("tools/list", {"cursor": 5}),
    ("ping", {"_meta": {"progressToken": 1}}),
    ("ping", {"_meta": 5}),
    ("ping", {"_meta": MODERN}),
    ("tools/call", {"name": "echo", "arguments": {"text": "x"}, "task": {"ttl": 5}}),
    ("tools/call", {"name": "count", "_meta": {"progressToken": 1.5}}),
    ("initialize", HANDSHAKE),
    ("initialize", {**HANDSHAKE, "clientInfo": {"name": "second", "version": "2"}}),
    ("initialize", {"protocolVersion": 5}),
    ("no/such", {}),
]


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_sdk_takes_over_with_the_handshake_that_was_answered(
    version: str, structured: bool
) -> None:
    async def main(is_short: bool) -> list[Any]:
        told: list[Any] = []
        async with session(is_short=is_short, structured=structured) as peer:
            await peer.shake(protocolVersion=version)
            await peer.send(INITIALIZED)
            assert peer.has_sdk is not is_short
            for number, (method, params) in enumerate(LATER):
                lines = await peer.told(method, params, number)
                told += [json.loads(line) for line in lines]
                call = {"name": "echo", "arguments": {"text": "x"}}
                told += map(json.loads, await peer.told("tools/call", call, -1))
                told.append(peer.caller.author)
        return told

    assert anyio.run(main, True) == anyio.run(main, False)


def test_what_begins_without_a_handshake_is_the_sdks() -> None:
    async def main(is_short: bool) -> list[Any]:
        told = []
        for first in (
            request("tools/list"),
            request("ping"),
            request("server/discover", _meta=MODERN),
            tool_call("echo", text="x"),
            request("resources/list"),
        ):
            async with session(is_short=is_short) as peer:
                told.append(await peer.ask(first))
                modern = request("tools/call", 2, name="whoami", arguments={}, _meta=MODERN)
                told.append(await peer.ask(modern))
                assert peer.has_sdk
                told.append(await peer.ask(request("initialize", 3, **HANDSHAKE)))
                told.append(await peer.ask(tool_call("echo", 4, text="x")))
        return told

    assert anyio.run(main, True) == anyio.run(main, False)


@pytest.mark.parametrize("first", [request("tools/list"), tool_call("echo", text="x")])
def test_a_request_without_a_handshake_is_told_to_send_one(first: dict[str, Any]) -> None:
    async def main() -> tuple[Any, Any]:
        async with session(is_short=True) as peer:
            refused = await peer.ask(first)
            await peer.ask(request("initialize", 2, **HANDSHAKE))
            return refused, await peer.ask(tool_call("echo", 3, text="x"))

    refused, answered = anyio.run(main)
    assert refused["error"]["code"] == -32602
    assert refused["error"]["message"] == "send initialize first"
    assert "result" in answered


def test_a_handshake_and_what_follows_it_may_come_at_once_or_in_a_batch() -> None:
    asked = [
        request("initialize", 1, **HANDSHAKE),
        INITIALIZED,
        request("tools/list", 2),
        tool_call("echo", 3, text="x"),
        request("prompts/list", 4),
        request("ping", 5),
    ]

    async def main(is_short: bool, in_batch: bool) -> dict[int, Any]:
        async with session(is_short=is_short) as peer:
            if in_batch:
                told = await peer.ask(asked)
            else:
                await peer.send(*asked)
                told = [await peer.receive() for _ in range(5)]
        return {answer["id"]: answer for answer in told}

    for in_batch in (False, True):
        ours = anyio.run(main, True, in_batch)
        assert ours.keys() == {1, 2, 3, 4, 5}
        assert ours == anyio.run(main, False, in_batch)


def test_notifications_are_never_answered_and_do_not_need_the_sdk() -> None:
    async def main() -> None:
        async with session() as peer:
            await peer.shake()
            for method in ("initialized", "roots/list_changed", "progress", "cancelled", "no/such"):
                await peer.send({"jsonrpc": "2.0", "method": f"notifications/{method}"})
            assert (await peer.ask(request("ping", 7)))["id"] == 7
            assert not peer.has_sdk

    anyio.run(main)


def test_what_waits_for_the_sdk_when_the_peer_has_sent_its_last_line_is_answered() -> None:
    async def main() -> None:
        async with session() as peer:
            await peer.shake()
            await peer.send(request("prompts/list", 1), request("ping", 2))
            peer.wire.finish()
            assert {(await peer.receive())["id"], (await peer.receive())["id"]} == {1, 2}

    anyio.run(main)
