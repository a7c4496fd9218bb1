"""Hostile paths × every tool × every transport: none accepted, nothing outside read or written."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import ClientSession
from tests.e2e.hostile import CANARY, EVERY, ROWS, WRITERS, Row, World, arguments
from tests.transports.clients import (
    FLASHGREP,
    HANDSHAKE,
    KINDS,
    RawLines,
    Server,
    environment,
    join,
    request,
    serving,
    tool_call,
)
from tests.warm import Warm

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
CODES = frozenset({"access_denied", "not_found", "invalid_params", "too_large", "io_error"})
# An atomic batch that cannot be is a conflict; the reason of each operation is told beside it.
BATCH_CODES = frozenset({"conflict"})


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("h"))


@pytest.fixture
def world(shared_world: World) -> Iterator[World]:
    """The world as it was made, and proof after the test that nothing outside was touched."""
    before = shared_world.untouchable()
    yield shared_world
    assert shared_world.untouchable() == before
    shared_world.clean()


@pytest.fixture(scope="module")
def server(shared_world: World) -> Iterator[Server]:
    """One server for the three transports that share one."""
    with serving(shared_world.ws, shared_world.flags) as running:
        yield running


Ask = Callable[[dict[str, Any]], Any]


@contextmanager
def _raw(kind: str, world: World, server: Server) -> Iterator[Ask]:
    """A function that sends a message as it is and gives the answer.

    Without the SDK's client: it would take most of the time of thousands of calls, and cannot
    send every message.
    """
    if kind == "stdio":
        with _raw_stdio(world) as ask:
            yield ask
    elif kind == "http":
        with _raw_http(server) as ask:
            yield ask
    else:
        with RawLines(server.open_tcp() if kind == "tcp" else server.open_unix()) as lines:
            if kind == "tcp":
                lines.ask("auth", 0, token=server.token)
            lines.start()
            yield lambda message: _asked(lines, message)


def _asked(lines: RawLines, message: dict[str, Any]) -> Any:
    lines.send(message)
    return lines.receive()


@contextmanager
def _raw_stdio(world: World) -> Iterator[Ask]:
    command = [*FLASHGREP, "mcp", "--workdir", str(world.ws), *world.flags]
    with Warm[bytes](
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(world.home),
    ) as process:
        sink, source = process.stdin, process.stdout
        assert sink is not None
        assert source is not None

        def send(message: dict[str, Any]) -> None:
            sink.write(json.dumps(message).encode() + b"\n")
            sink.flush()

        def ask(message: dict[str, Any]) -> Any:
            send(message)
            return json.loads(source.readline())

        ask(request("initialize", 0, **HANDSHAKE))
        send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield ask


@contextmanager
def _raw_http(server: Server) -> Iterator[Ask]:
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    with httpx2.Client(trust_env=False, timeout=120, headers=headers) as client:

        def ask(message: dict[str, Any]) -> Any:
            answer = client.post(server.url, content=json.dumps(message).encode())
            if session := answer.headers.get("mcp-session-id"):
                client.headers["mcp-session-id"] = session
            return _body(answer)

        ask(request("initialize", 0, **HANDSHAKE))
        ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield ask


def _body(answer: httpx2.Response) -> Any:
    """The one message of an answer, be it JSON or an event stream."""
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        data = [line[5:] for line in answer.text.splitlines() if line.startswith("data:")]
        return json.loads(next(line for line in data if line.strip()))
    return json.loads(answer.text) if answer.text else None


def test_there_are_enough_hostile_paths() -> None:
    assert len({row.path for row in ROWS if row.tools == EVERY and not row.literal}) >= 60
    assert len({row.why for row in ROWS}) == len(ROWS)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("kind", "share"),
    [*((kind, 6) for kind in KINDS), pytest.param("unix", 1, marks=pytest.mark.thorough)],
)
def test_no_hostile_path_is_accepted(kind: str, share: int, world: World, server: Server) -> None:
    """Each path with every sixth tool over each of them; with every tool over one of them.

    What judges a path is the same behind all four. What differs is how a message is read, so each
    path is sent over each, and each tool called.
    """
    share = 1 if HEAVY else share
    with _raw(kind, world, server) as ask:
        wrong = [
            told
            for number, row in enumerate(ROWS)
            for told in _tried(ask, world, row, row.tools[number % share :: share])
        ]
        wrong.extend(_whole_tree(ask))
    assert wrong == []


def _tried(ask: Ask, world: World, row: Row, tools: Iterable[str]) -> Iterator[str]:
    """What is wrong with the answers of some tools; those that make files come last."""
    for tool in sorted(tools, key=WRITERS.__contains__):
        yield from _judged(ask, world, row, tool)


def _judged(ask: Ask, world: World, row: Row, tool: str) -> Iterator[str]:
    """What is wrong with the answer to one call."""
    answer = ask(tool_call(tool, 1, **arguments(tool, world.path(row))))
    told = json.dumps(answer)
    if CANARY in told:
        yield f"{tool}, {row.why}: shows the canary"
    if row.literal and tool in WRITERS:
        return  # it names a new file inside; that it is inside is seen by what is outside
    result = answer["result"]
    if not result.get("isError"):
        yield f"{tool}, {row.why}: accepted: {told[:200]}"
    elif result["_meta"]["flashgrep/error"] not in (
        BATCH_CODES if tool == "batch_write_code" else CODES
    ):
        yield f"{tool}, {row.why}: {told[:200]}"


def _whole_tree(ask: Ask) -> Iterator[str]:
    """Searches and listings of the workspace itself see nothing of what its links lead to."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("grep", {"pattern": "CANAR[Y]", "output_mode": "content"}),
        ("grep", {"pattern": "CANAR[Y]", "output_mode": "count", "multiline": True}),
        ("glob", {"pattern": "**/secret.txt"}),
        ("glob", {"pattern": "**/secret.txt", "follow_symlinks": True}),
        ("glob", {"pattern": "**", "type": "directory", "follow_symlinks": True}),
        ("view", {"path": "."}),
    ]
    for tool, given in calls:
        answer = ask(tool_call(tool, 1, **given))
        told = json.dumps(answer)
        failed = answer["result"].get("isError")
        if failed or CANARY in told or "l-dir/" in told or "denied/" in told:
            yield f"{tool} {given}: {told}"


def _told(result: types.CallToolResult) -> str:
    return result.model_dump_json()


# ── what the SDK's own client cannot send ───────────────────────────────────────────────────────

SURROGATES = ("\ud800", "good\udcff.txt", "\udfff/../../outside/secret.txt")


@pytest.mark.parametrize("kind", KINDS)
def test_a_lone_surrogate_is_refused(kind: str, world: World, server: Server) -> None:
    """JSON can spell half a character; no file is called so, and UTF-8 cannot carry it."""
    with _raw(kind, world, server) as ask:
        for path in SURROGATES:
            for tool in EVERY:
                answer = ask(tool_call(tool, 7, **arguments(tool, path)))
                assert _is_refused(answer), (tool, path, answer)
        alive = ask(tool_call("view", 8, path="good.txt"))
    assert alive["result"]["content"][0]["text"] == "     1\tgood"


def _is_refused(answer: Any) -> bool:
    """As a result with a code, or as a broken message before any tool saw it."""
    if "error" in answer:
        return answer["error"]["code"] in (-32700, -32600, -32602)
    result = answer["result"]
    return bool(result["isError"]) and result["_meta"]["flashgrep/error"] == "invalid_params"


def test_honest_links_are_followed_all_the_same(world: World, server: Server) -> None:
    """Refusing everything would pass the tests above."""
    made = {"honest": "good.txt", "sub/back": "../../ws/good.txt", "below": str(world.ws / "sub")}
    for name, target in made.items():
        (world.ws / name).symlink_to(target)

    async def main() -> list[str]:
        async with join(server, "unix") as session:
            paths = ["honest", "sub/back", "below/back", str(world.ws / "honest")]
            return [_told(await session.call_tool("view", {"path": path})) for path in paths]

    told = anyio.run(main)
    for name in made:
        (world.ws / name).unlink()
    assert all("good" in text and '"is_error":false' in text for text in told), told


ODD_NAMES = [
    b"new\nline",
    b"tab\tand return\r",
    b"\x1b[31mred",
    b"back\\slash",
    b"\\n is not a newline",
    b"\\x41 is not an A",
    b"latin \xe9",
    b"\xff\xfe\xfd",
    b"a:12:fake row",
    b"--",
    b" spaces ",
    b"...",
    b"quote'\"quote",
    b"*?[a]{b,c}",
    b"%41",
    "\u202eturned".encode(),
    "line\u2028separator".encode(),
    "日本 ✓".encode(),
    *(bytes(Random(seed).choices(range(1, 47), k=9)) + b"\x90" for seed in range(20)),
]


def test_an_odd_name_is_reached_by_what_glob_and_grep_print(world: World, server: Server) -> None:
    """Any bytes in a name: one printed line, which the other tools take as it stands."""
    odd = world.ws / "odd"
    odd.mkdir()
    for number, name in enumerate(ODD_NAMES):
        (odd / os.fsdecode(name)).write_text(f"needle {number}\n", encoding="utf-8")

    async def main() -> tuple[list[str], list[str], list[str]]:
        async with join(server, "unix") as session:
            globbed = await _lines(session, "glob", pattern="*", path="odd")
            grepped = await _lines(session, "grep", pattern="needle", path="odd")
            viewed = []
            for name in globbed:
                path = f"odd/{name}"
                await _lines(session, "str_replace", path=path, old_str="needle", new_str="found")
                viewed += await _lines(session, "view", path=path)
            return globbed, grepped, viewed

    globbed, grepped, viewed = anyio.run(main)
    assert grepped.pop() == "(paths are relative to odd/)"
    assert sorted(globbed) == sorted(grepped)
    expected = [f"     1\tfound {number}" for number in range(len(ODD_NAMES))]
    assert sorted(viewed) == sorted(expected)


async def _lines(session: ClientSession, tool: str, **given: Any) -> list[str]:
    result = await session.call_tool(tool, given)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert not result.is_error, block.text
    return block.text.split("\n")
